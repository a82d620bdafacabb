"""Runs without a server: the loop goes round, and time passes when somebody waits for it."""

from holdfast.testing import call, say
from tests.memory.runs import MemoryRuns
from tests.sample import scripted


async def test_two_and_three_are_five(memory_runs: MemoryRuns) -> None:
    """A tool is called, its result is told to the model, and the model's answer is the result."""
    app = scripted([call("add", a=2, b=3), lambda turn: say(str(turn.last("add")))])
    async with memory_runs.working(app):
        run = await memory_runs.start("it", "What is 2 + 3?")
        result = await run.result()

    assert (result.status, result.answer, result.steps, result.stop) == ("completed", "5", 2, None)
