"""When a run has used up what it may use."""

from contracts.budget import Ledger, Limits
from contracts.run import Stop

_RAISE = "start a run with a larger budget, or split the task"


def exhausted(budget: Limits, ledger: Ledger, elapsed: float) -> Stop | None:
    """
    Say which limit is reached before the next model call, if any.

    *elapsed* is in seconds since the run began, waiting for people included.
    """
    cost = ledger.usage.estimated_cost
    if ledger.steps >= budget.max_steps:
        return _stop(f"max_steps ({budget.max_steps}) reached", f"{ledger.steps} model calls")
    if budget.max_tokens is not None and ledger.usage.total_tokens >= budget.max_tokens:
        return _stop(
            f"max_tokens ({budget.max_tokens}) reached", f"{ledger.usage.total_tokens} tokens"
        )
    if budget.max_cost is not None and cost is None:
        return _stop(
            f"max_cost ({budget.max_cost}) can't be kept", "the model used has no known price"
        )
    if budget.max_cost is not None and cost is not None and cost >= budget.max_cost:
        return _stop(f"max_cost ({budget.max_cost}) reached", f"{cost} US dollars")
    return out_of_time(budget, ledger, elapsed)


def out_of_time(budget: Limits, ledger: Ledger, elapsed: float) -> Stop | None:
    """Say whether the wall time is over, which is asked before tools run too."""
    worked = elapsed - ledger.waited
    if budget.max_wall_time is None or worked < budget.max_wall_time:
        return None
    return _stop(f"max_wall_time ({budget.max_wall_time:g} s) reached", f"{worked:.0f} s of work")


def seconds_left(budget: Limits, ledger: Ledger, elapsed: float) -> float | None:
    """Return the seconds of work that are left, or null without a limit."""
    if budget.max_wall_time is None:
        return None
    return max(0.0, budget.max_wall_time - (elapsed - ledger.waited))


def _stop(reason: str, detail: str) -> Stop:
    return Stop(reason=reason, detail=detail, next_safe_action=_RAISE)
