"""A plan that is none: what declines, breaks off or says nothing is no approach."""

import pytest

from holdfast import Budget
from holdfast.testing import Reply, ScriptTurn, say
from tests.control.approaches import backtracking, round_of
from tests.control.controlled import asked_models, recorded, used, why
from tests.memory.runs import MemoryRuns


@pytest.mark.parametrize("stop", ["refusal", "content_filter", "max_tokens"])
async def test_who_declines_to_plan_ends_the_run(memory_runs: MemoryRuns, stop: str) -> None:
    """Nobody carries out "I won't", and nobody shops for a model that would."""
    # FB-07 T-36 T-48 BT-01

    def unwilling(turn: ScriptTurn) -> Reply:
        return Reply(text="I won't", stop=stop) if turn.without_tools else say("good")  # pyright: ignore[reportArgumentType] -- one of the causes

    async with memory_runs.working(backtracking(unwilling, [say("good")])):
        run = await memory_runs.start("it")
        result = await run.result()
        histories = await memory_runs.stories(run)

    assert (result.status, why(result).reason) == ("stopped", f"model stopped: {stop}")
    assert len(asked_models(*histories)) == 1


async def test_who_has_no_plan_leaves_it_to_another_model(memory_runs: MemoryRuns) -> None:
    """The next model plans, and carries out its own approach."""
    # FB-08 BT-01

    def able(turn: ScriptTurn) -> Reply:
        return say("look under the bed") if turn.without_tools else say("good")

    async with memory_runs.working(backtracking([Reply()], able)):
        run = await memory_runs.start("it")
        result = await run.result()
        histories = await memory_runs.stories(run)

    assert (result.answer, result.model) == ("good", "scripted:2")
    assert [line for line in recorded(*histories) if line.startswith("approach:")] == [
        "approach: look under the bed"
    ]


@pytest.mark.parametrize(
    ("limit", "answer"), [(80, "good"), (79, None)], ids=["just enough", "one less"]
)
async def test_what_a_failed_approach_took_is_not_reserved(
    memory_runs: MemoryRuns, limit: int, answer: str | None
) -> None:
    """The next approach begins with a plan, which takes less than the answer that failed."""
    # BT-05 T-38

    def dear_at_first(turn: ScriptTurn) -> Reply:
        if turn.without_tools:
            return used(say("an approach"), 10)
        return used(say("bad"), 50) if round_of(turn) == 1 else used(say("good"), 10)

    async with memory_runs.working(backtracking(dear_at_first, budget=Budget(max_tokens=limit))):
        run = await memory_runs.start("it")
        result = await run.result()

    assert result.answer == answer
