"""A run's workspace is filled from a project, kept, and made what it was, whoever dies."""

import os
import stat
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import pytest

from holdfast.contracts.errors import HoldfastError, InvalidInput
from holdfast.tools.artifacts import as_file_name
from holdfast.tools.safe_walk import TreeLimits
from holdfast.tools.sandbox.identity import derive_uid
from holdfast.tools.workspaces import MAX_DOCUMENT_BYTES, Document, LeftOut, Workspaces
from tests.tools.dying import deaths

RUN = "tenant/run 1"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def workspaces(home: Path) -> Workspaces:
    return Workspaces(home)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return planted(
        tmp_path / "project",
        {"AGENTS.md": "# Test\n", "src/app.py": "print(1)\n", "src/deep/er.py": "", "empty/": ""},
    )


def planted(folder: Path, files: Mapping[str, str]) -> Path:
    """Write files, and folders where a path ends with a slash."""
    for path, text in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.mkdir() if path.endswith("/") else place.write_text(text, encoding="utf-8")
    return folder


def tree(folder: Path) -> dict[str, str]:
    """What a folder holds; modes with it."""
    return {
        str(path.relative_to(folder)): f"{stat.S_IMODE(path.lstat().st_mode):o} {_told(path)}"
        for path in folder.rglob("*")
    }


def _told(path: Path) -> str:
    if path.is_symlink():
        return f"-> {path.readlink()}"
    return "folder" if path.is_dir() else path.read_text(encoding="utf-8")


def test_a_workspace_is_where_the_sandbox_has_it(home: Path, workspaces: Workspaces) -> None:
    """It lies below the home, nobody else gets in, and it is its run's own user's."""
    workspace = workspaces.ensure(RUN)

    assert workspace == home / "workspaces" / as_file_name(RUN) == workspaces.ensure(RUN)
    assert {stat.S_IMODE(place.stat().st_mode) for place in (workspace, workspace.parent)} == {
        0o700
    }
    assert workspace.stat().st_uid == (derive_uid(RUN) or os.geteuid())


def test_a_project_is_copied(workspaces: Workspaces, project: Path) -> None:
    """Files, folders and modes are those of the project; all belongs to the run's own user."""
    (project / "src/app.py").chmod(0o750)
    (project / "link").symlink_to("src/app.py")

    assert workspaces.fill(RUN, project) == ()

    workspace = workspaces.ensure(RUN)
    assert tree(workspace) == tree(project)
    owner = derive_uid(RUN) or os.geteuid()
    assert {path.lstat().st_uid for path in workspace.rglob("*")} == {owner}


def test_a_workspace_is_filled_once(workspaces: Workspaces, project: Path) -> None:
    """A repeated attempt leaves what a run has done since; another run has its own copy."""
    workspaces.fill(RUN, project)
    (workspaces.ensure(RUN) / "AGENTS.md").write_text("changed")

    assert workspaces.fill(RUN, project) == ()

    assert (workspaces.ensure(RUN) / "AGENTS.md").read_text() == "changed"
    workspaces.fill("another", project)
    assert (workspaces.ensure("another") / "AGENTS.md").read_text() == "# Test\n"
    assert (project / "AGENTS.md").read_text() == "# Test\n"


@pytest.mark.parametrize(
    ("path", "target", "is_left_out"),
    [
        ("link", "src/app.py", False),
        ("src/link", "../AGENTS.md", False),
        ("link", "missing", False),
        ("link", ".", False),
        ("link", "/etc/passwd", True),
        ("link", "..", True),
        ("src/link", "../../project-2/x", True),
        ("link", "src/../../x", True),
    ],
)
def test_links_that_lead_out_are_left_out(
    workspaces: Workspaces, project: Path, path: str, target: str, *, is_left_out: bool
) -> None:
    """A link stays a link; one that leads out of the project isn't copied, and that is said."""
    # T-39
    (project / path).symlink_to(target)

    left_out = workspaces.fill(RUN, project)

    reason = "it is a link that leads out of the project"
    assert left_out == ((LeftOut(path, reason),) if is_left_out else ())
    copied = workspaces.ensure(RUN) / path
    assert copied.is_symlink() is not is_left_out
    assert is_left_out or str(copied.readlink()) == target


