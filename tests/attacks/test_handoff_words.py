"""Words of a run whose sender is guarded, when another agent goes on with it."""

import pytest

from holdfast import Agent
from holdfast.contracts.model import Stream
from holdfast.run.delegation.handoffs import limit_receiver
from tests.builders import a_state
from tests.control.guarded import on_word


@pytest.mark.parametrize(
    ("sender", "told"), [(False, False), (True, False), ("before_checks", "before_checks")]
)
def test_a_receiver_tells_no_words_that_the_sender_holds_back(
    sender: Stream, told: Stream
) -> None:
    """What the guardrails of a sender have yet to see isn't told because the receiver would."""
    guarded = Agent(
        name="triage",
        instructions="x",
        models=["scripted:a"],
        guardrails=[on_word("no_bad", "bad", "output", on_trip="block")],
        stream=sender,
    )
    talkative = Agent(
        name="billing", instructions="x", models=["scripted:a"], stream="before_checks"
    )
    state = a_state().with_(agent=guarded.snapshot())

    receiver = limit_receiver(state, talkative.snapshot())

    assert receiver.stream == told
    assert state.with_(agent=receiver).streams_text == bool(told)
