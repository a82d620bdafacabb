"""
What a run may still use: limits that are reached, room that the next step would need, shares.

A tree of runs has one budget. A run hands what is left of its own to the run that it starts
(`remaining`, or `split` among several at once), which keeps to it (`cap_limits`), and takes what
was used back into its own ledger (`add_child_usage`).
"""

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple, TypeVar

from holdfast.contracts.budget import Budget, Ledger, Limits
from holdfast.contracts.stops import Stop
from holdfast.contracts.usage import CallUsage

LimitsT = TypeVar("LimitsT", bound=Limits)


class _Amount(NamedTuple):
    """An amount that a run uses up: its limit's name, and what to do when it is reached."""

    limit: str
    unit: str
    next_safe_action: str


_STEPS = _Amount(
    "max_steps", "model calls", "start a run with a larger max_steps, or split the task"
)


_TOKENS = (
    _Amount("max_tokens", "tokens", "start a run with a larger max_tokens, or split the task"),
    _Amount(
        "max_input_tokens",
        "input tokens",
        "start a run with a larger max_input_tokens, or lower the agent's max_context_bytes",
    ),
    _Amount(
        "max_output_tokens",
        "output tokens",
        "start a run with a larger max_output_tokens, or ask for less to be written",
    ),
)


_METERED = (
    *_TOKENS,
    _Amount(
        "max_cost", "US dollars", "start a run with a larger max_cost, or with a cheaper model"
    ),
)
"""What one model call uses, by the provider's own count."""


_RESULTS = _Amount(
    "max_result_chars",
    "characters of results",
    "start a run with a larger max_result_chars, or have tools answer with less",
)


_CALLS = _Amount(
    "max_tool_calls",
    "calls of tools",
    "start a run with a larger max_tool_calls, or split the task",
)


_AMOUNTS = (_STEPS, *_METERED, _RESULTS, _CALLS)


_PER_TURN_LIMITS = ("max_parallel_calls", "max_model_retries", "max_tool_retries")
"""Limits on a single turn or call, which use nothing up."""


def check_limits(budget: Limits, ledger: Ledger, elapsed: float) -> Stop | None:
    """
    Say which limit is reached before the next model call, if any.

    *elapsed* is in seconds since the run began, waiting for people included.
    Where hosted calls are among those of tools, their limit counts here too: nobody is asked
    before they run.
    """
    hosted = (_CALLS,) if ledger.hosted_calls else ()
    for amount in (_STEPS, *_METERED, _RESULTS, *hosted):
        if stop := _check_amount(amount, budget, ledger):
            return stop
    return out_of_time(budget, ledger, elapsed)


def estimate_next_call(ledger: Ledger) -> CallUsage:
    """Return about what the next model call will use: what the latest did, nothing at first."""
    return ledger.last_call


def check_next_call(budget: Limits, ledger: Ledger) -> Stop | None:
    """
    Say which limit the next model call would break by what is reserved for it.

    A limit that is reached already is none of them: `exhausted` names it.
    """
    after = after_model_call(ledger, estimate_next_call(ledger))
    for amount in _METERED:
        limit, used, then = (
            _read_limit(budget, amount),
            _read_usage(amount, ledger),
            _read_usage(amount, after),
        )
        if limit is None or used is None or then is None:
            continue
        if used < limit < then:
            detail = f"{used} {amount.unit} were used, the latest call took {then - used} of them"
            return _build_stop(amount, f"({limit}) would be exceeded", detail)
    return None


def too_many_calls(budget: Limits, ledger: Ledger, count: int, drafts: int = 0) -> Stop | None:
    """Say whether *count* calls of one turn are more than may run; *drafts* run besides."""
    if budget.max_parallel_calls is not None and count > budget.max_parallel_calls:
        return Stop(
            reason=f"max_parallel_calls ({budget.max_parallel_calls}) would be exceeded",
            detail=f"the model asked for {count} calls in one turn",
            next_safe_action="start a run with a larger max_parallel_calls, or switch "
            "parallel_calls off in the agent's settings",
        )
    ahead = ledger.all_calls + count + drafts
    if budget.max_tool_calls is None or ahead <= budget.max_tool_calls:
        return None
    return _check_amount(_CALLS, budget, ledger) or _build_stop(
        _CALLS,
        f"({budget.max_tool_calls}) would be exceeded",
        f"{ledger.all_calls} calls of tools, and the model asked for {count} more",
    )


def no_more_retries(budget: Limits, error: str) -> Stop:
    """Say that the only model failed, and might have been asked once more without this limit."""
    return Stop(
        reason=f"max_model_retries ({budget.max_model_retries}) reached",
        detail=error,
        next_safe_action="start a run with a larger max_model_retries, or with another model",
    )


def out_of_time(budget: Limits, ledger: Ledger, elapsed: float) -> Stop | None:
    """Say whether the wall time is over, which is asked before tools run too."""
    worked = worked_seconds(ledger, elapsed)
    if budget.max_wall_time is None or worked < budget.max_wall_time:
        return None
    return Stop(
        reason=f"max_wall_time ({budget.max_wall_time:g} s) reached",
        detail=f"{worked:.0f} s of work",
        next_safe_action="start a run with a larger max_wall_time, or split the task",
    )


def worked_seconds(ledger: Ledger, elapsed: float) -> float:
    """Return the seconds that a run worked, of those since it began."""
    return elapsed - ledger.waited


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


def calls_left(budget: Limits, ledger: Ledger) -> int | None:
    """Return the calls of tools that are left, or null without a limit."""
    if budget.max_tool_calls is None:
        return None
    return max(0, budget.max_tool_calls - ledger.all_calls)


