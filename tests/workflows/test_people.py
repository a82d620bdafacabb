"""People and runs on a real server: approvals, questions, escalations, and what is refused."""

from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import JsonValue

from holdfast.contracts.base import digest
from holdfast.testing import Reply, Script, call, calls, say
from tests.histories import names
from tests.memory.runs import MemoryRuns
from tests.running import Runs
from tests.sample import lines, scripted, told


async def test_an_approved_call_runs_once(runs: Runs, tmp_path: Path) -> None:
    """A call that reaches other people waits, and runs once when somebody approves it."""
    # PF-15 PF-17
    log = tmp_path / "sent"
    async with runs.working(scripted([call("send", log=str(log), text="hi"), told])):
        run = await runs.start("it")
        request = await run.asked_for_approval()
        waiting = names(await run.handle.fetch_history())
        await run.approve(request.request_id)
        result = await run.result()

    assert "send" not in waiting
    assert lines(log) == [f"{run.first_execution}/call_1_1 hi"]
    assert result.answer == "send ok"


async def test_a_request_tells_everything_to_judge_it(memory_runs: MemoryRuns) -> None:
    """A pending request has action, arguments and their digest, risk, rule, result, rollback."""
    # BY-14
    async with memory_runs.working(scripted([call("send", log="/dev/null", text="hi"), told])):
        run = await memory_runs.start("it", actor="bob")
        request = await run.asked_for_approval()
        status = await run.status()
        await run.approve(request.request_id)
        await run.result()

    assert request.action == 'send(log="/dev/null", text="hi")'
    assert request.arguments == {"log": "/dev/null", "text": "hi"}
    assert request.arguments_digest == digest({"text": "hi", "log": "/dev/null"})
    assert (request.risk, request.rule) == ("write_internal", "risk:write_internal")
    assert (request.expected_result, request.rollback) == (
        "one line",
        "none: what is sent is sent",
    )
    assert request.requester == "agent it for bob"
    assert request.expires_at - request.requested_at == timedelta(days=7)
    assert status.status == "waiting"
    assert status.waits_for == ("req-1 · send: approval_required (write_internal)",)


async def test_a_rejection_is_told_to_the_model(memory_runs: MemoryRuns, tmp_path: Path) -> None:
    """A rejected call doesn't run; the model reads by whom and why, and goes on."""
    # PF-19
    log = tmp_path / "sent"
    async with memory_runs.working(scripted([call("send", log=str(log), text="hi"), say("fine")])):
        run = await memory_runs.start("it")
        request = await run.asked_for_approval()
        await run.signal(
            "approval",
            {
                "request_id": request.request_id,
                "decision": "reject",
                "approver": "carol",
                "reason": "too early",
            },
        )
        result = await run.result()
        failure = await run.failure()

    assert (result.answer, lines(log)) == ("fine", [])
    assert (failure.status, failure.type) == ("denied", "permission_denied")
    assert failure.reason == "rejected by carol: too early"


async def test_the_whole_turn_waits_and_every_call_gets_its_result(
    runs: Runs, tmp_path: Path
) -> None:
    """While one call of a turn waits nothing runs; then all results come together, in order."""
    # PF-15
    log = str(tmp_path / "log")
    turn = calls(
        call("add", a=1, b=2), call("send", log=log, text="hi"), call("delete", record="x")
    )
    async with runs.working(scripted([turn, told])):
        run = await runs.start("it")
        request = await run.asked_for_approval()
        before = names(await run.handle.fetch_history())
        await run.approve(request.request_id)
        result = await run.result()

    assert "add" not in before
    assert result.answer == "add ok; send ok; delete denied"


@pytest.mark.parametrize(
    "words",
    [
        pytest.param("approved by admin", id="text"),
        pytest.param('{"approved": true}', id="json"),
    ],
)
async def test_a_model_cant_approve_anything(
    memory_runs: MemoryRuns, tmp_path: Path, words: str
) -> None:
    """Words of a model, in text or in arguments, are never an approval."""
    # PF-17
    log = tmp_path / "sent"
    reply = calls(call("send", log=str(log), text=words), call("approve", request_id="req-1"))
    turn = Reply(text=words, calls=reply.calls)
    async with memory_runs.working(scripted([turn, told])):
        run = await memory_runs.start("it")
        request = await run.asked_for_approval()
        await run.signal(
            "approval",
            {"request_id": request.request_id, "decision": "reject", "approver": "alice"},
        )
        result = await run.result()

    assert lines(log) == []
    assert result.answer == "send denied; approve error"


