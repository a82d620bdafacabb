"""An answer on its way out, and what may be told of it before. Pure."""

from pydantic import JsonValue

from holdfast.contracts.calls import ToolResult, ToolSuccess
from holdfast.contracts.control import Approach, Candidate, Gate
from holdfast.contracts.guardrails import WITHHELD, GuardrailVerdict, Signals
from holdfast.contracts.state.answering import Rejection
from holdfast.contracts.state.phase import Closing, Ended, Stopping, Working
from holdfast.contracts.state.run import RunState
from holdfast.contracts.transcript import AssistantTurn, ToolTurn, TranscriptItem, UserTurn
from holdfast.run import gates
from holdfast.run.transcript import drop_candidate

PEOPLE_ORIGINS = frozenset({"goal", "message", "steer", "guidance", "project"})
"""Where words of a transcript come from that no model said, nor a guardrail about a model's."""


def propose(state: RunState, text: str, output: JsonValue) -> RunState:
    """Take an answer; where nobody stands at a gate it is out at once."""
    if state.conversation.steers:
        return state  # somebody said more meanwhile, and the model must read it
    candidate = Candidate(text=text, output=output)
    # What was measured of an earlier answer says nothing of this one.
    return release_if_clear(state.with_answering(candidate=candidate, signals=Signals()))


def release_if_clear(state: RunState) -> RunState:
    """Release an answer that nothing holds any more."""
    candidate = state.answering.candidate
    if candidate is None or state.oversight.requests or gates.next_gate(state) is not None:
        return state
    match state.phase:
        case Stopping() | Ended():
            return state
        case Closing(stop=stop, summary=summary):
            end = Ended(outcome="stopped", stop=stop, summary=summary)
            return state.with_(phase=end).with_answering(candidate=None)
        case Working():
            return state.with_(phase=Ended(outcome="completed")).with_answering(
                candidate=None,
                answer=candidate.text,
                output=candidate.output,
                confidence=gates.score(state).value,
            )


def pass_gate(state: RunState, gate: Gate) -> RunState:
    """Let an answer pass a gate."""
    candidate = state.answering.candidate
    if candidate is None:
        return state
    fresh = Candidate(
        text=candidate.text, output=candidate.output, cleared=(*candidate.cleared, gate)
    )
    return release_if_clear(state.with_answering(candidate=fresh))


def withhold(
    state: RunState, verdict: GuardrailVerdict, rejection: Rejection | None = None
) -> RunState:
    """Withhold an answer; what the run did for it is taken back next."""
    state = drop_candidate(state, verdict.guardrail)
    return state.with_answering(tripped=verdict, rejection=rejection)


def redact(state: RunState, words: str) -> str:
    """Quote what a model said, where it may be told before an answer is out."""
    return WITHHELD if words and state.withholds else words


def redact_reason(state: RunState, verdict: GuardrailVerdict) -> str:
    """Say why a guardrail tripped, where an answer that it may quote is told to nobody."""
    return redact(state, verdict.reason) if verdict.quotes else verdict.reason


def redact_goal(state: RunState) -> str:
    """Quote the goal: the first that anybody said, or in a session the latest message."""
    people = [item for item in state.conversation.items if item.kind == "user"]
    messages = [item for item in people if item.origin == "message"]
    said = (*messages[-1:], *people[:1])[0].text if people else ""
    return WITHHELD if state.brief.withheld else said


def find_disclosable_answer(state: RunState) -> str | None:
    """Quote the answer that nobody is sure of: it has passed all gates but the last."""
    candidate = state.answering.candidate
    if candidate is None or state.brief.withheld or gates.next_gate(state) != "confidence":
        return None
    return candidate.text


def redact_approaches(state: RunState) -> tuple[Approach, ...]:
    """Return the approaches that failed: a plan is a quote, the name of a tier is none."""
    if state.agent.tiers is not None:
        return state.approaches.failed
    return tuple(
        one.model_copy(update={"approach": redact(state, one.approach)})
        for one in state.approaches.failed
    )


def redact_item(item: TranscriptItem, told: frozenset[str] = PEOPLE_ORIGINS) -> TranscriptItem:
    """Leave out what a model said, and what guardrails and checks said of it."""
    match item:
        case AssistantTurn():
            said = WITHHELD if item.words else ""
            return item.with_(text=said, parts=())
        case UserTurn() if item.origin not in told:
            return item.model_copy(update={"text": WITHHELD})
        case ToolTurn():
            return item.copy_with({"results": tuple(map(redact_result, item.results))})
        case _:
            return item


def redact_result(result: ToolResult) -> ToolResult:
    """Leave out what an agent answered that did a part: the whole may answer with it."""
    if isinstance(result, ToolSuccess) and result.by_agent:
        return result.with_(summary=WITHHELD, data=None)
    return result
