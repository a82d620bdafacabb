"""Tools without which a run can't go on: it takes back what it did, and ends."""

from pathlib import Path

from holdfast import Agent, App, Risk, ToolError, tool
from holdfast.testing import Script, call, calls, say
from tests.control.guarded import create_draft
from tests.memory.runs import MemoryRuns
from tests.sample import lines


@tool(risk=Risk.READ_ONLY, must_succeed=True)
async def check_ledger(entry: int) -> str:
    """Check an entry of the ledger, without which nothing is right."""
    if entry == 1:
        return "it is right"
    raise ToolError("conflict", f"entry {entry} is wrong")


@tool(risk=Risk.READ_ONLY, must_succeed=True, max_retries=0)
async def reach_bank() -> str:
    """Reach the bank, which is out of reach."""
    raise ConnectionError("no route to the bank")


def desk(script: Script) -> App:
    agent = Agent(
        name="it",
        instructions="Work.",
        models=["scripted:it"],
        tools=[create_draft, check_ledger, reach_bank],
        escalates=True,
    )
    return App(agents=[agent], scripts={"it": script})


async def test_a_run_ends_where_such_a_tool_fails(memory_runs: MemoryRuns, tmp_path: Path) -> None:
    """What it wrote is taken back, nobody is asked, and no model decides to go on."""
    # BY-70 BY-71 GR-13
    log = str(tmp_path / "log")
    write = call("create_draft", log=log, title="a")
    script = [calls(write, call("check_ledger", entry=1)), call("check_ledger", entry=2)]
    async with memory_runs.working(desk([*script, say("never")])):
        result = await (await memory_runs.start("it")).result()

    assert result.status == "failed"
    assert result.stop is not None
    assert result.stop.reason == "check_ledger must succeed and failed"
    assert "entry 2 is wrong" in result.stop.detail
    assert lines(Path(log)) == ["created a", "removed a"]
    assert result.compensation is not None
    assert len(result.compensation.undone) == 1


async def test_so_does_one_whose_activity_fails(memory_runs: MemoryRuns) -> None:
    """Whatever makes it fail for good: what it refuses, what it raises, its time limit."""
    # BY-70 BY-71
    async with memory_runs.working(desk([call("reach_bank"), say("never")])):
        result = await (await memory_runs.start("it")).result()

    assert (result.status, result.steps) == ("failed", 1)
    assert result.stop is not None
    assert result.stop.reason == "reach_bank must succeed and failed"


async def test_any_other_failure_is_a_result(memory_runs: MemoryRuns, tmp_path: Path) -> None:
    """A call that was never made has not failed, and a tool that succeeds ends nothing."""
    # BY-71
    script = [call("check_ledger"), call("check_ledger", entry=1), say("done")]
    async with memory_runs.working(desk(script)):
        result = await (await memory_runs.start("it")).result()

    assert (result.status, result.answer) == ("completed", "done")
