"""What is drafted for calls: whether a draft runs, and what came of it. Pure."""

from holdfast.contracts.calls import ToolResult, ToolSuccess
from holdfast.contracts.decisions import Decided
from holdfast.contracts.state.calls import CallState
from holdfast.contracts.state.run import RunState
from holdfast.run import tool_results


def is_draft(call: CallState) -> bool:
    """Whether a draft runs for a call, and no read; of earlier releases nobody says so."""
    named = isinstance(call.ruling, Decided) and call.ruling.by_tools
    return bool(named) and call.drafting is not None


def find_draft_result(call: CallState) -> ToolResult | None:
    """Return what came of the draft that was made for a call; null for a call that has none."""
    drafting, draft = call.drafting if is_draft(call) else None, call.draft
    if drafting is not None and call.result is not None:
        if call.result.status == "outcome_unknown":
            return call.result.with_(name=drafting.draft)
        if draft is None and call.drafted_bytes:  # it was too large to be kept
            return ToolSuccess(
                call_id=call.call.call_id, name=drafting.draft, summary="", crowded_out=True
            )
    if draft is None or not (drafting or call.drafted_bytes):
        return None
    return ToolSuccess(
        call_id=draft.call_id, name=draft.tool, summary=draft.summary, data=draft.data
    )


def take_made(state: RunState) -> RunState:
    """
    Answer calls that are only drafted with the draft that was made for them: none is made twice.

    People were to decide about it, and by now nobody is: a rule that had them asked has ended.
    """
    calls = tuple(map(_take_made, state.calls))
    return state if calls == state.calls else state.with_(calls=calls)


def _take_made(call: CallState) -> CallState:
    drafting, draft = call.drafting, call.draft
    if drafting is None or draft is None or call.result is not None:
        return call
    if (drafting.draft, drafting.then) != (draft.tool, "result"):
        return call
    made = tool_results.build_draft_result(call.call, draft.draft_id, draft.summary, draft.data)
    return call.with_(result=made)
