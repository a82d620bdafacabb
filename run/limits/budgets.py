"""
What a run may still use: limits that are reached, room that the next step would need, shares.

A tree of runs has one budget. A run hands what is left of its own to the run that it starts
(`remaining`, or `split` among several at once), which keeps to it (`cap_limits`), and takes what
was used back into its own ledger (`add_child_usage`).
"""

from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple, TypeVar

from holdfast.contracts.budget import Budget, Ledger, Limits
from holdfast.contracts.stops import Stop, StopReason
from holdfast.contracts.usage import CallUsage
from holdfast.run.limits import table
from holdfast.run.limits.table import LIMITS, LimitRow
from holdfast.run.texts.figures import pluralize

LimitsT = TypeVar("LimitsT", bound=Limits)
LimitT = TypeVar("LimitT", float, Decimal)

_LEAST_DOLLARS = Decimal("1e-9")
"""No limit on money is lower, and none can be written that is."""


def check_limits(budget: Limits, ledger: Ledger, elapsed: float) -> Stop | None:
    """
    Say which limit is reached before the next model call, if any.

    *elapsed* is in seconds since the run began, waiting for people included.
    Where hosted calls are among those of tools, their limit counts here too: nobody is asked
    before they run.
    """
    for row in LIMITS:
        if row is table.CALLS and not ledger.hosted_calls:
            continue
        if stop := _check_amount(row, budget, ledger):
            return stop
    return out_of_time(budget, ledger, elapsed)


def has_used_steps_alone(budget: Limits, ledger: Ledger, elapsed: float) -> bool:
    """Whether only the number of model calls keeps a model from being asked once more."""
    fresh = ledger.with_(steps=0)
    free = check_limits(budget, fresh, elapsed) is None and check_next_call(budget, fresh) is None
    return free and check_limits(budget, ledger, elapsed) is not None


def estimate_next_call(ledger: Ledger) -> CallUsage:
    """Return about what the next model call will use: what the latest did, nothing at first."""
    return ledger.last_call


class Shortfall(NamedTuple):
    """The `limit` that the next model call would break, and what to say of it."""

    limit: str
    stop: Stop


def check_next_call(budget: Limits, ledger: Ledger) -> Shortfall | None:
    """
    Say which limit the next model call would break by what is reserved for it.

    A limit that is reached already is none of them: `check_limits` names it.
    """
    after = after_model_call(ledger, estimate_next_call(ledger))
    for row in LIMITS:
        limit, used, then = (
            _read_limit(budget, row),
            _read_used(row, ledger),
            _read_used(row, after),
        )
        if limit is None or used is None or then is None:
            continue
        if used < limit < then:
            detail = (
                f"{pluralize(used, row.unit)} used, the latest call took {then - used} of them"
            )
            return Shortfall(row.name, _build_stop(StopReason.LIMIT_AHEAD, row, limit, detail))
    return None


def too_many_calls(budget: Limits, ledger: Ledger, count: int, drafts: int = 0) -> Stop | None:
    """Say whether *count* calls of one turn are more than may run; *drafts* run besides."""
    if budget.max_parallel_calls is not None and count > budget.max_parallel_calls:
        detail = f"the model asked for {count} calls in one turn"
        most = budget.max_parallel_calls
        return _build_stop(StopReason.LIMIT_AHEAD, table.PARALLEL_CALLS, most, detail)
    ahead = ledger.all_calls + count + drafts
    if budget.max_tool_calls is None or ahead <= budget.max_tool_calls:
        return None
    return _check_amount(table.CALLS, budget, ledger) or _build_stop(
        StopReason.LIMIT_AHEAD,
        table.CALLS,
        budget.max_tool_calls,
        f"{pluralize(ledger.all_calls, table.CALLS.unit)}, and the model asked for {count} more"
        + (f", for which up to {drafts} may be drafted first" if drafts else ""),
    )


def no_more_retries(budget: Limits, error: str) -> Stop:
    """Say that the only model failed, and might have been asked once more without this limit."""
    return _build_stop(
        StopReason.LIMIT_REACHED, table.MODEL_RETRIES, budget.max_model_retries, error
    )


