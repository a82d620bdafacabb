"""The results that a run gives calls itself: history has no event for them."""

from pydantic import ValidationError
from temporalio.exceptions import ActivityError

from contracts.decisions import Decided, Deny, Ruling, RunAsDraftOnly
from contracts.tools import (
    AnyCall,
    ErrorType,
    Reconciled,
    ToolContract,
    ToolFailure,
    ToolResult,
    ToolSuccess,
)
from holdfast.trace.requests import Said
from holdfast.trace.values import Call, Companion
from workflows import failures


def refusal(ruling: Ruling) -> ToolFailure | None:
    """Return the result of a call that may not run."""
    match ruling:
        case Decided(decision=Deny() as decision):
            status, kind, reason = "denied", decision.type, decision.reason
            actions = decision.next_valid_actions
        case Decided():
            return None
        case _:
            status, kind, reason = "error", ruling.type, ruling.reason
            actions = ruling.next_valid_actions
    return ToolFailure(
        status=status,
        call_id=ruling.call_id,
        name=ruling.tool,
        type=kind,
        reason=reason,
        next_valid_actions=actions,
    )


def failed(call: AnyCall, contract: ToolContract | None, error: ActivityError) -> ToolFailure:
    """Return the result of a call whose activity failed."""
    if contract is not None:
        return failures.tool_failure(call, contract, error)
    return ToolFailure(
        status="error",
        call_id=call.call_id,
        name=call.name,
        type="internal_error",
        reason=failures.message(error),
    )


def rejected(call: AnyCall, said: Said) -> ToolFailure:
    """Return the result of a call that a person rejected."""
    reason = f"rejected by {said.by}: {said.reason or 'no reason given'}"
    return denied(call, "permission_denied", reason)


def answered(call: AnyCall, said: Said) -> ToolSuccess:
    """Return the result of a question: the words of the person who answered."""
    return ToolSuccess(
        call_id=call.call_id,
        name=call.name,
        summary=said.text[:200],
        data={"answer": said.text},
    )


def denied(call: AnyCall, kind: ErrorType, reason: str) -> ToolFailure:
    """Return the result of a call that people kept from running."""
    return ToolFailure(
        status="denied", call_id=call.call_id, name=call.name, type=kind, reason=reason
    )


def aborted(call: AnyCall, reason: str) -> ToolFailure:
    """Return the result of a call that the end of its run overtook."""
    return ToolFailure(
        status="aborted", call_id=call.call_id, name=call.name, type="aborted", reason=reason
    )


def found(answer: ToolResult) -> Reconciled | None:
    """Read what a tool that reconciles found out; what can't be read tells nothing."""
    if isinstance(answer, ToolFailure):
        return None
    try:
        return Reconciled.model_validate(answer.data)
    except ValidationError:
        return None


def after_companion(call: Call, companion: Companion, result: ToolResult) -> ToolResult | None:
    """Return the result of a call that follows from a tool that ran for it, if it does."""
    if companion.purpose == "reconcile":
        return _reconciled(call.call, call.lost, companion.tool, result)
    if isinstance(result, ToolFailure):
        return result.model_copy(update={"name": call.call.name})
    ruled = call.rulings[-1].decision if call.rulings else None
    if not isinstance(ruled, RunAsDraftOnly) or ruled.then == "approval":
        return None
    return ToolSuccess(
        call_id=call.call.call_id,
        name=call.call.name,
        summary=f"only a draft, nothing was committed: {result.summary}",
        data={"draft_id": companion.draft_id, "committed": False, "draft": result.data},
    )


def _reconciled(
    call: AnyCall, lost: ToolFailure | None, finder: str, answer: ToolResult
) -> ToolResult | None:
    truth = found(answer)
    if truth is None or truth.happened is None:
        return lost
    if not truth.happened:
        return ToolFailure(
            status="error",
            call_id=call.call_id,
            name=call.name,
            type="timeout",
            reason=f"it didn't happen, says {finder}",
        )
    return ToolSuccess(
        call_id=call.call_id,
        name=call.name,
        summary=f"it happened, says {finder}; its own answer was lost",
        data=truth.result,
    )
