"""Floods are gathered to be judged together: nobody waits for that where it saves nothing."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

from temporalio.bridge.proto.workflow_commands import WorkflowCommand

from holdfast.contracts.base import JsonObject
from holdfast.testing import Reply, ScriptTurn, call, say
from holdfast.workflows.inbound.inbox import MAX_BATCH_MESSAGES, MAX_REFUSALS_PER_WINDOW
from holdfast.workflows.payloads import data_converter
from tests.memory.runs import MemoryRuns
from tests.sample import lines, scripted, told

MANY = 5 * MAX_BATCH_MESSAGES


def list_commands(runs: MemoryRuns, run_id: str) -> Iterator[WorkflowCommand]:
    """Yield all that the executions of a run asked for."""
    for each in runs.server.executions[run_id]:
        for record in each.tasks.records:
            for _, commands in record.heard:
                yield from commands


def list_gatherings(runs: MemoryRuns, run_id: str) -> list[int]:
    """Return the timers by which a run has gathered messages, before it judged those it had."""
    return [
        one.start_timer.seq
        for one in list_commands(runs, run_id)
        if one.HasField("start_timer") and "gathering" in str(one.user_metadata.summary.data)
    ]


async def test_a_word_behind_a_flood_is_heard_without_a_pause_for_each_part_of_it(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """
    A second for two hundred made fifty for the ten thousand that a server takes.

    So long nobody was heard who stopped or suspended the run, or decided something.
    """
    # T-16
    log = tmp_path / "sent"
    app = scripted([call("send", log=str(log), text="hi"), told])
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        request = await run.asked_for_approval()
        for _ in range(MAX_REFUSALS_PER_WINDOW):
            await run.signal("nonsense", {})
        for _ in range(MANY):
            memory_runs.tell_soon(run.id, "nonsense", {})
        await run.approve(request.request_id, "alice")
        result = await run.result()
        gathered = list_gatherings(memory_runs, run.id)
        await run.stories()

    assert result.answer == "send ok"
    assert len(lines(log)) == 1
    assert len(gathered) <= 2


async def test_a_run_that_is_over_gathers_no_more(memory_runs: MemoryRuns) -> None:
    """Its result waited for that, and as long as more came meanwhile."""

    def answer(turn: ScriptTurn) -> Reply:
        for _ in range({1: MAX_REFUSALS_PER_WINDOW + 5, 2: 3}[turn.number]):
            memory_runs.tell_soon("flooded", "nonsense", {})
        return say("done") if turn.number == 2 else call("look", place="here")

    async with memory_runs.working(scripted(answer)):
        run = await memory_runs.start_with({"agent": "it", "input": "go"}, run_id="flooded")
        result = await run.result()
        gathered = list_gatherings(memory_runs, run.id)
        cancelled = [
            one.cancel_timer.seq
            for one in list_commands(memory_runs, run.id)
            if one.HasField("cancel_timer")
        ]
        await run.stories()

    assert result.answer == "done"
    assert gathered
    assert gathered[-1] in cancelled


async def test_a_run_that_is_over_hears_nobody_who_comes_later(memory_runs: MemoryRuns) -> None:
    """What is judged takes a moment, in which more comes: it would have ended with the flood."""
    # T-16
    sent, most = 0, 400
    junk = {"request_id": "nope", "decision": "approve", "approver": "mallory"}

    async def flood() -> None:
        nonlocal sent
        given = await data_converter.encode([junk])
        while sent < most and memory_runs.server.find("flooded") is not None:
            memory_runs.server.signal("flooded", "approval", given)
            sent += 1
            await asyncio.sleep(0)

    def answer(_: ScriptTurn) -> Reply:
        loop = memory_runs.thread.loop
        loop.call_soon_threadsafe(lambda: loop.create_task(flood()))
        return say("done")

    async with memory_runs.working(scripted(answer)):
        run = await memory_runs.start_with({"agent": "it", "input": "go"}, run_id="flooded")
        result = await run.result()
        await run.stories()

    assert result.answer == "done"
    assert 0 < sent < most


async def test_who_decides_just_before_a_run_is_over_is_answered(memory_runs: MemoryRuns) -> None:
    """Behind a flood, too: who had come is heard, and waits for an answer."""
    # T-16
    app = scripted([call("send", log="nowhere", text="hi"), told])
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        request = await run.asked_for_approval()
        for _ in range(MAX_REFUSALS_PER_WINDOW):
            await run.signal("nonsense", {})
        approved: JsonObject = {
            "request_id": request.request_id,
            "decision": "approve",
            "approver": "alice",
        }
        answer = await run.decide_behind("stop", {"reason": "enough"}, approved)
        result = await run.result()
        await run.stories()

    assert (answer.accepted, answer.code) == (False, "closed")
    assert result.status == "stopped"
