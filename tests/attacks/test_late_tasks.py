"""Tasks for other agents that wait before they begin: what was decided about them may be gone."""

import asyncio
from pathlib import Path

from holdfast import Agent, App, Budget, Handoff, HandoffData, Risk, SubAgent, tool
from holdfast.testing import Script, call, calls, say
from tests.memory.instances import without_patches
from tests.memory.runs import MemoryRuns
from tests.sample import IMPATIENT, TOOLS, note
from tests.workflows.delegating import FOUND, Findings, Question
from tests.workflows.test_permissions import policy
from tests.workflows.test_relayed_requests import relayed
from tests.workflows.test_returning_handoffs import office
from tests.workflows.tiered import written

ASKS: Script = [call("ask_user", question="Which?"), FOUND]
FIVE = calls(
    *(call("delegate_to_researcher", topic=f"t{number}") for number in range(4)),
    call("delegate_to_clerk", topic="late"),
)


def crew(rules: Path | None = None) -> App:
    """An app whose agent `desk` has two others work for it, of which each may do four tasks."""
    others = ("researcher", "clerk")
    return App(
        agents=[
            Agent(
                name="desk",
                instructions="Have others do it.",
                models=["scripted:desk"],
                settings=IMPATIENT,
                budget=Budget(max_steps=50),
                subagents=[
                    SubAgent(name, input=Question, output=Findings, budget_share=0.1)
                    for name in others
                ],
            ),
            *(
                Agent(
                    name=name,
                    instructions="Do as you are told.",
                    models=[f"scripted:{name}"],
                    settings=IMPATIENT,
                    tools=TOOLS,
                )
                for name in others
            ),
        ],
        scripts={"desk": [FIVE, say("So.")], "researcher": ASKS, "clerk": (FOUND,)},
        policy=rules,
    )


