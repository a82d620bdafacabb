"""One tool call as an activity of its own, under the tool's name."""

from datetime import datetime, timedelta
from typing import cast

from temporalio import workflow
from temporalio.exceptions import FailureError, is_cancelled_exception

from contracts.budget import Limits
from contracts.decisions import Decided, RunInSandbox
from contracts.state import CallState, RunState
from contracts.tools import (
    Grant,
    MalformedCall,
    ToolCall,
    ToolContract,
    ToolFailure,
    ToolInvocation,
    ToolResult,
    ToolSuccess,
)
from workflows import failures, options, results
from workflows.summaries import call_line

# Pydantic decodes a union like any type; only the annotation of execute_activity wants a class.
_RESULT = cast("type[ToolSuccess | ToolFailure]", ToolResult)


async def run_tool(
    state: RunState, asked: CallState, seconds_left: float | None, *, summary: str = ""
) -> ToolResult:
    """
    Run a call that was allowed; whatever happens to it becomes its one result.

    What no model asked for has a *summary* of its own, so that people can tell it apart.
    """
    call, drafting = asked.call, asked.drafting
    contract = state.agent.companion(call.name)
    if drafting is not None:
        contract = state.agent.companion(drafting.draft)
    if contract is None or isinstance(call, MalformedCall):
        return ToolFailure(
            status="error",
            call_id=call.call_id,
            name=call.name,
            type="internal_error",
            reason="the call was allowed, but this run has no such tool",
        )
    invocation = invoked(state, call).model_copy(
        update={
            "purpose": "call" if drafting is None else "draft",
            "draft_id": asked.draft.draft_id if asked.draft and drafting is None else None,
            "grant": _grant(asked),
        }
    )
    if drafting is None:
        contract = _as_ruled(contract, asked)
    contract = _within(state.agent.budget, contract)
    began = workflow.now()
    result = await scheduled(contract, call, invocation, seconds_left, summary=summary)
    if drafting is None and result.status == "outcome_unknown":
        over = began + timedelta(seconds=contract.timeout) + options.HEARTBEAT
        return await _reconciled(state, contract, invocation, result, over)
    # The model asked for the tool, not for its draft variant.
    return result.model_copy(update={"name": call.name})


def invoked(state: RunState, call: ToolCall) -> ToolInvocation:
    """Build what a tool is told of a call, and on whose behalf it is made."""
    return ToolInvocation(
        run_id=state.run_id,
        call_id=call.call_id,
        agent=state.agent.name,
        tenant=state.brief.tenant,
        actor=state.brief.actor,
        arguments=call.arguments,
    )


async def scheduled(
    contract: ToolContract,
    call: ToolCall,
    invocation: ToolInvocation,
    seconds_left: float | None,
    *,
    summary: str = "",
) -> ToolResult:
    """Run a tool's activity; whatever becomes of it is a result."""
    summary = summary or call_line(call.model_copy(update={"name": contract.name}))
    try:
        if contract.local:
            return await workflow.execute_local_activity(
                contract.name,
                invocation,
                result_type=_RESULT,
                **options.local_tool_call(summary, contract),
            )
        return await workflow.execute_activity(
            contract.name,
            invocation,
            result_type=_RESULT,
            **options.tool_call(
                summary, contract, seconds_left, sandboxed=invocation.grant is not None
            ),
        )
    except FailureError as error:  # a local activity fails without an ActivityError around it
        if is_cancelled_exception(error):
            raise
        return failures.tool_failure(call, contract, error)


async def _reconciled(
    state: RunState,
    contract: ToolContract,
    invocation: ToolInvocation,
    unknown: ToolResult,
    over: datetime,
) -> ToolResult:
    """
    Find out whether a call happened whose answer was lost; never ask for it again.

    Until *over* its worker may be cut off but alive, and the call under way: that it didn't happen
    is believed only after that.
    """
    finder = state.agent.companion(contract.reconcile)
    if finder is None:
        return unknown
    call = ToolCall(call_id=invocation.call_id, name=contract.name, arguments=invocation.arguments)
    asked = invocation.model_copy(update={"purpose": "reconcile", "grant": None})
    found = results.found(await scheduled(finder, call, asked, None))
    if found is not None and found.happened is False and workflow.now() < over:
        words = f"until {contract.name} can't be under way any more"
        await workflow.sleep(over - workflow.now(), summary=words)
        found = results.found(await scheduled(finder, call, asked, None))
    if found is None or found.happened is None:
        return unknown
    if not found.happened:
        return failures.never_happened(call, finder)
    return results.happened(call, finder.name, found.result)


def _within(budget: Limits, contract: ToolContract) -> ToolContract:
    """Repeat a call no more often than the run's budget says."""
    most = budget.max_tool_retries
    if most is None or contract.retry.max_retries <= most:
        return contract
    retry = contract.retry.model_copy(update={"max_retries": most})
    return contract.model_copy(update={"retry": retry})


def _grant(asked: CallState) -> Grant | None:
    return asked.decision.grant if isinstance(asked.decision, RunInSandbox) else None


def _as_ruled(contract: ToolContract, asked: CallState) -> ToolContract:
    """Run what a later deployment calls a write as one, whatever the run began with."""
    if not isinstance(asked.ruling, Decided) or asked.ruling.risk.changes_nothing:
        return contract
    return contract.model_copy(update={"risk": asked.ruling.risk, "local": False})
