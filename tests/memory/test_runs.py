"""Runs without a server: the loop goes round, and time passes when somebody waits for it."""

from holdfast.contracts.base import JsonObject
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


async def test_an_update_is_heard_behind_the_signals_that_stand_before_it(
    memory_runs: MemoryRuns,
) -> None:
    """One workflow task brings both, and history has the signal first: so does the run."""
    app = scripted([call("send", log="/dev/null", text="hello"), say("done")])
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        about: JsonObject = {"request_id": (await run.asked_for_approval()).request_id}
        late = await run.decide_behind(
            "approval",
            {**about, "decision": "reject", "approver": "alice"},
            {**about, "decision": "approve", "approver": "bob"},
        )
        await run.result()
        await run.story()
        failed = await run.failure()

    assert (failed.status, late.accepted) == ("denied", False)
