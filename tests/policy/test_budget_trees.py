"""One budget for a tree of runs: what is handed down, shared, and taken back."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from holdfast.contracts.budget import Budget, Ledger, Limits
from holdfast.contracts.stops import Stop
from holdfast.contracts.usage import CallUsage
from holdfast.run.limits.budgets import (
    add_child_usage,
    cap_limits,
    check_limits,
    remaining,
    split,
    too_many_calls,
)
from tests.policy.usages import USAGES, cost, tokens


@pytest.mark.parametrize(
    ("own", "ceiling", "expected"),
    [
        pytest.param({"max_tokens": 10}, {}, {"max_tokens": 10}, id="nothing given"),
        pytest.param({"max_tokens": 10}, {"max_tokens": 9}, {"max_tokens": 9}, id="lower"),
        pytest.param({"max_tokens": 10}, {"max_tokens": 11}, {"max_tokens": 10}, id="higher"),
        pytest.param({}, {"max_tokens": 9}, {"max_tokens": 9}, id="no own limit"),
        pytest.param({"max_tokens": 10}, {"max_tokens": None}, {"max_tokens": 10}, id="null"),
        pytest.param({"max_steps": 200}, {"max_tokens": 9}, {"max_tokens": 9}, id="defaults"),
        pytest.param({"max_cost": 0.5}, {"max_cost": 0.25}, {"max_cost": 0.25}, id="money"),
        pytest.param(
            {"max_wall_time": 9.5}, {"max_wall_time": 9}, {"max_wall_time": 9}, id="time"
        ),
        pytest.param(
            {"max_model_retries": 3}, {"max_model_retries": 0}, {"max_model_retries": 0}, id="zero"
        ),
        pytest.param(
            {"loop_repeat_threshold": 5},
            {"loop_repeat_threshold": 2},
            {"loop_repeat_threshold": 2},
            id="streaks too",
        ),
    ],
)
def test_a_ceiling_lowers_what_it_names(
    own: dict[str, JsonValue], ceiling: dict[str, JsonValue], expected: dict[str, JsonValue]
) -> None:
    """The lower of two limits holds, null is none, and what isn't given changes nothing."""
    lowered = cap_limits(Limits.model_validate(own), Budget.model_validate(ceiling))  # T-49

    wanted = Limits.model_validate({**own, **expected})
    assert lowered == wanted


AMOUNTS: dict[str, st.SearchStrategy[int]] = {
    "max_steps": st.integers(1, 10**6),
    "max_tokens": st.integers(1, 10**9),
    "max_input_tokens": st.integers(1, 10**9),
    "max_output_tokens": st.integers(1, 10**9),
    "max_tool_calls": st.integers(1, 10**6),
    "max_result_chars": st.integers(1, 10**9),
}
EACH: dict[str, st.SearchStrategy[int]] = {
    "max_parallel_calls": st.integers(1, 50),
    "max_model_retries": st.integers(0, 100),
    "max_tool_retries": st.integers(0, 100),
    "loop_repeat_threshold": st.integers(1, 9),
}
BUDGETS = st.fixed_dictionaries(
    {},
    optional={
        **AMOUNTS,
        **EACH,
        "max_cost": st.decimals("0.000001", 10**9, allow_nan=False, allow_infinity=False),
        "max_wall_time": st.floats(0.001, 10**8),
    },
).map(Budget.model_validate)


@given(BUDGETS, BUDGETS)
def test_a_ceiling_never_raises_a_limit(own: Budget, ceiling: Budget) -> None:
    """Whatever is handed down, each limit is at most what it was, and at most the ceiling."""
    lowered = cap_limits(own, ceiling)  # T-49

    for name in Limits.model_fields:
        before, after = getattr(own, name), getattr(lowered, name)
        assert before is None or (after is not None and after <= before)
    for name in ceiling.model_fields_set:
        assert getattr(lowered, name) <= getattr(ceiling, name)


def left(budget: Budget, ledger: Ledger, elapsed: float = 0) -> Budget:
    found = remaining(budget, ledger, elapsed)
    assert isinstance(found, Budget)
    return found


def test_a_child_gets_what_is_left() -> None:
    """Amounts are what is left of them, limits on one turn or call hold as they are."""
    budget = Budget(
        max_steps=10,
        max_tokens=100,
        max_input_tokens=90,
        max_output_tokens=80,
        max_cost=Decimal("0.5"),
        max_wall_time=60,
        max_tool_calls=7,
        max_result_chars=1000,
        max_parallel_calls=4,
        max_model_retries=0,
        max_tool_retries=2,
    )
    usage = CallUsage(input_tokens=30, output_tokens=10, estimated_cost=Decimal("0.2"))
    ledger = Ledger(steps=4, usage=usage, tool_calls=3, result_chars=400, waited=1000)

    assert left(budget, ledger, elapsed=1020) == Budget(
        max_steps=6,
        max_tokens=60,
        max_input_tokens=60,
        max_output_tokens=70,
        max_cost=Decimal("0.3"),
        max_wall_time=40,
        max_tool_calls=4,
        max_result_chars=600,
        max_parallel_calls=4,
        max_model_retries=0,
        max_tool_retries=2,
    )  # T-49


