"""Opening a project reads what it says, and nothing else; its workspace is kept and restored."""

import asyncio
import hashlib
import threading
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path

import pytest
from structlog.testing import capture_logs
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from holdfast.activities.callers import FOREIGN_CALLER
from holdfast.activities.project import ProjectActivities
from holdfast.contracts.project import (
    OpenProject,
    ProjectContext,
    RestoreWorkspace,
    SnapshotWorkspace,
    WorkspaceSnapshot,
)
from holdfast.policy.project import render
from holdfast.tools.artifacts import as_file_name
from holdfast.tools.redaction import REDACTED, Redactor
from holdfast.tools.safe_walk import TreeLimits
from holdfast.tools.workspaces import Workspaces
from tests.asking import in_run
from tests.builders import FIRST

RUN = "run-1"
ITS = {"run_id": RUN, "first_execution_run_id": FIRST}
SECRET = "correct horse battery staple"

Opened = Callable[..., Coroutine[None, None, ProjectContext]]


@pytest.fixture
def workspaces(tmp_path: Path) -> Workspaces:
    return Workspaces(tmp_path / "home", TreeLimits(entries=100))


@pytest.fixture
def activities(workspaces: Workspaces) -> ProjectActivities:
    return ProjectActivities(workspaces, Redactor(lambda: frozenset({SECRET})))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "project"
    place.mkdir()
    return place


@pytest.fixture
def opened(activities: ProjectActivities, folder: Path) -> Opened:
    """Open a project of some files, as its run does."""

    async def opening(path: str = "", **files: str) -> ProjectContext:
        for name, text in files.items():
            place = folder / name.replace("__", "/").replace("_md", ".md")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")
        return await asked(activities, to_open(folder, path=path))

    return opening


def to_open(folder: Path, *, path: str = "", regulated: bool = False) -> OpenProject:
    return OpenProject(
        run_id=RUN,
        first_execution_run_id=FIRST,
        folder=str(folder),
        path=path,
        regulated=regulated,
    )


async def asked(activities: ProjectActivities, opening: OpenProject) -> ProjectContext:
    return await in_run(RUN).run(activities.open_project, opening)


async def test_an_empty_project(opened: Opened, workspaces: Workspaces) -> None:
    """A project without any file gives the default context, and the digest of nothing."""
    # CX-02
    context = await opened()

    assert context == ProjectContext(workspace=workspaces.digest(FIRST))


async def test_a_project_is_opened(opened: Opened, workspaces: Workspaces) -> None:
    """The workspace holds it, and the context says what its files say, with their digests."""
    # CX-01 CX-03 CX-04 T-39
    text = "## Build\n- `make`\n## Test\n- `make test`\n"

    context = await opened(AGENTS_md=text, src__app="x")

    (file,) = context.files
    assert (file.path, file.source, file.characters) == ("AGENTS.md", "agents", len(text))
    assert file.digest == hashlib.sha256(text.encode()).hexdigest()
    assert (context.build_commands, context.test_commands) == (("make",), ("make test",))
    assert context.workspace == workspaces.digest(FIRST)
    assert (workspaces.ensure(FIRST) / "src/app").read_text() == "x"


async def test_a_path_in_a_package(opened: Opened) -> None:
    """What lies nearest to the path that the task is about comes first; the rest fills up."""
    # CX-09 CX-10 CX-11 CX-12 CX-13
    context = await opened(
        "api/src/app.py",
        api__AGENTS_md="## Test\n- `test api`\n",
        AGENTS_md="## Test\n- `test all`\n## Build\n- `build all`\n",
        CLAUDE_md="## Build\n- `build claude`\n## Code style\n- A: claude\n",
        CONTINUITY_md="## Code style\n- A: session\n## Security\nsession\n",
        api__README_md="## Security\npackage\n## Deployment\npackage\n",
        README_md="## Deployment\nreadme\n## Architecture\nreadme\n",
    )

    assert [file.source for file in context.files] == [
        *("agents", "agents", "claude", "session", "package", "readme")
    ]
    assert (context.test_commands, context.build_commands) == (("test api",), ("build all",))
    assert context.code_style == {"A": "claude"}
    assert context.security_notes == "session"
    assert context.deployment_notes == "package"
    assert context.architecture_notes == "readme"


async def test_opening_again_changes_nothing(opened: Opened, workspaces: Workspaces) -> None:
    """An attempt that is repeated gives the same, and leaves the workspace."""
    first = await opened(AGENTS_md="words")

    assert await opened(AGENTS_md="words") == first
    assert workspaces.digest(FIRST) == first.workspace


