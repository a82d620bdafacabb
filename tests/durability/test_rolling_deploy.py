"""A release adds an agent, takes one away and renames a tool, while many runs are open."""

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from holdfast import Agent, App, Risk, Tool, ToolContext, client, tool
from holdfast.activities.callers import NOT_HERE
from holdfast.cli import standing
from holdfast.contracts.run import RunResult
from holdfast.runner import build_replayer
from holdfast.testing import Reply, Script, ScriptTurn, call
from holdfast.trace.reader import read_trace
from holdfast.workflows.agent_run import AgentRun
from tests.running import Run, Runs
from tests.sample import ask_user, lines, note, told

OLD, NEW = "release-1", "release-2"


@tool(risk=Risk.WRITE_INTERNAL)
async def send(log: str, text: str, ctx: ToolContext) -> str:
    """Send a text."""
    note(log, f"{ctx.run_id} {text}")
    return "sent"


@tool(risk=Risk.WRITE_INTERNAL)
async def dispatch(log: str, text: str, ctx: ToolContext) -> str:
    """Send a text: the same under its new name."""
    note(log, f"{ctx.run_id} {text}")
    return "sent"


def calling(name: str) -> Script:
    """Ask for a tool by what the goal says, or ask a person where it says nothing."""

    def script(turn: ScriptTurn) -> Reply:
        if turn.results:
            return told(turn)
        if turn.goal == "ask":
            return call("ask_user", question="And now?")
        return call(name, log=turn.goal, text="hi")

    return script


def release(tools: Sequence[Tool], agents: dict[str, Script]) -> App:
    """A release of the app `shop`."""
    return App(
        name="shop",
        agents=[
            Agent(
                name=name,
                instructions="Do as you are told.",
                models=[f"scripted:{name}"],
                tools=tools,
            )
            for name in agents
        ],
        scripts=agents,
    )


BEFORE = release((send, ask_user), {"clerk": calling("send"), "leaver": calling("send")})
AFTER = release((dispatch, ask_user), {"clerk": calling("send"), "newcomer": calling("dispatch")})


async def handed_back(runs: Iterable[Run]) -> None:
    """Wait until what each run is at was left by a worker."""
    for run in runs:
        while NOT_HERE not in str(await run.handle.describe()):  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.02)


async def answer(run: Run) -> None:
    (request,) = await run.asked()
    await run.signal("answer", {"request_id": request.request_id, "text": "nothing more"})


async def approve(run: Run) -> None:
    await run.approve((await run.asked_for_approval()).request_id)


async def started(runs: Runs, count: int, agent: str, goal: str) -> list[Run]:
    return [await runs.start(agent, goal) for _ in range(count)]


async def told_of(runs: Runs, run: Run) -> str:
    """What `show` and the trace say of workers that left something to others."""
    shown = (await standing.view(client.Run(runs.client, run.handle.id))).handed_back
    history = await run.handle.fetch_history()
    await build_replayer(AgentRun).replay_workflow(history)
    traced = [one.text for one in read_trace([history]).audit_lines if one.event == "handed back"]
    assert set(shown) <= set(traced)
    return "\n".join(shown)


async def ended(group: Sequence[Run]) -> list[RunResult]:
    return [await run.result() for run in group]


@pytest.mark.timeout(600)
async def test_no_run_fails_while_a_release_rolls_out(runs: Runs, tmp_path: Path) -> None:
    """Fifty runs go on, whichever worker has their code; each says which worker hadn't."""
    sent, dispatched = tmp_path / "sent", tmp_path / "dispatched"
    old, new = await runs.another_client(OLD), await runs.another_client(NEW)
    async with runs.working(BEFORE, client=old):
        sending = await started(runs, 20, "clerk", str(sent))
        asking = await started(runs, 10, "clerk", "ask")
        leaving = await started(runs, 10, "leaver", "ask")
        for run in (*sending, *asking, *leaving):
            await run.asked()
        early = await started(runs, 10, "newcomer", str(dispatched))
        await handed_back(early)
    async with runs.working(AFTER, client=new):
        for run in (*early, *sending):
            await approve(run)
        await answer(leaving[0])
        await handed_back((*sending, leaving[0]))
        async with runs.working(BEFORE, client=old):
            for run in (*asking[1:], *leaving[1:]):
                await answer(run)
            results = await ended((*sending, *asking[1:], *leaving, *early))
        await answer(asking[0])  # whose agent still has a tool that is gone
        results += await ended(asking[:1])
    lacked_tool = [await told_of(runs, run) for run in sending]
    lacked_agent = [await told_of(runs, run) for run in early]
    lacked_model = await told_of(runs, leaving[0])

    assert [result.status for result in results] == ["completed"] * 50
    assert sorted(lines(sent)) == sorted(f"{run.handle.id} hi" for run in sending)
    assert sorted(lines(dispatched)) == sorted(f"{run.handle.id} hi" for run in early)
    assert all(f"no tool 'send', says worker {NEW}" in said for said in lacked_tool)
    assert all("open_run: no agent 'newcomer' in this app" in said for said in lacked_agent)
    assert all(f"says worker {OLD}" in said for said in lacked_agent)
    assert "call_model: " in lacked_model
    assert f"says worker {NEW}" in lacked_model
