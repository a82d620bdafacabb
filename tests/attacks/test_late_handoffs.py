"""Handoffs that are decided anew: each is told once, and of several one happens at most."""

from pathlib import Path

from holdfast import Agent, App, Handoff
from holdfast.testing import Script, call, calls, say
from tests.attacks.test_late_tasks import load_slowly
from tests.memory.instances import without_patches
from tests.memory.runs import MemoryRun, MemoryRuns
from tests.sample import IMPATIENT, lines
from tests.workflows.test_permissions import policy
from tests.workflows.test_returning_handoffs import office
from tests.workflows.tiered import recorded, written


async def _hold_one(memory_runs: MemoryRuns, log: Path) -> MemoryRun:
    """Have a run suspended while something is loaded for a receiver, who begins a minute later."""
    script = [call("transfer_to_billing", goal=f"charge {log}"), say("So.")]
    async with memory_runs.working(office(script, [say("It is charged.")], prepare=load_slowly)):
        run = await memory_runs.start("triage")
        await written(log)
        await run.signal("suspend", {})
        Path(f"{log}.go").touch()
        while "run" in str((await run.status()).status):
            await run.pause()
        await memory_runs.pass_time(60)
        await run.signal("resume", {})
        result = await run.result()
    assert result.answer == "So."
    return run


async def test_a_handoff_that_waits_for_a_suspended_run_is_told_once(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """It was on record when it was decided anew."""
    # BY-52
    run = await _hold_one(memory_runs, tmp_path / "log")
    told = [line for line in recorded(await run.story()) if line.startswith("handoff")]

    assert len(told) == 1
    assert len(await run.parts()) == 1


async def test_a_run_of_an_earlier_release_replays(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """What is decided anew was loaded for again, and told again, in it."""
    # AD-20
    log = tmp_path / "log"
    with without_patches():
        run = await _hold_one(memory_runs, log)

    assert len(await run.parts()) == 1
    assert lines(str(log)) == ["loading", "loading"]
    assert [line for line in recorded(await run.story()) if line.startswith("handoff")] == [
        f"handoff: triage → billing: charge {log}"
    ] * 2


def _shop(log: Path, rules: Path | None = None) -> App:
    """An app whose agent `desk` names two at once that may go on in its place."""
    both = calls(
        call("transfer_to_billing", goal=f"charge {log}"),
        call("transfer_to_shipping", goal="send it"),
    )
    slow = Handoff("billing", when="money", prepare=load_slowly)
    handoffs = {"desk": (slow, Handoff("shipping", when="parcels"))}
    scripts: dict[str, Script] = {
        "desk": [both, say("So.")],
        "billing": [say("It is charged.")],
        "shipping": lambda _: say("It is sent."),
    }
    agents = [
        Agent(
            name=name,
            instructions="Do as you are told.",
            models=[f"scripted:{name}"],
            settings=IMPATIENT,
            handoffs=handoffs.get(name, ()),
        )
        for name in scripts
    ]
    return App(agents=agents, scripts=scripts, policy=rules)


async def test_where_the_first_of_two_handoffs_is_forbidden_by_then_the_other_happens(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """It had been refused because the first happens, which was decided anew, and didn't."""
    # T-20
    log = tmp_path / "log"
    async with memory_runs.working(_shop(log)):
        run = await memory_runs.start("desk")
        await written(log)
        await memory_runs.pass_time(10)
        Path(f"{log}.go").touch()
    rule = "{id: frozen, effect: forbid, reason: change freeze, match: {receivers: [billing]}}"
    async with memory_runs.working(_shop(log, policy(tmp_path, rule))):
        result = await run.result()
        first, second = await run.results()
        await run.story()

    assert result.answer == "It is sent."
    assert ("change freeze" in str(first), second.status) == (True, "ok")
