"""Which calls of a turn are decided next, and which run next. Pure."""

from contracts.decisions import Decided
from contracts.state import CallState, RunState
from workflows import rulings


def undecided(state: RunState) -> tuple[CallState, ...]:
    """Return the calls to rule upon: never ruled upon, or approved since."""
    return tuple(call for call in state.calls if _needs_ruling(call))


def _needs_ruling(call: CallState) -> bool:
    """Whether a call was never ruled upon, or was approved since: then it is decided again."""
    if call.result is not None:
        return False
    return call.ruling is None or bool(call.approvals and rulings.wants_approval(call.ruling))


def following(state: RunState) -> tuple[CallState, ...]:
    """All open calls that change nothing together; then drafts, then the others, one by one."""
    waiting = tuple(call for call in state.calls if call.result is None)
    harmless = tuple(call for call in waiting if changes_nothing(state, call))
    return harmless or drafting(state)[:1] or waiting[:1]


def drafting(state: RunState) -> tuple[CallState, ...]:
    """Return the calls that are drafted next: people are asked when all drafts are there."""
    return tuple(call for call in state.calls if call.result is None and call.drafting is not None)


def changes_nothing(state: RunState, call: CallState) -> bool:
    """Whether a call may run beside others, by its contract then and now."""
    tool = state.agent.tool(call.call.name)
    ruled = isinstance(call.ruling, Decided) and call.ruling.risk.changes_nothing
    return tool is not None and tool.risk.changes_nothing and ruled
