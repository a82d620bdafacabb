"""A run that waits for its provider: who floods it, suspends it, or looks at it meanwhile."""

import asyncio
import time
from datetime import UTC, datetime, timedelta

import pytest

from holdfast.contracts.approvals import Request
from holdfast.contracts.control import Waiting
from holdfast.contracts.run import StatusReport
from holdfast.contracts.state.run import RunState
from holdfast.run.limits import fallback
from holdfast.runner import build_replayer
from holdfast.workflows import options, views
from holdfast.workflows.agent_run import AgentRun
from tests.attacks.test_payloads import a_stranger
from tests.control.test_patience import HOUR, Outage, patient, waits
from tests.durability.test_handing_back import replays
from tests.histories.playing import fetch
from tests.memory.runs import MemoryRuns
from tests.running import Run, Runs
from tests.sample import scripted

views_status = views.status


async def test_a_run_that_waits_for_its_provider_goes_on_from_a_flood_in_a_new_execution(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It hasn't had a turn yet: the server would end a history that a flood fills."""
    monkeypatch.setattr(options, "MAX_HISTORY_BYTES", 1_000_000)
    async with runs.working(scripted(Outage(10_000), settings=patient(HOUR))):
        run = await runs.start("it")
        await waits(run)
        stranger = await a_stranger(runs, run)
        for _ in range(3):
            await stranger.signal("steer", {"text": "x" * 600_000})
        while await run.execution() == run.first_execution:  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.02)
        await waits(run)
        await run.handle.terminate()
    for history in (await fetch(runs.client, run.handle.id))[:1]:
        await build_replayer(AgentRun).replay_workflow(history)


async def test_time_in_which_a_run_is_suspended_uses_no_patience_up(
    memory_runs: MemoryRuns,
) -> None:
    """The provider is down for a minute more than the run is suspended for."""
    async with memory_runs.working(scripted(Outage(4), settings=patient(300.0))):
        run = await memory_runs.start("it")
        await waits(run)
        await run.signal("suspend", {})
        while (await run.status()).status != "suspended":  # noqa: ASYNC110 -- as above
            await asyncio.sleep(0)
        await memory_runs.pass_time(HOUR)
        await run.signal("resume", {})
        result = await run.result()

    assert (result.status, result.answer) == ("completed", "done")


def describe_slowly(
    state: RunState,
    in_flight: tuple[str, ...],
    wait: Waiting | None,
    relayed: tuple[Request, ...] = (),
) -> StatusReport:
    """Take a moment, as a busy worker does."""
    time.sleep(0.6)
    return views_status(state, in_flight, wait, relayed)


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
