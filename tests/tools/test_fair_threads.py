"""Threads in which each tenant has its turn, and of a tenant each run."""

import asyncio
import threading

import pytest
from structlog.contextvars import bound_contextvars, get_contextvars

from holdfast.tools.fair_threads import TENANT, FairThreads


async def test_each_run_has_its_turn() -> None:
    """Whoever brings much is served in turn with whoever brings little, and came later."""
    threads, done = FairThreads(1, "test"), list[str]()
    free = threading.Event()
    busy = asyncio.create_task(threads.run("many", free.wait))
    await asyncio.sleep(0)
    asked = ["many 1", "many 2", "many 3", "few 1", "one 1"]
    waiting = [
        asyncio.create_task(threads.run(name.split()[0], lambda name=name: done.append(name)))
        for name in asked
    ]
    await asyncio.sleep(0)

    free.set()
    await asyncio.gather(busy, *waiting)

    assert done == ["many 1", "few 1", "one 1", "many 2", "many 3"]


async def test_each_tenant_has_its_turn() -> None:
    """However many runs one has: another waits behind one of them."""
    threads, done = FairThreads(1, "test"), list[str]()
    free = threading.Event()
    busy = asyncio.create_task(threads.run("many", free.wait))
    await asyncio.sleep(0)

    async def ask(name: str) -> None:
        tenant, run = name.split()
        TENANT.set(tenant)
        await threads.run(run, lambda: done.append(name))

    asked = ["acme r1", "acme r2", "acme r3", "acme r1", "bolt r1", "bolt r2"]
    waiting = [asyncio.create_task(ask(name)) for name in asked]
    await asyncio.sleep(0)
    given_up = waiting.pop(1)
    given_up.cancel()
    await asyncio.wait({given_up})

    free.set()
    await asyncio.gather(busy, *waiting)

    assert done == ["acme r1", "bolt r1", "acme r3", "bolt r2", "acme r1"]


async def test_a_run_whose_tenant_is_not_known_has_a_turn_of_its_own() -> None:
    """Models are asked so: all runs together would wait behind each tenant's results."""
    threads, done = FairThreads(1, "test"), list[str]()
    free = threading.Event()
    busy = asyncio.create_task(threads.run("many", free.wait))
    await asyncio.sleep(0)

    async def ask(run: str, tenant: str) -> None:
        TENANT.set(tenant)
        await threads.run(run, lambda: done.append(run))

    asked = [("r1", "acme"), ("r2", "acme"), ("r3", ""), ("r4", ""), ("r3", "")]
    waiting = [asyncio.create_task(ask(*one)) for one in asked]
    await asyncio.sleep(0)

    free.set()
    await asyncio.gather(busy, *waiting)

    assert done == ["r1", "r3", "r4", "r2", "r3"]


async def test_what_is_given_up_before_its_turn_is_never_begun() -> None:
    """Nor does it keep a thread; what is raised is raised to whoever waits."""
    threads, done = FairThreads(1, "test"), list[int]()
    free = threading.Event()
    busy = asyncio.create_task(threads.run("a", free.wait))
    await asyncio.sleep(0)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await threads.run("b", lambda: done.append(1))

    free.set()
    await busy
    with pytest.raises(ValueError, match="invalid literal"):
        await threads.run("b", lambda: int("x"))

    assert done == []


async def test_work_has_the_context_of_who_asks_for_it() -> None:
    """What it logs says of which run."""
    threads = FairThreads(1, "test")
    with bound_contextvars(run_id="a"):
        first = asyncio.create_task(threads.run("a", get_contextvars))
    with bound_contextvars(run_id="b"):
        second = asyncio.create_task(threads.run("b", get_contextvars))

    assert [one["run_id"] for one in (await first, await second)] == ["a", "b"]
