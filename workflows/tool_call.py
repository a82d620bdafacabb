"""One tool call as an activity of its own, under the tool's name."""

from typing import cast

from temporalio import workflow
from temporalio.exceptions import FailureError, is_cancelled_exception

from contracts.decisions import Decided
from contracts.state import CallState, RunState
from contracts.tools import MalformedCall, ToolFailure, ToolInvocation, ToolResult, ToolSuccess
from workflows import failures, options
from workflows.summaries import call_line

# Pydantic decodes a union like any type; only the annotation of execute_activity wants a class.
_RESULT = cast("type[ToolSuccess | ToolFailure]", ToolResult)


async def run_tool(state: RunState, asked: CallState, seconds_left: float | None) -> ToolResult:
    """Run a call that was allowed; whatever happens to it becomes its one result."""
    call = asked.call
    contract = state.agent.tool(call.name)
    if contract is None or isinstance(call, MalformedCall):
        return ToolFailure(
            status="error",
            call_id=call.call_id,
            name=call.name,
            type="internal_error",
            reason="the call was allowed, but this run has no such tool",
        )
    if isinstance(asked.ruling, Decided) and not asked.ruling.risk.changes_nothing:
        # What a later deployment calls a write is run as one, whatever the run began with.
        contract = contract.model_copy(update={"risk": asked.ruling.risk, "local": False})
    invocation = ToolInvocation(
        run_id=state.run_id,
        call_id=call.call_id,
        agent=state.agent.name,
        tenant=state.brief.tenant,
        actor=state.brief.actor,
        arguments=call.arguments,
    )
    summary = call_line(call)
    try:
        if contract.local:
            return await workflow.execute_local_activity(
                call.name,
                invocation,
                result_type=_RESULT,
                **options.local_tool_call(summary, contract),
            )
        return await workflow.execute_activity(
            call.name,
            invocation,
            result_type=_RESULT,
            **options.tool_call(summary, contract, seconds_left),
        )
    except FailureError as error:  # a local activity fails without an ActivityError around it
        if is_cancelled_exception(error):
            raise
        return failures.tool_failure(call, contract, error)