def out_of_time(budget: Limits, ledger: Ledger, elapsed: float) -> Stop | None:
    """Say whether the wall time is over, which is asked before tools run too."""
    worked = worked_seconds(ledger, elapsed)
    if budget.max_wall_time is None or worked < budget.max_wall_time:
        return None
    most = f"{budget.max_wall_time:g} s"
    return _build_stop(StopReason.LIMIT_REACHED, table.WALL_TIME, most, f"{worked:.0f} s of work")


def worked_seconds(ledger: Ledger, elapsed: float) -> float:
    """Return the seconds that a run worked, of those since it began, as its server tells time."""
    return max(0.0, elapsed - ledger.waited)


def seconds_left(budget: Limits, ledger: Ledger, elapsed: float) -> float | None:
    """Return the seconds of work that are left, or null without a limit."""
    if budget.max_wall_time is None:
        return None
    return max(0.0, budget.max_wall_time - worked_seconds(ledger, elapsed))


def tokens_left(budget: Limits, ledger: Ledger) -> int | None:
    """Return the tokens that are left, null without a limit; 0 where nobody knows."""
    if budget.max_tokens is None:
        return None
    known = ledger.usage.tokens_known
    return max(0, budget.max_tokens - ledger.usage.total_tokens) if known else 0


def usage_left(budget: Limits, ledger: Ledger) -> Budget | None:
    """Return what models may still use, or null without a limit on that."""
    rows = (row for row in LIMITS if row.unknown)
    left = {row.name: _read_left(row, budget, ledger, 0) for row in rows}
    given = {name: rest for name, rest in left.items() if rest}
    return Budget.model_validate(given) if given else None


def is_used_up(left: Budget | None, used: CallUsage | None) -> bool:
    """Whether attempts that brought no reply have used what was *left*, as far as is known."""
    if left is None or used is None:
        return False
    return check_limits(left, Ledger(usage=used), 0) is not None


def calls_left(budget: Limits, ledger: Ledger) -> int | None:
    """Return the calls of tools that are left, or null without a limit."""
    if budget.max_tool_calls is None:
        return None
    return max(0, budget.max_tool_calls - ledger.all_calls)


def cost_left(budget: Limits, ledger: Ledger) -> float | None:
    """Return the US dollars that are left, null without a limit; 0 where prices are unknown."""
    if budget.max_cost is None:
        return None
    spent = ledger.cost
    return 0.0 if spent is None else max(0.0, float(budget.max_cost - spent))


def after_model_call(ledger: Ledger, usage: CallUsage) -> Ledger:
    """Count a model call that brought a reply, which is what the next one will use too."""
    return ledger.with_(steps=ledger.steps + 1, usage=ledger.usage + usage, last_call=usage)


def cap_limits(limits: LimitsT, ceiling: Budget) -> LimitsT:
    """Lower limits to those that are given in *ceiling*; it never raises one."""
    lowered = {
        name: find_lower(getattr(limits, name), getattr(ceiling, name))
        for name in ceiling.model_fields_set
    }
    return limits.copy_with(lowered)


def cap_at(limits: LimitsT, other: Limits) -> LimitsT:
    """Lower limits to all those that another agent has; it raises none either."""
    return cap_limits(limits, Budget.model_validate(other.model_dump()))


def remaining(budget: Limits, ledger: Ledger, elapsed: float) -> Budget | Stop:
    """
    Return what a run that is started now may use, or why none may be.

    What has no limit isn't given. Limits on a single turn or call hold for it as they are; those
    on repetition don't: it has its own.
    """
    if stop := check_limits(budget, ledger, elapsed):
        return stop
    left = {row.name: _read_left(row, budget, ledger, elapsed) for row in LIMITS}
    return Budget.model_validate({name: rest for name, rest in left.items() if rest is not None})


def take_share(limits: Limits, share: float) -> Budget:
    """
    Return this share of limits, for a run that may use no more; the least of each at least.

    Wall time isn't shared: it passes for all of them together.
    """
    shares: dict[str, int | Decimal] = {}
    for row in LIMITS:
        if row.share == "rest" and (limit := _read_limit(limits, row)) is not None:
            part = Fraction(limit) * Fraction(str(share))
            least = min(limit, 1) if isinstance(limit, int) else _LEAST_DOLLARS
            shares[row.name] = max(_split_rest(limit, Fraction(limit) - part), least)
    return Budget.model_validate(shares)


