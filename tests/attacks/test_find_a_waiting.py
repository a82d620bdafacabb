"""A run that waits for its provider: who floods it, and who suspends it meanwhile."""

import asyncio
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from temporalio.client import WorkflowExecutionStatus

from holdfast import Tiers
from holdfast.contracts.run import StatusReport
from holdfast.contracts.state import RunState
from holdfast.run.limits import fallback
from holdfast.testing import call, say
from holdfast.workflows import views
from tests.attacks.test_payloads import a_stranger
from tests.control.test_patience import HOUR, Outage, patient
from tests.durability.test_handing_back import replays
from tests.running import Run, Runs
from tests.sample import scripted
from tests.workflows.tiered import asked, child, staffed

views_status = views.status


async def waits(run: Run) -> None:
    while (await run.status()).waiting is None:  # noqa: ASYNC110 -- it is elsewhere
        await asyncio.sleep(0.02)


async def refused(run: Run, count: int) -> bool:
    """Whether so many messages are refused by now, or the run is over."""
    status = (await run.handle.describe()).status
    return (
        status is not WorkflowExecutionStatus.RUNNING
        or (await run.status()).refused_total >= count
    )


async def flooded(runs: Runs, run: Run) -> WorkflowExecutionStatus | None:
    """Send a run 55 MB that it refuses, and say where it stands then; it ends with this."""
    stranger = await a_stranger(runs, run)
    for sent in range(1, 56):
        if (await run.handle.describe()).status is not WorkflowExecutionStatus.RUNNING:
            break
        await stranger.signal("steer", {"text": "x" * 1_000_000})
        while not await refused(run, sent):  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.02)
    status = (await run.handle.describe()).status
    if status is WorkflowExecutionStatus.RUNNING:
        await run.handle.terminate()
    return status


@pytest.mark.timeout(120)
async def test_more_megabytes_of_signals_than_a_history_may_have_while_a_provider_is_down(
    runs: Runs,
) -> None:
    """A worker that is there keeps up, and the run goes on in a new execution."""
    async with runs.working(scripted(Outage(10_000), settings=patient(HOUR))):
        run = await runs.start("it")
        await waits(run)
        status = await flooded(runs, run)

    assert status is WorkflowExecutionStatus.RUNNING


async def test_time_in_which_a_run_is_suspended_uses_no_patience_up(skipping_runs: Runs) -> None:
    """The provider is down for a minute more than the run is suspended for."""
    async with skipping_runs.working(scripted(Outage(4), settings=patient(300.0))):
        run = await skipping_runs.start("it")
        await waits(run)
        await run.signal("suspend", {})
        while (await run.status()).status != "suspended":  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.02)
        await skipping_runs.pass_time(HOUR)
        await run.signal("resume", {})
        result = await run.result()

    assert (result.status, result.answer) == ("completed", "done")


@pytest.mark.timeout(120)
async def test_more_megabytes_of_signals_than_a_history_may_have_while_a_part_waits_for_people(
    runs: Runs, tmp_path: Path
) -> None:
    """The whole waits for its part, which waits for an approval: it isn't suspended."""
    script = [call("send", log=str(tmp_path / "log"), text="x"), say("done")]
    async with runs.working(staffed({"coder": script}, tiers=Tiers(full="coder"))):
        run = await runs.start("it")
        await asked(child(runs, run, "1-full"))
        status = await flooded(runs, run)

    assert status is WorkflowExecutionStatus.RUNNING


def describe_slowly(state: RunState, in_flight: tuple[str, ...]) -> StatusReport:
    """Take a moment, as a busy worker does."""
    time.sleep(0.6)
    return views_status(state, in_flight)


@pytest.mark.timeout(100)
async def test_who_looks_at_a_run_whose_provider_is_down_changes_nothing(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A query divides the task in which the wait begins; words come as it is about to end."""
    monkeypatch.setattr(views, "status", describe_slowly)
    monkeypatch.setattr(fallback, "FIRST_WAIT", timedelta(seconds=3))
    async with runs.working(scripted(Outage(6), settings=patient(HOUR))):
        started = [await runs.start("it") for _ in range(6)]
        await asyncio.gather(*map(hurry, started))
        for run in started:
            await replays(run)


async def hurry(run: Run) -> None:
    """Look at a run until it waits for its provider, and speak just before that is over."""
    while (waiting := (await run.status()).waiting) is None:
        pass
    while datetime.now(UTC) < waiting.until - timedelta(seconds=0.4):  # noqa: ASYNC110 -- as it says
        await asyncio.sleep(0.01)
    await run.signal("steer", {"text": "hurry"})
    await run.result()
