"""A run that waits for its provider: who floods it, and who suspends it meanwhile."""

import asyncio

import pytest
from temporalio.client import WorkflowExecutionStatus

from tests.attacks.test_payloads import a_stranger
from tests.control.test_patience import HOUR, Outage, patient
from tests.running import Run, Runs
from tests.sample import scripted


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


@pytest.mark.timeout(120)
async def test_more_megabytes_of_signals_than_a_history_may_have_while_a_provider_is_down(
    runs: Runs,
) -> None:
    """A worker that is there keeps up, and the run goes on in a new execution."""
    async with runs.working(scripted(Outage(10_000), settings=patient(HOUR))):
        run = await runs.start("it")
        await waits(run)
        stranger = await a_stranger(runs, run)
        for sent in range(1, 56):
            if (await run.handle.describe()).status is not WorkflowExecutionStatus.RUNNING:
                break
            await stranger.signal("steer", {"text": "x" * 1_000_000})
            while not await refused(run, sent):  # noqa: ASYNC110 -- it is elsewhere
                await asyncio.sleep(0.02)
        found = await run.handle.describe()
        if found.status is WorkflowExecutionStatus.RUNNING:
            await run.handle.terminate()

    assert found.status is WorkflowExecutionStatus.RUNNING


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
