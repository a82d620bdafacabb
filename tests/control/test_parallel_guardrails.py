"""An input guardrail beside the model: the model may begin, nothing else may."""

import asyncio
from pathlib import Path
from typing import Literal

import pytest
from temporalio.api.enums.v1 import EventType

from holdfast import ModelUnavailable, UsageMetrics
from holdfast.guardrails import (
    GuardrailContext,
    GuardrailResult,
    Subject,
    guardrail,
    passed,
    tripped,
)
from holdfast.testing import Reply, ScriptTurn, call, fail, say, using
from tests.control.controlled import broken, used
from tests.control.guarded import (
    after_trip,
    ended,
    guarded,
    on_word,
    order,
    replayed,
    scheduled,
    tripwires,
    waiting,
)
from tests.memory.runs import MemoryRuns
from tests.running import Run, Runs
from tests.sample import lines

USED = UsageMetrics(input_tokens=100, output_tokens=20)


async def model_answered(run: Run) -> None:
    """Wait until the model's reply is in history."""
    while True:
        history = await run.handle.fetch_history()
        kinds = [event.event_type for event in history.events]
        if EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED in kinds:
            return
        await asyncio.sleep(0.02)


async def test_no_tool_runs_before_the_verdict(runs: Runs, tmp_path: Path) -> None:
    """A fast model wants to write; the slow guardrail trips: no tool, tokens are billed."""
    # GR-08 GR-10 T-29
    log, go = tmp_path / "log", asyncio.Event()
    slow = waiting("slow", go, tripped("not this"), mode="parallel")
    script = [using(call("write", log=str(log), text="x"), USED), say("done")]
    async with runs.working(guarded(script, slow)):
        run = await runs.start("it")
        await model_answered(run)
        before = order(await run.handle.fetch_history())
        go.set()
        result = await run.result()
        history = await replayed(run)

    assert set(before) == {"guardrail:slow", "call_model"}
    assert (result.status, result.stop and result.stop.reason) == ("blocked", "not this")
    assert sorted(order(history)) == ["call_model", "guardrail:slow"]
    assert after_trip(history) == []
    assert lines(log) == []
    assert (result.steps, result.usage.input_tokens, result.usage.output_tokens) == (1, 100, 20)


async def test_both_are_asked_for_at_once(runs: Runs) -> None:
    """Model and guardrail are scheduled by one workflow task."""  # GR-08
    look = on_word("no_bad", "bad", "input", mode="parallel")
    found = await ended(runs, guarded([say("done")], look))
    result, history = found.result, found.history

    asked = {
        event.activity_task_scheduled_event_attributes.activity_type.name: (
            event.activity_task_scheduled_event_attributes.workflow_task_completed_event_id
        )
        for event in history.events
        if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED
    }
    assert result.status == "completed"
    assert set(asked) == {"call_model", "guardrail:no_bad"}
    assert len(set(asked.values())) == 1


@pytest.mark.parametrize(("mode", "first"), [("blocking", "guardrail"), ("parallel", "both")])
async def test_the_mode_is_the_guardrails(
    runs: Runs, mode: Literal["blocking", "parallel"], first: str
) -> None:
    """The same guardrail waits for nobody, or has the model wait."""  # GR-09 GR-07
    go = asyncio.Event()
    slow = waiting("slow", go, passed(), mode=mode)
    async with runs.working(guarded([say("done")], slow)):
        run = await runs.start("it")
        if first == "both":
            await model_answered(run)
        else:
            await scheduled(run, "guardrail:slow")
        before = order(await run.handle.fetch_history())
        go.set()
        result = await run.result()
        await replayed(run)

    assert result.status == "completed"
    assert set(before) == (
        {"guardrail:slow", "call_model"} if first == "both" else {"guardrail:slow"}
    )


async def test_a_model_under_way_is_cancelled(runs: Runs) -> None:
    """What trips while the model is still at it ends the run at once, whatever comes of it."""
    # GR-08 GR-10
    go = asyncio.Event()

    def busy(_: ScriptTurn) -> Reply:
        go.set()
        return fail(ModelUnavailable("busy", retry_after=600))

    look = waiting("quick", go, tripped("not this"), mode="parallel")
    found = await ended(runs, guarded(busy, look))
    result, history = found.result, found.history

    kinds = [event.event_type for event in history.events]
    assert (result.status, result.steps) == ("blocked", 0)
    assert EventType.EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED in kinds
    assert after_trip(history) == []


