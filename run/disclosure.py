"""What is told of words that a model said, to anybody but a model: every quote of them. Pure."""

from holdfast.contracts.control import Approach
from holdfast.contracts.state import RunState
from holdfast.run import gates

WITHHELD = "[withheld: output guardrails look at what is said]"


def quoted(state: RunState, words: str) -> str:
    """Quote what a model said, where it may be told before an answer is out."""
    return WITHHELD if words and state.withholds else words


def goal(state: RunState) -> str:
    """Quote the goal: the first that anybody said, which may be the answer of another run."""
    said = next((item.text for item in state.items if item.kind == "user"), "")
    return WITHHELD if state.brief.withheld else said


def answer(state: RunState) -> str | None:
    """Quote the answer that nobody is sure of: it has passed all gates but the last."""
    if state.candidate is None or state.brief.withheld or gates.next_gate(state) != "confidence":
        return None
    return state.candidate.text


def approaches(state: RunState) -> tuple[Approach, ...]:
    """Return the approaches that failed: a plan is a quote, the name of a tier is none."""
    if state.agent.tiers is not None:
        return state.approaches
    return tuple(
        one.model_copy(update={"approach": quoted(state, one.approach)})
        for one in state.approaches
    )
