"""The transcript of a run: it only grows; what a model is shown of it may shrink. Pure."""

from contracts.control import Checkpoint
from contracts.run import RunStatus, Stop
from contracts.state import RunState
from contracts.tools import AnyCall, ToolFailure
from contracts.transcript import Mark, ToolTurn, TranscriptItem
from policy import context
from workflows import gates

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
    return appended(state.model_copy(update={"calls": ()}), ToolTurn(results=results))


def carried(state: RunState) -> RunState:
    """Return what a new execution begins with; of a long transcript only what is left in view."""
    items, seen = context.carried(state.items, state.view, state.agent.max_context_bytes)
    shortened = False
    for place in (context.prune_point(items, CARRIED_BYTES, seen), len(items)):
        if context.total(items) > CARRIED_BYTES:
            pruned = seen.model_copy(update={"pruned_before": place})
            items, seen = context.carried(items, pruned, CARRIED_BYTES)
            shortened = True
    begun = Mark(digest=state.head.digest)
    state = gates.looked(state)
    end = len(state.items)
    fresh = {
        "origin": begun.digest,
        "sent": begun,
        "head": begun,
        "items": (),
        "context_bytes": 0,
        "pruned_before": 0,
        "hidden": (),
        "summarised_before": seen.summarised_before,
        "guarded": 0 if shortened else max(len(items) - (end - state.guarded), 0),
        "watched": 0 if shortened else max(len(items) - (end - state.watched), 0),
        "checkpoint": _carried_checkpoint(state),
    }
    return appended(state.model_copy(update=fresh), *items)


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
