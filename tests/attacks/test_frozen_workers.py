"""A worker that stood still, because its process or machine was stopped, and wakes."""

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Barrier, Event
from typing import NamedTuple, cast
from uuid import uuid4

import pytest
from temporalio.client import AsyncActivityCancelledError, Client
from temporalio.common import RawValue
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode
from temporalio.testing import ActivityEnvironment

from holdfast.activities.kill_switch.switches import TemporalKillSwitch
from holdfast.activities.project import WORKERS, ProjectActivities
from holdfast.activities.tools import BeginsBy, ToolActivities
from holdfast.contracts.project import RestoreWorkspace, WorkspaceSnapshot
from holdfast.contracts.switches import Switch
from holdfast.tools.artifacts import FileArtifacts
from holdfast.tools.redaction import Redactor
from holdfast.tools.workspaces import Workspaces
from tests.activities.cable import plugged
from tests.activities.test_secrets import BASIS, TOOLS, Board, Saying, saying
from tests.activities.test_switches import names, switch
from tests.asking import UNASKED, asked_by_run
from tests.builders import FIRST, an_invocation


class Clock:
    """The time of a process that may have stood still."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


@pytest.mark.parametrize("seconds", [8, 3_600])
async def test_who_stood_still_knows_of_no_switch_when_it_wakes(
    client: Client, seconds: int
) -> None:
    """Its connection is there, and what was known before may be switched off by now."""
    # T-20
    queue, clock = f"test-{uuid4().hex[:8]}", Clock()
    async with (
        plugged(client) as (cable, far),
        TemporalKillSwitch(far, queue, clock) as board,
    ):
        before = await board.current()
        cable.freeze()
        await switch(client, queue, "off")
        clock.seconds += seconds
        asking = asyncio.create_task(board.current())
        await asyncio.sleep(0)
        knew_at_once = asking.done()
        cable.mend()
        found = await asking

    assert not knew_at_once
    assert (names(before), names(found)) == ([], ["send"])


class Server:
    """What a server answers whose activity says that it is alive, and how often it was asked."""

    def __init__(self, refusal: Exception | None) -> None:
        self.refusal = refusal
        self.asked = 0

    def get_async_activity_handle(self, *, task_token: bytes) -> "Server":
        assert task_token
        return self

    def with_context(self, _: object) -> "Server":
        return self

    async def heartbeat(self, *_: object, rpc_timeout: timedelta) -> None:
        assert rpc_timeout
        self.asked += 1
        if self.refusal is not None:
            raise self.refusal


GONE = RPCError("no such activity", RPCStatusCode.NOT_FOUND, b"")
AWAY = RPCError("nobody is there", RPCStatusCode.UNAVAILABLE, b"")

TIMES_ADMITTED = 2
"""Before anything is made ready for a call, and before it begins."""


async def call(
    name: str,
    folder: Path,
    server: Server,
    place: Saying,
    started: datetime,
    board: Board | None = None,
) -> str:
    """Have a worker come to a call that the server says to have started then."""
    redactor = Redactor(frozenset)
    kept, switches = FileArtifacts(folder), board or Board()
    by = BeginsBy(BASIS, switches, UNASKED)
    activities = ToolActivities(TOOLS, place, kept, redactor, by)
    environment = ActivityEnvironment(client=cast("Client", server))
    environment.info = dataclasses.replace(
        asked_by_run(an_invocation().run_id),
        activity_type=name,
        heartbeat_timeout=timedelta(seconds=4),
        scheduled_time=started,
        started_time=started,
    )
    converter = pydantic_data_converter.payload_converter
    environment.payload_converter = converter
    tool = TOOLS.get(name)
    assert tool is not None
    asked = an_invocation(basis=BASIS.digest(tool), arguments={"account": "fred"})
    said = RawValue(converter.to_payload(asked))
    return (await environment.run(activities.run_tool, [said])).status


@pytest.mark.parametrize("refusal", [GONE, AWAY, AsyncActivityCancelledError()])
async def test_who_wakes_begins_no_write_that_the_server_has_given_up(
    tmp_path: Path, refusal: Exception
) -> None:
    """Others may have done it, or been told that it didn't happen; so may they, unheard."""
    place, server = saying("done"), Server(refusal)
    before = datetime.now(UTC) - timedelta(hours=1)

    assert await call("put_back", tmp_path, server, place, before) == "denied"
    assert (place.calls, server.asked) == ([], 1)


