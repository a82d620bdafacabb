"""A run that waits for its provider for long: its history stays bounded."""

from datetime import timedelta

import pytest

from holdfast.run import fallbacks, steps
from holdfast.run.limits import fallback
from holdfast.workflows import options
from tests.builders import NOW, a_state, an_agent
from tests.control.test_patience import HOUR, Outage, failed, patient
from tests.running import Runs
from tests.sample import scripted


def test_a_run_that_waits_with_a_long_history_goes_on_in_a_new_execution() -> None:
    """It hasn't had a turn, and nobody says anything to it."""
    agent = an_agent(settings=patient(24 * HOUR), models=("scripted:it",))
    state = a_state().with_(agent=agent)
    waiting = fallbacks.wait_for_provider(state, failed("overloaded"), NOW)

    assert waiting is not None
    step = steps.next_step(waiting, NOW, history_is_long=True)
    assert isinstance(step, steps.ContinueAsNew), step


@pytest.mark.timeout(145)
async def test_no_wait_for_a_provider_fills_a_history(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each time that the provider is asked its goal of 290 kB is sent."""
    monkeypatch.setattr(fallback, "FIRST_WAIT", timedelta(seconds=0.01))
    monkeypatch.setattr(fallback, "LONGEST_WAIT", timedelta(seconds=0.01))
    monkeypatch.setattr(options, "MAX_HISTORY_BYTES", 1_000_000)
    async with runs.working(scripted(Outage(12), settings=patient(24 * HOUR))):
        run = await runs.start("it", "x" * 150_000 + "\N{EURO SIGN}" * 49_000)
        result = await run.result()
        execution = await run.execution()

    assert (result.status, result.answer) == ("completed", "done")
    assert execution != run.first_execution