async def test_secrets_leave_no_file(opened: Opened, workspaces: Workspaces) -> None:
    """The worker's own secrets in a file don't reach history, not even with a hidden letter."""
    # T-39
    hidden = f"{SECRET[:9]}\u200b{SECRET[9:]}"
    text = f"Use {SECRET}.\n## Test\n- `login {hidden}`\n## Security\n{SECRET}\n"

    context = await opened(AGENTS_md=text)

    assert context.texts == (f"Use {REDACTED}.\n## Test\n- `login {REDACTED}`",)
    assert context.test_commands == (f"login {REDACTED}",)
    assert context.security_notes == REDACTED
    assert SECRET not in render(context)
    assert context.files[0].digest == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("target", ["secret", "/etc/passwd", "../secret"])
async def test_links_out_of_the_project(opened: Opened, folder: Path, target: str) -> None:
    """A file that is a link to somewhere else isn't read; that it is left out is logged."""
    # T-39
    (folder.parent / "secret").write_text("outside")
    (folder / "AGENTS.md").symlink_to(target)

    with capture_logs() as logs:
        context = await opened(CLAUDE_md="inside")

    assert context.texts == ("inside",)
    left_out = [entry["path"] for entry in logs if entry["event"] == "project.left_out"]
    assert left_out == ([] if target == "secret" else ["AGENTS.md"])


async def test_a_regulated_run_logs_how_many_are_left_out(
    activities: ProjectActivities, folder: Path
) -> None:
    """Where a law protects what a run is about, no name of a file stands in the log."""
    # HT-04
    (folder / "patient-4711.md").symlink_to("/etc/passwd")

    with capture_logs() as logs:
        await asked(activities, to_open(folder, regulated=True))

    assert [(one["event"], one["number"]) for one in logs] == [("project.left_out_more", 1)]
    assert "patient" not in repr(logs)


async def test_a_link_to_another_file(opened: Opened, folder: Path) -> None:
    """A CLAUDE.md that is a link to AGENTS.md says nothing more."""
    (folder / "CLAUDE.md").symlink_to("AGENTS.md")

    context = await opened(AGENTS_md="words")

    assert [file.path for file in context.files] == ["AGENTS.md"]


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "src/../../x"])
async def test_a_path_that_leads_out(opened: Opened, workspaces: Workspaces, path: str) -> None:
    """A path outside the project is refused for good, before anything is copied."""
    # T-39
    with pytest.raises(ApplicationError, match="name a file in it") as raised:
        await opened(path, AGENTS_md="words")

    assert (raised.value.type, raised.value.non_retryable) == ("InvalidInput", True)
    assert list(workspaces.ensure(FIRST).iterdir()) == []


async def test_a_folder_that_isnt_there(activities: ProjectActivities, folder: Path) -> None:
    """Without the project's folder a run can't begin, and asking again doesn't help."""
    opening = to_open(folder / "missing")

    with pytest.raises(ApplicationError, match="put the project on all workers") as raised:
        await asked(activities, opening)

    assert (raised.value.type, raised.value.non_retryable) == ("InvalidInput", True)


async def test_a_project_that_is_too_large(opened: Opened) -> None:
    """What won't change by itself is refused for good, in one line that says what to do."""
    with pytest.raises(ApplicationError, match="more than 100 files and folders: leave") as raised:
        await opened(**{f"file{n}": "" for n in range(101)})

    assert (raised.value.type, raised.value.non_retryable) == ("WorkspaceRefused", True)


async def test_what_may_pass_is_tried_again(
    activities: ProjectActivities, tmp_path: Path, folder: Path
) -> None:
    """A disk that fails now may work in a minute."""
    (tmp_path / "home").write_text("no folder")

    with pytest.raises(ApplicationError, match="the workspace can't be used now: ") as raised:
        await asked(activities, to_open(folder))

    assert (raised.value.type, raised.value.non_retryable) == ("WorkspaceFailed", False)


async def test_errors_hold_no_secrets(activities: ProjectActivities, folder: Path) -> None:
    """Names are words of strangers: a secret in one doesn't leave with an error."""
    opening = to_open(folder / SECRET)

    with pytest.raises(ApplicationError) as raised:
        await asked(activities, opening)

    assert SECRET not in str(raised.value)
    assert REDACTED in str(raised.value)