def test_a_link_through_another_one_that_leads_out(workspaces: Workspaces, project: Path) -> None:
    """What a link means counts, not its words."""
    (project / "src/up").symlink_to("..")
    (project / "out").symlink_to("src/up/../x")

    assert [one.path for one in workspaces.fill(RUN, project)] == ["out"]


def test_what_isnt_copied(workspaces: Workspaces, project: Path) -> None:
    """Credentials of the project and what is no file stay out, each with its reason."""
    planted(project, {".git/config": "token", "src/.env": "KEY=1", ".envrc": "x"})
    os.mkfifo(project / "pipe")

    assert set(workspaces.fill(RUN, project)) == {
        LeftOut(".git", "it may hold credentials"),
        LeftOut("src/.env", "it may hold credentials"),
        LeftOut("pipe", "it is no file, folder or link"),
    }
    names = {path.name for path in workspaces.ensure(RUN).rglob("*")}
    assert ".envrc" in names
    assert not names & {".git", ".env", "pipe"}


def test_the_home_in_a_project(project: Path) -> None:
    """A worker's home in a project isn't copied into itself; the home itself is no project."""
    workspaces = Workspaces(project / ".holdfast")

    left_out = workspaces.fill(RUN, project)

    assert left_out == (LeftOut(".holdfast", "the worker itself goes by it"),)
    assert (workspaces.ensure(RUN) / "AGENTS.md").exists()
    with pytest.raises(InvalidInput, match="name the project's own folder"):
        workspaces.fill(RUN, project / ".holdfast")


@pytest.mark.parametrize("name", ["missing", "AGENTS.md", "\0"])
def test_a_folder_that_isnt_there(workspaces: Workspaces, project: Path, name: str) -> None:
    """Without its project a run can't begin, and says what to do."""
    with pytest.raises(InvalidInput, match="put the project on all workers"):
        workspaces.fill(RUN, project / name)


@pytest.mark.parametrize(
    ("limits", "complaint"),
    [
        (TreeLimits(entries=6), None),
        (TreeLimits(entries=5), "more than 5 files and folders"),
        (TreeLimits(bytes=16), None),
        (TreeLimits(bytes=15), "more than 15 bytes"),
        (TreeLimits(depth=3), None),
        (TreeLimits(depth=2), "folders that lie deeper than 2"),
        (TreeLimits(path=14), None),
        (TreeLimits(path=13), "names that are too long"),
        (TreeLimits(names=49), None),
        (TreeLimits(names=48), "names that are too long"),
    ],
)
def test_limits(home: Path, project: Path, limits: TreeLimits, complaint: str | None) -> None:
    """A project may hold so much and no more; beyond that nothing is left of the attempt."""
    workspaces = Workspaces(home, limits)
    if complaint is None:
        workspaces.fill(RUN, project)
        return

    with pytest.raises(HoldfastError, match=f"^the project's folder has {complaint}: leave out"):
        workspaces.fill(RUN, project)

    assert [path.name for path in (home / "workspaces").iterdir()] == [as_file_name(RUN)]
    assert tree(workspaces.ensure(RUN)) == {}


def test_a_snapshot_says_what_there_is(workspaces: Workspaces, project: Path) -> None:
    """It counts files and bytes; equal workspaces have equal digests, whoever's they are."""
    workspaces.fill(RUN, project)
    workspaces.fill("another", project)

    snapshot = workspaces.snapshot(RUN)

    assert (snapshot.files, snapshot.bytes) == (3, 16)
    assert snapshot == workspaces.snapshot(RUN) == workspaces.snapshot("another")
    assert workspaces.digest(RUN) == snapshot.digest


def test_an_empty_workspace_can_be_kept(workspaces: Workspaces) -> None:
    """A run without any file has something to go back to."""
    empty = workspaces.snapshot(RUN)
    planted(workspaces.ensure(RUN), {"a": "1"})

    assert workspaces.restore(RUN, empty.digest) == empty
    assert tree(workspaces.ensure(RUN)) == {}


