"""Why an effect isn't taken back, and what is known of undos that were made, or lost. Pure."""

from collections.abc import Iterable

from holdfast.contracts.bounds import MAX_KNOWN_EFFECTS
from holdfast.contracts.effects import Effect, KnownEffect, UndoRuling
from holdfast.contracts.state.run import RunState
from holdfast.contracts.tools import ToolContract
from holdfast.run.summaries import call_line
from holdfast.run.tool_results import replace_effect


def describe_refusal(ruling: UndoRuling | None) -> str:
    """Say why what was done may not be taken back."""
    if ruling is None:
        return " (nothing undoes it)"
    return f" ({ruling.tool}: {ruling.verdict} by {ruling.rule}: {ruling.reason})"


def find_repeat(ruling: UndoRuling, since: Iterable[Effect]) -> str:
    """
    Say that an effect was taken back by what was done *since*, or may have been; empty where not.

    A model may have the undo among its own tools: what it called isn't made a second time.
    """
    if set(ruling.effects).isdisjoint(digest for one in since for digest in one.digests):
        return ""
    return f" ({ruling.tool}: the same call was made since, and isn't made again)"


def find_doubt(ruling: UndoRuling, beside: Iterable[Effect]) -> str:
    """Say that another part may have taken an effect back *beside* it; empty where none may."""
    theirs = tuple(beside)
    if find_repeat(ruling, theirs):
        return f" ({ruling.tool}: a part made the same call at about that time: find out)"
    return find_lost_part(ruling, theirs)


def find_lost_part(ruling: UndoRuling, since: Iterable[Effect]) -> str:
    """
    Say that a part which was lost *since* may have taken an effect back; empty where none was.

    Nobody knows of it what it did, so an undo that was allowed before isn't made behind it.
    """
    if all(one.tool for one in since):
        return ""
    return f" ({ruling.tool}: a part that was lost may have taken it back: find out)"


def keep_made(state: RunState, effect: Effect, tool: ToolContract) -> RunState:
    """Keep that an undo was made: nobody makes its call again, but for what is done anew."""
    if effect.undo is None or tool.side_effect == "local":
        return state
    fresh = (one for one in effect.undo.effects if one not in effect.digests)
    made = (KnownEffect(tool=tool.name, digest=one, outcome="done") for one in fresh)
    return keep_undone(state, *made)


def keep_undone(state: RunState, *made: KnownEffect) -> RunState:
    """Keep the latest calls that took something back; that one was dropped is never forgotten."""
    every = tuple(dict.fromkeys((*state.effects.undone, *made)))
    lost = state.effects.lost or len(every) > MAX_KNOWN_EFFECTS
    return state.with_effects(undone=every[-MAX_KNOWN_EFFECTS:], lost=lost)


def select_settled_effects(state: RunState) -> tuple[KnownEffect, ...]:
    """
    Return what was done before this run, and what it took back: but what stands and is undone so.

    What was done before is done by others, for whatever reason: it isn't done again.
    """
    standing = (one.undo for one in state.effects.done)
    undoing = frozenset(digest for undo in standing if undo for digest in undo.effects)
    undone = (one for one in state.effects.undone if one.digest not in undoing)
    return (*state.effects.known, *undone)


def doubt(state: RunState, index: int) -> RunState:
    """Keep of an effect, by its place, that nobody knows whether it still stands."""
    effect = state.effects.done[index]
    doubtful = effect.with_(
        outcome="unknown", summary=f"{effect.summary}, unless it was taken back"
    )
    return replace_effect(state, index, doubtful)


def keep_lost(state: RunState, effect: Effect, tool: ToolContract) -> RunState:
    """Keep that nobody knows whether an undo happened: nobody who comes next makes its call."""
    ruling, call = effect.undo, effect.call
    if ruling is None or not ruling.effects or call is None or tool.side_effect == "local":
        return state
    digest, named = (*ruling.effects, "")[:2]
    lost = Effect(
        summary=f"{call_line(call.with_(name=tool.name))}, if it happened",
        tool=tool.name,
        arguments=effect.arguments,
        outcome="unknown",
        digest=digest,
        named=named,
        reported=True,
    )
    return state.with_effects(done=(*state.effects.done, lost))