async def test_back_to_a_snapshot(
    activities: ProjectActivities, opened: Opened, workspaces: Workspaces
) -> None:
    """The workspace after a restore is the one that was kept, and its digest says so."""
    # BT-05
    context = await opened(AGENTS_md="words", src__app="good")
    run = in_run(RUN)
    snapshot = await run.run(activities.snapshot_workspace, SnapshotWorkspace(**ITS))
    (workspaces.ensure(FIRST) / "src/app").write_text("bad")
    (workspaces.ensure(FIRST) / "new").write_text("bad")

    back = RestoreWorkspace(**ITS, digest=snapshot.digest)
    restored = await run.run(activities.restore_workspace, back)

    assert restored == snapshot
    assert (snapshot.digest, snapshot.files) == (context.workspace, 2)
    assert workspaces.digest(FIRST) == snapshot.digest
    assert not (workspaces.ensure(FIRST) / "new").exists()


async def test_a_snapshot_that_isnt_there(activities: ProjectActivities) -> None:
    """A worker that doesn't share the home of the others says so, for good."""
    back = RestoreWorkspace(**ITS, digest="0" * 64)

    with pytest.raises(ApplicationError, match="must share HOLDFAST_HOME") as raised:
        await in_run(RUN).run(activities.restore_workspace, back)

    assert (raised.value.type, raised.value.non_retryable) == ("WorkspaceRefused", True)


async def test_only_the_run_itself(
    activities: ProjectActivities, workspaces: Workspaces, folder: Path
) -> None:
    """Neither another run nor a client fills, keeps or restores a run's workspace."""
    opening = to_open(folder)
    back = RestoreWorkspace(**ITS, digest="0" * 64)
    (folder / "x").touch()

    for stranger in (in_run("run-2"), ActivityEnvironment()):
        for attempt in (
            stranger.run(activities.open_project, opening),
            stranger.run(
                activities.snapshot_workspace,
                SnapshotWorkspace(**ITS),
            ),
            stranger.run(activities.restore_workspace, back),
        ):
            with pytest.raises(ApplicationError) as raised:
                await attempt
            assert raised.value.type == FOREIGN_CALLER
    assert not (workspaces.ensure("x").parent / as_file_name(FIRST)).exists()


async def test_it_works_beside_the_loop(workspaces: Workspaces, folder: Path) -> None:
    """Files are read in another thread than the one that sends heartbeats."""
    threads: set[int] = set()

    def known() -> frozenset[str]:
        threads.add(threading.get_ident())
        return frozenset()

    (folder / "AGENTS.md").write_text("words")
    activities = ProjectActivities(workspaces, Redactor(known))

    await asked(activities, to_open(folder))

    assert threads - {threading.get_ident()}


class SlowWorkspaces(Workspaces):
    """On a disk that has something else to do."""

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self.over = threading.Event()

    def snapshot(self, run: str) -> WorkspaceSnapshot:
        self.over.wait()
        return super().snapshot(run)


def keep_all(
    activities: ProjectActivities, tenants: Sequence[str]
) -> list[asyncio.Task[WorkspaceSnapshot]]:
    """Have a run of each of these tenants keep its workspace, named like the tenant."""
    return [
        asyncio.create_task(
            in_run(f"run-{number}").run(
                activities.snapshot_workspace,
                SnapshotWorkspace(
                    run_id=f"run-{number}", first_execution_run_id=tenant, tenant=tenant
                ),
            )
        )
        for number, tenant in enumerate(tenants)
    ]


async def test_no_workspace_keeps_the_threads_of_the_loop(tmp_path: Path) -> None:
    """However many runs keep theirs: guardrails and replies of others go on."""
    workspaces = SlowWorkspaces(tmp_path / "home")
    activities = ProjectActivities(workspaces, Redactor(frozenset))
    keeping = keep_all(activities, ["many"] * 40)  # the loop has 32 threads at most
    await asyncio.sleep(0)
    other = asyncio.create_task(asyncio.to_thread(threading.get_ident))
    ended, _ = await asyncio.wait({other}, timeout=30)
    workspaces.over.set()
    await asyncio.wait({other, *keeping})

    assert ended


class NotedWorkspaces(SlowWorkspaces):
    """Notes for whose run it works."""

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self.kept: list[str] = []

    def snapshot(self, run: str) -> WorkspaceSnapshot:
        self.over.wait()
        self.kept.append(run)
        return WorkspaceSnapshot(digest=run, files=0, bytes=0)


async def test_each_tenant_has_its_turn(tmp_path: Path) -> None:
    """However many runs of another one wait, of which each had a turn of its own."""
    workspaces = NotedWorkspaces(tmp_path / "home")
    activities = ProjectActivities(workspaces, Redactor(frozenset))
    keeping = keep_all(activities, ["many"] * 40 + ["one"])
    for _ in range(100):  # until all wait
        await asyncio.sleep(0)
    workspaces.over.set()
    await asyncio.wait(keeping)

    assert "one" in workspaces.kept[:8]