async def test_a_write_begins_that_is_waited_for_whatever_the_clock_says(tmp_path: Path) -> None:
    """A clock that is ahead keeps no worker from its work."""
    place, server = saying("done"), Server(None)
    before = datetime.now(UTC) - timedelta(days=400)

    assert await call("put_back", tmp_path, server, place, before) == "ok"
    assert (len(place.calls), server.asked) == (1, TIMES_ADMITTED)


class SlowBoard(Board):
    """Says what is switched off when the server is back, which has given up meanwhile."""

    def __init__(self, server: Server) -> None:
        super().__init__()
        self._server, self._asked = server, 0

    async def current(self) -> tuple[Switch, ...]:
        self._asked += 1
        if self._asked == TIMES_ADMITTED:
            self._server.refusal = GONE
        return await super().current()


async def test_a_write_that_is_given_up_while_it_waits_for_the_switches_never_begins(
    tmp_path: Path,
) -> None:
    """A worker that was cut off hears of switches first, and then that nobody waits."""
    place, server = saying("done"), Server(None)
    before = datetime.now(UTC) - timedelta(hours=1)

    said = await call("put_back", tmp_path, server, place, before, SlowBoard(server))

    assert (said, place.calls) == ("denied", [])


async def test_nobody_is_asked_about_what_has_just_started(tmp_path: Path) -> None:
    """It costs nothing where nobody stood still."""
    place, server = saying("done"), Server(GONE)

    assert await call("put_back", tmp_path, server, place, datetime.now(UTC)) == "ok"
    assert (len(place.calls), server.asked) == (1, 0)


class Restoring(NamedTuple):
    """What was written since a snapshot, and what restores it an hour after it was asked to."""

    later: Path
    restore: Callable[[], Awaitable[WorkspaceSnapshot]]


def restoring(home: Path, server: Server) -> Restoring:
    workspaces = Workspaces(home)
    activities = ProjectActivities(workspaces, Redactor(frozenset))
    asked = RestoreWorkspace(
        run_id="run-1", first_execution_run_id=FIRST, digest=workspaces.snapshot(FIRST).digest
    )
    later = workspaces.ensure(FIRST) / "later.txt"
    later.write_text("of a call behind the restoring", encoding="utf-8")
    environment = ActivityEnvironment(client=cast("Client", server))
    environment.info = dataclasses.replace(
        asked_by_run(asked.run_id),
        heartbeat_timeout=timedelta(seconds=4),
        started_time=datetime.now(UTC) - timedelta(hours=1),
    )
    return Restoring(later, lambda: environment.run(activities.restore_workspace, asked))


async def test_no_workspace_is_restored_that_its_run_works_in(tmp_path: Path) -> None:
    """Another attempt has restored it before, and its run has gone on since."""
    later, restore = restoring(tmp_path, Server(GONE))

    with pytest.raises(ApplicationError):
        await restore()

    assert later.exists()


async def test_nor_one_that_was_given_up_while_others_had_their_turn(tmp_path: Path) -> None:
    """Threads of a worker that wakes begin what is next before its loop hears of anything."""
    server, taken, free = Server(None), Barrier(5), Event()
    later, restore = restoring(tmp_path, server)

    def hold() -> None:
        taken.wait()
        free.wait()

    held = [asyncio.create_task(WORKERS.run("another", hold)) for _ in range(4)]
    await asyncio.to_thread(taken.wait)
    waiting = asyncio.ensure_future(restore())
    await asyncio.wait({waiting}, timeout=0.2)
    server.refusal = GONE

    free.set()
    with pytest.raises(ApplicationError):
        await waiting
    await asyncio.gather(*held)

    assert later.exists()
