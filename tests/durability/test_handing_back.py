"""Workers of two apps, or of two releases, on one queue: nothing fails for want of code."""

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import BaseModel
from temporalio.client import WorkflowFailureError
from temporalio.exceptions import ApplicationError

from holdfast import Agent, App, SubAgent, Tool
from holdfast.activities.callers import NOT_HERE
from holdfast.guardrails import (
    Guardrail,
    GuardrailContext,
    GuardrailResult,
    Subject,
    guardrail,
    passed,
)
from holdfast.runner import build_replayer
from holdfast.testing import Reply, Script, ScriptTurn, call, say
from holdfast.workflows import options
from holdfast.workflows.agent_run import AgentRun
from tests.running import Run, Runs
from tests.sample import TOOLS, lines, told

REPLY: Script = [say("done")]


def app(
    script: Script = REPLY,
    *agents: str,
    name: str = "",
    tools: Sequence[Tool] = TOOLS,
    guardrails: Sequence[Guardrail] = (),
) -> App:
    """An app with these agents, or with `it` alone."""
    known = [
        Agent(
            name=agent,
            instructions="Do as you are told.",
            models=["scripted:it"],
            tools=tools,
            guardrails=guardrails,
        )
        for agent in agents or ("it",)
    ]
    return App(agents=known, scripts={"it": script}, name=name)


@asynccontextmanager
async def side_by_side(runs: Runs, *apps: App) -> AsyncGenerator[None]:
    """Have a worker for each of these apps."""
    async with AsyncExitStack() as stack:
        for one in apps:
            await stack.enter_async_context(runs.working(one, client=await runs.another_client()))
        yield


async def replays(run: Run) -> None:
    """What was left to another worker is left at the same place in a replay."""
    await build_replayer(AgentRun).replay_workflow(await run.handle.fetch_history())


@pytest.mark.parametrize("name", ["", "desk"], ids=["unnamed", "named"])
async def test_a_run_of_an_agent_that_not_all_workers_have(runs: Runs, name: str) -> None:
    """A deployment that adds an agent fails no run of it, whoever takes the run first."""
    old, new = app(name=name), app(REPLY, "it", "parcels", name=name)
    async with side_by_side(runs, old, old, new):
        started = [await runs.start("parcels") for _ in range(8)]
        results = [await run.result() for run in started]
        for run in started:
            await replays(run)

    assert [result.answer for result in results] == ["done"] * 8


async def test_a_run_stays_with_its_app(runs: Runs, tmp_path: Path) -> None:
    """Another app on the queue has an agent and tools of the same names, and decides nothing."""
    log = str(tmp_path / "sent")
    ours = app([call("send", log=log, text="hi"), told], name="ours")
    theirs = app([say("theirs")], name="theirs")
    async with runs.working(ours):
        run = await runs.start("it")
        request = await run.asked_for_approval()
    async with side_by_side(runs, theirs):
        await run.approve(request.request_id)
        while NOT_HERE not in str(await run.handle.describe()):  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.02)
        assert await run.pending() == (request,)
        async with side_by_side(runs, ours):
            result = await run.result()
    await replays(run)

    assert result.answer == "send ok"
    assert lines(Path(log)) == [f"{run.first_execution}/call_1_1 hi"]


class Task(BaseModel):
    """Do a part of the work."""

    goal: str


class Done(BaseModel):
    """What came of it."""

    text: str


def repeat(turn: ScriptTurn) -> Reply:
    """Answer with what another agent brought."""
    (result,) = turn.results
    return say(str(result.model_dump()["data"]))


def dividing(name: str) -> App:
    """An app of this name whose agent, of this name too, has a clerk work for it."""
    clerk = SubAgent("clerk", input=Task, output=Done)
    scripts: dict[str, Script] = {
        "desk": [call("delegate_to_clerk", goal="go"), repeat],
        "clerk": [say(f'{{"text": "{name}"}}')],
    }
    agents = [
        Agent(name=name, instructions="Go.", models=["scripted:desk"], subagents=[clerk]),
        Agent(name="clerk", instructions="Go.", models=["scripted:clerk"]),
    ]
    return App(agents=agents, scripts=scripts, name=name)


