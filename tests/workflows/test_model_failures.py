"""When a model fails: what is retried, what it costs, and who hears of it."""

import asyncio

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.exceptions import TimeoutError as ActivityTimeout
from temporalio.exceptions import TimeoutType

from holdfast import Agent, App, ModelRejected, ModelUnavailable, Risk, tool
from holdfast.activities import heartbeats
from holdfast.adapters.scripted import ScriptedAdapter
from holdfast.contracts import usage as used
from holdfast.contracts.budget import UsageReport
from holdfast.contracts.errors import FailureKind
from holdfast.contracts.model import ModelReply, ModelRequest
from holdfast.contracts.usage import Attempts, CallUsage
from holdfast.testing import Reply, ScriptTurn, call, calls, fail, say, using
from holdfast.workflows import failures, options
from tests.histories import activities, last_attempt, names
from tests.memory.runs import MemoryRuns
from tests.running import AnyRun, Runs
from tests.sample import scripted

SPENT = CallUsage(input_tokens=7, estimated_cost=None)


@tool(risk=Risk.READ_ONLY, max_result_chars=200_000)
async def read(page: int) -> str:
    """Read one page of the book and return all of its text."""
    return f"{page}" * 190_000


def unavailable(failures: int, wait: float | None, kind: FailureKind) -> App:
    """A model that fails so often before it answers."""

    def answer(turn: ScriptTurn) -> Reply:
        if turn.attempt <= failures:
            return fail(ModelUnavailable("busy", wait, kind=kind, usage=SPENT))
        return say("hello")

    return scripted(answer)


async def usage(run: AnyRun) -> UsageReport:
    return await run.query("usage", UsageReport)


async def test_failed_attempts_are_billed(memory_runs: MemoryRuns) -> None:
    """What the attempts before a reply used is in the run's usage, and shown apart."""
    # T-24 BY-47
    async with memory_runs.working(unavailable(2, 0.01, "overloaded")):
        run = await memory_runs.start("it")
        result = await run.result()
        report = await usage(run)

    assert (result.usage.input_tokens, result.usage.estimated_cost) == (14, None)
    assert report.failed_usage.input_tokens == 14


async def test_a_model_that_fails_for_good_is_billed_too(memory_runs: MemoryRuns) -> None:
    """Attempts that led nowhere count all the same when the next model takes over."""
    # T-24 LP-09

    def gone(turn: ScriptTurn) -> Reply:
        if turn.attempt == 1:
            return fail(ModelUnavailable("busy", 0.01, usage=SPENT))
        return fail(ModelRejected("no such model", kind="not_found", usage=SPENT))

    agent = Agent(name="it", instructions="Go.", models=["scripted:gone", "scripted:it"])
    app = App(agents=[agent], scripts={"gone": [gone], "it": [say("hello")]})
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        result = await run.result()
        report = await usage(run)

    assert (result.answer, result.model) == ("hello", "scripted:it")
    assert report.failed_usage.input_tokens == 14


async def test_a_reply_that_history_cannot_hold_is_asked_for_once(runs: Runs) -> None:
    """It would be as large again; the next model answers, and what it used is billed."""
    large = using(say("x" * 3_000_000), SPENT)
    agent = Agent(name="it", instructions="Go.", models=["scripted:large", "scripted:it"])
    app = App(agents=[agent], scripts={"large": [large], "it": [say("hello")]})
    async with runs.working(app):
        run = await runs.start("it")
        result = await run.result()
        history = await run.handle.fetch_history()

    assert (result.answer, result.usage.input_tokens) == ("hello", 7)
    assert last_attempt(history)[0] == 1


async def test_a_turn_and_its_results_fit_into_one_payload(memory_runs: MemoryRuns) -> None:
    """The largest reply and the largest results go back to the model together."""
    asked = calls(*(call("read", page=page) for page in range(5)), text="x" * 590_000)
    agent = Agent(name="it", instructions="Go.", models=["scripted:it"], tools=[read])
    async with memory_runs.working(App(agents=[agent], scripts={"it": [asked, say("done")]})):
        result = await (await memory_runs.start("it")).result()

    assert result.answer == "done"


def test_the_last_heartbeat_tells_what_was_used() -> None:
    """Where time runs out between two attempts, the earlier ones are billed all the same."""
    # T-24 BY-47
    details = [Attempts(usage=SPENT).model_dump(mode="json")]
    late = ActivityTimeout(
        "late", type=TimeoutType.SCHEDULE_TO_CLOSE, last_heartbeat_details=details
    )

    assert failures.usage(late) == SPENT
    assert (
        failures.usage(
            ActivityTimeout("late", type=TimeoutType.HEARTBEAT, last_heartbeat_details=[])
        )
        == CallUsage()
    )


@pytest.mark.parametrize("kind", ["auth", "quota", "context_overflow", "content_filtered"])
async def test_what_waiting_can_not_mend_ends_at_once(runs: Runs, kind: FailureKind) -> None:
    """A failure that comes again however often one asks is asked once, and says what to mend."""
    error = ModelRejected("set THE_KEY to a valid key", kind=kind)
    async with runs.working(scripted([fail(error)])):
        run = await runs.start("it")
        result = await run.result()
        history = await run.handle.fetch_history()

    assert result.stop is not None
    assert (result.status, result.stop.detail) == ("failed", "set THE_KEY to a valid key")
    failures = [
        event.activity_task_failed_event_attributes.failure
        for event in history.events
        if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_FAILED
    ]
    assert [failure.application_failure_info.type for failure in failures] == [kind]
    assert last_attempt(history)[0] == 1
    assert names(history) == ["open_run", "call_model", "record"]
    assert activities(history)[-1].summary == (
        "model failed: scripted:it: set THE_KEY to a valid key"
    )


async def test_what_ends_every_worker_ends_the_run(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After so many lost attempts it is given up, and the reason is no model's."""
    for module in (used, heartbeats, options):
        monkeypatch.setattr(module, "MAX_LOST_ATTEMPTS", 1)
    monkeypatch.setattr(heartbeats, "INTERVAL", 1000)  # as if its worker were gone
    agent = Agent(name="it", instructions="Go.", models=["scripted:it", "scripted:other"])
    app = App(agents=[agent], scripts={"it": [say("hello")], "other": [say("hello")]})
    monkeypatch.setattr(ScriptedAdapter, "respond", never)
    async with runs.working(app):
        run = await runs.start("it", budget={"max_model_retries": 0})
        result = await run.result()

    assert result.stop is not None
    assert (result.status, result.stop.reason) == ("failed", "worker lost")
    assert "scripted:it" in result.stop.detail


async def never(adapter: ScriptedAdapter, request: ModelRequest) -> ModelReply:
    await asyncio.Event().wait()
    raise AssertionError("nobody says so")
