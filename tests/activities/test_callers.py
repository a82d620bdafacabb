"""Nothing that a run asks for can be asked for by anybody else."""

import dataclasses
from collections.abc import Mapping

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from holdfast.activities.callers import FOREIGN_CALLER, build_hand_back, require_run_caller
from tests.asking import in_run


def refused(changes: Mapping[str, str | None]) -> ApplicationError:
    environment = in_run("run-1")
    environment.info = dataclasses.replace(environment.info, activity_type="look", **changes)
    with pytest.raises(ApplicationError) as raised:
        environment.run(require_run_caller, "run-1")
    return raised.value


@pytest.mark.parametrize(
    ("changes", "caller"),
    [
        pytest.param({"workflow_type": None, "workflow_id": None}, "a client", id="standalone"),
        pytest.param({"workflow_id": None}, "a workflow 'AgentRun'", id="no workflow"),
        pytest.param({"workflow_type": "Mallory"}, "a workflow 'Mallory'", id="another type"),
        pytest.param({"workflow_id": "run-2"}, "the run 'run-2' in the name", id="another run"),
    ],
)
def test_only_a_run_may_ask(changes: Mapping[str, str | None], caller: str) -> None:
    """A client, a foreign workflow and another run are refused for good, with a way out."""
    error = refused(changes)

    assert (error.type, error.non_retryable) == (FOREIGN_CALLER, True)
    assert error.message.startswith(f"'look' was asked for by {caller}")
    assert "start a run instead" in error.message


def test_a_run_may_ask() -> None:
    """The run itself is let through."""
    in_run("run-1").run(require_run_caller, "run-1")


def test_what_no_run_asked_for_is_refused_by_default() -> None:
    """The surroundings of a plain unit test are no run."""
    with pytest.raises(ApplicationError, match="was asked for by"):
        ActivityEnvironment().run(require_run_caller, "run-1")


def test_what_is_handed_back_is_offered_again_soon() -> None:
    """At first it is chance which worker takes it; what nobody has for a while costs little."""
    environment, delays = ActivityEnvironment(), list[float]()
    for attempt in (1, 2, 5, 50, 100_000):
        environment.info = dataclasses.replace(environment.info, attempt=attempt)
        error = environment.run(build_hand_back, "no such tool")
        assert error.next_retry_delay is not None
        delays.append(round(error.next_retry_delay.total_seconds(), 2))

    assert delays == [0.25, 0.31, 0.61, 10, 10]
