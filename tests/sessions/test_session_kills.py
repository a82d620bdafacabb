"""A session under which everything is killed: nothing is lost, nothing doubled, in its order."""

import asyncio
import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowExecutionStatus

from holdfast.activities.sessions.archive import name_session
from holdfast.contracts.base import JsonObject
from tests.durability import processes
from tests.sample import lines
from tests.sessions.talking import Talk

pytestmark = pytest.mark.slow

APP = "tests.sessions.kept:app"
NAME = "kept"


class Machine:
    """A server and a worker that lose their power together, and a session on them."""

    def __init__(self, here: processes.Deployed, home: Path) -> None:
        self._here, self._archive = here, home / "archive"
        self.talk = Talk(here.client, "holdfast", NAME, {"agent": "it", "tenant": "acme"})

    async def lose_power(self) -> None:
        await self._here.worker.kill()
        await self._here.server.kill()

    async def start(self) -> None:
        await self._here.server.start()
        client = await processes.connected(self._here.port)
        self.talk = Talk(client, "holdfast", NAME, self.talk.brief)
        await self._here.worker.start()

    @contextmanager
    def full(self) -> Generator[None]:
        """Have an archive that takes nothing while the block lasts."""
        sessions, away = self._archive / "sessions", self._archive / "away"
        self._archive.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            sessions.rename(away)
        sessions.touch()
        yield
        sessions.unlink()
        with suppress(FileNotFoundError):
            away.rename(sessions)

    async def archives(self) -> None:
        """Wait until the session has tried to archive something, and waits to try again."""
        while True:
            events = (await self.talk.handle.fetch_history()).events
            timers = [
                one for one in events if one.event_type == EventType.EVENT_TYPE_TIMER_STARTED
            ]
            if any(not one.HasField("user_metadata") for one in timers):
                return
            await asyncio.sleep(0.1)

    @contextmanager
    def unread(self) -> Generator[Path]:
        """Have what was archived of the session be read without end while the block lasts."""
        state = self._archive / name_session("default", NAME) / "session.json"
        kept = state.read_bytes()
        state.unlink()
        os.mkfifo(state)
        yield state
        state.unlink()
        state.write_bytes(kept)


async def reads(pipe: Path) -> None:
    """Wait until somebody reads from a pipe."""
    while True:
        with suppress(OSError):  # nobody does
            os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
            return
        await asyncio.sleep(0.05)


async def lose_power_at_work(machine: Machine, home: Path) -> list[JsonObject]:
    """Kill all once a message was taken, while a tool works for the next one, and at the cut."""
    taken = await machine.talk.send("m-1", "write m-1")
    await machine.lose_power()
    await machine.start()
    assert await machine.talk.answer("m-1") == "write ok"

    await machine.talk.say("m-2", "hold")
    await processes.grown(home / "log", 3)
    await machine.lose_power()
    with machine.full():
        await machine.start()
        (home / "log.go").touch()
        await machine.archives()
        waits = await machine.talk.send("m-3", "write m-3")
        again = await machine.talk.send("m-1", "write something else")
        await machine.lose_power()
    await machine.start()
    assert await machine.talk.answer("m-3") == "write ok"
    return [taken, waits, again]


async def lose_power_between(machine: Machine) -> None:
    """Kill all while the session is archived, and while it is opened again."""
    with machine.full():
        await machine.talk.signal("close", {})
        await machine.archives()
        await machine.lose_power()
    await machine.start()
    assert await machine.talk.closed() is WorkflowExecutionStatus.COMPLETED

    with machine.unread() as pipe:
        await machine.talk.say("m-4", "write m-4")
        await reads(pipe)
        await machine.lose_power()
    await machine.start()
    assert await machine.talk.answer("m-4") == "write ok"


async def test_a_session_outlasts_whatever_is_killed_under_it(tmp_path: Path) -> None:
    """No message is lost or answered twice, no effect doubled, and their order stands."""
    # SE-06 GF-01
    home = tmp_path / "home"
    async with processes.deployed(APP, tmp_path) as here:
        machine = Machine(here, home)
        receipts = await lose_power_at_work(machine, home)
        await lose_power_between(machine)
        turns = (await machine.talk.conversation()).items

    assert [one["position"] for one in receipts] == [1, 3, 1]
    for role in ("user", "assistant"):
        said = [one.message_id for one in turns if one.role == role]
        assert said == ["m-1", "m-2", "m-3", "m-4"]
    assert [line for line in lines(home / "log") if line != "held"] == [
        f"{moment} m-{number}" for number in (1, 3, 4) for moment in ("begin", "end")
    ]
