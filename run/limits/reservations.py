"""
What calls are thought to cost: reserved once guardrails let them pass, booked when they have run.

Nobody tells what a call really cost, so what was reserved counts for it. What didn't run cost
nothing. A draft of it costs what those say of it who name the tool that drafts.
"""

from decimal import Decimal

from holdfast.contracts.budget import Ledger
from holdfast.contracts.calls import ToolFailure, ToolResult
from holdfast.contracts.decisions import Decided
from holdfast.contracts.guardrails import GuardrailVerdict
from holdfast.contracts.state.calls import CallState
from holdfast.contracts.state.run import RunState
from holdfast.run.limits import budgets
from holdfast.run.tool_results import MAY_HAVE_RUN_STATUSES


def add_reservations(state: RunState, *, without: str = "") -> Ledger:
    """Return what a run has used with what its turn's calls reserve; one may be left out."""
    calls = tuple(call for call in state.calls if call.call.call_id != without)
    return _book(state.ledger, calls)


def book_ended_calls(
    state: RunState, calls: tuple[CallState, ...], results: tuple[ToolResult, ...]
) -> Ledger:
    """Book what the end of no turn will: calls broken off, drafts, and all of a closed turn."""
    found = {result.call_id: result for result in results}
    ended = tuple(
        call.with_(result=result)
        for call in calls
        if (result := found.get(call.call.call_id)) is not None
    )
    booked = (call for call in ended if _was_broken_off(call) or _was_made_as_draft(call))
    begun = sum((call.cost for call in booked), Decimal(0))
    ledger = state.ledger if state.calls else _book(state.ledger, ended)
    return ledger.with_(call_cost=ledger.call_cost + begun) if begun else ledger


def _book(ledger: Ledger, calls: tuple[CallState, ...]) -> Ledger:
    cost = sum((call.cost for call in calls if _holds_cost(call)), Decimal(0))
    return ledger.with_(call_cost=ledger.call_cost + cost) if cost else ledger


def estimate_cost(verdicts: tuple[GuardrailVerdict, ...]) -> Decimal:
    """Return what guardrails think that a call costs."""
    return sum((one.cost for one in verdicts), Decimal(0))


def select_cost(
    state: RunState, call: CallState, verdicts: tuple[GuardrailVerdict, ...]
) -> Decimal:
    """Return what of that is reserved: of a draft what those say who name the tool that drafts."""
    if (drafting := call.drafting) is None:
        return estimate_cost(verdicts)
    naming = {one.name for one in state.agent.guardrails if drafting.draft in one.tools}
    return estimate_cost(tuple(one for one in verdicts if one.guardrail in naming))


def refuse_beyond_budget(
    state: RunState, call_id: str, verdicts: tuple[GuardrailVerdict, ...]
) -> tuple[GuardrailVerdict, ...]:
    """
    Have an estimate trip that doesn't fit beside those of the calls before it.

    Calls of one turn are looked at together, so each of them was told of the same that is left.
    """
    cost = estimate_cost(verdicts)
    ledger = add_reservations(state, without=call_id)
    left = budgets.cost_left(state.agent.budget, ledger)
    if not cost or left is None or float(cost) <= left:
        return verdicts
    reason = f"the call costs about ${cost}, and ${left:g} of the budget is left"
    return tuple(
        one.with_tripwire(reason) if one.cost and not one.tripwire_triggered else one
        for one in verdicts
    )


def is_beyond_ceiling(state: RunState, call_id: str, cost: Decimal) -> bool:
    """Whether a call costs more than is left of what the run that this one works for gave it."""
    if state.ceiling is None:
        return False
    ledger = add_reservations(state, without=call_id)
    left = budgets.cost_left(state.ceiling, ledger)
    return left is not None and float(cost) > left


def _holds_cost(call: CallState) -> bool:
    if not call.guarded:
        return False
    ended = call.result
    if call.drafting is not None:
        return ended is None  # it was booked when it ended
    return ended is None or ended.status in MAY_HAVE_RUN_STATUSES or _was_cut_off(call)


def _was_cut_off(call: CallState) -> bool:
    """Whether a read began that came to nothing, and didn't say itself that it did nothing."""
    reads = isinstance(call.ruling, Decided) and call.ruling.runs_as.changes_nothing
    match call.result:
        case ToolFailure(status="error", type="timeout" | "internal_error"):
            return reads
        case _:
            return False


def _was_broken_off(call: CallState) -> bool:
    """Whether a call had begun that has come to nothing: what it cost by then nobody knows."""
    return call.drafting is None and call.result is not None and call.result.status == "aborted"


def _was_made_as_draft(call: CallState) -> bool:
    """Whether a draft was made for a call, or may have been."""
    drafts = call.guarded and call.drafting is not None
    return bool(drafts) and call.result is not None and call.result.status in MAY_HAVE_RUN_STATUSES
