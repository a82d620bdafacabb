"""Why an effect isn't taken back, and what is known of an undo whose answer is lost. Pure."""

from holdfast.contracts.effects import UndoRuling
from holdfast.contracts.state.run import RunState
from holdfast.contracts.tools import ToolContract
from holdfast.run import turns


def describe_refusal(ruling: UndoRuling | None) -> str:
    """Say why what was done may not be taken back."""
    if ruling is None:
        return " (nothing undoes it)"
    return f" ({ruling.tool}: {ruling.verdict} by {ruling.rule}: {ruling.reason})"


def find_repeat(state: RunState, index: int, ruling: UndoRuling) -> str:
    """
    Say that the effect at this place was taken back since, or may have been; empty where not.

    A model may have the undo among its own tools: what it called isn't made a second time.
    """
    since = (digest for one in state.effects.done[index + 1 :] for digest in one.digests)
    if set(ruling.effects).isdisjoint(since):
        return ""
    return f" ({ruling.tool}: the same call was made since, and isn't made again)"


def keep_lost(state: RunState, ruling: UndoRuling, tool: ToolContract) -> RunState:
    """Keep that nobody knows of an undo whether it happened: no model makes the same call."""
    if tool.side_effect == "local":
        return state
    return turns.keep_unresolved_calls(state, ruling.effects)
