"""Attacks by mass: as many large results at once as a worker has places for activities."""

import asyncio
import hashlib
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine
from pathlib import Path
from typing import TypeAlias, cast

import pytest
from pydantic_core import to_json

from holdfast.contracts.calls import ToolSuccess
from holdfast.tools.builtin.results import ResultPage, read_result
from holdfast.tools.context import ToolContext
from holdfast.tools.execution import execute
from holdfast.tools.fair_threads import TENANT
from holdfast.tools.large_json import READERS
from holdfast.tools.sharing.room import (
    MAX_HELD_BYTES,
    MAX_SMALL_BYTES,
    MAX_WAITING_BYTES,
    RESULT_ROOM,
    NoRoom,
    ResultRoom,
)
from holdfast.tools.values.cursors import Cursor
from holdfast.tools.values.excerpts import Place
from tests.activities.test_secrets import Saying, raising, told
from tests.builders import admitted, an_invocation
from tests.tools import sample_tools
from tests.tools.sample_tools import secret_of

_ReadOn: TypeAlias = Callable[[str, ToolContext], Coroutine[object, object, ResultPage]]

LARGE = MAX_HELD_BYTES // 4


class Results:
    """Results that come in, each held by a task until a test has it end."""

    def __init__(self) -> None:
        self.room = ResultRoom()
        self.told: list[str] = []
        self.ends: dict[str, asyncio.Event] = {}
        self._over = asyncio.Event()
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def come(self, *names: str, size: int = LARGE, is_here: bool = False) -> None:
        """Have results come in whose names are tenant, run and number."""
        for name in names:
            self.ends[name] = asyncio.Event()
            self._tasks[name] = asyncio.create_task(self._hold(name, size, is_here=is_here))
        await self._turn()

    async def end(self, *names: str) -> None:
        """Have results be read, or given up."""
        for name in names:
            self.ends[name].set()
        await self._turn()

    async def cancel(self, name: str) -> None:
        self._tasks[name].cancel()
        await self._turn()

    async def _hold(self, name: str, size: int, *, is_here: bool) -> None:
        tenant, run, _ = name.split()
        call = an_invocation(tenant=tenant, run_id=run)
        try:
            await self.room.take(call, size, is_here=is_here)
        except NoRoom:
            self.told.append(f"no {name}")
            return
        self.told.append(name)
        await self.ends[name].wait()
        self.room.free()
        await self._over.wait()

    async def _turn(self) -> None:
        for _ in range(10):
            await asyncio.sleep(0)

    async def end_all(self) -> None:
        """Have what held them be over."""
        self._over.set()
        await asyncio.wait(self._tasks.values())


@pytest.fixture
async def results() -> AsyncGenerator[Results]:
    found = Results()
    yield found
    await found.end(*found.ends)
    await found.end_all()


async def test_few_large_results_are_held_at_once(results: Results) -> None:
    """Others wait, and have their turn when one is read, or its call is cancelled."""
    names = [f"acme r {number}" for number in range(7)]

    await results.come(*names)
    assert results.told == names[:4]
    await results.cancel(names[4])
    await results.end(names[0])
    await results.cancel(names[1])

    assert results.told == [*names[:4], *names[5:]]
    await results.end(*names)
    assert results.room.held == results.room.waiting == []


async def test_each_tenant_has_its_turn_and_each_run(results: Results) -> None:
    """Whoever brings many waits behind who has less of the room."""
    flood = [f"acme r {number}" for number in range(8)]
    await results.come(*flood)
    await results.come("acme s 1", "bolt r 1", "bolt r 2")

    await results.end(*flood[:3])

    assert results.told[4:] == ["bolt r 1", "bolt r 2", "acme s 1"]


async def test_small_results_wait_for_nobody(results: Results) -> None:
    """As most are."""
    await results.come("acme r 1", size=MAX_HELD_BYTES)
    await results.come("acme r 2", size=MAX_SMALL_BYTES)

    assert results.told == ["acme r 1", "acme r 2"]


async def test_what_holds_memory_while_it_waits_is_given_up(results: Results) -> None:
    """The largest of who has most of it; what isn't here yet may wait."""
    await results.come("acme r 0", size=MAX_HELD_BYTES)
    await results.come("acme r 1", "acme r 2", "acme r 3", is_here=True)
    await results.come("bolt r 1", size=MAX_WAITING_BYTES // 3, is_here=True)
    await results.come("bolt r 2")
    assert results.told == ["acme r 0", "no acme r 3"]

    await results.end("acme r 0", "acme r 1")

    assert set(results.told[2:]) == {"acme r 1", "acme r 2", "bolt r 1", "bolt r 2"}


async def test_no_result_leaves_its_process_before_there_is_room() -> None:
    """Until then it is held there, and its call is done."""
    holder = asyncio.create_task(_hold_all())
    request = an_invocation(arguments={"characters": 1_000_000})
    call = asyncio.create_task(
        execute(sample_tools.flood, request, secret_of, lambda _: None, admitted)
    )
    while not RESULT_ROOM.waiting:
        assert not call.done()
        await asyncio.sleep(0)
    assert RESULT_ROOM.waiting[0].is_here is False

    holder.cancel()

    assert len(await call) == 1_000_002


async def _hold_all() -> None:
    await RESULT_ROOM.take(an_invocation(), MAX_HELD_BYTES, is_here=False)
    await asyncio.Event().wait()


async def test_what_has_no_room_is_done(tmp_path: Path) -> None:
    """A write that was made stays made; the model reads why it doesn't see the answer."""
    result, _ = await told(raising(NoRoom()), tmp_path)

    assert isinstance(result, ToolSuccess)
    assert (result.cut, result.data) == (True, None)
    assert "had no room for it" in result.summary


async def test_what_a_call_returned_is_looked_at_in_turn_with_other_tenants(
    tmp_path: Path,
) -> None:
    """Whoever has a hundred runs has one turn, as whoever has one."""
    result, _ = await told(Saying(lambda _: TENANT.get()), tmp_path, tenant="acme")

    assert isinstance(result, ToolSuccess)
    assert result.data == "acme"


async def test_no_more_is_read_of_what_is_kept_than_is_looked_through() -> None:
    """Two hundred calls that read on would hold as many results of sixteen megabytes."""
    read, busy = list[str](), threading.Event()

    def give(name: str) -> bytes:
        read.append(name)
        return to_json("x" * 1_000)

    context = ToolContext.of(an_invocation(), secret_of, lambda _: None, kept=give)
    cursor = Cursor("call_1_1", hashlib.sha256(give("first")).hexdigest()[:16], Place(None, 100))
    read_on = cast(_ReadOn, read_result.function)
    held = [asyncio.create_task(READERS.run("another", busy.wait)) for _ in range(2)]
    await asyncio.sleep(0)

    pages = [asyncio.create_task(read_on(str(cursor), context)) for _ in range(20)]
    done, waiting = await asyncio.wait(pages, timeout=5)
    busy.set()
    await asyncio.gather(*held)

    assert len(read) - 1 <= len(done) + 2
    assert [page.result().content for page in (*done, *waiting)] == ["x" * 900] * 20