async def test_a_part_of_a_run_stays_with_its_app(runs: Runs) -> None:
    """Another app on the queue has an agent of the same name, and does no part of ours."""
    async with side_by_side(runs, dividing("theirs"), dividing("ours")):
        started = [await runs.start("ours") for _ in range(8)]
        results = [await run.result() for run in started]
        for run in started:
            await replays(run)

    assert [result.answer for result in results] == ["{'text': 'ours'}"] * 8


KNOWN_BEFORE = (
    "agent tenant actor session_id strategy task_kind domain metadata path withheld words_watched "
    "tainted sensitive_domains retry_of earlier_actors stream mode without_tools without_risks "
    "regulated input budget models ceiling known output_schema review"
)
"""What an input may hold for a release that other workers may still have."""


async def test_a_part_is_given_nothing_that_a_release_before_refuses(runs: Runs) -> None:
    """While a deployment rolls out workers of both take parts; none takes what it doesn't know."""
    async with runs.working(dividing("ours")):
        run = await runs.start("ours")
        await run.result()
        history = await run.handle.fetch_history()
    (part,) = [
        started
        for event in history.events
        if (started := event.start_child_workflow_execution_initiated_event_attributes).workflow_id
    ]
    (given,) = part.input.payloads

    assert json.loads(given.data).keys() <= set(KNOWN_BEFORE.split())
    assert json.loads(part.memo.fields["app"].data) == "ours"


async def test_a_tool_that_another_worker_has(runs: Runs, tmp_path: Path) -> None:
    """A worker of a release without the tool neither refuses a call of it nor runs it."""
    log = str(tmp_path / "sent")
    script: Script = [call("send", log=log, text="hi"), call("look", place="here"), told]
    without = [one for one in TOOLS if one.contract.name not in {"send", "look"}]
    async with runs.working(app(script)):
        run = await runs.start("it")
        request = await run.asked_for_approval()
    async with side_by_side(runs, app(script, tools=without), app(script)):
        await run.approve(request.request_id)
        result = await run.result()
    await replays(run)

    assert result.answer == "look ok"
    assert lines(Path(log)) == [f"{run.first_execution}/call_1_1 hi"]


async def test_a_tool_that_no_worker_has_any_more(
    runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After some minutes its calls are refused, as those of tools that never were."""
    monkeypatch.setattr(options, "HAND_BACK_TIMEOUT", timedelta(seconds=2))
    script: Script = [call("send", log=str(tmp_path / "sent"), text="hi"), told]
    without = [one for one in TOOLS if one.contract.name != "send"]
    async with runs.working(app(script)):
        run = await runs.start("it")
        request = await run.asked_for_approval()
    async with runs.working(app(script, tools=without), client=await runs.another_client()):
        await run.approve(request.request_id)
        result = await run.result()
        failure = await run.failure()

    assert result.answer == "send error"
    assert failure.type == "unknown_tool"


async def test_an_agent_that_no_worker_has(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of it waits for one for some minutes, and then says which agents there are."""
    monkeypatch.setattr(options, "HAND_BACK_TIMEOUT", timedelta(seconds=2))
    async with runs.working(app()):
        run = await runs.start("nobody")
        with pytest.raises(WorkflowFailureError) as ended:
            await run.result()
    history = (await run.handle.fetch_history()).events
    took = history[-1].event_time.ToDatetime() - history[0].event_time.ToDatetime()

    assert isinstance(ended.value.cause, ApplicationError)
    assert ended.value.cause.message == "no agent 'nobody' in this app (known: it)"
    assert (
        took > options.HAND_BACK_TIMEOUT / 2
    )  # the server gives up where no other attempt fits in


@guardrail(layer="input", local=True)
async def quick(_: Subject, __: GuardrailContext) -> GuardrailResult:
    """Let everything pass, at once."""
    return passed()


@guardrail(layer="input")
async def slow(_: Subject, __: GuardrailContext) -> GuardrailResult:
    """Let everything pass."""
    return passed()


async def test_missing_code_of_a_guardrail_is_no_verdict(runs: Runs) -> None:
    """Only a guardrail that looked can trip; one that a worker lacks looks on another."""
    looking = app(guardrails=[quick, slow])
    blind = app()
    async with side_by_side(runs, blind, blind, looking):
        started = [await runs.start("it") for _ in range(6)]
        opened = [await run.result() for run in started]
    assert {result.status for result in opened} == {"completed"}
