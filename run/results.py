"""The results that a run gives calls itself, in the place of their tools. Pure."""

from pydantic import JsonValue, ValidationError

from holdfast.contracts.decisions import Decided, Deny, Refused, Ruling
from holdfast.contracts.tools import (
    AnyCall,
    ErrorType,
    Reconciled,
    ToolFailure,
    ToolResult,
    ToolSuccess,
)


def refusal(ruling: Ruling) -> ToolFailure | None:
    """Build the result of a call that may not run; null for one that may, or may yet."""
    match ruling:
        case Refused():
            return ToolFailure(
                status="error",
                call_id=ruling.call_id,
                name=ruling.tool,
                type=ruling.type,
                reason=ruling.reason,
                next_valid_actions=ruling.next_valid_actions,
            )
        case Decided(decision=Deny() as deny):
            return ToolFailure(
                status="denied",
                call_id=ruling.call_id,
                name=ruling.tool,
                type=deny.type,
                reason=deny.reason,
                next_valid_actions=deny.next_valid_actions,
            )
        case Decided():
            return None


def denied(call: AnyCall, kind: ErrorType, reason: str, *actions: str) -> ToolFailure:
    """Build the result of a call that people, or the lack of their word, kept from running."""
    return ToolFailure(
        status="denied",
        call_id=call.call_id,
        name=call.name,
        type=kind,
        reason=reason,
        next_valid_actions=actions,
    )


UNSEEABLE = "is too large to be shown whole to the person who would decide"


def too_large_to_show(call: AnyCall, what: str) -> ToolFailure:
    """Build the result of a call of which somebody would have to approve what they can't see."""
    return denied(
        call,
        "permission_denied",
        f"{what} {UNSEEABLE}",
        "ask for less at once",
    )


def no_room(call: AnyCall) -> ToolFailure:
    """Build the result of a call that isn't run, because those before it brought too much."""
    return denied(
        call,
        "permission_denied",
        "not run: the other calls of this turn brought more than there is room for",
        "ask for it again, and for less at once",
    )


def answered(call: AnyCall, text: str) -> ToolSuccess:
    """Build the result of a question: the words of the person who answered."""
    return ToolSuccess(
        call_id=call.call_id, name=call.name, summary=text[:200], data={"answer": text}
    )


def unasked(call: AnyCall) -> ToolFailure:
    """Build the result of a question in a part of a run whose guardrails look at the answers."""
    return denied(
        call,
        "permission_denied",
        "nobody is asked here: this is a part of a run whose guardrails look at people's words",
        "go on without an answer",
        "name in your own answer what you would have to know",
    )


def draft_only(call: AnyCall, draft_id: str, summary: str, data: JsonValue) -> ToolSuccess:
    """Build the result of a call of which nothing but the draft was to run."""
    return ToolSuccess(
        call_id=call.call_id,
        name=call.name,
        summary=f"only a draft, nothing was committed: {summary}",
        data={"draft_id": draft_id, "committed": False, "draft": data},
    )


def found(answer: ToolResult) -> Reconciled | None:
    """Read what a tool that reconciles found out; what can't be read tells nothing."""
    if isinstance(answer, ToolFailure):
        return None
    try:
        return Reconciled.model_validate(answer.data)
    except ValidationError:
        return None


def happened(call: AnyCall, finder: str, data: JsonValue) -> ToolSuccess:
    """Build the result of a call whose answer was lost, and that is known to have happened."""
    return ToolSuccess(
        call_id=call.call_id,
        name=call.name,
        summary=f"it happened, says {finder}; its own answer was lost",
        data=data,
    )