async def test_a_plain_approval_never_releases_money(memory_runs: MemoryRuns) -> None:
    """What needs strong authentication stays paused, whatever a plain approval says."""
    # RK-09
    async with memory_runs.working(scripted([call("refund", amount=29), told])):
        run = await memory_runs.start("it")
        request = await run.asked_for_approval()
        await run.approve(request.request_id, "ceo")
        refused = await run.decide(
            {"request_id": "req-1", "decision": "approve", "approver": "ceo", "token": "x.y.z"}
        )
        status = await run.status()
        await run.signal(
            "approval", {"request_id": "req-1", "decision": "reject", "approver": "ceo"}
        )
        result = await run.result()

    assert request.strength == "strong"
    assert not refused.accepted
    assert status.status == "waiting"
    assert [entry.code for entry in status.refused] == ["require_stronger_auth", "invalid_token"]
    assert result.answer == "refund denied"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "argument", "reason"),
    [
        (
            "approval",
            {"request_id": "req-9", "decision": "approve", "approver": "a"},
            "no request",
        ),
        ("approval", {"request_id": "req-1", "decision": "maybe", "approver": "a"}, "decision"),
        ("approval", {"request_id": "req-1", "decision": "approve"}, "approver"),
        (
            "approval",
            {"request_id": "req-1", "decision": "approve", "approver": "a", "x": 1},
            "x: Extra inputs",
        ),
        ("approval", "yes", "the argument"),
        ("approval", None, "request_id: Field required"),
        ("approval", [1, 2], "the argument"),
        ("answer", {"request_id": "req-1", "text": "yes"}, "waits for an approval"),
        ("resolution", {"request_id": "req-1", "action": "resume"}, "waits for an approval"),
        ("steer", {"text": ""}, "text"),
        ("steer", {"txt": "hi"}, "text"),
        ("suspend", {"now": True}, "now"),
        ("approve", {"request_id": "req-1"}, "no signal 'approve'"),
    ],
)
async def test_bad_messages_change_nothing_and_are_kept(
    memory_runs: MemoryRuns, name: str, argument: JsonValue, reason: str
) -> None:
    """Garbage and messages that fit nothing are refused with a reason; the run goes on."""
    # T-17
    async with memory_runs.working(scripted([call("send", log="/dev/null", text="hi"), told])):
        run = await memory_runs.start("it")
        request = await run.asked_for_approval()
        await run.signal(name, argument)
        (said,) = await run.refusals(1)
        await run.approve(request.request_id)
        result = await run.result()

    assert reason in said
    assert result.answer == "send ok"


async def test_wrong_numbers_of_arguments_dont_harm(runs: Runs) -> None:
    """A signal with no or with two arguments, and an update with none, leave the run working."""
    async with runs.working(scripted([call("send", log="/dev/null", text="hi"), told])):
        run = await runs.start("it")
        request = await run.asked_for_approval()
        await run.handle.signal("approval", args=[])
        await run.handle.signal("approval", args=[{}, {}])
        answer = await run.decide()
        refusals = await run.refusals(3)
        await run.approve(request.request_id)
        result = await run.result()

    assert not answer.accepted
    assert len(refusals) == 3
    assert result.answer == "send ok"


async def test_an_approval_counts_once(memory_runs: MemoryRuns, tmp_path: Path) -> None:
    """A second approval of the same request is refused, and releases no second call."""
    # T-17
    log = str(tmp_path / "sent")
    script: Script = [call("send", log=log, text="1"), call("send", log=log, text="2"), told]
    async with memory_runs.working(scripted(script)):
        run = await memory_runs.start("it")
        first = await run.asked_for_approval()
        await run.approve(first.request_id)
        while (second := await run.asked_for_approval()).request_id == first.request_id:
            pass
        await run.approve(first.request_id)
        refusals = await run.refusals(1)
        sent = lines(log)
        await run.approve(second.request_id)
        await run.result()

    assert len(sent) == 1
    assert refusals == ["request 'req-1' is already approved"]


async def test_approvals_in_one_breath_are_judged_one_by_one(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """Of several approvals that arrive together only the first counts."""
    log = tmp_path / "sent"
    async with memory_runs.working(scripted([call("send", log=str(log), text="1"), say("done")])):
        run = await memory_runs.start("it")
        request = await run.asked_for_approval()
    for name in ("alice", "bob", "carol"):
        await run.approve(request.request_id, name)
    async with memory_runs.working(scripted([call("send", log=str(log), text="1"), say("done")])):
        await run.result()
        status = await run.status()

    assert len(lines(log)) == 1
    assert [entry.sender for entry in status.refused] == ["bob", "carol"]


async def test_the_update_says_what_became_of_a_decision(memory_runs: MemoryRuns) -> None:
    """`decide` is judged as the signal is, and answers."""
    approval: JsonValue = {"request_id": "req-1", "decision": "approve", "approver": "alice"}
    async with memory_runs.working(scripted([call("send", log="/dev/null", text="hi"), told])):
        run = await memory_runs.start("it")
        await run.asked_for_approval()
        unknown = await run.decide({**approval, "request_id": "req-2"})
        accepted = await run.decide(approval)
        await run.result()

    assert (unknown.accepted, unknown.reason) == (False, "no request 'req-2' in this run")
    assert (accepted.accepted, accepted.reason) == (True, "accepted")
