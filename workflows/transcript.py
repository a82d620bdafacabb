"""The transcript of a run: it only grows; what a model is shown of it may shrink. Pure."""

from contracts.run import Stop
from contracts.state import RunState
from contracts.tools import AnyCall, ToolFailure
from contracts.transcript import AssistantTurn, Mark, ToolTurn, TranscriptItem, UserTurn
from policy import context

# A payload may have 2 MB; the rest of the state and the JSON around it need room too.
CARRIED_CHARS = 800_000


def appended(state: RunState, *items: TranscriptItem) -> RunState:
    """Return the state with more items at the end of its transcript."""
    return state.model_copy(
        update={
            "items": state.items + items,
            "head": state.head.after(items),
            "context_chars": state.context_chars + sum(context.size(item) for item in items),
        }
    )


def pruned(state: RunState, before: int) -> RunState:
    """Show results before this place as stubs from now on; the record keeps them whole."""
    shown = sum(context.size(item) for item in context.view(state.items, before))
    return state.model_copy(update={"pruned_before": before, "context_chars": shown})


def halted(state: RunState, stop: Stop) -> RunState:
    """End the run without an answer; calls that were open get an `aborted` result."""
    if state.calls:
        results = tuple(call.result or _aborted(call.call, stop) for call in state.calls)
        state = appended(state.model_copy(update={"calls": ()}), ToolTurn(results=results))
    return state.model_copy(update={"stop": stop, "outcome": "stopped", "requests": ()})


def carried(state: RunState) -> RunState:
    """Return what a new execution begins with; of a long transcript only the latest part."""
    items = context.view(state.items, state.pruned_before)
    if sum(context.size(item) for item in items) <= CARRIED_CHARS:
        return state
    place = context.prune_point(items, CARRIED_CHARS // 2)
    while not isinstance(items[place], AssistantTurn):
        place += 1
    notice = UserTurn(
        text=f"(Turns before this one were left out: {place - 1} items.)", origin="notice"
    )
    kept = (items[0], notice, *items[place:])
    fresh = Mark(length=0, digest=state.head.digest)
    return appended(
        state.model_copy(
            update={
                "origin": fresh.digest,
                "sent": fresh,
                "head": fresh,
                "items": (),
                "context_chars": 0,
                "pruned_before": 0,
            }
        ),
        *kept,
    )


def _aborted(call: AnyCall, stop: Stop) -> ToolFailure:
    return ToolFailure(
        status="aborted", call_id=call.call_id, name=call.name, type="aborted", reason=stop.reason
    )
