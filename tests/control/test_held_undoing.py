"""A run that is suspended begins no undo: what has begun ends, the rest waits for `resume`."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from temporalio.client import WorkflowFailureError

from holdfast import App, Backtracking, tool
from holdfast.contracts.tools import Risk
from holdfast.testing import Reply, ScriptTurn, call, calls, say
from tests.control.guarded import NAMED, on_word, over
from tests.memory.runs import MemoryRuns
from tests.running import AnyRun, Runs
from tests.sample import lines, note, scripted

TITLES = ("one", "two", "three")


@tool(risk=Risk.WRITE_LOCAL, scope=NAMED)
async def take_down(log: str, title: str) -> str:
    """Take down what was put up, when the test lets it."""
    note(log, f"began {title}")
    while not Path(f"{log}.go").exists():  # noqa: ASYNC110 -- it is elsewhere
        await asyncio.sleep(0.01)
    note(log, f"ended {title}")
    return "down"


@tool(risk=Risk.WRITE_LOCAL, scope=NAMED, undo="take_down")
async def put_up(log: str, title: str) -> str:
    """Put something up."""
    return f"put up {title} for {log}"


def blocked(log: Path) -> App:
    script = [calls(*(call("put_up", log=str(log), title=one) for one in TITLES)), say("bad")]
    looks = on_word("no_bad", "bad", "output", on_trip="block")
    return scripted(script, tools=(put_up,), guardrails=[looks])


def gone_back(log: Path) -> App:
    """It has come to a dead end, and goes back to where it began."""

    def script(turn: ScriptTurn) -> Reply:
        match turn.number:
            case 2:
                return calls(*(call("put_up", log=str(log), title=one) for one in TITLES))
            case 3:
                return say("bad")
            case _:
                return say("good")

    return scripted(
        script,
        tools=(put_up,),
        acceptance=[on_word("no_bad", "bad", "output")],
        backtracking=Backtracking(revisions=0),
    )


async def held(run: AnyRun, log: Path) -> None:
    """Suspend a run while its first undo is under way, and wait until nothing is."""
    while not lines(log):  # noqa: ASYNC110 -- it is elsewhere
        await asyncio.sleep(0.01)
    await run.signal("suspend", {})
    early = await run.status()
    assert (early.status, early.in_flight) == ("suspending", ("undo",))
    Path(f"{log}.go").touch()
    while (await run.status()).status == "suspending":  # noqa: ASYNC110 -- as above
        await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("app", "end"), [(blocked, "blocked"), (gone_back, "completed")], ids=["saga", "dead end"]
)
async def test_a_suspended_run_begins_no_undo(
    memory_runs: MemoryRuns, tmp_path: Path, app: Callable[[Path], App], end: str
) -> None:
    """The one that had begun ends, the others wait for `resume`, and keep their order."""
    # BY-62 GR-13
    log = tmp_path / "log"
    async with memory_runs.working(app(log)):
        run = await memory_runs.start("it")
        await held(run, log)
        status, before = await run.status(), lines(log)
        await run.signal("resume", {})
        found = await over(run)

    assert (status.status, status.in_flight) == ("suspended", ())
    assert before == ["began three", "ended three"]
    assert lines(log) == [f"{word} {one}" for one in TITLES[::-1] for word in ("began", "ended")]
    assert found.result.status == end


async def test_a_suspended_run_that_is_cancelled_begins_no_undo(
    runs: Runs, tmp_path: Path
) -> None:
    """Who cancels it needn't resume it first."""
    # BY-62
    log = tmp_path / "log"
    async with runs.working(blocked(log)):
        run = await runs.start("it")
        await held(run, log)
        await run.handle.cancel()
        with pytest.raises(WorkflowFailureError):
            await run.result()

    assert lines(log) == ["began three", "ended three"]
