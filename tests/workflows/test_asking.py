"""Questions, escalations, words from outside, suspension and long waits, on a real server."""

import asyncio
import json
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import JsonValue
from temporalio.client import WorkflowHistory

from holdfast import Budget
from holdfast.contracts.approvals import ApprovalRequest, Escalation, Question
from holdfast.contracts.calls import ToolFailure, ToolSuccess
from holdfast.contracts.transcript import UserTurn
from holdfast.runner import build_replayer
from holdfast.testing import Reply, Script, ScriptTurn, call, say
from holdfast.trace.reader import read_trace
from holdfast.workflows.agent_run import AgentRun
from tests.memory.runs import MemoryRuns
from tests.running import DAY, Run, Runs
from tests.sample import lines, scripted, told


async def test_a_question_is_answered_in_words(memory_runs: MemoryRuns) -> None:
    """A tool that asks pauses the run; the answer becomes its result."""
    # PF-16
    script: Script = [
        call("ask_user", question="Which one?"),
        lambda turn: say(str(turn.last("ask_user"))),
    ]
    async with memory_runs.working(scripted(script)):
        run = await memory_runs.start("it")
        (question,) = await run.asked()
        await run.signal("answer", {"request_id": "req-1", "text": "the blue one"})
        result = await run.result()

    assert isinstance(question, Question)
    assert question.question == "Which one?"
    assert result.answer == "{'answer': 'the blue one'}"


def test_requests_have_three_kinds() -> None:
    """A person can be asked to approve, to answer, or to resolve."""
    kinds = [kind.model_fields["kind"].default for kind in (ApprovalRequest, Question, Escalation)]

    assert kinds == ["approval", "question", "escalation"]


@pytest.mark.parametrize(
    ("resolution", "status", "steps"),
    [
        pytest.param({"action": "abort"}, "stopped", 2, id="abort"),
        pytest.param({"action": "resume", "guidance": "try harder"}, "completed", 3, id="resume"),
        pytest.param(
            {"action": "extend", "budget": {"max_steps": 30}}, "completed", 3, id="extend"
        ),
    ],
)
async def test_an_escalated_run_goes_on_as_a_person_says(
    memory_runs: MemoryRuns, resolution: dict[str, JsonValue], status: str, steps: int
) -> None:
    """After repeated failures an agent that escalates waits, and is resumed, extended or ended."""
    # T-08
    app = scripted(
        [call("find", name="a"), call("find", name="b"), say("found")],
        escalates=True,
        budget=Budget(max_steps=9, max_consecutive_failures=2),
    )
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        (request,) = await run.asked()
        await run.signal("resolution", {"request_id": request.request_id, **resolution})
        result = await run.result()
        usage = (await run.status()).budget
        words = [item for item in (await run.transcript()).items if isinstance(item, UserTurn)]

    assert isinstance(request, Escalation)
    assert request.reason == "max_consecutive_failures (2) reached"
    assert (result.status, result.steps) == (status, steps)
    assert usage.max_steps == (30 if resolution["action"] == "extend" else 9)
    assert [turn.text for turn in words][1:] == (
        ["try harder"] if resolution["action"] == "resume" else []
    )


async def test_words_from_outside_reach_the_next_turn(memory_runs: MemoryRuns) -> None:
    """What a person says with `steer` is behind the transcript of the next model call."""

    def answer(turn: ScriptTurn) -> Reply:
        last = turn.transcript[-1]
        return say(last.text if isinstance(last, UserTurn) else "nothing heard")

    async with memory_runs.working(scripted([call("send", log="/dev/null", text="x"), answer])):
        run = await memory_runs.start("it")
        request = await run.asked_for_approval()
        await run.signal("steer", {"text": "be brief"})
        await run.approve(request.request_id)
        result = await run.result()

    assert result.answer == "be brief"


