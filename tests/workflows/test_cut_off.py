"""What a run takes a write for whose activity ended before the tool was done."""

import pytest
from temporalio.exceptions import ActivityError, ApplicationError

from holdfast.contracts.tools import Risk
from holdfast.workflows import failures
from tests.builders import a_call, a_contract

WRITE = a_contract("write", risk=Risk.WRITE_LOCAL, side_effect="local")


def ended(kind: str) -> ActivityError:
    """An activity that failed in its worker with an error of this type."""
    error = ActivityError(
        "Activity task failed",
        scheduled_event_id=5,
        started_event_id=6,
        identity="w",
        activity_type="write",
        activity_id="1",
        retry_state=None,
    )
    error.__cause__ = ApplicationError("it ended", type=kind)
    return error


@pytest.mark.parametrize("kind", ["WorkerShutdown", "ActivityPause", "ActivityReset"])
def test_a_write_that_was_cut_off_may_have_happened(kind: str) -> None:
    """A worker that is told to stop leaves behind what one that is killed does."""
    assert (
        failures.build_tool_failure(a_call("write"), WRITE, ended(kind)).status
        == "outcome_unknown"
    )


def test_a_write_in_the_workspace_that_failed_is_an_error() -> None:
    """Its tool had its say."""
    assert (
        failures.build_tool_failure(a_call("write"), WRITE, ended("Tool:KeyError")).status
        == "error"
    )
