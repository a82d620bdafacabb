"""Runs that are suspended while others work for them: when nothing moves any more, they say so."""

import asyncio

import pytest

from holdfast import Agent, App, SubAgent
from holdfast.runner import build_replayer
from holdfast.testing import call, say
from holdfast.trace.reader import read_trace
from holdfast.workflows.agent_run import AgentRun
from tests.memory.runs import MemoryRuns
from tests.running import Run, Runs
from tests.sample import TOOLS
from tests.workflows.delegating import FOUND, Findings, Question, ask, desk
from tests.workflows.tiered import asked, child

ASKING = [call("ask_user", question="Which?"), FOUND]


def office() -> App:
    """An app whose agent `boss` has `clerk` work for it, which has `hand`, which asks people."""
    return App(
        agents=[
            _agent("boss", SubAgent("clerk", input=Question, output=Findings)),
            _agent("clerk", SubAgent("hand", input=Question, output=Findings)),
            Agent(name="hand", instructions="Ask.", models=["scripted:hand"], tools=TOOLS),
        ],
        scripts={
            "boss": [call("delegate_to_clerk", topic="tides"), say("done")],
            "clerk": [call("delegate_to_hand", topic="tides"), FOUND],
            "hand": ASKING,
        },
    )


def _agent(name: str, helper: SubAgent) -> Agent:
    return Agent(
        name=name, instructions="Delegate.", models=[f"scripted:{name}"], subagents=[helper]
    )


@pytest.mark.parametrize("words", [("resume", "suspend"), ("suspend",)], ids=" ".join)
async def test_a_run_that_is_suspended_again_comes_to_rest_again(
    runs: Runs, words: tuple[str, ...]
) -> None:
    """Its parts are held still, and say so again, whatever one workflow task brings together."""
    # BY-62 BY-76
    run = await runs.start("boss")
    async with runs.working(office()):
        await run.asked()
        await run.signal("suspend", {})
        await _is_suspended(run)
    for word in words:
        await run.signal(word, {})
    async with runs.working(office(), client=await runs.another_client()):
        await _is_suspended(run)
        read = read_trace([await run.handle.fetch_history()]).status
        await run.signal("resume", {})
        hand = child(runs, child(runs, run, "1-clerk"), "1-hand")
        (request,) = await hand.asked()
        await hand.signal("answer", {"request_id": request.request_id, "text": "the blue one"})
        result = await run.result()
        for one in (run, child(runs, run, "1-clerk"), hand):
            await build_replayer(AgentRun).replay_workflow(await one.handle.fetch_history())

    assert (read, result.answer) == ("suspended", "done")


async def _is_suspended(run: Run) -> None:
    """Wait until nothing moves in a run, nor in what works for it."""
    async with asyncio.timeout(20):
        while (await run.status()).status != "suspended":  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.02)


async def test_a_run_comes_to_rest_though_its_part_was_held_before(
    memory_runs: MemoryRuns,
) -> None:
    """Somebody had suspended the part by itself: it says of each suspension that it is at rest."""
    # BY-62 BY-76
    async with memory_runs.working(desk([ask("tides"), say("done")], ASKING)):
        run = await memory_runs.start("desk")
        part = run.part("1-researcher")
        (request,) = await asked(part)
        await part.signal("suspend", {})
        await part.rest()
        await run.signal("suspend", {})
        await run.rest()
        status = await run.status()
        await run.signal("resume", {})
        await part.signal("answer", {"request_id": request.request_id, "text": "the blue one"})
        result = await run.result()

    assert (status.status, status.in_flight) == ("suspended", ())
    assert result.status == "completed"
