"""A flood on a suspended run whose goal an agent has yet to judge leaves room for `resume`."""

from holdfast import App
from holdfast.guardrails import judged_by
from holdfast.testing import say
from tests.control.test_judges import FINE, judged
from tests.memory.instances import without_patches
from tests.memory.runs import MemoryRun, MemoryRuns


def an_app() -> App:
    """An app whose run is suspended before its goal is judged, and takes few events."""
    looks = judged_by("critic", layer="input")
    return judged([say("done")], [say(FINE)], looks, max_history_events=10)


async def _flooded(memory_runs: MemoryRuns, run: MemoryRun) -> None:
    """Say what nobody understands until the history is long."""
    for number in range(5):
        await run.signal("nonsense", {"n": number})
        await run.rest()
    await memory_runs.pass_time(1)


async def test_no_judge_keeps_a_flooded_run_from_a_new_execution(memory_runs: MemoryRuns) -> None:
    """The run goes on in one, as often as it takes; its goal is judged behind `resume`."""
    # BY-62
    run = await memory_runs.start("it")
    await run.signal("suspend", {})
    async with memory_runs.working(an_app()):
        await _flooded(memory_runs, run)
        first = run.executions
        await _flooded(memory_runs, run)
        held = (first, run.executions, await run.parts())
        await run.signal("resume", {})
        result = await run.result()
        judges = await run.parts()
        await run.stories()

    assert held[0] > 1
    assert held[1] > held[0]
    assert held[2] == []
    assert (result.status, len(judges)) == ("completed", 1)


async def test_a_flooded_run_of_an_earlier_release_replays(memory_runs: MemoryRuns) -> None:
    """Its judge waits for `resume`, as it did; it can go on all the same."""
    # AD-20
    run = await memory_runs.start("it")
    await run.signal("suspend", {})
    with without_patches():
        async with memory_runs.working(an_app()):
            await _flooded(memory_runs, run)
    async with memory_runs.working(an_app()):
        waited = run.executions
        await run.signal("resume", {})
        result = await run.result()
        await run.stories()

    assert (waited, result.status) == (1, "completed")