def split(budget: Budget, parts: int) -> Budget | Stop:
    """
    Return an equal share of a budget for each of some runs at once, or why there is none.

    Wall time isn't shared: it passes for all of them together.
    """
    shares: dict[str, int | Decimal] = {}
    for row in LIMITS:
        if row.share != "rest" or (limit := _read_limit(budget, row)) is None:
            continue
        shares[row.name] = _split_rest(limit, 0, parts)
        if limit and not shares[row.name]:
            detail = f"{pluralize(limit, row.unit)} left"
            return _build_stop(StopReason.LIMIT_TOO_SMALL, row, limit, detail, parts)
    return budget.copy_with(shares)


def add_child_usage(ledger: Ledger, *children: Ledger) -> Ledger:
    """
    Add what runs used that this one started, beside each other if they are several.

    They waited for people at the same time, so the longest wait counts, once, and never as work
    of this run. Streaks and retries stay their own.
    """
    added = {name: _add_field(name, ledger, *children) for name in _SHARED_COUNTS}
    waited = max((child.waited for child in children), default=0.0)
    return ledger.copy_with(added).with_(
        waited=ledger.waited + waited,
        part_steps=ledger.part_steps + sum(child.steps for child in children),
    )


OWN_COUNTS = frozenset(
    {
        *("waited", "failures_in_a_row", "recent_calls", "recurrences", "retries", "last_call"),
        "part_steps",
    }
)
"""What a run counts for itself, and no part adds to."""

_SHARED_COUNTS = tuple(name for name in Ledger.model_fields if name not in OWN_COUNTS)
"""What is used up for all: a new field of the ledger is among it, unless it is named above."""


def _add_field(name: str, first: Ledger, *others: Ledger) -> int | Decimal | CallUsage:
    return sum((getattr(other, name) for other in others), start=getattr(first, name))


def _check_amount(row: LimitRow, budget: Limits, ledger: Ledger) -> Stop | None:
    if row.used is None or (limit := _read_limit(budget, row)) is None:
        return None
    if (used := row.used(ledger)) is None:
        return _build_stop(StopReason.LIMIT_UNKEEPABLE, row, limit, row.unknown)
    if _split_rest(limit, used) > 0:
        return None
    return _build_stop(StopReason.LIMIT_REACHED, row, limit, pluralize(used, row.unit))


def _read_limit(budget: Limits, row: LimitRow) -> int | Decimal | None:
    limit: int | Decimal | None = getattr(budget, row.name)
    return limit


def _read_used(row: LimitRow, ledger: Ledger) -> int | Decimal | None:
    return None if row.used is None else row.used(ledger)


def _read_left(
    row: LimitRow, budget: Limits, ledger: Ledger, elapsed: float
) -> float | Decimal | None:
    match row.share:
        case "rest":
            limit, used = _read_limit(budget, row), _read_used(row, ledger)
            return None if limit is None or used is None else _split_rest(limit, used)
        case "time":
            return seconds_left(budget, ledger, elapsed)
        case "same":
            return _read_limit(budget, row)
        case "own":
            return None


def _split_rest(
    limit: int | Decimal, used: int | Decimal | Fraction, parts: int = 1
) -> int | Decimal:
    """
    Return what is left in equal parts, rounded down: to billionths where it is money.

    Nothing is left where more was used than might be: providers count their own calls.
    """
    if isinstance(limit, int) and isinstance(used, int):
        return max(limit - used, 0) // parts
    part = max(Fraction(limit) - Fraction(used), Fraction(0)) / parts
    return int(part) if isinstance(limit, int) else Decimal(f"{int(part * 10**9)}e-9")


def find_lower(one: LimitT | None, other: LimitT | None) -> LimitT | None:
    """Return the lower of two limits, of which null is none."""
    return min((limit for limit in (one, other) if limit is not None), default=None)


def _build_stop(
    reason: StopReason, row: LimitRow, most: object, detail: str, parts: int = 1
) -> Stop:
    return Stop.because(
        reason, detail, limit=row.name, most=most, otherwise=row.otherwise, parts=parts
    )
