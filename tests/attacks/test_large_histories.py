"""What runs leave in their histories, and the worker that archives them when they are over."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Sequence
from datetime import datetime
from pathlib import Path
from threading import get_ident
from typing import NamedTuple, NoReturn, cast

import pytest
from temporalio.api.common.v1 import Payload
from temporalio.api.workflowservice.v1 import GetWorkflowExecutionHistoryRequest
from temporalio.client import Client, WorkflowHistory
from temporalio.converter import PayloadCodec
from temporalio.service import RPCError, RPCStatusCode

from holdfast import histories
from holdfast.activities.sessions.archive import DirectoryArchive
from holdfast.client import archiving, spans
from holdfast.client.archiving import ArchiveSweep
from holdfast.connection import with_codec
from holdfast.testing import call, say
from tests.builders import NOW
from tests.running import Run, Runs
from tests.sample import scripted
from tests.sessions.test_archive import archived
from tests.workflows.delegating import FOUND, ask, desk

WAITS = [call("ask_user", question="Which one?"), say("done")]


def measure(found: Sequence[WorkflowHistory]) -> int:
    return sum(histories.measure(event) for one in found for event in one.events)


async def flooded(runs: Runs) -> Run:
    """Have a run go on in new executions because of what strangers send it, and stop it."""
    run = await runs.start("it")
    await run.asked()
    first = await run.execution()
    while await run.execution() == first:
        await run.signal("nonsense", "x" * 500_000)
        # Of who sends faster than a busy worker hears the server ends the run.
        while await run.has_task():
            await run.pause()
    await run.signal("stop", {"reason": "enough"})
    await run.result()
    return run


async def test_a_history_larger_than_a_worker_holds_is_archived_execution_by_execution(
    runs: Runs, tmp_path: Path
) -> None:
    """Signals make a run's histories as large as their sender likes: no worker holds them all."""
    # TR-13
    async with runs.working(scripted(WAITS)):
        run = await flooded(runs)
    found = await histories.fetch(runs.client, run.handle.id)
    most = max(measure([one]) for one in found)
    sweep = ArchiveSweep(runs.client, DirectoryArchive(tmp_path), runs.queue, most)
    folder = (await archived(tmp_path, sweep, 1))[run.handle.id]

    assert len(found) > 1
    assert [one.name for one in folder.iterdir()] == ["history.json"]
    whole = (folder / "history.json").read_text(encoding="utf-8")
    assert whole == histories.render_export(found)
    assert histories.read(folder / "history.json") == found


async def test_a_part_larger_than_a_worker_holds_is_left_out_of_the_trace(
    runs: Runs, tmp_path: Path
) -> None:
    """The trace of its whole is there without it, and the part itself is archived."""
    # TR-13
    app = desk([ask("tides"), say("It is so.")], [call("look", place="the shore"), FOUND])
    async with runs.working(app):
        run = await runs.start("desk")
        await run.result()
    most = measure(await histories.fetch(runs.client, run.handle.id)) + 100
    sweep = ArchiveSweep(runs.client, DirectoryArchive(tmp_path), runs.queue, most)
    found = await archived(tmp_path, sweep, 2)

    told = (found[run.handle.id] / "trace.json").read_text(encoding="utf-8")
    assert json.loads(told)["run_id"] == run.handle.id
    assert "the shore" not in told
    assert (found[f"{run.handle.id}.1-researcher"] / "history.json").exists()


async def test_what_is_archived_is_put_together_beside_the_loop(
    runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The spans of a run take seconds where thousands of signals were sent to it or its parts."""
    # TR-13
    threads: list[int] = []

    def watched(work: Callable[..., object]) -> Callable[..., object]:
        def watch(*given: object, **named: object) -> object:
            threads.append(get_ident())
            return work(*given, **named)

        return watch

    for name in ("parse_trace", "span_tree"):
        monkeypatch.setattr(spans, name, watched(getattr(spans, name)))
    async with runs.working(desk([ask("tides"), say("It is so.")], [FOUND])):
        run = await runs.start("desk")
        await run.result()
    sweep = ArchiveSweep(runs.client, DirectoryArchive(tmp_path), runs.queue)
    await archived(tmp_path, sweep, 2)

    assert len(threads) == 4
    assert get_ident() not in threads


class _Locked(PayloadCodec):
    """A codec whose keys lie elsewhere, where nobody answers at first."""

    def __init__(self) -> None:
        self.has_keys, self.asked = False, 0

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return list(payloads)

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        self.asked += 1
        if not self.has_keys:
            raise LookupError("no keys")
        return list(payloads)


async def test_a_codec_without_its_keys_ends_no_archiving(runs: Runs, tmp_path: Path) -> None:
    """What has ended meanwhile is archived when they are there again."""
    # TR-13
    codec = _Locked()
    client = with_codec(runs.client, codec)
    sweep = ArchiveSweep(client, DirectoryArchive(tmp_path), runs.queue)
    async with runs.working(scripted([say("done")])):
        run = await runs.start("it")
        await run.result()
    while not codec.asked:
        await asyncio.sleep(0.05)
        await sweep.sweep()
    codec.has_keys = True
    found = await archived(tmp_path, sweep, 1)

    assert run.handle.id in found


class _Ended(NamedTuple):
    """A run that is over, as a list has it."""

    id: str
    run_id: str
    close_time: datetime


class _Odd:
    """A server whose list can't be read the first time, and whose runs never can."""

    namespace = "default"

    def __init__(self, over: asyncio.Event) -> None:
        self.workflow_service = self
        self.looks, self.asked, self._over = 0, list[str](), over

    async def list_workflows(self, query: str, **_: object) -> AsyncGenerator[_Ended]:
        self.looks += 1
        if self.looks == 1:
            raise ValueError("an attribute of another type")
        for name in ("odd", "plain"):
            yield _Ended(name, f"e-{name}", NOW)
        self._over.set()

    async def get_workflow_execution_history(
        self, request: GetWorkflowExecutionHistoryRequest, **_: object
    ) -> NoReturn:
        self.asked.append(request.execution.workflow_id)
        raise RPCError("no such page", RPCStatusCode.INVALID_ARGUMENT, b"")


async def test_nothing_that_cant_be_read_ends_archiving(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a list nor a run: the next is looked at, and all again the next time."""
    # TR-13
    monkeypatch.setattr(archiving, "SWEEP_SECONDS", 0)
    over = asyncio.Event()
    server = _Odd(over)
    sweep = ArchiveSweep(cast("Client", server), DirectoryArchive(tmp_path), "queue")
    running = asyncio.create_task(sweep.run())
    await asyncio.wait({running, asyncio.create_task(over.wait())}, return_when="FIRST_COMPLETED")
    running.cancel()

    assert list(dict.fromkeys(server.asked)) == ["odd", "plain"]
