"""What a run says of calls of its parts that waited in their queue."""

from holdfast.contracts.base import JsonObject
from holdfast.contracts.state.late_calls import LateCall
from holdfast.testing import call, say
from holdfast.tools import ask_user
from tests.memory.runs import MemoryRuns
from tests.sample import scripted
from tests.workflows.delegating import ask, desk


async def test_a_whole_says_whether_its_parts_may_begin_anything(memory_runs: MemoryRuns) -> None:
    """To whoever asks: its status tells as much."""
    asked: JsonObject = {"proof": None, "now": "2126-11-20T09:00:00Z"}
    async with memory_runs.working(scripted([call("ask_user", question="?")], tools=[ask_user])):
        run = await memory_runs.start("it")
        await run.asked()
        before = await run.query("late_call", LateCall, asked)
        await run.signal("suspend", {})
        held = await run.query("late_call", LateCall, asked)
        await run.signal("stop", {"reason": "that is wrong"})
        await run.result()
        over = await run.query("late_call", LateCall, asked)

    assert before == LateCall()
    assert held == LateCall(reason="the run that its run works for is suspended")
    assert over == LateCall(reason="the run that its run works for is over")


async def test_a_part_names_whom_it_works_for(memory_runs: MemoryRuns) -> None:
    """Who asks it asks that one next, and so on to the run that works for nobody."""
    asked: JsonObject = {"proof": None, "now": "2126-11-20T09:00:00Z"}
    app = desk([ask("tides"), say("So.")], [call("ask_user", question="?")], theirs=[ask_user])
    async with memory_runs.working(app):
        run = await memory_runs.start("desk")
        await run.asked()
        (name,) = await run.parts()
        part = await run.part(name).query("late_call", LateCall, asked)
        whole = await run.query("late_call", LateCall, asked)
        await run.cancel()

    assert part.whole is not None
    assert part.whole.run_id == run.id
    assert whole == LateCall()
