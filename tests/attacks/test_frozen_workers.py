"""A worker that stood still, because its process or machine was stopped, and wakes."""

import asyncio
from uuid import uuid4

import pytest
from temporalio.client import Client

from holdfast.activities.kill_switch.switches import TemporalKillSwitch
from tests.activities.cable import plugged
from tests.activities.test_switches import names, switch


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
