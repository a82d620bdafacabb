"""Tasks for other agents that wait before they begin: what was decided about them may be gone."""

import asyncio
from pathlib import Path

from holdfast import Agent, App, Budget, HandoffData, Risk, SubAgent, tool
from holdfast.testing import Script, call, calls, say
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
