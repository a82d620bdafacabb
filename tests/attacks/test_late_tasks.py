"""Tasks for other agents that wait before they begin: what was decided about them may be gone."""

import asyncio
from pathlib import Path

import pytest

from holdfast import Agent, App, Budget, Handoff, HandoffData, Risk, SubAgent, tool
from holdfast.contracts.base import JsonObject
from holdfast.testing import Script, call, calls, say
from tests.memory.instances import without_patches
from tests.memory.runs import MemoryRuns
from tests.sample import IMPATIENT, TOOLS, lines, note
from tests.workflows.delegating import FOUND, Findings, Question
from tests.workflows.test_handoffs import bureau
from tests.workflows.test_permissions import policy
from tests.workflows.test_relayed_requests import relayed
from tests.workflows.test_returning_handoffs import office
from tests.workflows.tiered import recorded, written

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


TRANSFERS = {True: office, False: bureau}
"""Offices whose receiver answers, or goes on."""

APPROVED = "{id: asks, effect: approve, match: {receivers: [billing]}, approval: {valid_for: 8s}}"


@pytest.mark.parametrize("returns", [True, False])
async def test_an_approval_counts_no_more_behind_what_was_loaded_for_long(
    memory_runs: MemoryRuns, tmp_path: Path, *, returns: bool
) -> None:
    """It was good when something was loaded for the receiver; people are asked anew, and once."""
    # T-20 BY-52
    log = tmp_path / "log"
    goal = call("transfer_to_billing", goal=f"charge {log}")
    said = (say("It is charged."), say("It is charged."))
    rules = policy(tmp_path, APPROVED)
    app = TRANSFERS[returns]([goal, say("So.")], said, prepare=load_slowly, rules=rules)
    decision: JsonObject = {"decision": "approve", "approver": "alice"}
    async with memory_runs.working(app):
        run = await memory_runs.start("triage")
        (first,) = await run.asked()
        await run.decide({**decision, "request_id": first.request_id})
        await written(log)
        await memory_runs.pass_time(10)
        Path(f"{log}.go").touch()
        (again,) = await run.asked()
        held = (await run.status()).agent, await run.parts()
        await run.decide({**decision, "request_id": again.request_id})
        result = await run.result()
        agent, story = (await run.status()).agent, await run.story()

    assert (first.request_id, again.request_id) == ("req-1", "req-2")
    assert held == ("triage", [])
    assert result.answer == ("So." if returns else "It is charged.")
    assert agent == ("triage" if returns else "billing")
    assert lines(str(log)) == ["loading"]
    assert sum(line.startswith("handoff") for line in recorded(story)) == 1


@pytest.mark.parametrize("returns", [True, False])
async def test_who_is_forbidden_while_something_is_loaded_goes_on_with_nothing(
    memory_runs: MemoryRuns, tmp_path: Path, *, returns: bool
) -> None:
    """The call was allowed by a policy that is gone when the receiver could begin."""
    # T-20
    log = tmp_path / "log"
    script = [call("transfer_to_billing", goal=f"charge {log}"), say("So.")]
    rule = "{id: frozen, effect: forbid, reason: change freeze, match: {receivers: [billing]}}"
    async with memory_runs.working(TRANSFERS[returns](script, (), prepare=load_slowly)):
        run = await memory_runs.start("triage")
        await written(log)
        await memory_runs.pass_time(10)
        Path(f"{log}.go").touch()
    rules = policy(tmp_path, rule)
    async with memory_runs.working(
        TRANSFERS[returns](script, (), prepare=load_slowly, rules=rules)
    ):
        result = await run.result()
        failure, status, parts = await run.failure(), await run.status(), await run.parts()
        await run.story()

    assert (result.answer, status.agent, parts) == ("So.", "triage", [])
    assert "change freeze" in failure.reason


async def test_no_agent_goes_on_with_a_run_that_was_suspended_while_something_was_loaded(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """However short that took, it is decided anew when the run goes on."""
    # T-20
    log = tmp_path / "log"
    script = [call("transfer_to_billing", goal=f"charge {log}"), say("So.")]
    rule = "{id: frozen, effect: forbid, reason: change freeze, match: {receivers: [billing]}}"
    async with memory_runs.working(bureau(script, (), prepare=load_slowly)):
        run = await memory_runs.start("triage")
        await written(log)
        await run.signal("suspend", {})
        Path(f"{log}.go").touch()
        while (await run.status()).status != "suspended":
            await run.pause()
    rules = policy(tmp_path, rule)
    async with memory_runs.working(bureau(script, (), prepare=load_slowly, rules=rules)):
        await run.signal("resume", {})
        result = await run.result()
        failure, status = await run.failure(), await run.status()
        await run.story()

    assert (result.answer, status.agent) == ("So.", "triage")
    assert "change freeze" in failure.reason


@pytest.mark.parametrize("returns", [True, False])
async def test_a_run_of_an_earlier_release_went_on_behind_late_loads_and_replays(
    memory_runs: MemoryRuns, tmp_path: Path, *, returns: bool
) -> None:
    """In its history the receiver began when something had been loaded for it, however late."""
    # T-20 AD-20
    log = tmp_path / "log"
    script = [call("transfer_to_billing", goal=f"charge {log}"), say("So.")]
    said = (say("It is charged."), say("It is charged."))
    app = TRANSFERS[returns](script, said, prepare=load_slowly)
    with without_patches():
        async with memory_runs.working(app):
            run = await memory_runs.start("triage")
            await written(log)
            await memory_runs.pass_time(10)
            Path(f"{log}.go").touch()
            result = await run.result()
    async with memory_runs.working(app):
        await run.story()

    assert result.answer == ("So." if returns else "It is charged.")