CHANGES: dict[str, Callable[[Path], object]] = {
    "a file's content": lambda top: (top / "AGENTS.md").write_text("# Tess\n"),
    "a file's mode": lambda top: (top / "AGENTS.md").chmod(0o755),
    "a file's name": lambda top: (top / "AGENTS.md").rename(top / "agents.md"),
    "a file less": lambda top: (top / "AGENTS.md").unlink(),
    "a file more": lambda top: (top / "new").touch(),
    "a folder more": lambda top: (top / "new").mkdir(),
    "a folder's mode": lambda top: (top / "empty").chmod(0o700),
    "a folder less": lambda top: (top / "empty").rmdir(),
    "where a link leads": lambda top: [(top / "link").unlink(), (top / "link").symlink_to("src")],
    "a folder for a file": lambda top: [(top / "AGENTS.md").unlink(), (top / "AGENTS.md").mkdir()],
    "a link for a folder": lambda top: [(top / "empty").rmdir(), (top / "empty").symlink_to("/")],
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_workspace_becomes_what_it_was(
    workspaces: Workspaces, project: Path, change: Callable[[Path], object]
) -> None:
    """Whatever has changed, the digest tells; after it was restored all is as before."""  # BT-05
    (project / "empty").chmod(0o755)
    (project / "link").symlink_to("AGENTS.md")
    workspaces.fill(RUN, project)
    before, snapshot = tree(workspaces.ensure(RUN)), workspaces.snapshot(RUN)
    change(workspaces.ensure(RUN))
    assert workspaces.digest(RUN) != snapshot.digest

    assert workspaces.restore(RUN, snapshot.digest) == snapshot

    assert workspaces.digest(RUN) == snapshot.digest
    assert tree(workspaces.ensure(RUN)) == before
    owner = derive_uid(RUN) or os.geteuid()
    assert {path.lstat().st_uid for path in workspaces.ensure(RUN).rglob("*")} == {owner}


def test_each_snapshot_can_be_gone_back_to(workspaces: Workspaces, project: Path) -> None:
    """Later ones change none of the earlier, and contents that they share are kept once."""
    workspaces.fill(RUN, project)
    first = workspaces.snapshot(RUN)
    planted(workspaces.ensure(RUN), {"src/app.py": "print(2)\n", "copy.py": "print(2)\n"})
    second = workspaces.snapshot(RUN)
    kept = workspaces.ensure(RUN).parents[1] / "snapshots" / as_file_name(RUN) / "contents"

    assert len(list(kept.iterdir())) == 4
    for wanted in (first, second, first):
        assert workspaces.restore(RUN, wanted.digest) == wanted
        assert workspaces.digest(RUN) == wanted.digest


def test_a_restored_file_is_nobody_elses(workspaces: Workspaces, project: Path) -> None:
    """To write into a restored file doesn't write into the snapshot."""
    workspaces.fill(RUN, project)
    snapshot = workspaces.snapshot(RUN)
    workspaces.restore(RUN, snapshot.digest)
    with (workspaces.ensure(RUN) / "src/app.py").open("r+") as file:
        file.write("evil!")

    workspaces.restore(RUN, snapshot.digest)

    assert workspaces.digest(RUN) == snapshot.digest


def test_only_a_runs_own_snapshot(workspaces: Workspaces, project: Path) -> None:
    """Another run's snapshot, and one that isn't here, are refused, and nothing changes."""
    workspaces.fill("another", project)
    snapshot = workspaces.snapshot("another")
    planted(workspaces.ensure(RUN), {"mine": "1"})

    with pytest.raises(HoldfastError, match=r"no snapshot .* must share HOLDFAST_HOME"):
        workspaces.restore(RUN, snapshot.digest)

    assert list(tree(workspaces.ensure(RUN))) == ["mine"]


@pytest.mark.parametrize("damage", [b"", b"print(3)\n"])
def test_a_damaged_snapshot(
    home: Path, workspaces: Workspaces, project: Path, damage: bytes
) -> None:
    """What isn't what was kept is never put into a workspace; the listing is checked likewise."""
    workspaces.fill(RUN, project)
    snapshot = workspaces.snapshot(RUN)
    before, kept = tree(workspaces.ensure(RUN)), home / "snapshots" / as_file_name(RUN)
    for place in (*(kept / "contents").iterdir(), kept / snapshot.digest / "listing"):
        whole = place.read_bytes()
        if whole == damage:
            continue
        place.write_bytes(damage)

        with pytest.raises(HoldfastError, match="a snapshot is damaged"):
            workspaces.restore(RUN, snapshot.digest)

        place.write_bytes(whole)
        assert tree(workspaces.ensure(RUN)) == before
    assert [path.name for path in (home / "workspaces").iterdir()] == [as_file_name(RUN)]


@pytest.mark.slow
def test_dying_while_it_is_filled(home: Path, workspaces: Workspaces, project: Path) -> None:
    """Killed at any step, a workspace has nothing of a project or all of it."""
    whole, died = tree(project), 0
    for _ in deaths(home, partial(Workspaces.fill, run=RUN, folder=project)):
        died += 1
        assert tree(workspaces.ensure(RUN)) in ({}, whole)

        workspaces.fill(RUN, project)

        assert tree(workspaces.ensure(RUN)) == whole
        workspaces.ensure(RUN).rename(home / f"old-{died}")
    assert died > 15


@pytest.mark.slow
def test_dying_while_it_is_kept(home: Path, workspaces: Workspaces, project: Path) -> None:
    """Killed at any step, a snapshot can be made again, and gone back to."""
    workspaces.fill(RUN, project)
    digest, died = workspaces.digest(RUN), 0
    for _ in deaths(home, partial(Workspaces.snapshot, run=RUN)):
        died += 1

        assert workspaces.snapshot(RUN).digest == digest

        workspaces.restore(RUN, digest)
        (home / "snapshots").rename(home / f"old-{died}")
    assert died > 15


@pytest.mark.slow
def test_dying_while_it_is_restored(home: Path, workspaces: Workspaces, project: Path) -> None:
    """Killed at any step, a workspace is restored by the next attempt; nothing is left over."""
    # BT-05
    workspaces.fill(RUN, project)
    snapshot = workspaces.snapshot(RUN)
    dead_branch = {"src/app.py": "broken", "more/files.py": "x"}
    planted(workspaces.ensure(RUN), dead_branch)
    dead = workspaces.digest(RUN)
    died = 0
    for _ in deaths(home, partial(Workspaces.restore, run=RUN, digest=snapshot.digest)):
        died += 1
        assert workspaces.digest(RUN) in {dead, snapshot.digest}

        workspaces.restore(RUN, snapshot.digest)

        assert workspaces.digest(RUN) == snapshot.digest
        assert [path.name for path in (home / "workspaces").iterdir()] == [as_file_name(RUN)]
        planted(workspaces.ensure(RUN), dead_branch)
    assert died > 30


@pytest.mark.slow
def test_ten_thousand_files(workspaces: Workspaces, tmp_path: Path) -> None:
    """A project of usual size is copied, kept and restored within seconds (docs/project.md)."""
    files = {f"package_{n % 100}/module_{n}.py": f"value = {n}\n" for n in range(10_000)}
    workspaces.fill(RUN, planted(tmp_path / "large", files))
    snapshot = workspaces.snapshot(RUN)
    planted(workspaces.ensure(RUN), {"package_1/module_1.py": "value = 2\n"})

    assert snapshot.files == 10_000
    assert workspaces.restore(RUN, snapshot.digest) == snapshot
    assert workspaces.digest(RUN) == snapshot.digest


def test_a_file_is_read(workspaces: Workspaces, project: Path) -> None:
    """A file gives its beginning, and the digest of its bytes."""
    workspaces.fill(RUN, project)

    assert workspaces.read(RUN, "AGENTS.md") == Document(
        b"# Test\n", "47dd7b50af765df240fe2514f029fc697c907fc37a3267e22060f2f9f611975c", more=False
    )


@pytest.mark.parametrize("beyond", [0, 1])
def test_a_long_file_is_read_in_part(workspaces: Workspaces, project: Path, beyond: int) -> None:
    """Of a file that is too long only the beginning is read, and that is said."""
    planted(project, {"long": "x" * (MAX_DOCUMENT_BYTES + beyond)})
    workspaces.fill(RUN, project)

    found = workspaces.read(RUN, "long")

    assert found is not None
    assert (len(found.content), found.more) == (MAX_DOCUMENT_BYTES, bool(beyond))
