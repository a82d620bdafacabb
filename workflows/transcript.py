"""The transcript of a run: it only grows; what a model is shown of it may shrink. Pure."""

from contracts.run import Stop
from contracts.state import RunState
from contracts.tools import AnyCall, ToolFailure
from contracts.transcript import Mark, ToolTurn, TranscriptItem
from policy import context

CARRIED_BYTES = 600_000
"""A payload may have 2 MB, and the goal, the agent and the rest of the state come on top."""


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
    shown = context.view(state.items, before, state.agent.max_context_bytes)
    return state.model_copy(
        update={"pruned_before": before, "context_bytes": context.total(shown)}
    )


def halted(state: RunState, stop: Stop) -> RunState:
    """
    End the run without an answer.

    Calls that were open get an `aborted` result, and what waited for people is withdrawn.
    """
    if state.calls:
        results = tuple(call.result or _aborted(call.call, stop) for call in state.calls)
        state = appended(state.model_copy(update={"calls": ()}), ToolTurn(results=results))
    return state.model_copy(update={"stop": stop, "outcome": "stopped", "requests": ()})


def carried(state: RunState) -> RunState:
    """Return what a new execution begins with; of a long transcript only what is left in view."""
    items = context.view(state.items, state.pruned_before, state.agent.max_context_bytes)
    for place in (context.prune_point(state.items, CARRIED_BYTES), len(state.items)):
        if context.total(items) > CARRIED_BYTES:
            items = context.view(state.items, place, CARRIED_BYTES)
    begun = Mark(digest=state.head.digest)
    fresh = {
        "origin": begun.digest,
        "sent": begun,
        "head": begun,
        "items": (),
        "context_bytes": 0,
        "pruned_before": 0,
    }
    return appended(state.model_copy(update=fresh), *items)


def _aborted(call: AnyCall, stop: Stop) -> ToolFailure:
    return ToolFailure(
        status="aborted", call_id=call.call_id, name=call.name, type="aborted", reason=stop.reason
    )