async def test_a_task_that_waits_for_others_is_decided_anew(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """Four work at once, for as long as people take; by then the fifth may be forbidden."""
    # T-20 BY-52
    async with memory_runs.working(crew()):
        run = await memory_runs.start("desk")
        questions = await relayed(run, 4)
    rule = "{id: frozen, effect: forbid, reason: change freeze, match: {receivers: [clerk]}}"
    async with memory_runs.working(crew(policy(tmp_path, rule))):
        for one in questions:
            await run.signal("answer", {"request_id": one.request_id, "text": "blue"})
        result = await run.result()
        late = (await run.results())[-1]
        parts = await run.parts()
        await run.story()

    assert (result.status, result.answer) == ("completed", "So.")
    assert "change freeze" in str(late)
    assert [part.rpartition("-")[2] for part in parts] == ["researcher"] * 4


@tool(risk=Risk.READ_ONLY, timeout=30)
async def load_slowly(goal: str) -> HandoffData:
    """Load nothing, and take a while for it."""
    log = goal.rpartition(" ")[2]
    note(log, "loading")
    while not Path(f"{log}.go").exists():  # noqa: ASYNC110 -- it is elsewhere
        await asyncio.sleep(0.01)
    return HandoffData()


async def test_a_task_that_waits_for_a_suspended_run_is_decided_anew(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """It was allowed before the run was held, by a policy that is gone when it goes on."""
    # T-20
    log = tmp_path / "log"
    script = [call("transfer_to_billing", goal=f"charge {log}"), say("So.")]
    said = [say("It is charged.")]
    rule = "{id: frozen, effect: forbid, reason: change freeze, match: {receivers: [billing]}}"
    async with memory_runs.working(office(script, said, prepare=load_slowly)):
        run = await memory_runs.start("triage")
        await written(log)
        await run.signal("suspend", {})
        Path(f"{log}.go").touch()
        while "run" in str((await run.status()).status):
            await run.pause()
        await memory_runs.pass_time(60)
    rules = policy(tmp_path, rule)
    async with memory_runs.working(office(script, said, prepare=load_slowly, rules=rules)):
        await run.signal("resume", {})
        result = await run.result()
        failure = await run.failure()
        parts = await run.parts()
        await run.story()

    assert result.answer == "So."
    assert "change freeze" in failure.reason
    assert parts == []


def shop(script: Script, rules: Path | None = None) -> App:
    """An app whose agent `desk` has others answer for whom something is loaded, and a clerk."""
    names = ("billing", "shipping", "clerk")
    handoffs = [
        Handoff(name, when=name, prepare=load_slowly, return_expected=True, timeout_seconds=600)
        for name in names[:2]
    ]
    return App(
        agents=[
            Agent(
                name="desk",
                instructions="Have others do it.",
                models=["scripted:desk"],
                settings=IMPATIENT,
                budget=Budget(max_steps=50),
                handoffs=handoffs,
                subagents=[SubAgent("clerk", input=Question, output=Findings, budget_share=0.1)],
            ),
            *(
                Agent(
                    name=name,
                    instructions="Do as you are told.",
                    models=[f"scripted:{name}"],
                    settings=IMPATIENT,
                )
                for name in names
            ),
        ],
        scripts={
            "desk": script,
            "billing": [say("It is charged.")],
            "shipping": [say("It is sent.")],
            "clerk": (FOUND,),
        },
        policy=rules,
    )


async def test_a_task_that_waits_until_something_is_loaded_is_decided_anew(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """What is loaded for another task of the turn takes a while; by then it may be forbidden."""
    # T-20 BY-52
    log = tmp_path / "log"
    both = calls(
        call("transfer_to_billing", goal=f"charge {log}"),
        call("delegate_to_clerk", topic="late"),
    )
    script = [both, say("So.")]
    async with memory_runs.working(shop(script)):
        run = await memory_runs.start("desk")
        await written(log)
        await memory_runs.pass_time(10)
        Path(f"{log}.go").touch()
    rule = "{id: frozen, effect: forbid, reason: change freeze, match: {receivers: [clerk]}}"
    async with memory_runs.working(shop(script, policy(tmp_path, rule))):
        result = await run.result()
        first, late = await run.results()
        parts = await run.parts()
        await run.story()

    assert (result.answer, first.status) == ("So.", "ok")
    assert "change freeze" in str(late)
    assert [part.rpartition("-")[2] for part in parts] == ["billing"]


async def test_nothing_is_loaded_for_a_task_in_a_suspended_run(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """It was suspended while something was loaded for another task of the turn."""
    # T-20
    first, second = tmp_path / "first", tmp_path / "second"
    both = calls(
        call("transfer_to_billing", goal=f"charge {first}"),
        call("transfer_to_shipping", goal=f"send {second}"),
    )
    async with memory_runs.working(shop([both, say("So.")])):
        run = await memory_runs.start("desk")
        await written(first)
        await run.signal("suspend", {})
        Path(f"{first}.go").touch()
        while (await run.status()).status != "suspended":
            await run.pause()
        held = second.exists()
        Path(f"{second}.go").touch()
        await run.signal("resume", {})
        result = await run.result()
        results = await run.results()
        await run.story()

    assert not held
    assert second.exists()
    assert (result.answer, [one.status for one in results]) == ("So.", ["ok", "ok"])


async def test_a_run_of_an_earlier_release_began_late_tasks_and_replays(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """Its history has the beginning of what no run begins any more; it can go on all the same."""
    # T-20 AD-20
    first, second = tmp_path / "first", tmp_path / "second"
    late = calls(
        call("delegate_to_clerk", topic="late"),
        call("transfer_to_billing", goal=f"charge {first}"),
        call("transfer_to_shipping", goal=f"send {second}"),
    )
    app = shop([late, say("So.")])
    with without_patches():
        async with memory_runs.working(app):
            run = await memory_runs.start("desk")
            await written(first)
            await run.signal("suspend", {})
            await memory_runs.pass_time(10)
            Path(f"{first}.go").touch()
            await written(second)
            await memory_runs.pass_time(10)
            Path(f"{second}.go").touch()
            await run.signal("resume", {})
            result = await run.result()
            parts = await run.parts()
    async with memory_runs.working(app):
        await run.story()

    assert result.answer == "So."
    assert [part.rpartition("-")[2] for part in parts] == ["clerk", "billing"]
