"""An answer on its way out: proposed, withheld, released. Pure."""

from pydantic import JsonValue

from holdfast.contracts.control import Candidate, Gate
from holdfast.contracts.guardrails import GuardrailVerdict, Signals
from holdfast.contracts.state import RunState
from holdfast.run import gates


def proposed(state: RunState, text: str, output: JsonValue) -> RunState:
    """Take an answer; where nobody stands at a gate it is out at once."""
    if state.steers:
        return state  # somebody said more meanwhile, and the model must read it
    candidate = Candidate(text=text, output=output)
    # What was measured of an earlier answer says nothing of this one.
    fresh = {"candidate": candidate, "signals": Signals()}
    return advanced(state.model_copy(update=fresh))


def advanced(state: RunState) -> RunState:
    """Release an answer that nothing holds any more."""
    candidate = state.candidate
    if candidate is None or state.requests or gates.next_gate(state) is not None:
        return state
    return state.model_copy(
        update={
            "candidate": None,
            "answer": candidate.text,
            "output": candidate.output,
            "outcome": "completed",
            "confidence": gates.score(state).value,
        }
    )


def cleared(state: RunState, gate: Gate) -> RunState:
    """Let an answer pass a gate."""
    candidate = state.candidate
    if candidate is None:
        return state
    fresh = candidate.model_copy(update={"cleared": (*candidate.cleared, gate)})
    return advanced(state.model_copy(update={"candidate": fresh}))


def withheld(state: RunState, verdict: GuardrailVerdict) -> RunState:
    """Withhold an answer; what the run did for it is taken back next."""
    return state.model_copy(update={"tripped": verdict, "candidate": None})
