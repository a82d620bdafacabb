"""Parts whose answers, each as long as one may be, fill the history of the run they are of."""

import json

from holdfast import Budget, SubAgent
from holdfast.contracts.calls import ToolFailure
from holdfast.testing import Reply, call, calls, say
from holdfast.workflows.delegation.room import MAX_PARTS_BYTES
from tests.memory.instances import without_patches
from tests.memory.runs import MemoryRun, MemoryRuns
from tests.workflows.delegating import Findings, Question, desk

ANSWER_CHARS = 280_000
"""A result has its answer twice: as text, and as what was read from it."""

MANY = MAX_PARTS_BYTES // (2 * ANSWER_CHARS) + 9
"""Tasks of one turn; of the last, four are under way when it is known that it is enough."""


def ask_many() -> Reply:
    """Give as many tasks in one turn."""
    return calls(*(call("delegate_to_researcher", topic=f"{n}") for n in range(MANY)))


ASKS = SubAgent("researcher", input=Question, output=Findings, budget_share=0.01)
LONG = say(json.dumps({"facts": ["x" * ANSWER_CHARS]}))


async def _run_many(memory_runs: MemoryRuns) -> tuple[MemoryRun, int]:
    """Have a run give so many tasks, and say how many of them have no answer."""
    app = desk(
        [ask_many(), say("done")],
        [LONG],
        subagents=[ASKS],
        budget=Budget(max_steps=2_000, max_tool_calls=2_000, max_consecutive_failures=MANY),
    )
    async with memory_runs.working(app):
        run = await memory_runs.start("desk")
        result, results = await run.result(), await run.results()
    late = [one for one in results if isinstance(one, ToolFailure)]
    assert (result.status, len(results)) == ("completed", MANY)
    assert all("not begun" in one.reason for one in late)
    return run, len(late)


async def test_no_number_of_long_answers_ends_a_run(memory_runs: MemoryRuns) -> None:
    """Of those that came too late its model is told that they haven't begun."""
    # T-33
    run, late = await _run_many(memory_runs)
    await run.stories()

    assert 0 < late < 9


async def test_a_run_of_an_earlier_release_replays(memory_runs: MemoryRuns) -> None:
    """It began all of them."""
    # AD-20
    with without_patches():
        run, late = await _run_many(memory_runs)
    await run.stories()

    assert late == 0
