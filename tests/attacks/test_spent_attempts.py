"""Attempts of a model that use something up and bring no reply, against what a run may use."""

import asyncio
from decimal import Decimal

import pytest

from holdfast import Budget, ModelSettings
from holdfast.activities import heartbeats
from holdfast.adapters.scripted import ScriptedAdapter
from holdfast.contracts.model import ModelReply, ModelRequest
from holdfast.testing import Reply, ScriptTurn, call
from tests.control.controlled import broken, chained, used
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


@pytest.mark.parametrize("patience", [0.0, 7200.0])
async def test_no_attempt_follows_where_those_lost_with_their_workers_may_have_spent_it(
    memory_runs: MemoryRuns, monkeypatch: pytest.MonkeyPatch, patience: float
) -> None:
    """
    A worker that ends in the middle of a call has used what nobody tells: as much as the last one.

    Of $1.00 the first call used $0.40. Two that are lost may have used as much each; no third is
    made, however many workers there are.
    """
    # BY-70 T-49 SM-02
    monkeypatch.setattr(heartbeats, "INTERVAL", 1000)  # as if each worker were gone
    answered, asked = ScriptedAdapter.respond, list[int]()

    async def respond(adapter: ScriptedAdapter, request: ModelRequest) -> ModelReply:
        asked.append(request.attempt)
        if len(asked) == 1:
            return await answered(adapter, request)
        await asyncio.Event().wait()
        raise AssertionError("nobody says so")

    monkeypatch.setattr(ScriptedAdapter, "respond", respond)
    first = used(call("add", a=1, b=2), input_tokens=100, output_tokens=10, cost="0.40")
    budget, settings = Budget(max_cost=Decimal("1.00")), ModelSettings(patience=patience)
    app = chained([first], budget=budget, settings=settings)
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        result = await run.result()
        await run.story()

    assert result.stop is not None
    assert (result.status, result.stop.reason) == ("stopped", "max_cost (1.0) reached")
    assert result.usage.estimated_cost == Decimal("1.20")
    assert asked == [1, 1, 2]


async def test_a_first_call_that_is_lost_counts_as_what_it_was_sent(
    memory_runs: MemoryRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before there was a reply nobody knows more of it, and it isn't asked for ever."""
    # BY-70 T-49 SM-02
    monkeypatch.setattr(heartbeats, "INTERVAL", 1000)
    asked = list[int]()

    async def respond(_: ScriptedAdapter, request: ModelRequest) -> ModelReply:
        asked.append(request.attempt)
        await asyncio.Event().wait()
        raise AssertionError("nobody says so")

    monkeypatch.setattr(ScriptedAdapter, "respond", respond)
    app = chained([], budget=Budget(max_tokens=20_000))
    async with memory_runs.working(app):
        run = await memory_runs.start("it", "x" * 20_000)
        result = await run.result()

    assert result.stop is not None
    assert (result.status, result.stop.reason) == ("stopped", "max_tokens (20000) reached")
    assert len(asked) <= 4
