"""What the numbers of a run are good for."""

from datetime import timedelta

import pytest

from holdfast.workflows.options import compute_max_events


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
