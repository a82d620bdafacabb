"""Words of a run whose sender is guarded, when another agent goes on with it."""

import pytest

from holdfast import Agent, HandoffData, Risk, tool
from holdfast.contracts.model import Stream
from holdfast.run.delegation.handoffs import limit_receiver
from holdfast.testing import call, say
from tests.builders import a_state
from tests.control.guarded import on_word
from tests.memory.runs import MemoryRuns
from tests.workflows.test_handoffs import bureau, later


@tool(risk=Risk.READ_ONLY)
async def load_all(goal: str) -> HandoffData:
    """Load as much as a tool may bring."""
    return HandoffData(architecture='"\\' * 60_000)


@pytest.mark.parametrize(("letter", "length"), [("x", 590_000), ('"', 290_000), ("漢", 190_000)])
async def test_a_handoff_of_the_largest_size_ends_its_run_on_one_line(
    memory_runs: MemoryRuns, letter: str, length: int
) -> None:
    """Words as long as a reply may be, beside all that was loaded, are too much to read."""
    # HO-07
    transfer = call("transfer_to_billing", goal=letter * length)
    app = bureau([transfer], later(say("never said")), prepare=load_all)
    async with memory_runs.working(app):
        run = await memory_runs.start("triage", "charge me")
        result = await run.result()
        await run.story()

    assert (result.status, result.answer) == ("failed", None)
    assert result.stop is not None
    assert result.stop.reason == "model failed: context_overflow"
    assert result.stop.detail.startswith("ModelCall has 1,")
    assert "\n" not in result.stop.detail


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
