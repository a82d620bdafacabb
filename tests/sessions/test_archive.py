"""What is over is in the archive, with its history and its trace, however it ended."""

import asyncio
import json
import os
import stat
from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple, cast

import pytest
from temporalio.client import Client, WorkflowFailureError

from holdfast.activities.sessions.archive import DirectoryArchive
from holdfast.client import Holdfast
from holdfast.client.archiving import ArchiveSweep, name_run
from holdfast.contracts.base import JsonObject
from holdfast.histories import read
from holdfast.testing import call, say
from holdfast.trace.reader import read_trace
from tests.holdfast.unreadable import start_unreadable
from tests.running import Run, Runs
from tests.sample import scripted
from tests.sessions.talkative import echo
from tests.sessions.talking import Talks

WAITS = [call("ask_user", question="Which one?"), say("done")]


async def archived(folder: Path, sweep: ArchiveSweep, count: int) -> dict[str, Path]:
    """Sweep until so many are there, by the name before the execution: lists are late."""
    while len(found := list(folder.glob("completed/*/*"))) < count:
        await asyncio.sleep(0.05)
        await sweep.sweep()
    return {one.name.rpartition(".")[0]: one for one in found}


async def end(runs: Runs) -> dict[str, str]:
    """Have runs end in all ways, and leave one open; return how each ended, by its id."""
    done = await runs.start("it")
    failed = await runs.start_with({"agent": "it", "input": 5})
    stopped, cancelled, terminated, left = [await runs.start("it") for _ in range(4)]
    for run in (done, stopped, cancelled, left):
        (asked,) = await run.asked()
        if run is done:
            answer: JsonObject = {"request_id": asked.request_id, "text": "this", "by": "dana"}
            await run.signal("answer", answer)
    await stopped.signal("stop", {"reason": "enough"})
    await cancelled.cancel()
    await terminated.handle.terminate()
    for run in (failed, cancelled, terminated):
        with pytest.raises(WorkflowFailureError):
            await run.result()
    assert [(await run.result()).status for run in (done, stopped)] == ["completed", "stopped"]
    named = {
        "completed": done,
        "failed": failed,
        "stopped": stopped,
        "cancelled": cancelled,
        "terminated": terminated,
        "waiting": left,
    }
    return {run.handle.id: how for how, run in named.items()}


async def test_runs_that_are_over_are_archived_by_the_day_however_they_ended(
    runs: Runs, tmp_path: Path
) -> None:
    """Their files say what the server says; what is active isn't there, nor any other queue's."""
    # TR-12 TR-13
    sweep = ArchiveSweep(runs.client, DirectoryArchive(tmp_path), runs.queue)
    async with runs.working(scripted(WAITS, max_history_events=10)):
        ended = await end(runs)
        found = await archived(tmp_path, sweep, 5)
        active = [one.run_id for one in await Holdfast(runs.client).runs(status="waiting")]
        (left,) = [run_id for run_id, how in ended.items() if how == "waiting"]
        again = Run(runs.client.get_workflow_handle(left))
        await again.cancel()
        late = await archived(tmp_path, sweep, 6)

    assert {name: ended[name] for name in found} == {
        name: how for name, how in ended.items() if how != "waiting"
    }
    assert left in active
    assert not found.keys() & set(active)
    assert late.keys() - found.keys() == {left}
    for name, folder in found.items():
        assert folder.parent.name == datetime.now(UTC).date().isoformat()
        history = read(folder / "history.json")
        assert read_trace(history).status == ended[name]
        assert history == tuple(await Holdfast(runs.client).run(name).history())
        tree = json.loads((folder / "trace.json").read_text(encoding="utf-8"))
        assert tree["trace_id"]
        assert tree["run_id"] == name


async def test_a_run_that_nobody_can_read_holds_up_no_other(runs: Runs, tmp_path: Path) -> None:
    """What a stranger starts and ends on the queue leaves the archive as it is, for the rest."""
    # TR-13
    odd = f"odd-{runs.queue}"
    sweep = ArchiveSweep(runs.client, DirectoryArchive(tmp_path), f"{odd}-nobody")
    await start_unreadable(runs.client, odd)
    plain = f"plain-{runs.queue}"
    await runs.client.start_workflow("AgentRun", 5, id=plain, task_queue=f"{odd}-nobody")
    for name in (odd, plain):
        await runs.client.get_workflow_handle(name).terminate()
    while plain not in (found := await archived(tmp_path, sweep, 1)):
        await sweep.sweep()

    assert (found[plain] / "history.json").exists()


async def test_a_run_whose_place_is_taken_keeps_no_other_out(runs: Runs, tmp_path: Path) -> None:
    """A file lies where its folder would; once that is away it is archived as well."""
    # TR-13
    sweep = ArchiveSweep(runs.client, DirectoryArchive(tmp_path), f"{runs.queue}-nobody")
    for name in (f"early-{runs.queue}", f"late-{runs.queue}"):
        handle = await runs.client.start_workflow(
            "AgentRun", 5, id=name, task_queue=f"{runs.queue}-nobody"
        )
        await handle.terminate()
    late = await handle.describe()
    assert late.close_time is not None
    taken = tmp_path / name_run(late.id, late.run_id, late.close_time)
    taken.parent.mkdir(parents=True)
    taken.write_text("no folder")

    assert late.id in await archived(tmp_path, sweep, 2)
    taken.unlink()
    found = await archived(tmp_path, sweep, 2)

    assert all((folder / "history.json").exists() for folder in found.values())


