"""What the numbers of a run are good for."""

from datetime import timedelta

import pytest

from holdfast.contracts.guardrails import GuardrailSpec
from holdfast.contracts.tools import RetryRule
from holdfast.workflows.options import (
    compute_max_events,
    local_guardrail,
    local_tool_call,
    record,
)
from tests.builders import a_contract


@pytest.mark.parametrize(
    ("max_events", "task_timeout", "allowed"),
    [
        pytest.param(15_000, timedelta(seconds=10), 15_000, id="a plain client's run"),
        pytest.param(15_000, timedelta(seconds=3), 4_500, id="a run of our command line"),
        pytest.param(100, timedelta(seconds=10), 100, id="an agent's own limit"),
    ],
)
def test_a_history_can_be_replayed_in_one_task(
    max_events: int, task_timeout: timedelta, allowed: int
) -> None:
    """A run with a short task time-out goes on in a new execution sooner: replay must fit in."""
    # T-33
    assert compute_max_events(max_events, task_timeout) == allowed


def test_a_run_is_deaf_for_half_a_minute_at_most() -> None:
    """All attempts of what runs inside a workflow task have one limit, however many they are."""
    eager = a_contract(local=True, timeout=10.0, retry=RetryRule(max_retries=10, backoff=1.0))
    quick = GuardrailSpec(name="quick", layer="input", on_trip="block", local=True, timeout=10.0)
    both = (local_tool_call("look", eager), local_guardrail("guardrail:quick", quick))

    assert [one.get("schedule_to_close_timeout") for one in both] == [timedelta(seconds=30)] * 2


def test_what_cant_be_put_on_record_for_weeks_fills_no_history() -> None:
    """A full log, or an archive that is away: a server ends a history that has 51,200 events."""
    # T-33
    policy, events_each = record("line").get("retry_policy"), 6
    assert policy is not None
    assert policy.maximum_interval is not None

    attempts = timedelta(days=14) / policy.maximum_interval

    assert attempts * events_each < 51_200
