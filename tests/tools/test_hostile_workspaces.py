"""What sandboxed code leaves in its workspace harms nobody who keeps, restores or reads it."""

import errno
import os
import socket
import stat
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.contracts.errors import HoldfastError, InvalidInput
from holdfast.tools.artifacts import as_file_name
from holdfast.tools.safe_walk import TREE_LIMITS, TreeLimits, Walk, contents, require_disk_space
from holdfast.tools.sandbox.bounds import BOUNDS
from holdfast.tools.workspaces import Workspaces

RUN = "run"
SECRET = "the worker's own words"


@pytest.fixture
def workspaces(tmp_path: Path) -> Workspaces:
    return Workspaces(tmp_path / "home")


@pytest.fixture
def top(workspaces: Workspaces) -> Path:
    """A workspace, as its code sees it."""
    return workspaces.ensure(RUN)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A file that no run may see."""
    place = tmp_path / "outside"
    place.mkdir()
    (place / "secret").write_text(SECRET)
    return place


def kept(workspaces: Workspaces) -> list[bytes]:
    """Everything that snapshots of the run hold."""
    folder = workspaces.ensure(RUN).parents[1] / "snapshots"
    return [path.read_bytes() for path in folder.rglob("*") if path.is_file()]


def names(folder: Path) -> list[bytes]:
    return sorted(os.fsencode(path.name) for path in folder.iterdir())


def deep(top: Path, levels: int) -> None:
    """Make folders below each other, deeper than any path can name."""
    folder = os.open(top, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d" * 50, dir_fd=folder)
        inner = os.open("d" * 50, os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = inner
    os.close(os.open("end", os.O_CREAT, dir_fd=folder))
    os.close(folder)


def test_links_are_never_followed(workspaces: Workspaces, top: Path, outside: Path) -> None:
    """A link is kept as what is written in it, wherever it leads; and restored as that."""
    (top / "file").symlink_to(outside / "secret")
    (top / "folder").symlink_to(outside)
    (top / "loop").symlink_to("loop")
    snapshot = workspaces.snapshot(RUN)

    assert (snapshot.files, snapshot.bytes) == (0, 0)
    assert not any(SECRET.encode() in content for content in kept(workspaces))
    workspaces.restore(RUN, snapshot.digest)
    assert workspaces.digest(RUN) == snapshot.digest
    assert (workspaces.ensure(RUN) / "folder").readlink() == outside
    assert (outside / "secret").read_text() == SECRET


@pytest.mark.parametrize("kind", ["pipe", "socket"])
def test_what_nobody_answers(
    workspaces: Workspaces, top: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """A pipe or a socket keeps nobody waiting. It is no part of a snapshot."""
    before = workspaces.snapshot(RUN)
    monkeypatch.chdir(top)  # the name of a socket is short
    if kind == "pipe":
        os.mkfifo(top / "it")
    else:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind("it")

    assert workspaces.read(RUN, "it") is None
    assert workspaces.snapshot(RUN) == before
    workspaces.restore(RUN, before.digest)
    assert list(workspaces.ensure(RUN).iterdir()) == []


@pytest.mark.parametrize("size", [TREE_LIMITS.bytes + 1, 10**13])
def test_holes_are_counted(workspaces: Workspaces, top: Path, size: int) -> None:
    """A file that claims to be huge is refused before it is read."""
    os.truncate(os.open(top / "huge", os.O_CREAT | os.O_WRONLY), size)

    with pytest.raises(HoldfastError, match=r"^the workspace has more than 1,000,000,000 bytes"):
        workspaces.snapshot(RUN)


def test_a_file_with_holes(workspaces: Workspaces, top: Path) -> None:
    """Holes are zeros, before and after."""
    with (top / "holes").open("wb") as file:
        file.seek(3 * 2**20)
        file.write(b"end")
    snapshot = workspaces.snapshot(RUN)

    workspaces.restore(RUN, snapshot.digest)

    assert (workspaces.ensure(RUN) / "holes").read_bytes() == bytes(3 * 2**20) + b"end"
    assert workspaces.digest(RUN) == snapshot.digest


def test_several_names_of_a_file(tmp_path: Path) -> None:
    """Each name counts, and becomes a file of its own."""
    workspaces = Workspaces(tmp_path / "home", TreeLimits(bytes=300))
    top = workspaces.ensure(RUN)
    (top / "0").write_bytes(b"x" * 100)
    (top / "1").hardlink_to(top / "0")
    (top / "2").hardlink_to(top / "0")
    snapshot = workspaces.snapshot(RUN)
    (top / "3").hardlink_to(top / "0")

    with pytest.raises(HoldfastError, match="more than 300 bytes"):
        workspaces.snapshot(RUN)

    workspaces.restore(RUN, snapshot.digest)
    (workspaces.ensure(RUN) / "0").write_bytes(b"y")
    assert (workspaces.ensure(RUN) / "1").read_bytes() == b"x" * 100


def test_names_that_are_no_text(workspaces: Workspaces, top: Path) -> None:
    """Any bytes make a name, and a link."""
    for name in (b"\xff\xfe", b"new\nline", b'quo"te', "ü\U0001f600".encode(), b"-rf"):
        (top / os.fsdecode(name)).write_bytes(name)
    (top / "link").symlink_to(os.fsdecode(b"\xff"))
    before = names(top)
    snapshot = workspaces.snapshot(RUN)

    workspaces.restore(RUN, snapshot.digest)

    assert names(workspaces.ensure(RUN)) == before
    assert workspaces.digest(RUN) == snapshot.digest
    assert (workspaces.ensure(RUN) / os.fsdecode(b"\xff\xfe")).read_bytes() == b"\xff\xfe"


def test_what_its_owner_cant_read(workspaces: Workspaces, top: Path) -> None:
    """It becomes readable to its owner, also where the worker is no root; other bits stay."""
    (top / "closed").mkdir()
    (top / "closed/file").write_text("x")
    (top / "closed/file").chmod(0o011)
    (top / "closed").chmod(0)
    (top / "power").write_text("x")
    (top / "power").chmod(0o6755)

    snapshot = workspaces.snapshot(RUN)

    workspaces.restore(RUN, snapshot.digest)
    restored = workspaces.ensure(RUN)
    modes = {
        str(path.relative_to(restored)): stat.S_IMODE(path.stat().st_mode)
        for path in restored.rglob("*")
    }
    assert modes == {"closed": 0o700, "closed/file": 0o411, "power": 0o755}
    assert workspaces.digest(RUN) == snapshot.digest


@pytest.mark.slow
@pytest.mark.parametrize("levels", [100, 101, 2_000])
def test_folders_too_deep(workspaces: Workspaces, top: Path, levels: int) -> None:
    """Folders deeper than any path are refused, and are no obstacle to going back."""
    before = workspaces.snapshot(RUN)
    deep(top, levels)

    with pytest.raises(HoldfastError, match=r"^the workspace has (folders that lie deeper|names)"):
        workspaces.snapshot(RUN)

    workspaces.restore(RUN, before.digest)
    assert [path.name for path in top.parent.iterdir()] == [as_file_name(RUN)]
    assert workspaces.digest(RUN) == before.digest


def test_closed_folders_can_be_removed(workspaces: Workspaces, top: Path) -> None:
    """What nobody may write to, or enter, is no obstacle to going back."""
    before = workspaces.snapshot(RUN)
    for name in ("a", "a/b", "a/b/c"):
        (top / name).mkdir()
    for name, mode in (("a/b/c", 0), ("a/b", 0o500), ("a", 0o300)):
        (top / name).chmod(mode)

    workspaces.restore(RUN, before.digest)

    assert [path.name for path in top.parent.iterdir()] == [as_file_name(RUN)]


@pytest.mark.parametrize("mode", [0, 0o300, 0o500])
def test_a_closed_workspace(workspaces: Workspaces, top: Path, mode: int) -> None:
    """What runs in it may close it to a worker that isn't root: that gets in, and goes back."""
    (top / "kept").write_text("x")
    before = workspaces.snapshot(RUN)
    (top / "more").write_text("y")

    top.chmod(mode)
    assert workspaces.snapshot(RUN).files == 2
    top.chmod(mode)
    assert workspaces.read(RUN, "kept") is not None
    top.chmod(mode)
    workspaces.restore(RUN, before.digest)

    assert workspaces.digest(RUN) == before.digest
    assert [path.name for path in top.parent.iterdir()] == [as_file_name(RUN)]


