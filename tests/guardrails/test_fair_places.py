"""Places in which somebody else works: a few at once, and each tenant has its turn."""

import asyncio

import pytest

from holdfast.guardrails.builtin.fair_places import FairPlaces


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_each_tenant_has_its_turn() -> None:
    """However many one of them asks for, and no more work at once than there are places."""
    places, done = FairPlaces(2), list[str]()
    working, most, go = 0, 0, asyncio.Event()

    async def work(tenant: str) -> None:
        nonlocal working, most
        async with places.take(tenant):
            working += 1
            most = max(most, working)
            await go.wait()
            done.append(tenant)
            working -= 1

    asked = [asyncio.create_task(work("acme")) for _ in range(10)]
    await settle()
    asked.append(asyncio.create_task(work("globex")))
    await settle()
    go.set()
    await asyncio.gather(*asked)

    assert most == 2
    assert done.index("globex") <= 3
    assert len(done) == 11


@pytest.mark.parametrize("given", [False, True])
async def test_who_gives_up_keeps_no_place(*, given: bool) -> None:
    """Not while they wait, nor where they were just given one."""
    places = FairPlaces(1)
    async with places.take("acme"):
        waits = asyncio.create_task(places.take("acme").__aenter__())
        await settle()
        if not given:
            waits.cancel()
    waits.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waits

    async with asyncio.timeout(5), places.take("globex"):
        pass
