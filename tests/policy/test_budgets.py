"""When a run has used up what it may use: both sides of every limit."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from holdfast.contracts.budget import Budget, Ledger
from holdfast.contracts.stops import Stop
from holdfast.contracts.usage import CallUsage
from holdfast.run.limits.budgets import (
    Shortfall,
    after_model_call,
    check_limits,
    check_next_call,
    estimate_next_call,
    seconds_left,
    tokens_left,
    too_many_calls,
    worked_seconds,
)
from tests.policy.usages import USAGES, cost, tokens

LIMITS: dict[str, JsonValue] = {
    "max_steps": 3,
    "max_tokens": 100,
    "max_cost": 0.5,
    "max_wall_time": 60,
}


@pytest.mark.parametrize(
    ("ledger", "elapsed", "reason"),
    [
        pytest.param(Ledger(), 0, None, id="nothing used"),
        pytest.param(Ledger(steps=2), 0, None, id="one step left"),
        pytest.param(Ledger(steps=3), 0, "max_steps (3) reached", id="no step left"),  # HG-02
        pytest.param(Ledger(steps=4), 0, "max_steps (3) reached", id="too many steps"),
        pytest.param(Ledger(usage=tokens(60, 39)), 0, None, id="one token left"),
        pytest.param(
            Ledger(usage=tokens(60, 40)), 0, "max_tokens (100) reached", id="no token left"
        ),
        pytest.param(Ledger(usage=tokens(99, 0, 99)), 0, None, id="cached tokens count once"),
        pytest.param(Ledger(usage=cost("0.499999")), 0, None, id="a little money left"),
        pytest.param(Ledger(usage=cost("0.5")), 0, "max_cost (0.5) reached", id="no money left"),
        pytest.param(
            Ledger(usage=cost(None)), 0, "max_cost (0.5) can't be kept", id="unknown price"
        ),
        pytest.param(Ledger(), 59.999, None, id="a moment left"),
        pytest.param(Ledger(), 60, "max_wall_time (60 s) reached", id="no time left"),
        pytest.param(Ledger(waited=1000), 1059.9, None, id="people took their time"),  # T-19
        pytest.param(
            Ledger(waited=1000), 1060, "max_wall_time (60 s) reached", id="and then none left"
        ),
        pytest.param(Ledger(tool_calls=99), 0, None, id="calls of tools are no steps"),
    ],
)
def test_a_limit_is_reached_at_its_value(
    ledger: Ledger, elapsed: float, reason: str | None
) -> None:
    """A run may use exactly its budget; the next model call would be one too many."""  # HG-01
    stop = check_limits(Budget.model_validate(LIMITS), ledger, elapsed)

    assert (stop.reason if stop else None) == reason


@pytest.mark.parametrize(
    ("limit", "ledger", "reason"),
    [
        ({"max_input_tokens": 9}, Ledger(usage=tokens(8, 99)), None),
        (
            {"max_input_tokens": 9},
            Ledger(usage=tokens(9, 0)),
            "max_input_tokens (9) reached",
        ),
        ({"max_output_tokens": 9}, Ledger(usage=tokens(99, 8)), None),
        (
            {"max_output_tokens": 9},
            Ledger(usage=tokens(0, 9)),
            "max_output_tokens (9) reached",
        ),
        ({"max_result_chars": 9}, Ledger(result_chars=8), None),
        ({"max_result_chars": 9}, Ledger(result_chars=9), "max_result_chars (9) reached"),
        ({"max_tool_calls": 9}, Ledger(tool_calls=9), None),
        ({"max_tool_calls": 9}, Ledger(tool_calls=7, hosted_calls=1), None),
        (
            {"max_tool_calls": 9},
            Ledger(tool_calls=8, hosted_calls=1),
            "max_tool_calls (9) reached",
        ),
        ({"max_parallel_calls": 1}, Ledger(tool_calls=9), None),
    ],
)
def test_each_budget_has_its_own_reason(
    limit: dict[str, JsonValue], ledger: Ledger, reason: str | None
) -> None:
    """Input, output and results have limits of their own; one on calls forbids no answer."""
    stop = check_limits(Budget.model_validate(limit), ledger, 0)  # BY-09

    assert (stop.reason if stop else None) == reason


@pytest.mark.parametrize("limit", ["max_tokens", "max_cost", "max_wall_time"])
def test_a_limit_that_isnt_set_doesnt_stop(limit: str) -> None:
    """Without a limit on tokens, money or time no amount of them ends a run."""
    budget = Budget.model_validate({**LIMITS, limit: None})
    used = {
        "max_tokens": (Ledger(usage=tokens(10**9, 10**9)), 0),
        "max_cost": (Ledger(usage=cost(None)), 0),
        "max_wall_time": (Ledger(), 10.0**9),
    }[limit]

    assert check_limits(budget, *used) is None


@pytest.mark.parametrize(
    ("limit", "ledger", "elapsed", "detail", "action"),
    [
        ("max_steps", Ledger(steps=3), 0, "3 model calls", "larger max_steps, or split"),
        ("max_tokens", Ledger(usage=tokens(100, 0)), 0, "100 tokens", "larger max_tokens, or"),
        ("max_cost", Ledger(usage=cost("1")), 0, "1 US dollar", "with a cheaper model"),
        (
            "max_cost",
            Ledger(usage=cost(None)),
            0,
            "a model or hosted tool that was used has no known price",
            "with another model, or without max_cost",
        ),
        ("max_wall_time", Ledger(), 60, "60 s of work", "larger max_wall_time, or"),
        (
            "max_input_tokens",
            Ledger(usage=tokens(10**9, 0)),
            0,
            "1000000000 input tokens",
            "lower the agent's max_context_bytes",
        ),
        (
            "max_output_tokens",
            Ledger(usage=tokens(0, 10**9)),
            0,
            "1000000000 output tokens",
            "ask for less to be written",
        ),
        (
            "max_result_chars",
            Ledger(result_chars=10**9),
            0,
            "1000000000 result characters",
            "have tools answer with less",
        ),
    ],
)
def test_every_stop_says_what_to_do(
    limit: str, ledger: Ledger, elapsed: float, detail: str, action: str
) -> None:
    """Whoever reads why a run stopped reads what was used, and what to do next."""
    budget = Budget.model_validate({limit: LIMITS.get(limit, 10)})

    stop = check_limits(budget, ledger, elapsed)  # BY-10

    assert stop is not None
    assert stop.reason.startswith(f"{limit} (")
    assert stop.detail == detail
    assert action in stop.next_safe_action


def test_steps_are_named_first() -> None:
    """Of several limits reached at once the run names the steps."""
    ledger = Ledger(steps=3, usage=tokens(100, 100))

    stop = check_limits(Budget.model_validate(LIMITS), ledger, 99)

    assert stop is not None
    assert stop.reason == "max_steps (3) reached"


@pytest.mark.parametrize(
    ("limit", "waited", "elapsed", "left"),
    [
        pytest.param(None, 0, 10, None, id="no limit"),
        pytest.param(60, 0, 0, 60, id="all"),
        pytest.param(60, 0, 10, 50, id="some"),
        pytest.param(60, 10, 10, 60, id="waiting costs nothing"),
        pytest.param(60, 0, 60, 0, id="none"),
        pytest.param(60, 0, 61, 0, id="never less than none"),
    ],
)
def test_seconds_left(
    limit: float | None, waited: float, elapsed: float, left: float | None
) -> None:
    """What is left of the wall time is the limit without the time that was worked."""
    assert seconds_left(Budget(max_wall_time=limit), Ledger(waited=waited), elapsed) == left


def test_work_is_what_passed_without_the_waiting() -> None:
    """Time that people took is no work."""  # T-19
    assert worked_seconds(Ledger(waited=40), 100) == 60


def called(usage: CallUsage, *, times: int = 1) -> Ledger:
    ledger = Ledger()
    for _ in range(times):
        ledger = after_model_call(ledger, usage)
    return ledger


def test_a_call_is_settled_and_reserved_again() -> None:
    """A reply is one step, what it used is billed, and about as much is reserved for the next."""
    first, second = tokens(10, 5), tokens(20, 1)

    ledger = after_model_call(after_model_call(Ledger(), first), second)

    assert ledger.steps == 2
    assert ledger.usage == tokens(30, 6)
    assert estimate_next_call(ledger) == second
    assert estimate_next_call(Ledger()) == CallUsage()


@pytest.mark.parametrize(
    ("limit", "ledger", "reason"),
    [
        ({"max_tokens": 1}, Ledger(), None),
        ({"max_tokens": 30}, called(tokens(10, 5)), None),
        ({"max_tokens": 29}, called(tokens(10, 5)), "max_tokens (29) would be exceeded"),
        ({"max_tokens": 15}, called(tokens(10, 5)), None),  # which is reached
        ({"max_tokens": 14}, called(tokens(10, 5)), None),
        ({"max_input_tokens": 20}, called(tokens(10, 5)), None),
        (
            {"max_input_tokens": 19},
            called(tokens(10, 5)),
            "max_input_tokens (19) would be exceeded",
        ),
        ({"max_output_tokens": 10}, called(tokens(10, 5)), None),
        (
            {"max_output_tokens": 9},
            called(tokens(10, 5)),
            "max_output_tokens (9) would be exceeded",
        ),
        ({"max_cost": 0.3}, called(cost("0.1"), times=2), None),
        ({"max_cost": 0.29}, called(cost("0.1"), times=2), "max_cost (0.29) would be exceeded"),
        ({"max_cost": 0.3}, called(cost(None)), None),  # `exhausted` says that it can't be kept
        ({"max_steps": 1}, called(tokens(10, 5)), None),
        ({}, called(tokens(10**9, 10**9)), None),
    ],
)
def test_a_call_like_the_latest_must_fit(
    limit: dict[str, JsonValue], ledger: Ledger, reason: str | None
) -> None:
    """What is left must do for about what the latest call used; exactly as much is enough."""
    ahead = check_next_call(Budget.model_validate(limit), ledger)  # T-38

    assert (ahead.stop.reason if ahead else None) == reason


def test_a_reservation_is_explained() -> None:
    """The stop says what was used, what the next call would need, and what to do."""
    assert check_next_call(Budget(max_tokens=29), called(tokens(10, 5))) == Shortfall(
        "max_tokens",
        Stop(
            reason="max_tokens (29) would be exceeded",
            detail="15 tokens used, the latest call took 15 of them",
            next_safe_action="start a run with a larger max_tokens, or split the task",
        ),
    )


@given(st.integers(1, 300), st.lists(USAGES, max_size=30))
def test_a_budget_is_exceeded_by_less_than_one_call(limit: int, calls: list[CallUsage]) -> None:
    """A run that asks before each call overshoots by what that call used beyond the latest."""
    budget = Budget(max_tokens=limit, max_input_tokens=limit, max_cost=Decimal(limit))
    ledger, surplus = Ledger(), 0
    for usage in calls:
        if check_limits(budget, ledger, 0) or check_next_call(budget, ledger):
            break
        surplus = usage.total_tokens - estimate_next_call(ledger).total_tokens
        ledger = after_model_call(ledger, usage)

    assert ledger.usage.total_tokens <= limit + max(surplus, 0)  # T-38


@pytest.mark.parametrize(
    ("limit", "used", "count", "reason", "detail"),
    [
        ({}, 10**6, 10**6, None, ""),
        ({"max_tool_calls": 5}, 3, 2, None, ""),
        (
            {"max_tool_calls": 5},
            3,
            3,
            "max_tool_calls (5) would be exceeded",
            "3 tool calls, and the model asked for 3 more",
        ),
        ({"max_tool_calls": 5}, 5, 1, "max_tool_calls (5) reached", "5 tool calls"),
        ({"max_tool_calls": 5}, 5, 0, None, ""),
        ({"max_parallel_calls": 2}, 99, 2, None, ""),
        (
            {"max_parallel_calls": 2},
            0,
            3,
            "max_parallel_calls (2) would be exceeded",
            "the model asked for 3 calls in one turn",
        ),
        (
            {"max_parallel_calls": 2, "max_tool_calls": 1},
            0,
            3,
            "max_parallel_calls (2) would be exceeded",
            "the model asked for 3 calls in one turn",
        ),
    ],
)
def test_calls_have_limits_in_a_turn_and_in_a_run(
    limit: dict[str, JsonValue], used: int, count: int, reason: str | None, detail: str
) -> None:
    """All calls of a turn fit, or the run stops before the first of them runs."""
    stop = too_many_calls(Budget.model_validate(limit), Ledger(tool_calls=used), count)  # BY-09

    assert (stop.reason if stop else None) == reason
    assert (stop.detail if stop else "") == detail
    if stop and reason:
        assert f"a larger {reason.partition(' ')[0]}, or " in stop.next_safe_action  # BY-10


@pytest.mark.parametrize(("drafts", "stops"), [(0, False), (1, False), (2, True)])
def test_drafts_that_calls_will_need_count_with_them(drafts: int, *, stops: bool) -> None:
    """A call that is drafted first runs two tools, and both have to be there."""
    # BY-09
    stop = too_many_calls(Budget(max_tool_calls=5), Ledger(tool_calls=2), 2, drafts)

    assert (stop is not None) is stops
    if stop is not None:
        assert stop.detail.endswith("asked for 2 more, for which up to 2 may be drafted first")


def test_what_nobody_counts_leaves_no_tokens() -> None:
    """Where one reply didn't say what it used, nothing can be shared out of a limit of tokens."""
    # BY-10
    counted, unknown = CallUsage(input_tokens=7), CallUsage(tokens_known=False)

    assert tokens_left(Budget(max_tokens=10), Ledger(usage=counted)) == 3
    assert tokens_left(Budget(max_tokens=10), Ledger(usage=counted + unknown)) == 0
