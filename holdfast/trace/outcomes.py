"""What a call came to that its run gave a result itself: history has no event for it."""

from temporalio.exceptions import ActivityError

from holdfast.contracts.decisions import RunAsDraftOnly
from holdfast.contracts.tools import AnyCall, ToolContract, ToolFailure, ToolResult
from holdfast.run import tool_results
from holdfast.trace.requests import Said
from holdfast.trace.values import Call, Companion
from holdfast.workflows import failures


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
    return tool_results.denied(call, "permission_denied", reason)


def aborted(call: AnyCall, reason: str) -> ToolFailure:
    """Return the result of a call that the end of its run overtook."""
    return ToolFailure(
        status="aborted", call_id=call.call_id, name=call.name, type="aborted", reason=reason
    )


def after_companion(call: Call, companion: Companion, result: ToolResult) -> ToolResult | None:
    """Return the result of a call that follows from a tool that ran for it, if it does."""
    if companion.purpose == "reconcile":
        return _reconciled(call.call, call.lost, companion.tool, result)
    if isinstance(result, ToolFailure):
        return result.model_copy(update={"name": call.call.name})
    ruled = call.rulings[-1].decision if call.rulings else None
    if not isinstance(ruled, RunAsDraftOnly) or ruled.then == "approval":
        return None
    return tool_results.draft_only(call.call, companion.draft_id, result.summary, result.data)


def _reconciled(
    call: AnyCall, lost: ToolFailure | None, finder: str, answer: ToolResult
) -> ToolResult | None:
    truth = tool_results.found(answer)
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
    return tool_results.happened(call, finder, truth.result)
