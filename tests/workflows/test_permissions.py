"""Permissions on a real server: drafts before commits, policies, what is never repeated."""

import json
from pathlib import Path

import pytest
from temporalio.client import WorkflowFailureError

from holdfast.contracts.approvals import ApprovalRequest
from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import ToolFailure, ToolSuccess
from holdfast.contracts.control import Triggers
from holdfast.contracts.errors import AppError
from holdfast.testing import Script, call, calls
from tests.histories import activities, names
from tests.memory.runs import MemoryRuns
from tests.running import Runs
from tests.sample import lines, scripted, told


def policy(folder: Path, *rules: str, more: str = "") -> Path:
    path = folder / "policy.yaml"
    listed = "\n".join(f"  - {rule}" for rule in rules)
    path.write_text(f"version: 1\n{more}\nrules:\n{listed}\n", encoding="utf-8")
    return path


async def test_a_draft_is_shown_before_it_is_committed(runs: Runs, tmp_path: Path) -> None:
    """Draft, approval, commit, in this order; people see the draft, the commit gets its id."""
    # RK-07 RK-08 BY-05 PF-13
    log = tmp_path / "log"
    async with runs.working(scripted([call("post", log=str(log), text="hi"), told])):
        run = await runs.start("it")
        request = await run.asked_for_approval()
        before = names(await run.handle.fetch_history())
        await run.approve(request.request_id)
        result = await run.result()
        after = names(await run.handle.fetch_history())

    key = f"{run.first_execution}/call_1_1"
    assert (request.approval_type, request.preview) == ("commit", {"preview": "HI"})
    assert request.preview_ref == f"{key}/draft"
    assert "draft_post" in before
    assert "post" not in before
    assert after.index("draft_post") < after.index("post")
    assert lines(log) == [f"draft {key}/draft hi", f"post {key} {key}/draft hi"]
    assert result.answer == "post ok"