def cost_left(budget: Limits, ledger: Ledger) -> float | None:
    """Return the US dollars that are left, null without a limit; 0 where prices are unknown."""
    if budget.max_cost is None:
        return None
    spent = ledger.usage.estimated_cost
    return 0.0 if spent is None else max(0.0, float(budget.max_cost - spent))


def after_model_call(ledger: Ledger, usage: CallUsage) -> Ledger:
    """Count a model call that brought a reply, which is what the next one will use too."""
    fresh = {"steps": ledger.steps + 1, "usage": ledger.usage + usage, "last_call": usage}
    return ledger.model_copy(update=fresh)


def cap_limits(limits: LimitsT, ceiling: Budget) -> LimitsT:
    """Lower limits to those that are given in *ceiling*; it never raises one."""
    lowered = {
        name: _min_limit(getattr(limits, name), getattr(ceiling, name))
        for name in ceiling.model_fields_set
    }
    return limits.model_copy(update=lowered)


def remaining(budget: Limits, ledger: Ledger, elapsed: float) -> Budget | Stop:
    """
    Return what a run that is started now may use, or why none may be.

    What has no limit isn't given. Limits on a single turn or call hold for it as they are; those
    on repetition don't: it has its own.
    """
    if stop := check_limits(budget, ledger, elapsed):
        return stop
    left: dict[str, int | float | Decimal] = {}
    for amount in _AMOUNTS:
        limit, used = _read_limit(budget, amount), _read_usage(amount, ledger)
        if limit is not None and used is not None:
            left[amount.limit] = _split_rest(limit, used)
    if (seconds := seconds_left(budget, ledger, elapsed)) is not None:
        left["max_wall_time"] = seconds
    for name in _PER_TURN_LIMITS:
        if (most := getattr(budget, name)) is not None:
            left[name] = most
    return Budget.model_validate(left)


def split(budget: Budget, parts: int) -> Budget | Stop:
    """
    Return an equal share of a budget for each of some runs at once, or why there is none.

    Wall time isn't shared: it passes for all of them together.
    """
    shares: dict[str, int | Decimal] = {}
    for amount in _AMOUNTS:
        if (limit := _read_limit(budget, amount)) is None:
            continue
        shares[amount.limit] = _split_rest(limit, 0, parts)
        if limit and not shares[amount.limit]:
            return _build_stop(
                amount, f"({limit}) can't be shared by {parts}", f"{limit} {amount.unit} are left"
            )
    return budget.model_copy(update=shares)


def add_child_usage(ledger: Ledger, *children: Ledger) -> Ledger:
    """
    Add what runs used that this one started, beside each other if they are several.

    They waited for people at the same time, so the longest wait counts, once, and never as work
    of this run. Streaks and retries stay their own.
    """
    fresh = ledger
    for child in children:
        fresh = fresh.model_copy(
            update={
                "steps": fresh.steps + child.steps,
                "tool_calls": fresh.tool_calls + child.tool_calls,
                "hosted_calls": fresh.hosted_calls + child.hosted_calls,
                "result_chars": fresh.result_chars + child.result_chars,
                "usage": fresh.usage + child.usage,
                "failed_usage": fresh.failed_usage + child.failed_usage,
            }
        )
    waited = max((child.waited for child in children), default=0.0)
    return fresh.model_copy(update={"waited": ledger.waited + waited})


def _check_amount(amount: _Amount, budget: Limits, ledger: Ledger) -> Stop | None:
    if (limit := _read_limit(budget, amount)) is None:
        return None
    if (used := _read_usage(amount, ledger)) is None:
        return Stop(
            reason=f"{amount.limit} ({limit}) can't be kept",
            detail="a model that was used doesn't say how much it used"
            if amount in _TOKENS
            else "a model or hosted tool that was used has no known price",
            next_safe_action=f"start a run with another model, or without {amount.limit}",
        )
    if _split_rest(limit, used) > 0:
        return None
    return _build_stop(amount, f"({limit}) reached", f"{used} {amount.unit}")


def _read_limit(budget: Limits, amount: _Amount) -> int | Decimal | None:
    limit: int | Decimal | None = getattr(budget, amount.limit)
    return limit


def _read_usage(amount: _Amount, ledger: Ledger) -> int | Decimal | None:
    if amount in _TOKENS and not ledger.usage.tokens_known:
        return None
    used: Mapping[str, int | Decimal | None] = {
        "max_steps": ledger.steps,
        "max_tokens": ledger.usage.total_tokens,
        "max_input_tokens": ledger.usage.input_tokens,
        "max_output_tokens": ledger.usage.output_tokens,
        "max_cost": ledger.usage.estimated_cost,
        "max_result_chars": ledger.result_chars,
        "max_tool_calls": ledger.all_calls,
    }
    return used[amount.limit]


def _split_rest(limit: int | Decimal, used: int | Decimal, parts: int = 1) -> int | Decimal:
    """
    Return what is left in equal parts, rounded down: to billionths where it is money.

    Nothing is left where more was used than might be: providers count their own calls.
    """
    part = max(Fraction(limit) - Fraction(used), Fraction(0)) / parts
    return int(part) if isinstance(limit, int) else Decimal(f"{int(part * 10**9)}e-9")


def _min_limit(
    one: float | Decimal | None, other: float | Decimal | None
) -> float | Decimal | None:
    return min((limit for limit in (one, other) if limit is not None), default=None)


def _build_stop(amount: _Amount, what: str, detail: str) -> Stop:
    return Stop(
        reason=f"{amount.limit} {what}", detail=detail, next_safe_action=amount.next_safe_action
    )
