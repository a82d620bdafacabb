"""A mount that hangs: nobody but who needs it waits for it, and they not for ever."""

import asyncio
import gc
import threading
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from datetime import timedelta
from functools import partial
from pathlib import Path, PosixPath
from typing import cast

import pytest

from holdfast.activities.project import ProjectActivities
from holdfast.activities.sessions.archive import (
    MAX_PATIENT,
    READ_TIMEOUT,
    DirectoryArchive,
)
from holdfast.activities.sessions.keeping import SessionActivities
from holdfast.adapters.catalogue import PriceList
from holdfast.contracts.errors import ToolDenied, ToolError
from holdfast.contracts.project import OpenProject, ProjectContext, SnapshotWorkspace
from holdfast.contracts.sessions.archive import LoadSession
from holdfast.tools.artifacts import FileArtifacts
from holdfast.tools.builtin.results import read_result
from holdfast.tools.context import ToolContext
from holdfast.tools.execution import OwnFile, WorkerExecutor
from holdfast.tools.fair_threads import FairThreads
from holdfast.tools.large_json import READERS
from holdfast.tools.redaction import Redactor
from holdfast.tools.sandbox.sandbox import Sandbox
from holdfast.tools.workspaces import LeftOut, Workspaces
from tests.activities.test_secrets import saying, told
from tests.asking import in_run
from tests.attacks import hostile
from tests.attacks.outside import nobody
from tests.attacks.test_own_state import save
from tests.attacks.test_shared_archives import NAME, NoneEarlier, asked_in
from tests.builders import admitted, an_invocation
from tests.tools.sample_tools import secret_of

MORE_THAN_ALL = 40
"""The loop has 32 threads at most."""

PATH = "completed/day/run/history.json"


class Hanging(PosixPath):
    """A path on a mount that answers nobody until it is back, as one over a network does."""

    back = threading.Event()
    loop_thread = 0

    def __fspath__(self) -> str:
        assert threading.get_ident() != self.loop_thread, "the loop of all runs waits for it"
        self.back.wait()
        return super().__fspath__()


@pytest.fixture
async def mount(tmp_path: Path) -> AsyncGenerator[Path]:
    """A folder there; it is back when the test is over."""
    Hanging.back.clear()
    Hanging.loop_thread = threading.get_ident()
    yield Hanging(tmp_path / "mount")
    Hanging.back.set()


