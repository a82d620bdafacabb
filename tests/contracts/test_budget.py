"""The limits of a run: what may be asked for, and what a change changes."""

from decimal import Decimal

import pytest
from pydantic import JsonValue, ValidationError

from holdfast.contracts.budget import Budget
from holdfast.contracts.run import RunInput

BRIEF = {"agent": "it", "input": "go"}


def test_no_run_is_without_a_step_budget() -> None:
    """Whoever says nothing gets a limit."""  # PI-01
    assert Budget().max_steps == 50


@pytest.mark.parametrize("value", [None, 0, -1, 0.5, "many", 1_000_001])
def test_a_step_budget_is_at_least_one_and_never_absent(value: JsonValue) -> None:
    """No value means "without limit": it is refused, for the budget and for a whole input."""
    # PI-01
    with pytest.raises(ValidationError):
        Budget.model_validate({"max_steps": value})
    with pytest.raises(ValidationError):
        RunInput.model_validate({**BRIEF, "budget": {"max_steps": value}})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        pytest.param("max_tokens", 0, id="no tokens"),
        pytest.param("max_tokens", -1, id="negative tokens"),
        pytest.param("max_cost", 0, id="no money"),
        pytest.param("max_cost", -0.01, id="negative money"),
        pytest.param("max_cost", "NaN", id="money that is no number"),
        pytest.param("max_cost", "Infinity", id="all the money"),
        pytest.param("max_wall_time", 0, id="no time"),
        pytest.param("max_wall_time", -1, id="negative time"),
        pytest.param("max_wall_time", "nan", id="time that is no number"),
        pytest.param("max_wall_time", "inf", id="for ever"),
        pytest.param("loop_repeat_threshold", 0, id="no call at all"),
        pytest.param("loop_repeat_threshold", None, id="any number of repeats"),
        pytest.param("max_consecutive_failures", 0, id="no failure at all"),
        pytest.param("max_consecutive_failures", None, id="any number of failures"),
    ],
)
def test_a_limit_that_limits_nothing_or_everything_is_refused(
    field: str, value: JsonValue
) -> None:
    """Each limit is above zero and finite, or, where it may be, absent."""
    with pytest.raises(ValidationError):
        Budget.model_validate({field: value})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        pytest.param("max_steps", 1, id="one step"),
        pytest.param("max_steps", 1_000_000, id="a million steps"),
        pytest.param("max_tokens", 1, id="one token"),
        pytest.param("max_tokens", None, id="any number of tokens"),
        pytest.param("max_cost", 0.000001, id="next to no money"),
        pytest.param("max_cost", None, id="any amount of money"),
        pytest.param("max_wall_time", 0.001, id="a millisecond"),
        pytest.param("max_wall_time", None, id="any time"),
        pytest.param("loop_repeat_threshold", 1, id="no repeat"),
        pytest.param("max_consecutive_failures", 1, id="one failure"),
    ],
)
def test_the_smallest_and_largest_limits_are_accepted(field: str, value: JsonValue) -> None:
    """What lies on the boundary is a limit."""
    assert getattr(Budget.model_validate({field: value}), field) == (
        value if field != "max_cost" or value is None else Decimal(str(value))
    )


def test_a_change_keeps_what_it_doesnt_name() -> None:
    """A budget given for a run replaces only the limits that it names."""
    own = Budget(max_steps=20, max_tokens=1000, loop_repeat_threshold=3)

    changed = own.with_changes(Budget.model_validate({"max_steps": 5}))

    assert (changed.max_steps, changed.max_tokens, changed.loop_repeat_threshold) == (5, 1000, 3)


def test_a_change_to_null_lifts_a_limit() -> None:
    """Null is a value of the limits that may be absent."""
    own = Budget(max_tokens=1000)

    assert own.with_changes(Budget.model_validate({"max_tokens": None})).max_tokens is None


def test_cost_is_exact_inside() -> None:
    """An amount of money is a decimal, also when it came as a JSON number."""
    assert Budget.model_validate_json('{"max_cost": 0.1}').max_cost == Decimal("0.1")