async def test_a_rejected_draft_is_never_committed(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """Nothing leaves the house when the draft is rejected."""
    # RK-04 PF-14
    log = tmp_path / "log"
    async with memory_runs.working(scripted([call("post", log=str(log), text="hi"), told])):
        run = await memory_runs.start("it")
        request = await run.asked_for_approval()
        await run.signal(
            "approval",
            {"request_id": request.request_id, "decision": "reject", "approver": "alice"},
        )
        result = await run.result()

    assert [line.split()[0] for line in lines(log)] == ["draft"]
    assert result.answer == "post denied"


async def test_policy_may_want_drafts_only(runs: Runs, tmp_path: Path) -> None:
    """Where policy says draft, the draft is the result, and the commit never runs."""
    # PF-13 PF-14
    log = tmp_path / "log"
    rules = policy(
        tmp_path, "{id: drafts, effect: draft, reason: a trial, match: {tools: [post]}}"
    )
    app = scripted([call("post", log=str(log), text="hi"), told], policy=rules)
    async with runs.working(app):
        run = await runs.start("it")
        result = await run.result()
        done = await run.success()
        history = names(await run.handle.fetch_history())

    assert "post" not in history
    assert "draft_post" in history
    assert done.data == {
        "draft_id": f"{run.first_execution}/call_1_1/draft",
        "committed": False,
        "draft": {"preview": "HI"},
    }
    assert result.answer == "post ok"


async def test_what_has_no_draft_is_denied(memory_runs: MemoryRuns) -> None:
    """A message to other people that can't be shown before it is sent is never sent."""
    # PF-14 T-42 PF-18 PF-19
    async with memory_runs.working(scripted([call("shout", text="hi"), told])):
        run = await memory_runs.start("it")
        result = await run.result()
        failure = await run.failure()
        history = names(await run.story())

    assert (failure.status, failure.type) == ("denied", "permission_denied")
    assert "draft" in failure.reason
    assert failure.next_valid_actions
    assert "shout" not in history
    assert result.answer == "shout denied"


@pytest.mark.parametrize(
    ("amount", "status", "type_", "looked"),
    [
        pytest.param(29, "ok", None, 1, id="paid"),
        # A worker that was only cut off may still be at it, so "no" is asked for twice.
        pytest.param(0, "error", "timeout", 2, id="not paid"),
    ],
)
async def test_a_lost_answer_is_looked_up(
    memory_runs: MemoryRuns,
    tmp_path: Path,
    amount: int,
    status: str,
    type_: str | None,
    looked: int,
) -> None:
    """A write that was cut off isn't repeated: its tool that reconciles says if it happened."""
    # BY-11 T-03
    log = tmp_path / "paid"
    script: Script = [call("pay_slowly", log=str(log), amount=amount), told]
    rules = policy(
        tmp_path, "{id: pay, effect: allow, reason: a test, match: {tools: [pay_slowly]}}"
    )
    async with memory_runs.working(scripted(script, policy=rules)):
        run = await memory_runs.start("it")
        result = await run.result()
        (found,) = await run.results()
        history = names(await run.story())

    assert found.status == status
    assert getattr(found, "type", None) == type_
    assert history.count("pay_slowly") == 1
    assert history.count("find_payment") == looked
    assert len(lines(log)) == (1 if amount else 0)
    assert result.answer == f"pay_slowly {status}"
    if isinstance(found, ToolSuccess):
        assert found.data == "paid"


@pytest.mark.parametrize("effect", ["forbid", "sandbox"])
async def test_nothing_is_found_out_by_a_forbidden_tool(
    memory_runs: MemoryRuns, tmp_path: Path, effect: str
) -> None:
    """
    A tool that reconciles and that the policy forbids isn't asked: nobody knows then.

    Nor is one that a rule keeps in the sandbox: it would run outside of it.
    """
    # BY-11
    log = tmp_path / "paid"
    rules = policy(
        tmp_path,
        "{id: pay, effect: allow, reason: a test, match: {tools: [pay_slowly]}}",
        f"{{id: no, effect: {effect}, reason: a test, match: {{tools: [find_payment]}}}}",
    )
    async with memory_runs.working(
        scripted([call("pay_slowly", log=str(log), amount=29), told], policy=rules)
    ):
        run = await memory_runs.start("it")
        result = await run.result()
        history = names(await run.story())

    assert result.answer == "pay_slowly outcome_unknown"
    assert "find_payment" not in history
    assert len(lines(log)) == 1


async def test_a_write_of_unknown_outcome_is_not_repeated(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """The model may ask again for what may have happened; it is told to find out instead."""
    # BY-06 BY-11
    log = tmp_path / "log"
    again = call("fail_outside", log=str(log))
    rules = policy(
        tmp_path, "{id: out, effect: allow, reason: a test, match: {tools: [fail_outside]}}"
    )
    async with memory_runs.working(scripted([again, again, told], policy=rules)):
        run = await memory_runs.start("it")
        await run.result()
        first, second = await run.results()

    assert isinstance(first, ToolFailure)
    assert isinstance(second, ToolFailure)
    assert first.status == "outcome_unknown"
    assert (second.status, second.type) == ("denied", "non_idempotent_retry_blocked")
    assert len(lines(log)) == 1


async def test_no_spelling_repeats_a_write_of_unknown_outcome(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """The same twice in one turn, or with a default spelled out, is the same write."""
    # BY-11 BY-12
    log = str(tmp_path / "log")
    twice = calls(call("fail_outside", log=log), call("fail_outside", log=log, why=""))
    rules = policy(
        tmp_path, "{id: out, effect: allow, reason: a test, match: {tools: [fail_outside]}}"
    )
    async with memory_runs.working(scripted([twice, told], policy=rules)):
        run = await memory_runs.start("it")
        result = await run.result()

    assert result.answer == "fail_outside outcome_unknown; fail_outside denied"
    assert len(lines(log)) == 1


async def test_an_allowlist_rule_is_named(memory_runs: MemoryRuns, tmp_path: Path) -> None:
    """An internal write that policy lists runs without a person, and the decision says why."""
    # RK-06
    log = tmp_path / "sent"
    rules = policy(
        tmp_path,
        "{id: routine, effect: allow, reason: routine, match: {tools: [send]}, "
        "when: 'args.text.startsWith(\"routine\")'}",
    )
    turn = calls(
        call("send", log=str(log), text="routine: ok"), call("send", log=str(log), text="odd")
    )
    async with memory_runs.working(scripted([turn, told], policy=rules)):
        run = await memory_runs.start("it")
        (request,) = await run.asked()
        await run.approve(request.request_id)
        result = await run.result()

    assert isinstance(request, ApprovalRequest)
    assert request.arguments["text"] == "odd"
    assert request.rule == "risk:write_internal"
    assert len(request.policy) == 16
    assert result.answer == "send ok; send ok"


async def test_two_actors_get_two_explained_decisions(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """The same call on behalf of two people is decided differently, and both decisions say why."""
    # PF-06 PF-10
    rules = policy(
        tmp_path,
        "{id: not-bob, effect: forbid, reason: bob left, match: {tools: [add], actors: [bob]}}",
    )
    async with memory_runs.working(scripted([call("add", a=1, b=2), told], policy=rules)):
        bobs, annas = (
            await memory_runs.start("it", actor="bob"),
            await memory_runs.start("it", actor="anna"),
        )
        answers = [(await run.result()).answer for run in (bobs, annas)]
        failure = await bobs.failure()

    assert answers == ["add denied", "add ok"]
    assert "bob left" in failure.reason


async def test_what_a_run_is_about_decides_too(runs: Runs, tmp_path: Path) -> None:
    """A condition looks at it; what nobody said opens nothing; history says for whom it was."""
    # PF-06
    rules = policy(
        tmp_path,
        "{id: known, effect: allow, match: {tools: [send]}, when: \"metadata.team == 'billing' && "
        "session == 's-1' && domain == 'payments' && task_kind == 'refund'\"}",
    )
    log = str(tmp_path / "log")
    known: JsonObject = {
        "agent": "it",
        "input": "go",
        "actor": "bob",
        "session_id": "s-1",
        "domain": " Payments",
        "task_kind": "refund",
        "metadata": {"team": "billing"},
    }
    agent = scripted(
        [call("send", log=log, text="hi"), told],
        policy=rules,
        triggers=Triggers(sensitive_domains=()),
    )
    async with runs.working(agent):
        allowed = await runs.start_with(known)
        assert (await allowed.result()).answer == "send ok"
        others: list[JsonObject] = [{"task_kind": "other"}, {"metadata": {}}, {"session_id": None}]
        for other in others:
            asking = await runs.start_with({**known, **other})
            await asking.asked_for_approval()
            await asking.cancel()
        (history,) = await runs.histories(allowed)

    marker = next(one for one in activities(history) if one.name == "authorize").event
    said = marker.marker_recorded_event_attributes.details["result"].payloads[0].data
    assert json.loads(said)["caller"] == {
        "actor": "bob",
        "session": "s-1",
        "domain": "payments",
        "task_kind": "refund",
    }


async def test_a_request_goes_to_a_second_group(memory_runs: MemoryRuns, tmp_path: Path) -> None:
    """Nobody of the first group decides in time; then somebody of the second may."""
    # PF-15 T-19
    log = tmp_path / "sent"
    rules = policy(
        tmp_path,
        "{id: team, effect: approve, reason: four eyes, match: {tools: [send]}, approval: "
        "{groups: [team], expires: 24h, escalate: {after: 4h, to: [managers]}}}",
        more="groups: {team: [alice], managers: [mona]}",
    )
    app = scripted([call("send", log=str(log), text="hi"), told], policy=rules)
    mona: JsonObject = {"request_id": "req-1", "decision": "approve", "approver": "mona"}
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        request = await run.asked_for_approval()
        early = await run.decide(mona)
        while (await run.asked_for_approval()).escalated_at is None:
            await memory_runs.pass_time(3600)
        late = await run.decide(mona)
        result = await run.result()

    assert request.escalated_at is None
    assert (early.accepted, early.code) == (False, "wrong_group")
    assert late.accepted
    assert result.answer == "send ok"


async def test_a_policy_that_was_revoked_wins(memory_runs: MemoryRuns, tmp_path: Path) -> None:
    """What was approved under one policy is decided anew by the policy of the day it runs."""
    # T-20
    log = tmp_path / "sent"
    script: Script = [call("send", log=str(log), text="hi"), told]
    async with memory_runs.working(scripted(script)):
        run = await memory_runs.start("it")
        request = await run.asked_for_approval()
    rules = policy(
        tmp_path, "{id: frozen, effect: forbid, reason: change freeze, match: {tools: [send]}}"
    )
    async with memory_runs.working(scripted(script, policy=rules)):
        await run.approve(request.request_id)
        result = await run.result()
        failure = await run.failure()

    assert lines(log) == []
    assert "change freeze" in failure.reason
    assert result.answer == "send denied"


async def test_a_cancelled_run_waits_for_nobody(runs: Runs) -> None:
    """What a run asked people for is withdrawn when it is cancelled."""
    # PF-15 T-44
    async with runs.working(scripted([call("send", log="/dev/null", text="hi"), told])):
        run = await runs.start("it")
        await run.asked_for_approval()
        await run.handle.cancel()
        with pytest.raises(WorkflowFailureError):
            await run.result()
        status = await run.status()

    assert status.waits_for == ()


@pytest.mark.parametrize(
    "rule",
    [
        "effect: forbid, match: {environments: [production]}",
        "effect: approve, match: {environments: [production]}",
        "effect: forbid, when: environment == 'production'",
        "effect: forbid, when: \"'production' == environment\"",
    ],
)
async def test_no_worker_decides_by_environments_that_is_in_none(
    runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rule: str
) -> None:
    """A variable that was forgotten opens nothing: what is about production would fit nowhere."""
    live = policy(tmp_path, f"{{id: r, {rule}}}")
    app = scripted([call("look", place="attic"), told], policy=live)
    monkeypatch.delenv("HOLDFAST_ENVIRONMENT", raising=False)
    with pytest.raises(
        AppError, match=r"rule 'r' .* about environments.* set HOLDFAST_ENVIRONMENT"
    ):
        async with runs.working(app):
            pass

    monkeypatch.setenv("HOLDFAST_ENVIRONMENT", "staging")
    async with runs.working(app):
        result = await (await runs.start("it")).result()

    assert result.status == "completed"