async def test_no_call_with_a_path_waits_on_the_loop_for_an_archive_that_hangs(
    mount: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nobody knows whether its path leads there the call doesn't begin, and says so."""
    monkeypatch.chdir(tmp_path)
    place = WorkerExecutor(secret_of, FileArtifacts(tmp_path / "home"), (mount,), patience=0)
    asked = an_invocation(arguments={"path": "new", "text": "x"})

    for _ in range(MORE_THAN_ALL):
        with pytest.raises(ToolDenied, match="a disk doesn't answer"):
            await place.run(save, asked, lambda _: None, admitted)

    assert not (tmp_path / "new").exists()


async def test_calls_and_projects_go_by_what_was_known_of_an_archive_that_hangs(
    mount: Path, tmp_path: Path
) -> None:
    """They aren't kept from it, and none waits for it."""
    (tmp_path / "mount").mkdir()
    Hanging.back.set()
    own = OwnFile(mount)
    before = await asyncio.to_thread(own.find, 60)
    Hanging.back.clear()

    found = [await asyncio.to_thread(own.find, 0) for _ in range(MORE_THAN_ALL)]

    assert set(found) == {before}
    assert before.path == (tmp_path / "mount").resolve()


class HangingProject(Workspaces):
    """The workspaces of a worker on which a project lies on a mount that hangs."""

    def __init__(self, home: Path, project: Path) -> None:
        super().__init__(home)
        self._project = project
        self.back = threading.Event()

    def fill(self, run: str, folder: Path) -> tuple[LeftOut, ...]:
        if folder == self._project:
            self.back.wait()
        return super().fill(run, folder)


async def test_a_project_that_hangs_keeps_no_workspace_of_others(tmp_path: Path) -> None:
    """However many runs want it: others open theirs, and keep what they have."""
    hanging, there = tmp_path / "hanging", tmp_path / "there"
    for folder in (hanging, there):
        folder.mkdir()
    workspaces = HangingProject(tmp_path / "home", hanging)
    activities = ProjectActivities(workspaces, Redactor(frozenset))

    def open_project(run: str, folder: Path) -> asyncio.Future[ProjectContext]:
        asked = OpenProject(run_id=run, first_execution_run_id=run, folder=str(folder))
        return asyncio.ensure_future(in_run(run).run(activities.open_project, asked))

    held = [open_project(f"run-{number}", hanging) for number in range(MORE_THAN_ALL)]
    await asyncio.sleep(0)
    keep = SnapshotWorkspace(run_id="other", first_execution_run_id="other")
    keeping = asyncio.create_task(in_run("other").run(activities.snapshot_workspace, keep))
    opening = open_project("another", there)
    await asyncio.wait({keeping, opening}, timeout=30)
    went_on = keeping.done() and opening.done()
    workspaces.back.set()
    await asyncio.wait({*held, keeping, opening})

    assert went_on


class _Content:
    """What somebody wants to be kept."""

    def read(self) -> bytes:
        return b""


def wait_for_who_gives_up() -> None:
    for one in threading.enumerate():
        if one.name == "give-up":
            one.join()


async def in_pieces() -> AsyncIterator[bytes]:
    for piece in (b"one, ", b"two"):
        yield piece


WAYS: dict[str, Callable[[DirectoryArchive], Awaitable[object]]] = {
    "read": lambda archive: archive.read(PATH),
    "has": lambda archive: archive.has(PATH),
    "write": lambda archive: archive.write(PATH, b"all"),
    "in pieces": lambda archive: archive.write_pieces(PATH, in_pieces()),
}


@pytest.mark.parametrize("way", WAYS)
async def test_an_archive_that_hangs_keeps_none_of_the_threads_of_the_loop(
    mount: Path, way: str
) -> None:
    """However many wait for it, a run of anybody opens, and the loop goes on."""
    archive = DirectoryArchive(mount, busy_timeout=READ_TIMEOUT)
    held = [asyncio.ensure_future(WAYS[way](archive)) for _ in range(MORE_THAN_ALL)]
    await asyncio.sleep(0)

    opening = asyncio.create_task(PriceList({}).facts(["it"]))
    other = asyncio.create_task(asyncio.to_thread(lambda: "done"))
    await asyncio.wait({opening, other}, timeout=30)
    went_on = opening.done() and other.done()
    failed = [one for one in held if one.done() and one.exception()]
    Hanging.back.set()
    await asyncio.gather(*held, opening, other)

    assert went_on
    assert not failed


@pytest.mark.parametrize("way", WAYS)
async def test_who_waits_for_an_archive_that_hangs_is_told_so(mount: Path, way: str) -> None:
    """Also when its threads are all taken; what was given up replaces nothing when it is back."""
    no_time = timedelta(0)
    archive = DirectoryArchive(mount, read_timeout=no_time, write_timeout=no_time)
    for _ in range(MORE_THAN_ALL):
        with pytest.raises(OSError, match="it doesn't answer"):
            await WAYS[way](archive)

    Hanging.back.set()
    await DirectoryArchive(mount).write_pieces(PATH, in_pieces())

    assert await DirectoryArchive(mount).read(PATH) == b"one, two"
    wait_for_who_gives_up()
    assert await DirectoryArchive(mount).read(PATH) == b"one, two"


@pytest.mark.parametrize("way", ["write", "in pieces"])
async def test_what_is_given_up_before_its_turn_leaves_no_thread(mount: Path, way: str) -> None:
    """However often sessions try to close while it hangs: a worker has only so many threads."""
    before = set(threading.enumerate())
    archive = DirectoryArchive(mount, write_timeout=timedelta(0))
    for _ in range(MORE_THAN_ALL):
        with pytest.raises(OSError, match="it doesn't answer"):
            await WAYS[way](archive)

    assert len(set(threading.enumerate()) - before) < MORE_THAN_ALL / 2


@pytest.mark.parametrize("way", WAYS)
async def test_few_wait_long_for_an_archive_that_hangs(mount: Path, way: str) -> None:
    """Sessions open and close in places where all is decided: the others are told at once."""
    archive = DirectoryArchive(mount, busy_timeout=timedelta(0))
    waiting = [asyncio.ensure_future(WAYS[way](archive)) for _ in range(MAX_PATIENT)]
    await asyncio.sleep(0)
    for _ in range(MORE_THAN_ALL):
        with pytest.raises(OSError, match="it doesn't answer"):
            await WAYS[way](archive)

    assert not any(one.done() for one in waiting)
    Hanging.back.set()
    await asyncio.gather(*waiting)
    await WAYS[way](archive)


async def test_no_call_waits_on_the_loop_for_a_workspace_that_hangs(
    mount: Path, sandbox_found: None
) -> None:
    """It is refused, and however many are, others go on."""
    Hanging.back.set()
    Hanging.loop_thread = 0
    sandbox = Sandbox(mount, patience=0)
    await sandbox.prepare([hostile.run])
    Hanging.loop_thread = threading.get_ident()
    Hanging.back.clear()

    for number in range(MORE_THAN_ALL):
        asked = an_invocation(run_id=f"run-{number}", arguments={"code": "result = 1"})
        with pytest.raises(ToolDenied, match="the disk of the workspace doesn't answer"):
            await sandbox.run(hostile.run, asked, lambda _: None, nobody, admitted)


async def test_no_result_waits_on_the_loop_for_artifacts_that_hang(mount: Path) -> None:
    """However small what is kept is; and what a model reads whole waits for nobody."""
    long = "x" * 300  # more than the tool's model reads
    held = [asyncio.create_task(told(saying(long), mount)) for _ in range(MORE_THAN_ALL)]
    await asyncio.sleep(0)
    short = [asyncio.create_task(told(saying(text), mount)) for text in ("y", "z" * 190)]
    await asyncio.wait(short, timeout=30)
    went_on = all(one.done() for one in short) and not any(one.done() for one in held)
    Hanging.back.set()
    results = [result for result, _ in await asyncio.gather(*held, *short)]

    assert went_on
    assert [getattr(one, "cut", None) for one in results] == [True] * len(held) + [False, False]


async def test_who_reads_on_in_artifacts_that_hang_keeps_no_result_of_others(mount: Path) -> None:
    """What was returned elsewhere is looked through in threads that no disk holds."""
    kept = partial(FileArtifacts(mount).read, an_invocation())
    context = ToolContext.of(an_invocation(), secret_of, lambda _: None, kept=kept)
    cursor = f"c1:{'0' * 16}:i0c0"
    held = [
        asyncio.ensure_future(cast("Awaitable[object]", read_result(cursor=cursor, ctx=context)))
        for _ in range(MORE_THAN_ALL)
    ]
    await asyncio.sleep(0)
    other = asyncio.create_task(READERS.run("other", lambda: "done"))
    await asyncio.wait({other}, timeout=30)
    went_on = other.done()
    Hanging.back.set()
    await asyncio.wait({*held, other})

    assert went_on
    assert all(isinstance(one.exception(), ToolError) for one in held)


async def test_a_session_whose_archive_hangs_says_why_it_does_not_open(mount: Path) -> None:
    """It is tried again, as with one that is away."""
    archive = DirectoryArchive(mount, read_timeout=timedelta(0))
    sessions = SessionActivities(archive, NoneEarlier())

    with pytest.raises(Exception, match="the archive can't be used: it doesn't answer"):
        await asked_in("acme-eu").run(
            sessions.load_session, LoadSession(session_id=NAME, tenant="acme", agent="it")
        )


async def test_what_is_given_up_while_threads_hang_is_not_kept() -> None:
    """However long a mount is away, and however often it is tried: no memory grows by it."""
    threads, back, content = FairThreads(1, "test"), threading.Event(), _Content()
    hanging = asyncio.create_task(threads.run("a", back.wait))
    await asyncio.sleep(0)
    given_up = asyncio.create_task(threads.run("b", content.read))
    await asyncio.sleep(0)
    given_up.cancel()
    await asyncio.wait({given_up})
    assert given_up.cancelled()
    kept = weakref.ref(content)
    del content, given_up
    gc.collect()

    assert kept() is None
    back.set()
    await hanging


async def test_what_breaks_off_leaves_nothing_in_the_archive(tmp_path: Path) -> None:
    """What comes in pieces may end early: what was there before stays, and nothing beside it."""
    archive = DirectoryArchive(tmp_path)
    await archive.write(PATH, b"before")

    async def broken() -> AsyncIterator[bytes]:
        yield b"half"
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        await archive.write_pieces(PATH, broken())
    wait_for_who_gives_up()

    assert await archive.read(PATH) == b"before"
    assert [one.name for one in (tmp_path / PATH).parent.iterdir()] == ["history.json"]
