"""Agents that do a part of a run: in runs of their own, inside its budget, ended with it."""

from decimal import Decimal

import pytest

from contracts.budget import Budget, Ledger
from contracts.usage import CallUsage
from policy import budgets
from workflows.children import spent


@pytest.mark.parametrize(
    ("ceiling", "steps", "tokens", "cost"),
    [
        (Budget(max_steps=3), 3, (0, 0), None),
        (Budget(max_steps=1, max_tokens=100), 1, (100, 0), None),
        (Budget(max_steps=1, max_tokens=100, max_output_tokens=30), 1, (70, 30), None),
        (Budget(max_steps=1, max_input_tokens=50, max_cost=Decimal("0.5")), 1, (50, 0), 0.5),
    ],
    ids=["steps", "tokens", "output tokens", "cost"],
)
def test_what_is_unknown_counts_as_spent(
    ceiling: Budget, steps: int, tokens: tuple[int, int], cost: float | None
) -> None:
    """Of a run that tells nothing, all that it could use counts; what has no limit is unknown."""
    # T-49
    used = spent(ceiling)

    assert used.steps == steps
    assert (used.usage.input_tokens, used.usage.output_tokens) == tokens
    assert used.usage.estimated_cost == (None if cost is None else Decimal(str(cost)))


def test_what_counts_as_spent_leaves_nothing() -> None:
    """A run whose only child told nothing has used its whole budget, whichever limits it has."""
    # T-49
    whole = Budget(
        max_steps=5,
        max_tokens=100,
        max_input_tokens=80,
        max_output_tokens=60,
        max_cost=Decimal("0.25"),
        max_tool_calls=4,
        max_result_chars=900,
    )
    ledger = Ledger(steps=2, usage=CallUsage(input_tokens=10, estimated_cost=Decimal("0.05")))
    left = budgets.remaining(whole, ledger, 0)
    assert isinstance(left, Budget)

    after = budgets.absorbed(ledger, spent(left))

    assert after.steps == whole.max_steps
    assert after.tool_calls == whole.max_tool_calls
    assert after.result_chars == whole.max_result_chars
    assert after.usage.total_tokens >= 100
    assert after.usage.input_tokens >= 80
    assert after.usage.output_tokens >= 60
    assert after.usage.estimated_cost == Decimal("0.25")
