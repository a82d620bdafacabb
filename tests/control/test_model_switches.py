"""The model that takes over: it stays, and sees nothing of what its forerunner kept."""

from holdfast.testing import Reply, ScriptTurn, call, say
from tests.control.controlled import asked_models, broken, chained
from tests.memory.runs import MemoryRuns


async def test_a_switch_survives_a_new_execution(memory_runs: MemoryRuns) -> None:
    """The run stays with the model that took over, also where it goes on in new executions."""

    def second(turn: ScriptTurn) -> Reply:
        return say("two") if turn.number > 3 else call("look", place=str(turn.number))

    app = chained(lambda _: broken("unavailable"), second, max_history_events=1)
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        result = await run.result()
        histories = await memory_runs.stories(run)

    assert (result.answer, len(histories) > 2) == ("two", True)
    assert [line.rpartition(" ")[2] for line in asked_models(*histories)] == [
        "scripted:1",
        *["scripted:2"] * 4,
    ]


async def test_what_one_provider_kept_another_never_sees(memory_runs: MemoryRuns) -> None:
    """A model that takes over gets the transcript, and nothing of what its forerunner kept."""
    # T-35
    seen: list[object] = []

    def first(turn: ScriptTurn) -> Reply:
        if turn.number > 1:
            return broken("unavailable")
        return Reply(calls=call("add", a=1, b=1).calls, provider_state={"chain": "x"})

    def second(turn: ScriptTurn) -> Reply:
        seen.append(dict(turn.provider_state))
        return say(str(turn.last("add")))

    async with memory_runs.working(chained(first, second)):
        run = await memory_runs.start("it")
        result = await run.result()

    assert (result.answer, seen) == ("2", [{}])
