"""A reset of the workflow: nothing that was approved before runs, or is done, a second time."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent

from holdfast import App
from holdfast.contracts.calls import ToolFailure
from holdfast.contracts.run import RunResult
from holdfast.guardrails import GuardrailContext, GuardrailResult, Subject, guardrail, passed
from holdfast.testing import Reply, ScriptTurn, call, say
from holdfast.tools import submit_plan
from tests.attacks.test_early_undo import settle
from tests.attacks.test_repeated_undos import ALLOWED, charge, pay_back
from tests.control.controlled import replayed
from tests.control.guarded import on_word
from tests.memory.runs import MemoryRuns
from tests.running import Run, Runs
from tests.sample import TOOLS, lines, scripted, told
from tests.sessions.talkative import echo
from tests.sessions.talking import Talks
from tests.workflows.test_permissions import policy

Point = Callable[[Sequence[HistoryEvent]], int]

SIGNALED = EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED
SCHEDULED = EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED
TASK_DONE = EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED


@guardrail(layer="pre_execution", tools=("send",))
async def careful(subject: Subject, ctx: GuardrailContext) -> GuardrailResult:
    """Look once more between the decision and the call."""
    return passed()


def an_app(log: Path) -> App:
    return scripted([call("send", log=str(log), text="hi"), told], guardrails=[careful])


def task_before(events: Sequence[HistoryEvent], place: int) -> int:
    """The last workflow task that was over before an event: those later are undone."""
    return max(one.event_id for one in events[:place] if one.event_type == TASK_DONE)


def before_the_approval(events: Sequence[HistoryEvent]) -> int:
    return task_before(
        events, next(n for n, one in enumerate(events) if one.event_type == SIGNALED)
    )


def before_the_call(events: Sequence[HistoryEvent], tool: str = "send") -> int:
    """The task that sent the call off; it was allowed in the one before."""
    return task_before(
        events,
        next(
            n
            for n, one in enumerate(events)
            if one.event_type == SCHEDULED
            and one.activity_task_scheduled_event_attributes.activity_type.name == tool
        ),
    )


@pytest.mark.parametrize("point", [before_the_approval, before_the_call])
async def test_a_reset_asks_again(runs: Runs, tmp_path: Path, point: Point) -> None:
    """The approval of before counts no more, sent again or replayed; the call keeps its key."""
    log = tmp_path / "log"
    async with runs.working(an_app(log)):
        run = await runs.start("it")
        first = await run.asked_for_approval()
        await run.approve(first.request_id)
        await run.result()
        again = await runs.reset(run, point((await run.handle.fetch_history()).events))
        second = await again.asked_for_approval()
        while second.request_id == first.request_id:  # until it has heard what is sent again
            second = await again.asked_for_approval()
        before = lines(log)
        await again.approve(first.request_id)
        refused = await again.refusals(1)
        still = lines(log)
        await again.approve(second.request_id)
        result = await again.result()
        await replayed(runs, again)

    assert len(before) == len(still) == 1
    assert second.challenge != first.challenge
    assert refused
    assert result.answer == "send ok"
    assert lines(log) == before * 2


async def test_a_reset_run_that_plans_first_plans_anew(runs: Runs, tmp_path: Path) -> None:
    """The plan that people approved before frees nothing, not even what no one is asked about."""
    # BY-18
    log = tmp_path / "log"
    plan = call("submit_plan", goal="write", steps=["write it"], tools=["write"])
    script = [plan, call("write", log=str(log), text="x"), say("done")]
    async with runs.working(scripted(script, tools=[*TOOLS, submit_plan])):
        run = await runs.start("it", mode="plan")
        await run.approve((await run.asked_for_approval()).request_id)
        first = await run.result()
        before = lines(log)
        events = (await run.handle.fetch_history()).events
        again = await runs.reset(run, before_the_call(events, "write"))
        second = await again.result()
        status = await again.status()
        await replayed(runs, again)

    assert (first.answer, second.answer, status.planning) == ("done", "done", True)
    assert lines(log) == before != []


async def test_a_reset_is_noticed_by_the_next_execution(runs: Runs, tmp_path: Path) -> None:
    """Reset to where it was about to go on in that, the one before has nothing more to decide."""
    # BY-18
    log = tmp_path / "log"
    plan = call("submit_plan", goal="write", steps=["write it"], tools=["write"])
    script = [plan, call("write", log=str(log), text="x"), told]
    tools = [*TOOLS, submit_plan]
    async with runs.working(scripted(script, tools=tools, max_history_events=1)):
        run = await runs.start("it", mode="plan")
        await run.approve((await run.asked_for_approval()).request_id)
        first = await run.result()
        before = lines(log)
        execution = run.handle.first_execution_run_id or ""
        planned = runs.client.get_workflow_handle(run.handle.id, run_id=execution)
        events = (await planned.fetch_history()).events
        again = await runs.reset(run, task_before(events, len(events)), execution)
        second = await again.result()
        await replayed(runs, again)

    assert (first.answer, second.answer) == ("write ok", "write denied")
    assert lines(log) == before != []


async def test_a_later_execution_goes_on(memory_runs: MemoryRuns, tmp_path: Path) -> None:
    """Going on in a new execution is no reset: what waits there is approved once."""
    log = tmp_path / "log"
    app = scripted([call("send", log=str(log), text="hi"), told], max_history_events=1)
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        await run.approve((await run.asked_for_approval()).request_id)
        result = await run.result()

    assert result.answer == "send ok"
    assert len(lines(log)) == 1


async def test_a_session_that_was_reset_and_closed_opens_as_it_was_closed(
    runs: Runs, tmp_path: Path
) -> None:
    """And not as the execution was left that the reset has ended."""
    # SE-04
    talks = Talks(runs, f"file:{tmp_path}")
    async with talks.working(scripted(echo)):
        talk = talks.talk()
        await talk.exchange("m-1", "one")
        events = (await talk.handle.fetch_history()).events
        run = Run(runs.client.get_workflow_handle(talk.id, result_type=RunResult))
        await runs.reset(run, task_before(events, len(events)))
        await talk.exchange("m-2", "two")
        await talk.close()
        answer = await talk.exchange("m-3", "three")

    assert answer == "one + two + three"


async def test_what_was_taken_back_before_a_reset_is_told_by_nobody_as_done(
    runs: Runs, tmp_path: Path
) -> None:
    """Its undo ran behind the point of the reset: neither the model nor the result knows."""
    # BY-11 GR-13
    log = tmp_path / "log"
    allowed = policy(tmp_path, "{id: ok, effect: allow, match: {tools: [settle, revoke]}}")
    pay_it = call("settle", log=str(log))
    replies = (pay_it, say("a rude answer"), pay_it, say("an answer"))

    def script(turn: ScriptTurn) -> Reply:
        return replies[turn.number - 1]

    polite = on_word("polite", "rude", "output")
    app = scripted(script, tools=[settle], policy=allowed, guardrails=[polite])
    async with runs.working(app):
        run = await runs.start("it")
        await run.result()
        before = lines(log)
        events = (await run.handle.fetch_history()).events
        again = await runs.reset(run, before_the_call(events, "revoke"))
        result = await again.result()
        results = await again.results()
        await replayed(runs, again)

    assert before == lines(log) == ["paid", "revoked", "paid"]
    assert isinstance(results[1], ToolFailure)
    assert "nobody knows whether it happened" in results[1].reason
    assert result.effects == ()
    assert result.unresolved[0].summary.endswith(", unless it was taken back")


async def test_an_undo_that_may_have_run_before_a_reset_no_model_calls(
    runs: Runs, tmp_path: Path
) -> None:
    """The run is refused it behind the point of the reset: so is the model that goes on there."""
    # BY-11 GR-13
    log = str(tmp_path / "log")
    charging, paying_back = (call(one, log=log, order=2) for one in ("charge", "pay_back"))
    app = scripted(
        [charging, say("a rude answer"), paying_back, told],
        tools=[charge, pay_back],
        policy=policy(tmp_path, ALLOWED),
        guardrails=[on_word("polite", "rude", "output")],
    )
    async with runs.working(app):
        run = await runs.start("it")
        await run.result()
        events = (await run.handle.fetch_history()).events
        again = await runs.reset(run, before_the_call(events, "pay_back"))
        result = await again.result()
        await replayed(runs, again)

    assert lines(tmp_path / "log") == ["charged 2", "paid back 2"]
    assert result.answer == "pay_back denied"
    assert [one.tool for one in result.unresolved] == ["charge", "pay_back"]
