"""When a run has used up what it may use: both sides of every limit."""

from decimal import Decimal

import pytest
from pydantic import JsonValue

from contracts.budget import Budget, Ledger
from contracts.usage import CallUsage
from policy.budgets import exhausted, seconds_left

LIMITS: dict[str, JsonValue] = {
    "max_steps": 3,
    "max_tokens": 100,
    "max_cost": 0.5,
    "max_wall_time": 60,
}


def tokens(input_: int, output: int, cached: int = 0) -> CallUsage:
    return CallUsage(input_tokens=input_, output_tokens=output, cached_tokens=cached)


def cost(amount: str | None) -> CallUsage:
    return CallUsage(estimated_cost=None if amount is None else Decimal(amount))


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
    stop = exhausted(Budget.model_validate(LIMITS), ledger, elapsed)

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

    assert exhausted(budget, *used) is None


def test_every_stop_says_what_to_do() -> None:
    """Whoever reads why a run stopped reads what to do next, too."""
    stops = [
        exhausted(Budget.model_validate(LIMITS), ledger, elapsed)
        for ledger, elapsed in [
            (Ledger(steps=3), 0),
            (Ledger(usage=tokens(100, 0)), 0),
            (Ledger(usage=cost("1")), 0),
            (Ledger(usage=cost(None)), 0),
            (Ledger(), 60),
        ]
    ]

    assert [stop.detail for stop in stops if stop] == [
        "3 model calls",
        "100 tokens",
        "1 US dollars",
        "the model used has no known price",
        "60 s of work",
    ]
    assert {stop.next_safe_action for stop in stops if stop} == {
        "start a run with a larger budget, or split the task"
    }


def test_steps_are_named_first() -> None:
    """Of several limits reached at once the run names the steps."""
    ledger = Ledger(steps=3, usage=tokens(100, 100))

    stop = exhausted(Budget.model_validate(LIMITS), ledger, 99)

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
