"""Undos that their worker can't begin just then: nobody can say what is switched off."""

from pathlib import Path

from holdfast import Risk, tool
from holdfast.contracts.run import RunResult
from holdfast.guardrails import GuardrailContext, GuardrailResult, Subject, guardrail, tripped
from holdfast.run.disagreements import RETRY_DELAYS_SECONDS
from holdfast.testing import call, say
from tests.memory.instances import without_patches
from tests.memory.runs import MemoryRun, MemoryRuns
from tests.sample import lines, note, scripted
from tests.workflows.test_permissions import policy

RULE = "{id: ok, effect: allow, match: {tools: [settle, revoke]}}"

MANY = len(RETRY_DELAYS_SECONDS)
"""So often an undo is tried."""


@tool(risk=Risk.WRITE_INTERNAL, undo="revoke")
async def settle(log: str) -> str:
    """Pay what is owed."""
    note(log, "paid")
    return "paid"


@tool(risk=Risk.WRITE_INTERNAL)
async def revoke(log: str) -> str:
    """Take a payment back."""
    note(log, "taken back")
    return "taken back"


async def _block(memory_runs: MemoryRuns, log: Path, unsaid: int) -> tuple[MemoryRun, RunResult]:
    """Have a run blocked that has paid, while nobody can say so often what is switched off."""

    @guardrail(layer="output", on_trip="block")
    async def strict(_subject: Subject, _: GuardrailContext) -> GuardrailResult:
        """Block whatever is said."""
        memory_runs.switches.unsaid = unsaid
        return tripped("bad")

    app = scripted(
        [call("settle", log=str(log)), say("done")],
        tools=(settle, revoke),
        guardrails=[strict],
        policy=policy(log.parent, RULE),
    )
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        return run, await run.result()


async def test_an_undo_that_could_not_begin_just_then_is_tried_again(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """It was told as what stands, and never tried again."""
    # GR-13
    run, result = await _block(memory_runs, tmp_path / "log", MANY - 1)
    await run.story()

    assert lines(str(tmp_path / "log")) == ["paid", "taken back"]
    assert result.compensation is not None
    assert (len(result.compensation.undone), result.compensation.not_undone) == (1, ())


async def test_what_could_not_be_taken_back_for_minutes_stands(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """It surely wasn't: nobody wonders whether it was."""
    # GR-13
    run, result = await _block(memory_runs, tmp_path / "log", MANY)
    await run.story()

    assert lines(str(tmp_path / "log")) == ["paid"]
    assert result.compensation is not None
    (left,) = result.compensation.not_undone
    assert "nobody knows what is switched off" in left
    assert [one.outcome for one in result.effects] == ["done"]


async def test_a_run_of_an_earlier_release_replays(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """It tried once."""
    # AD-20
    with without_patches():
        run, result = await _block(memory_runs, tmp_path / "log", 1)
    await run.story()

    assert lines(str(tmp_path / "log")) == ["paid"]
    assert result.status == "blocked"
