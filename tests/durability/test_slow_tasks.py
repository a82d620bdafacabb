"""A worker without time to think: whatever it is asked takes as long as it takes."""

import time
from datetime import datetime

import pytest
from temporalio.api.enums.v1 import EventType

from holdfast.contracts.state.run import RunState
from holdfast.run import steps
from holdfast.run.steps import Step
from holdfast.runner import build_replayer
from holdfast.testing import say
from holdfast.workflows.agent_run import AgentRun
from tests.running import Runs
from tests.sample import scripted

LONG = 2.5
"""Seconds; the SDK takes workflow code for deadlocked that hasn't yielded within two."""

FAILED_TASK = EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have each step of a run take a long time."""
    quick = steps.next_step

    def pondered(state: RunState, now: datetime, **known: bool) -> Step:
        time.sleep(LONG)
        return quick(state, now, **known)

    monkeypatch.setattr(steps, "next_step", pondered)


async def test_a_query_that_builds_the_run_anew_takes_its_time(
    runs: Runs, request: pytest.FixtureRequest
) -> None:
    """Whoever asks a busy worker about a run that it has forgotten waits, and is answered."""
    # T-16 GF-04
    async with runs.working(scripted([say("done")])):
        run = await runs.start("it")
        await run.result()
    request.getfixturevalue("slow")
    async with runs.working(scripted([])):
        status = await run.status()
    await build_replayer(AgentRun).replay_workflow(await run.handle.fetch_history())

    assert (status.status, status.answer) == ("completed", "done")


@pytest.mark.usefixtures("slow")
async def test_a_slow_workflow_task_is_done_once(runs: Runs) -> None:
    """It isn't broken off: what that may leave behind keeps a worker waiting for ever."""
    # T-16
    async with runs.working(scripted([say("done")])):
        run = await runs.start("it")
        result = await run.result()
        history = await run.handle.fetch_history()

    assert result.answer == "done"
    assert FAILED_TASK not in {event.event_type for event in history.events}
