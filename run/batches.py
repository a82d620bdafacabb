"""Which calls of a turn are decided next, and which run next. Pure."""

from holdfast.contracts import bounds
from holdfast.contracts.decisions import Decided
from holdfast.contracts.state import CallState, RunState
from holdfast.run import rulings


def undecided(state: RunState) -> tuple[CallState, ...]:
    """Return the calls to rule upon: never ruled upon, or approved since."""
    return tuple(call for call in state.calls if _needs_ruling(call))


def _needs_ruling(call: CallState) -> bool:
    """Whether a call was never ruled upon, or was approved since: then it is decided again."""
    if call.result is not None:
        return False
    return call.ruling is None or bool(call.approvals and rulings.wants_approval(call.ruling))


def following(state: RunState) -> tuple[CallState, ...]:
    """Open calls that change nothing, together; then drafts, then the others, one by one."""
    waiting = tuple(call for call in state.calls if call.result is None)
    harmless = tuple(call for call in waiting if changes_nothing(state, call))
    return _together(state, harmless) or drafting(state)[:1] or waiting[:1]


def drafting(state: RunState) -> tuple[CallState, ...]:
    """Return the calls that are drafted next: people are asked when all drafts are there."""
    return tuple(call for call in state.calls if call.result is None and call.drafting is not None)


def changes_nothing(state: RunState, call: CallState) -> bool:
    """Whether a call may run beside others, by its contract then and now."""
    tool = state.agent.tool(call.call.name)
    ruled = isinstance(call.ruling, Decided) and call.ruling.risk.changes_nothing
    return tool is not None and tool.risk.changes_nothing and ruled


def overfull(state: RunState) -> bool:
    """Whether the calls of a turn have brought so much that no other may bring more."""
    brought = (bounds.size(call.result) for call in state.calls if call.result is not None)
    return sum(brought) > bounds.READ


def has_more(state: RunState, batch: tuple[CallState, ...]) -> bool:
    """Whether calls ran inside the workflow task, and more of them are left than fit into it."""
    ran = any(_is_local(state, call) for call in batch)
    return ran and any(_is_local(state, call) for call in following(state))


def _is_local(state: RunState, call: CallState) -> bool:
    tool = state.agent.tool(call.call.name)
    return tool is not None and tool.local


def _together(state: RunState, calls: tuple[CallState, ...]) -> tuple[CallState, ...]:
    """
    Return the first of the calls, as many as may run beside each other whatever they answer.

    What runs inside the workflow task is sent with its end, in one message; history has all.
    """
    room, local = bounds.AT_ONCE, bounds.LOCAL_RESULTS
    for count, call in enumerate(calls):
        most = _most(state, call)
        room -= most
        local -= most if _is_local(state, call) else 0
        if count and min(room, local) < 0:
            return calls[:count]
    return calls


def _most(state: RunState, call: CallState) -> int:
    """Return how many bytes the result of a call may have; a character has four at most."""
    tool = state.agent.tool(call.call.name)
    most = bounds.RESULT if tool is None else min(4 * tool.max_result_chars, bounds.RESULT)
    return most + bounds.FAILURE
