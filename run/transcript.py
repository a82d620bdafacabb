"""The transcript of a run: it only grows; what a model is shown of it may shrink. Pure."""

from holdfast.contracts.base import JsonObject
from holdfast.contracts.bounds import CARRIED, RESULTS, STATE, TURN, size
from holdfast.contracts.control import Checkpoint
from holdfast.contracts.run import RunStatus, Stop
from holdfast.contracts.state import CallState, RunState
from holdfast.contracts.tools import AnyCall, ToolCall, ToolFailure, ToolResult
from holdfast.contracts.transcript import AssistantTurn, ToolTurn, TranscriptDigest, TranscriptItem
from holdfast.run import context, gates


def appended(state: RunState, *items: TranscriptItem) -> RunState:
    """Return the state with more items at the end of its transcript."""
    return state.model_copy(
        update={
            "items": state.items + items,
            "head": state.head.after(items),
            "context_bytes": state.context_bytes + context.total(items),
        }
    )


def pruned(state: RunState, before: int) -> RunState:
    """Show less of what stands before this place from now on; the record keeps it whole."""
    return measured(state.model_copy(update={"pruned_before": before}))


def measured(state: RunState) -> RunState:
    """Measure what a model is shown from now on."""
    shown = context.shown(state.items, state.view, state.agent.max_context_bytes)
    return state.model_copy(update={"context_bytes": context.total(shown)})


def halted(state: RunState, stop: Stop, outcome: RunStatus = "stopped") -> RunState:
    """
    End the run without an answer.

    Calls that were open get an `aborted` result, and what waited for people is withdrawn.
    """
    return aborted(state, stop).model_copy(
        update={"stop": stop, "outcome": outcome, "requests": (), "candidate": None}
    )


def aborted(state: RunState, stop: Stop) -> RunState:
    """Close the turn: calls that were open get an `aborted` result."""
    if not state.calls:
        return state
    results = tuple(call.result or _aborted(call.call, stop) for call in state.calls)
    return appended(state.model_copy(update={"calls": ()}), closing(state, results))


def closing(state: RunState, results: tuple[ToolResult, ...]) -> ToolTurn:
    """Build what closes the turn, with what its calls left out of their arguments."""
    turn, filled = state.items[-1], dict[str, JsonObject]()
    asked = {one.call_id: one for one in turn.calls} if isinstance(turn, AssistantTurn) else {}
    for call in (one.call for one in state.calls):
        written = asked.get(call.call_id)
        if isinstance(call, ToolCall) and isinstance(written, ToolCall):
            filled[call.call_id] = call.beyond(written.arguments)
    filled = {call_id: values for call_id, values in filled.items() if values}
    return ToolTurn(results=bounded(state, results), filled=filled)


def bounded(state: RunState, results: tuple[ToolResult, ...]) -> tuple[ToolResult, ...]:
    """Return results as there is room for them behind the turn that asked for them."""
    room = TURN - context.size(state.items[-1])
    return context.bounded(results, min(room, RESULTS))


def carried(state: RunState) -> RunState:
    """
    Return what a new execution begins with; of a long transcript only what is left in view.

    What calls did that guardrails have yet to look at stays whole, however long it is.
    """
    state = gates.looked(state)
    unlooked = gates.unlooked(state)
    items, seen = context.carried(state.items, state.view, state.agent.max_context_bytes)
    calls = _carried_calls(state)
    rest = size(state.model_copy(update={"items": (), "calls": calls}))
    room, shortened = max(min(CARRIED, STATE - rest), 0), False
    for place in (context.prune_point(items, room, seen), len(items)):
        if context.total(items) > room:
            before = min(place, len(items) - unlooked)
            pruned = seen.model_copy(update={"pruned_before": before})
            items, seen = context.carried(items, pruned, room)
            shortened = True
    begun = TranscriptDigest(digest=state.head.digest)
    ahead = len(state.items) - state.guarded
    beside = len(state.items) - state.watched
    fresh = {
        "origin": begun.digest,
        "sent": begun,
        "head": begun,
        "items": (),
        "context_bytes": 0,
        "pruned_before": 0,
        "hidden": (),
        "summarised_before": seen.summarised_before,
        "guarded": _place(items, ahead, moved=shortened and not unlooked),
        "watched": _place(items, beside, moved=shortened),
        "checkpoint": _carried_checkpoint(state),
        "calls": calls,
    }
    return appended(state.model_copy(update=fresh), *items)


def _place(items: tuple[TranscriptItem, ...], left: int, *, moved: bool) -> int:
    """Return the place behind what was looked at; where nobody can tell, all is looked at."""
    return 0 if moved and left else max(len(items) - left, 0)


def _carried_calls(state: RunState) -> tuple[CallState, ...]:
    """Return the calls of an open turn, with their results as the turn will show them."""
    results = tuple(call.result for call in state.calls if call.result is not None)
    kept = {result.call_id: result for result in bounded(state, results)} if results else {}
    return tuple(
        call.model_copy(update={"result": kept.get(call.call.call_id)}) for call in state.calls
    )


def _carried_checkpoint(state: RunState) -> Checkpoint | None:
    """Find the checkpoint's place among what is carried; what came before it is in view there."""
    if state.checkpoint is None:
        return None
    before = state.items[: state.checkpoint.items]
    items, _ = context.carried(before, state.view, state.agent.max_context_bytes)
    return state.checkpoint.model_copy(update={"items": len(items)})


def _aborted(call: AnyCall, stop: Stop) -> ToolFailure:
    return ToolFailure(
        status="aborted", call_id=call.call_id, name=call.name, type="aborted", reason=stop.reason
    )