def test_what_has_no_limit_isnt_handed_down() -> None:
    """A child keeps its own limits where its parent has none, and its own on repetition."""
    found = left(Budget(max_steps=10, loop_repeat_threshold=1), Ledger(steps=4))

    assert found.model_dump(exclude_unset=True) == {"max_steps": 6}
    child = cap_limits(Limits(max_tokens=5, loop_repeat_threshold=3), found)
    assert child == Limits(max_steps=6, max_tokens=5, loop_repeat_threshold=3)


@pytest.mark.parametrize(
    ("limit", "ledger", "elapsed", "reason"),
    [
        ({"max_steps": 4}, Ledger(steps=4), 0, "max_steps (4) reached"),
        ({"max_tokens": 9}, Ledger(usage=tokens(9, 0)), 0, "max_tokens (9) reached"),
        ({"max_result_chars": 3}, Ledger(result_chars=3), 0, "max_result_chars (3) reached"),
        ({"max_wall_time": 3}, Ledger(), 3, "max_wall_time (3 s) reached"),
        ({"max_cost": 1}, Ledger(usage=cost("0.9999999999")), 0, "max_cost (1) reached"),
        ({"max_cost": 1}, Ledger(usage=cost(None)), 0, "max_cost (1) can't be kept"),
    ],
)
def test_nothing_left_starts_nothing(
    limit: dict[str, JsonValue], ledger: Ledger, elapsed: float, reason: str
) -> None:
    """A run that has used something up says which instead of starting another run."""
    found = remaining(Budget.model_validate(limit), ledger, elapsed)  # T-49

    assert isinstance(found, Stop)
    assert found.reason == reason


def test_nothing_is_left_where_more_was_used() -> None:
    """Providers count their own calls, and may go beyond a limit."""
    left = remaining(Limits(max_tool_calls=1), Ledger(tool_calls=3), 0)

    assert left == Budget(max_steps=Limits().max_steps, max_tool_calls=0)


def test_who_needs_no_tools_begins_without_calls_left() -> None:
    """A run whose calls are used up may still ask its model, and so may what it starts."""
    # BY-09
    left = remaining(Budget(max_tool_calls=3), Ledger(tool_calls=3), 0)
    assert isinstance(left, Budget)

    part = split(left, 2)
    assert isinstance(part, Budget)
    stop = too_many_calls(part, Ledger(), 1)

    assert (left.max_tool_calls, part.max_tool_calls) == (0, 0)
    assert stop is not None
    assert stop.reason == "max_tool_calls (0) reached"


@pytest.mark.parametrize(
    ("limit", "parts", "share"),
    [
        ({"max_steps": 10}, 1, {"max_steps": 10}),
        ({"max_steps": 10}, 3, {"max_steps": 3}),
        ({"max_steps": 3}, 3, {"max_steps": 1}),
        ({"max_steps": 2, "max_wall_time": 60}, 2, {"max_steps": 1, "max_wall_time": 60}),
        ({"max_steps": 2, "max_cost": 1}, 2, {"max_steps": 1, "max_cost": 0.5}),
        (
            {"max_steps": 6, "max_parallel_calls": 4, "max_tool_retries": 0},
            2,
            {"max_steps": 3, "max_parallel_calls": 4, "max_tool_retries": 0},
        ),
    ],
)
def test_a_share_is_an_equal_part_rounded_down(
    limit: dict[str, JsonValue], parts: int, share: dict[str, JsonValue]
) -> None:
    """Amounts are divided; time passes for all at once, and limits on a call hold for each."""
    assert split(Budget.model_validate(limit), parts) == Budget.model_validate(share)


@pytest.mark.parametrize(
    ("limit", "parts", "reason", "detail"),
    [
        ({"max_steps": 3}, 4, "max_steps (3) can't be shared by 4", "3 model calls left"),
        (
            {"max_tool_calls": 1},
            2,
            "max_tool_calls (1) can't be shared by 2",
            "1 tool call left",
        ),
        (
            {"max_cost": 0.000000001},
            2,
            "max_cost (1E-9) can't be shared by 2",
            "1E-9 US dollars left",
        ),
    ],
)
def test_too_little_to_share_is_said(
    limit: dict[str, JsonValue], parts: int, reason: str, detail: str
) -> None:
    """Where a part would be nothing, no part begins."""
    found = split(Budget.model_validate(limit), parts)

    assert isinstance(found, Stop)
    assert (found.reason, found.detail) == (reason, detail)
    assert found.next_safe_action.startswith("start a run with a larger ")


