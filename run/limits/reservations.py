"""
What calls are thought to cost: reserved once guardrails let them pass, booked when they have run.

Nobody tells what a call really cost, so what was reserved counts for it. What didn't run cost
nothing, nor does a draft of it.
"""

from decimal import Decimal

from holdfast.contracts.budget import Ledger
from holdfast.contracts.guardrails import GuardrailVerdict
from holdfast.contracts.state.calls import CallState
from holdfast.contracts.state.run import RunState
from holdfast.run.limits import budgets
from holdfast.run.tool_results import MAY_HAVE_RUN_STATUSES


def add_reservations(state: RunState, *, without: str = "") -> Ledger:
    """Return what a run has used with what its turn's calls reserve; one may be left out."""
    held = (one.cost for one in state.calls if _holds_cost(one) and one.call.call_id != without)
    reserved = sum(held, Decimal(0))
    ledger = state.ledger
    return ledger.with_(call_cost=ledger.call_cost + reserved) if reserved else ledger


def estimate_cost(verdicts: tuple[GuardrailVerdict, ...]) -> Decimal:
    """Return what guardrails think that a call costs."""
    return sum((one.cost for one in verdicts), Decimal(0))


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


def _holds_cost(call: CallState) -> bool:
    if not call.guarded or call.drafting is not None:
        return False
    return call.result is None or call.result.status in MAY_HAVE_RUN_STATUSES