async def test_a_suspended_run_schedules_nothing(runs: Runs, tmp_path: Path) -> None:
    """Between suspend and resume nothing runs, even if it was approved meanwhile."""
    # BY-62
    log = tmp_path / "sent"
    async with runs.working(scripted([call("send", log=str(log), text="x"), told])):
        run = await runs.start("it")
        request = await run.asked_for_approval()
        await run.handle.signal("suspend")
        await run.approve(request.request_id)
        held = await run.status()
        before = lines(log)
        await run.signal("resume", {})
        result = await run.result()

    assert (held.status, before) == ("suspended", [])
    assert (result.status, len(lines(log))) == ("completed", 1)


@pytest.mark.parametrize("resumed", [False, True], ids=["at rest", "before it is at rest"])
async def test_suspended_is_said_when_nothing_is_in_flight_any_more(
    runs: Runs, tmp_path: Path, *, resumed: bool
) -> None:
    """Before that the run says what is: to whoever asks, in its history, and in searches."""
    # BY-76 BY-62
    log = tmp_path / "log"
    async with runs.working(scripted([call("hold", log=str(log)), say("done")])):
        run = await runs.start("it")
        while not log.exists():  # noqa: ASYNC110 -- another process writes it
            await asyncio.sleep(0.01)
        await run.signal("suspend", {})
        late = early = await run.status()
        late_read = early_read = await history_says(run)
        if resumed:
            await run.signal("resume", {})
            late, late_read = await run.status(), await history_says(run)
        Path(f"{log}.go").touch()
        if not resumed:
            while (late := await run.status()).in_flight:  # noqa: ASYNC110 -- it is elsewhere
                await asyncio.sleep(0.01)
            late_read = await history_says(run)
            await run.signal("resume", {})
        result = await run.result()
        history = await run.handle.fetch_history()

    assert (early.status, early_read) == ("suspending", "suspending")
    assert early.in_flight == ("tool hold",)
    word = "running" if resumed else "suspended"
    assert (late.status, late_read) == (word, word)
    assert result.answer == "done"
    shown = ["running", "suspending", *([] if resumed else ["suspended"]), "running", "completed"]
    assert statuses(history) == shown
    await build_replayer(AgentRun).replay_workflow(history)


async def history_says(run: Run) -> str:
    return read_trace([await run.handle.fetch_history()]).status


def statuses(history: WorkflowHistory) -> list[str]:
    """What the search attribute said of the run, in order."""
    changes = (
        event.upsert_workflow_search_attributes_event_attributes.search_attributes.indexed_fields
        for event in history.events
    )
    found = (fields["AgentStatus"].data for fields in changes if "AgentStatus" in fields)
    return [json.loads(data) for data in found]


async def test_three_days_and_an_expiry_pass(skipping_runs: Runs) -> None:
    """A run waits for days; an approval in time counts, and nobody's silence is a denial."""
    # T-19
    silent = scripted([call("send", log="/dev/null", text="x"), told])
    async with skipping_runs.working(silent):
        run = await skipping_runs.start("it", budget={"max_wall_time": 60})
        await run.asked_for_approval()
        result = await run.result()
        (expired,) = await run.results()
        waited = (await run.handle.query("usage"))["waited_seconds"]

    assert isinstance(expired, ToolFailure)
    assert (expired.type, expired.status) == ("approval_required", "denied")
    assert "nobody decided req-1 until" in expired.reason
    assert result.status == "completed"
    assert waited >= timedelta(days=7).total_seconds()


async def test_an_approval_after_three_days(memory_runs: MemoryRuns) -> None:
    """Waiting for three days costs no wall time, and the approval still releases the call."""
    app = scripted([call("send", log="/dev/null", text="x"), told])
    async with memory_runs.working(app):
        run = await memory_runs.start("it", budget={"max_wall_time": 60})
        request = await run.asked_for_approval()
        await memory_runs.pass_time(3 * DAY)
        await run.approve(request.request_id)
        result = await run.result()
        (sent,) = await run.results()

    assert isinstance(sent, ToolSuccess)
    assert (result.status, result.answer) == ("completed", "send ok")