@pytest.mark.slow
def test_many_files(tmp_path: Path) -> None:
    """As many as there may be are kept; one more is refused, and can be undone."""
    workspaces = Workspaces(tmp_path / "home", TreeLimits(entries=1_500))
    top = workspaces.ensure(RUN)
    for number in range(1_500):
        (top / str(number)).touch()
    snapshot = workspaces.snapshot(RUN)
    (top / "more").mkdir()

    with pytest.raises(
        HoldfastError, match=r"^the workspace has more than 1,500 files and folders"
    ):
        workspaces.snapshot(RUN)

    assert workspaces.restore(RUN, snapshot.digest).files == 1_500


def test_however_much_lies_there_no_project_is_put_beside_it(
    workspaces: Workspaces, top: Path, tmp_path: Path
) -> None:
    """To see that there is something takes no memory: an agent before may have left millions."""
    for number in range(10_000):
        os.mknod(top / str(number))
    tracemalloc.start()
    try:
        assert workspaces.fill(RUN, tmp_path) == ()
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert most < 100_000


def test_no_more_names_are_held_than_there_may_be(top: Path) -> None:
    """Folders in each other have the names of all above them held: these count when listed."""
    folder = top
    for _ in range(10):
        for number in range(20):
            (folder / f"file {number}").touch()
        folder /= "0"
        folder.mkdir()
    walking = iter(Walk(top, "it", TreeLimits(entries=50), mends=True))

    assert [next(walking).path for _ in range(2)] == ["0", "0/0"]
    with pytest.raises(HoldfastError, match="more than 50 files and folders"):
        next(walking)


