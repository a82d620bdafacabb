"""What those who watch a run are not told: words that output guardrails look at."""

from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import AnyCall, ToolCall, ToolFailure, ToolResult, ToolSuccess
from holdfast.contracts.guardrails import WITHHELD
from holdfast.trace.values import Trace


def withholds(run: Trace) -> bool:
    """Whether what its models say is told to nobody before it is out."""
    return run.agent is None or run.agent.guards_answers or serves_guarded_run(run)


def serves_guarded_run(run: Trace) -> bool:
    """Whether it works for a run with output guardrails, on what may be that one's answer."""
    return run.brief is None or run.brief.withheld


def find_arguments(run: Trace, call: AnyCall) -> JsonObject | None:
    """Return the arguments of a call, unless they may quote an answer that isn't out."""
    hidden = serves_guarded_run(run)
    return call.arguments if isinstance(call, ToolCall) and not hidden else None


def show_result(run: Trace, result: ToolResult) -> ToolResult:
    """Return a result, without what may quote an answer that isn't out."""
    if not serves_guarded_run(run):
        return result
    match result:
        case ToolSuccess():
            return result.with_(summary=WITHHELD, data=None)
        case ToolFailure():
            return result.with_(reason=WITHHELD, next_valid_actions=())