@pytest.mark.parametrize("attempt", range(4))
async def test_a_verdict_may_meet_the_reply(memory_runs: MemoryRuns, attempt: int) -> None:
    """Verdict and reply come at the same time, in any order: the run ends, and never hangs."""
    # GR-08 T-10
    go = asyncio.Event()

    def ready(_: ScriptTurn) -> Reply:
        go.set()
        return call("look", place="there")

    look = waiting("quick", go, tripped(f"not this {attempt}"), mode="parallel")
    result, history, *_ = await ended(memory_runs, guarded(ready, look))

    assert (result.status, "look" in order(history)) == ("blocked", False)


async def test_a_quick_one_beside_the_model(memory_runs: MemoryRuns) -> None:
    """One that runs inside the workflow task has looked before the model is even asked."""
    look = on_word("no_bad", "bad", "input", mode="parallel", local=True)
    bad = await ended(memory_runs, guarded([say("done")], look), "bad")
    good = await ended(memory_runs, guarded([say("done")], look), "good")

    assert (bad.result.status, bad.order) == ("blocked", ["guardrail:no_bad"])
    assert (good.result.status, len(good.order)) == ("completed", 2)


async def test_what_tools_say_is_looked_at_beside_the_next_turn(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """A bad result of the first turn stops the second turn's write."""  # GR-19 T-29
    log = tmp_path / "log"
    look = on_word("no_bad", "evil", "input", mode="parallel", watches=("results",))
    script = [
        using(call("look", place="evil"), USED),
        using(call("write", log=str(log), text="x"), USED),
        say("done"),
    ]
    result, history, *_ = await ended(memory_runs, guarded(script, look))

    assert (result.status, lines(log)) == ("blocked", [])
    assert order(history).count("guardrail:no_bad") == 1
    assert len(tripwires(history)) == 1


async def test_one_that_asks_has_the_model_asked_again(runs: Runs, tmp_path: Path) -> None:
    """Approved, the run goes on from where it was; what the model said meanwhile didn't count."""
    # T-29 T-07
    log = tmp_path / "log"
    look = on_word("no_bad", "bad", "input", mode="parallel", on_trip="ask")

    def script(turn: ScriptTurn) -> Reply:
        return say("done") if turn.results else call("write", log=str(log), text="x")

    async with runs.working(guarded(script, look)):
        run = await runs.start("it", "something bad")
        (request,) = await run.asked()
        before = lines(log)
        await run.approve(request.request_id)
        result = await run.result()
        history = await replayed(run)

    assert (before, result.status) == ([], "completed")
    assert lines(log) == ["begin x", "end x"]
    assert order(history).count("guardrail:no_bad") == 1


async def test_what_is_cut_off_counts_as_reserved(memory_runs: MemoryRuns) -> None:
    """Nobody knows what a model used that was cut off: as much as the call before counts."""
    # GR-08 ES-13
    go = asyncio.Event()

    def busy(turn: ScriptTurn) -> Reply:
        if turn.number == 1:
            return used(call("look", place="x"), 700, 30)
        go.set()
        return broken("overloaded", 600)

    async def look(subject: Subject, _: GuardrailContext) -> GuardrailResult:
        if subject.kind == "goal":
            return passed()
        await go.wait()
        return tripped("not this")

    watching = guardrail(layer="input", mode="parallel", watches=("goal", "results"))(look)
    async with memory_runs.working(guarded(busy, watching)):
        run = await memory_runs.start("it")
        result = await run.result()

    assert (result.status, result.usage.input_tokens, result.usage.output_tokens) == (
        "blocked",
        1_400,
        60,
    )


@pytest.mark.parametrize("firm", ["block", "ask"])
async def test_all_look_though_people_have_let_pass_what_one_asked(
    memory_runs: MemoryRuns, firm: Literal["block", "ask"]
) -> None:
    """A quick one looks first, and others only where it lets pass: nobody is left out for that."""
    # GR-08 GR-01
    asks = on_word("quick", "bad", "input", mode="parallel", local=True, on_trip="ask")
    slow = on_word("slow", "bad", "input", mode="parallel", on_trip=firm)
    async with memory_runs.working(guarded([say("done"), say("done")], asks, slow)):
        run = await memory_runs.start("it", "bad")
        [first] = await run.asked()
        await run.approve(first.request_id)
        if firm == "ask":
            while (asked := await run.asked()) == (first,):
                await run.pause()
            await run.approve(asked[0].request_id)
        result = await run.result()

    assert result.status == ("blocked" if firm == "block" else "completed")
