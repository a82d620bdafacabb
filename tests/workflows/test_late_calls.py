"""What a run says of its calls that waited in their queue."""

import pytest

from holdfast.contracts.state.calls import CallState
from holdfast.workflows.execution.late_calls import find_objection
from holdfast.workflows.run_context import RunContext, SentCall
from tests.builders import NOW, a_call, a_state, an_invocation

SENT = SentCall(an_invocation(), CallState(call=a_call()))


@pytest.mark.parametrize(
    ("sent", "objection"),
    [
        (SENT._replace(of_model=True), "its run is suspended"),
        (SENT, "its run is suspended"),
        (SENT._replace(suspended=True), None),
        (SENT._replace(call=None), "its run is suspended"),
    ],
    ids=["a model's", "a guardrail's", "sent all the same", "an undo"],
)
def test_what_is_sent_in_a_suspended_run_begins_in_it(
    sent: SentCall, objection: str | None
) -> None:
    """Refused, a command of a guardrail would have tripped it, and nothing is wrong."""
    run = RunContext()
    run.state = a_state().with_(suspended=True)

    assert find_objection(run, sent, NOW) == objection