def test_a_chain_of_links(workspaces: Workspaces, top: Path, tmp_path: Path) -> None:
    """More links in a row than anybody follows lead nowhere: they are copied as they are."""
    project = tmp_path / "project"
    project.mkdir()
    for number in range(2_000):
        (project / str(number)).symlink_to(str(number + 1))
    (project / "2000").write_text("words")

    assert workspaces.fill(RUN, project) == ()
    assert workspaces.read(RUN, "0") is None
    assert workspaces.read(RUN, "1990") is not None


def swap(top: Path, outside: Path, *, is_folder: bool) -> None:
    """Put a link where something else was a moment ago."""
    (top / "it").rmdir() if is_folder else (top / "it").unlink()
    (top / "it").symlink_to(outside if is_folder else outside / "secret")


@pytest.mark.parametrize("is_folder", [True, False])
def test_a_swap_behind_the_back(top: Path, outside: Path, *, is_folder: bool) -> None:
    """What became a link since it was seen isn't followed: the attempt fails and is repeated."""
    (top / "it").mkdir() if is_folder else (top / "it").touch()
    walk = Walk(top, "the workspace", mends=True)
    found = iter(walk)
    first = next(found)
    swap(top, outside, is_folder=is_folder)

    with pytest.raises(OSError, match="it changed while it was read"):
        list(found) if is_folder else walk.open(first)


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo])
def test_a_file_that_is_none_any_more(top: Path, make: Callable[[Path], None]) -> None:
    """What is opened must be a file still."""
    (top / "it").touch()
    walk = Walk(top, "the workspace", mends=True)
    walking = iter(walk)
    found = next(walking)
    (top / "it").unlink()
    make(top / "it")

    with pytest.raises(OSError, match="it changed while it was read"):
        walk.open(found)


@pytest.mark.parametrize(("size", "fits"), [(4, False), (5, True), (6, False)])
def test_a_file_that_grows_or_shrinks(top: Path, size: int, *, fits: bool) -> None:
    """A file is read as long as it was when it was counted, or not at all."""
    (top / "it").write_bytes(b"12345")
    with (top / "it").open("rb") as file:
        if fits:
            assert b"".join(contents(file.fileno(), size)) == b"12345"
            return
        with pytest.raises(OSError, match="it changed") as raised:
            list(contents(file.fileno(), size))

    assert raised.value.errno == errno.ESTALE


def test_room_for_the_worker(tmp_path: Path) -> None:
    """No file is written that would leave the worker less of its disk than its calls leave it."""
    disk = os.statvfs(tmp_path)
    require_disk_space(0, tmp_path)

    with pytest.raises(OSError, match="the worker's disk is nearly full: make room"):
        require_disk_space(disk.f_blocks * disk.f_frsize - BOUNDS.free_disk + 1, tmp_path)


def test_reading_through_links(workspaces: Workspaces, top: Path, outside: Path) -> None:
    """A link that stays inside is followed; one that leads out, or to nothing, is no file."""
    # T-39
    (top / "docs").mkdir()
    (top / "docs/real").write_text("words")
    for name, target in {
        "inside": "docs/real",
        "folder": "docs",
        "secret": outside / "secret",
        "out": outside,
        "up": "../..",
        "dangling": "missing",
        "loop": "loop",
    }.items():
        (top / name).symlink_to(target)

    def words(path: str) -> bytes | None:
        found = workspaces.read(RUN, path)
        return found and found.content

    assert words("inside") == words("folder/real") == b"words"
    for path in ("secret", "out/secret", "up/x", "dangling", "loop", "docs", "docs/real/x", "no"):
        assert words(path) is None
    assert words("x" * 300) is None


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "docs/../../x", "..", "a\0b"])
def test_paths_that_lead_out(workspaces: Workspaces, path: str) -> None:
    """A path that leads out by its own words is refused."""
    # T-39
    with pytest.raises(InvalidInput, match="leads out of the project: name a file in it"):
        workspaces.read(RUN, path)