@given(BUDGETS, st.integers(1, 60))
def test_shares_together_are_at_most_the_budget(budget: Budget, parts: int) -> None:
    """However odd the figures, all parts together never get more than there is."""
    share = split(budget, parts)  # T-38 T-49

    if isinstance(share, Budget):
        for name in (*AMOUNTS, "max_cost"):
            part, whole = getattr(share, name), getattr(budget, name)
            assert whole is None or Fraction(part) * parts <= Fraction(whole)
        Budget.model_validate(share.model_dump())


@given(BUDGETS, USAGES, st.integers(0, 10**6), st.integers(1, 9))
def test_a_tree_of_runs_keeps_to_one_budget(
    budget: Budget, usage: CallUsage, chars: int, parts: int
) -> None:
    """Children that use up their shares leave their parent's ledger within its limits."""
    ledger = Ledger(steps=1, usage=usage, result_chars=chars)
    handed = remaining(budget, ledger, 0)
    share = split(handed, parts) if isinstance(handed, Budget) else handed
    if isinstance(share, Stop):
        return
    calls = share.max_tool_calls or 0
    child = Ledger(
        steps=share.max_steps,
        tool_calls=calls - calls // 2,
        hosted_calls=calls // 2,
        result_chars=share.max_result_chars or 0,
        usage=CallUsage(
            input_tokens=min(share.max_input_tokens or 0, share.max_tokens or 10**9),
            estimated_cost=share.max_cost or Decimal(0),
        ),
    )

    total = add_child_usage(ledger, *[child] * parts)  # T-49

    assert total.steps <= budget.max_steps
    assert total.tool_calls + total.hosted_calls <= (budget.max_tool_calls or 0)
    spent = total.usage.estimated_cost
    assert budget.max_cost is None or (spent is not None and spent <= budget.max_cost)
    assert budget.max_result_chars is None or total.result_chars <= budget.max_result_chars
    assert budget.max_tokens is None or total.usage.total_tokens <= budget.max_tokens
    assert budget.max_input_tokens is None or total.usage.input_tokens <= budget.max_input_tokens


def test_a_child_adds_what_it_used() -> None:
    """Everything that was used counts once more; streaks, retries, the reservation stay own."""
    own = Ledger(
        steps=1,
        tool_calls=2,
        usage=CallUsage(input_tokens=10, estimated_cost=Decimal("0.1")),
        waited=5,
        failures_in_a_row=1,
        retries=2,
        last_call=tokens(10, 0),
    )
    child = Ledger(
        steps=3,
        tool_calls=4,
        hosted_calls=1,
        usage=CallUsage(input_tokens=20, output_tokens=5, estimated_cost=Decimal("0.2")),
        failed_usage=tokens(7, 0),
        result_chars=100,
        waited=60,
        failures_in_a_row=4,
        recurrences=(2,),
        recent_calls=("x",),
        retries=9,
        last_call=tokens(20, 5),
        call_cost=Decimal("0.4"),
    )

    assert add_child_usage(own, child) == Ledger(
        steps=4,
        tool_calls=6,
        hosted_calls=1,
        usage=CallUsage(input_tokens=30, output_tokens=5, estimated_cost=Decimal("0.3")),
        failed_usage=tokens(7, 0),
        result_chars=100,
        waited=65,
        failures_in_a_row=1,
        retries=2,
        last_call=tokens(10, 0),
        part_steps=3,
        call_cost=Decimal("0.4"),
    )  # T-49


@pytest.mark.parametrize(
    ("waits", "waited"), [([], 5), ([60], 65), ([60, 20], 65), ([20, 60], 65), ([0, 0], 5)]
)
def test_children_wait_at_the_same_time(waits: list[float], waited: float) -> None:
    """Of runs beside each other the longest wait counts, and no wait is ever work."""
    children = [Ledger(waited=wait) for wait in waits]

    assert add_child_usage(Ledger(waited=5), *children).waited == waited


def test_an_unknown_price_stays_unknown_in_the_tree() -> None:
    """One child without a known price leaves a parent whose cost can't be kept."""
    total = add_child_usage(Ledger(usage=cost("0.1")), Ledger(usage=cost(None)))

    stop = check_limits(Budget(max_cost=Decimal(1)), total, 0)

    assert stop is not None
    assert stop.reason == "max_cost (1) can't be kept"
