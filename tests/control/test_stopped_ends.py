"""A stop that comes at an awkward moment: in an undo, a wait, a way back, a part of a plan."""

from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast import App
from holdfast.contracts.control import Checkpoint
from holdfast.contracts.state.phase import Ended, Stopping
from holdfast.contracts.stops import Stop
from holdfast.run import replies, steps
from holdfast.run.backtracking import find_workspace_to_restore
from holdfast.run.step.kinds import Halt
from holdfast.run.transcript import halt
from holdfast.testing import call, say
from holdfast.trace.reader import read_trace
from tests.builders import NOW, a_reply, a_state
from tests.control.test_held_undoing import blocked, gone_back
from tests.control.test_patience import HOUR, Outage, patient, waits
from tests.control.test_stops import STOP, holds, keep
from tests.memory.runs import MemoryRuns
from tests.running import Runs
from tests.sample import lines, scripted
from tests.workflows.tiered import staffed, written


@pytest.mark.parametrize("app", [blocked, gone_back], ids=["saga", "dead end"])
async def test_an_undo_comes_to_its_end_and_no_other_begins(
    memory_runs: MemoryRuns, tmp_path: Path, app: Callable[[Path], App]
) -> None:
    """What is being taken back is; what is left of it stands, and the result says so."""
    # GR-13
    log = tmp_path / "log"
    async with memory_runs.working(app(log)):
        run = await memory_runs.start("it")
        await written(log)
        await run.signal("stop", STOP)
        Path(f"{log}.go").touch()
        result = await run.result()
        await memory_runs.stories(run)

    holds(result)
    assert lines(log) == ["began three", "ended three"]
    assert [one.tool for one in result.effects] == ["put_up", "put_up"]
    assert result.compensation is not None
    assert [one.partition("(")[0] for one in result.compensation.undone] == ["put_up"]


async def test_nobody_waits_for_a_provider(runs: Runs) -> None:
    """A run whose provider is down for hours ends at once, and its history can be replayed."""
    async with runs.working(scripted(Outage(10_000), settings=patient(HOUR))):
        run = await runs.start("it")
        await waits(run)
        await run.signal("stop", STOP)
        result = await run.result()
        await runs.histories(run)

    holds(result)


def test_no_workspace_is_restored() -> None:
    """A stop takes nothing back: of an approach that was given up the files stay as they are."""
    # BT-05
    checkpoint = Checkpoint(items=1, model_index=0, workspace="ab" * 32)
    state = a_state().with_approaches(checkpoint=checkpoint, dead_end="it isn't good")
    told = Stop(reason="stopped by a person", detail="", next_safe_action="", ended_by="dana")

    assert find_workspace_to_restore(state) == checkpoint.workspace
    assert find_workspace_to_restore(state.with_(phase=Stopping(stop=told))) == ""


def test_no_answer_completes_what_a_person_has_stopped() -> None:
    """The reply was on its way; it is withheld, and the run ends as it was told to."""
    # BY-44
    told = Stop(reason="stopped by a person", detail="", next_safe_action="", ended_by="dana")
    state = a_state().with_(phase=Stopping(stop=told))

    state = replies.after_model(state, a_reply(text="42"), NOW)
    step = steps.next_step(state, NOW)
    assert isinstance(step, Halt)
    state = halt(state, step.stop, NOW)

    assert state.phase == Ended(outcome="stopped", stop=told, by_person=True)
    assert state.answering.answer is None


@pytest.mark.parametrize("busy", ["planner", "hand"])
async def test_a_plan_goes_no_further(runs: Runs, tmp_path: Path, busy: str) -> None:
    """Who plans is stopped as well as those who carry a plan out; no other part begins."""
    # FB-11
    log = tmp_path / "log"
    plan = say('{"subtasks": ["cut", "sew"]}')
    holding = [call("hold", log=str(log))]
    script = {"planner": holding} if busy == "planner" else {"planner": [plan], "hand": holding}
    async with runs.working(staffed(script)):
        run = await runs.start("it")
        await written(log)
        await run.signal("stop", STOP)
        result = await run.result()
        parts = [one.name for one in read_trace(await runs.histories(run)).background_tasks]

    holds(result)
    assert set(lines(log)) == {"held"}
    assert parts.count("hand") == (0 if busy == "planner" else 2)


async def test_words_that_came_too_late_are_shown_as_refused(runs: Runs, tmp_path: Path) -> None:
    """The trace tells of the stop that counted, and why what came after it changed nothing."""
    log = tmp_path / "log"
    async with runs.working(scripted([call("keep", log=str(log), title="a")], tools=(keep,))):
        run = await runs.start("it")
        await written(log)
        for _ in range(2):
            await run.signal("stop", STOP)
        await run.signal("steer", {"text": "go on", "by": "erin"})
        await run.refusals(2)
        Path(f"{log}.go").touch()
        result = await run.result()
        said = read_trace(await runs.histories(run)).messages

    holds(result)
    assert [(one.signal, one.accepted, one.code) for one in said] == [
        ("stop", True, None),
        ("stop", False, "over"),
        ("steer", False, "over"),
    ]
    assert {one.refusal for one in said[1:]} == {"the run is over"}