async def test_each_time_that_a_session_was_open_is_archived(talks: Talks, tmp_path: Path) -> None:
    """With all its executions; the worker does it, also for what ended while there was none."""
    # TR-13
    async with talks.working(scripted(echo, max_history_events=1)):
        talk = talks.talk()
        await talk.exchange("m-1", "one")
        await talk.exchange("m-2", "two")
        await talk.close()
        await talk.exchange("m-3", "three")
    await talk.handle.terminate()
    folder = tmp_path / "archive"
    async with talks.working(scripted(echo)):
        while len(found := list(folder.glob("completed/*/*/history.json"))) < 2:  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.05)

    traces = {trace.status: trace for trace in (read_trace(read(one)) for one in found)}
    assert traces.keys() == {"completed", "terminated"}
    assert traces["completed"].executions >= 3  # and one more, where it was closed after the cut
    trees = [json.loads(one.with_name("trace.json").read_text(encoding="utf-8")) for one in found]
    assert {tree["group_id"] for tree in trees} == {talk.id}
    assert len({tree["trace_id"] for tree in trees}) == 2


def test_no_id_leaves_the_folder_of_its_day() -> None:
    """Whatever it is: what a file system can't have is replaced, and the execution tells apart."""
    # SE-02
    at = datetime(2026, 11, 27, 23, 30, tzinfo=UTC)
    for odd in ("../../x", "/etc/passwd", ".", "", "漢" * 300, "a\0b", "a\\..\\b"):
        named = name_run(odd, "0b6f4f0e", at)
        assert named.startswith("completed/2026-11-27/")
        assert named.endswith(".0b6f4f0e")
        assert named.count("/") == 2
        assert len(named.encode()) < 200
        assert "\0" not in named


class _Ended(NamedTuple):
    """A run that is over, as a list has it."""

    id: str
    run_id: str
    close_time: datetime


class _Server:
    """Lists what has ended since the moment that a query names."""

    def __init__(self) -> None:
        self.ended = list[_Ended]()

    async def list_workflows(self, query: str, **_: object) -> AsyncGenerator[_Ended]:
        since = query.partition("CloseTime > '")[2].rstrip("'")
        for one in self.ended:
            if not since or one.close_time > datetime.fromisoformat(since):
                yield one


class _Full:
    """An archive that has everything, and knows what it was asked for."""

    def __init__(self) -> None:
        self.asked = list[str]()

    async def has(self, path: str) -> bool:
        self.asked.append(path)
        return True


async def test_a_clock_that_is_set_back_leaves_nothing_out() -> None:
    """What ends by the server's clock before what ended last is looked at all the same."""
    # TR-12
    server, archive = _Server(), _Full()
    sweep = ArchiveSweep(cast("Client", server), cast("DirectoryArchive", archive), "queue")
    now = datetime.now(UTC)
    server.ended.append(_Ended("ahead", "e1", now + timedelta(hours=3)))
    await sweep.sweep()
    server.ended.append(_Ended("later", "e2", now))
    await sweep.sweep()

    assert [path.split("/")[2] for path in archive.asked] == ["ahead.e1", "later.e2"]


async def test_nobody_else_reads_the_archive_or_its_names(tmp_path: Path) -> None:
    """Ids of sessions and runs are names of folders: those are as closed as what lies in them."""
    # SE-02
    archive = DirectoryArchive(tmp_path / "kept" / "here")
    await archive.write("sessions/ada-1/said/000.json", b"{}")
    await archive.write("sessions/ada-1/session.json", b"{}")
    made = {
        str(path.relative_to(tmp_path)): stat.S_IMODE(path.stat().st_mode)
        for path in tmp_path.rglob("*")
    }

    assert {name for name, mode in made.items() if mode not in {0o700, 0o600}} == set()
    assert len(made) == 7


async def test_what_is_archived_is_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file, and each folder that has come to name something: a machine may go down then."""
    # SE-06 TR-13
    synced: set[int] = set()
    really = os.fsync

    def noting(opened: int) -> None:
        synced.add(os.fstat(opened).st_ino)
        really(opened)

    monkeypatch.setattr(os, "fsync", noting)
    await DirectoryArchive(tmp_path / "kept").write("completed/day/run/history.json", b"{}")
    paths = [tmp_path, *tmp_path.rglob("*")]

    assert {str(path) for path in paths if path.stat().st_ino not in synced} == set()


async def test_a_page_says_where_it_stands_though_what_was_before_it_is_left_out(
    runs: Runs, tmp_path: Path
) -> None:
    """A session that is ended from outside carries the latest of what it said, and has it once."""
    # SE-04
    talks = Talks(runs, f"file:{tmp_path}")
    async with talks.working(scripted([say("so")] * 4)):
        talk = talks.talk()
        for name in ("m-1", "m-2", "m-3"):
            await talk.exchange(name, f"{name} " * 8_000)
        await talk.handle.terminate()
        await talk.exchange("m-4", "the last")
        first = (await talk.conversation()).first_offset
        await talk.close()
    pages = [json.loads(one.read_bytes()) for one in sorted(tmp_path.glob("sessions/*/said/*"))]
    said = [(one["message_id"], one["role"]) for page in pages for one in page["items"]]

    assert first > 0
    assert [page["first_offset"] for page in pages] == [first]
    every = [(f"m-{number}", role) for number in range(1, 5) for role in ("user", "assistant")]
    assert said == every[first:]
