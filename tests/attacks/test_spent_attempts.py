"""Attempts of a model that use something up and bring no reply, against what a run may use."""

from decimal import Decimal

import pytest

from holdfast import Budget
from holdfast.testing import Reply, ScriptTurn
from tests.control.controlled import broken, chained
from tests.memory.runs import MemoryRuns


@pytest.mark.parametrize("models", [1, 2])
async def test_no_attempt_follows_where_the_budget_is_spent(
    memory_runs: MemoryRuns, models: int
) -> None:
    """Each fails once it has used $0.40 of $1.00: the third is the last, whichever model it is."""
    # BY-70 T-49
    asked = list[int]()

    def failing(turn: ScriptTurn) -> Reply:
        asked.append(turn.number)
        return broken("cut_off", cost="0.40")

    app = chained(*[failing] * models, budget=Budget(max_cost=Decimal("1.00")))
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        result = await run.result()
        await run.story()

    assert result.stop is not None
    assert (result.status, result.stop.reason) == ("stopped", "max_cost (1.0) reached")
    assert result.usage.estimated_cost == Decimal("1.20")
    assert len(asked) == 3
