"""Time limits and clocks: a run whose worker lacks a tool, and a worker whose clock is set."""

import asyncio
import dataclasses
from datetime import UTC, datetime, timedelta
from pathlib import Path

from holdfast import Budget, Risk, tool
from holdfast.contracts.decisions import Decided
from holdfast.contracts.run import StatusReport
from holdfast.contracts.state import CallState
from holdfast.run import tool_calls
from holdfast.testing import call
from holdfast.tools import ask_user
from tests.asking import in_run
from tests.attacks.test_old_approvals import about, deciding
from tests.builders import NOW, a_call
from tests.running import Runs
from tests.sample import note, scripted, told

LATE = timedelta(seconds=30)
"""Ten times as long as the run may work."""


def workflow_age(status: StatusReport) -> timedelta:
    return datetime.now(UTC) - status.started_at


@tool(risk=Risk.WRITE_INTERNAL)
async def hand_in(log: str) -> str:
    """Hand something in."""
    note(log, "handed in")
    return "handed in"


async def test_a_worker_without_a_tool_keeps_no_run_beyond_its_time(
    runs: Runs, tmp_path: Path
) -> None:
    """It waits for a decision that no worker can make, and not longer than it may work."""
    script = [call("hand_in", log=str(tmp_path / "log")), told]
    budget = Budget(max_wall_time=3.0, max_steps=9)
    async with runs.working(scripted(script, tools=[hand_in], budget=budget)):
        run = await runs.start("it")
        (request,) = await run.asked()
    async with runs.working(
        scripted(script, tools=[ask_user], budget=budget), client=await runs.another_client()
    ):
        await run.approve(request.request_id)
        while (status := await run.status()).status in {"running", "waiting"} and (  # noqa: ASYNC110 -- it is elsewhere
            workflow_age(status) < LATE
        ):
            await asyncio.sleep(0.2)
        await run.handle.terminate() if status.stop is None else None

    assert status.stop is not None
    assert status.stop.reason == "max_wall_time (3 s) reached"


async def test_a_clock_that_is_set_while_a_decision_waits_makes_it_good_for_no_longer() -> None:
    """The worker's clock is set ahead by an hour between asking and beginning."""
    asking, environment = a_call("book", log="/dev/null"), in_run("run-1")
    environment.info = dataclasses.replace(
        environment.info,
        is_local=True,
        scheduled_time=NOW,
        started_time=NOW + timedelta(hours=1),
    )

    (ruling,) = (await environment.run(deciding().authorize, about(asking))).rulings

    assert isinstance(ruling, Decided)
    late = NOW + timedelta(minutes=50)
    assert tool_calls.select_recent((CallState(call=asking, ruling=ruling),), late) == ()
