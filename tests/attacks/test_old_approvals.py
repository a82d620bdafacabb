"""Approvals that were good when they were given: who tries to have them count later."""

import asyncio
import dataclasses
import json
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from itertools import chain, repeat
from pathlib import Path

import pytest
from temporalio.exceptions import WorkflowAlreadyStartedError

from holdfast import Agent, App, Budget, Requirement, Risk, Triggers, tool
from holdfast.activities import clock
from holdfast.activities.kill_switch import switches
from holdfast.activities.policy import Keyring, PolicyActivities, PolicyEnvironment
from holdfast.contracts.approvals import ApprovalRecord, Review
from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import ToolCall
from holdfast.contracts.decisions import (
    AuthorizeCalls,
    Caller,
    Decided,
)
from holdfast.contracts.switches import SWITCHES_WORKFLOW_TYPE
from holdfast.guardrails import (
    Guardrail,
    GuardrailContext,
    GuardrailResult,
    Subject,
    guardrail,
    judged_by,
    passed,
)
from holdfast.policy.rules import NO_POLICY
from holdfast.testing import call, say
from holdfast.tools import ask_user
from holdfast.tools.registry import ToolRegistry
from tests.asking import in_run
from tests.attacks.test_tokens import ALICE, BOB, claims, lines, refund, refunding, send, trusting
from tests.builders import EXECUTION, NOW, a_call, a_record
from tests.control.controlled import replayed
from tests.memory.runs import MemoryRuns
from tests.policy.hearings import STRONG, TRUST, a_hearing, signed
from tests.policy.test_rulings import NO_KEYS, Switches, Trusting
from tests.running import AnyRun, Runs
from tests.sample import note, told
from tests.tokens import PROVIDER, Signer, a_signer
from tests.workflows.tiered import asked, child

MALLORY = a_signer("ES256", kid="idp-1", subject="mallory")
ISSUERS = f"issuers: [{{issuer: {PROVIDER}, jwks: idp.json}}]\n"
TWO = """\
version: 1
rules:
  - {id: r, effect: approve, match: {tools: [refund]}, approval: {strong: true, count: 2}}
"""
LEDGER = """\
version: 1
groups: {finance: [fred], managers: [mona]}
rules:
  - {id: r, match: {tools: [book]}, %s}
"""


looking, may_pass = asyncio.Event(), asyncio.Event()


@guardrail(layer="pre_execution")
async def unhurried(subject: Subject, ctx: GuardrailContext) -> GuardrailResult:
    """Look for as long as the test says, and let it pass."""
    looking.set()
    await may_pass.wait()
    return passed()


@tool(risk=Risk.WRITE_INTERNAL)
async def book(log: str) -> str:
    """Book something in the ledger."""
    note(log, "booked")
    return "booked"


def booking(
    log: Path,
    effect: str,
    *,
    review: Requirement | None = None,
    guardrails: Sequence[Guardrail] = (),
) -> App:
    """An app whose agent books once, under a policy that says what comes of that."""
    policy = log.with_name("policy.yaml")
    policy.write_text(LEDGER % effect, encoding="utf-8")
    agent = Agent(
        name="it",
        instructions="Do as you are told.",
        models=["scripted:it"],
        tools=[book],
        budget=Budget(max_steps=9),
        triggers=Triggers(sensitive_domains=("payments",)),
        review=review or Requirement(),
        guardrails=guardrails,
    )
    scripts = {"it": [call("book", log=str(log)), told]}
    return App(agents=[agent], scripts=scripts, policy=policy)


def looked_at(log: Path, look: Guardrail) -> App:
    """An app whose agent gives money back once, after a guardrail has looked at that."""
    front = Agent(
        name="it",
        instructions="Do as you are told.",
        models=["scripted:it"],
        tools=[refund],
        budget=Budget(max_steps=9),
        guardrails=[look],
    )
    critic = Agent(
        name="critic", instructions="Judge it.", models=["scripted:critic"], tools=[ask_user]
    )
    verdict = say('{"tripwire_triggered": false}')
    scripts = {
        "it": [call("refund", log=str(log), amount=29.0), told],
        "critic": [call("ask_user", question="Is that fine?"), verdict],
    }
    return App(agents=[front, critic], scripts=scripts)


async def approve(run: AnyRun, signer: Signer, **more: str) -> str:
    """Have somebody sign what waits; return what they were told."""
    (request,) = await run.asked()
    said = claims(run, request, sub=signer.subject, jti=signer.kid, **more)  # pyright: ignore[reportArgumentType] -- a review has all that is signed
    return (await send(run, request, signer.token(said))).reason  # pyright: ignore[reportArgumentType] -- as above


@pytest.mark.parametrize("gone", ["the issuer", "the key"])
async def test_an_issuer_that_is_gone_has_approved_nothing(
    runs: Runs, tmp_path: Path, gone: str
) -> None:
    """Neither a provider that the policy no longer names, nor a key that its file has no more."""
    # RK-19 BY-15 PF-09
    log, policy, keys = (tmp_path / name for name in ("log", "policy.yaml", "idp.json"))
    keys.write_text(json.dumps({"keys": [MALLORY.public]}), encoding="utf-8")
    policy.write_text(ISSUERS + TWO, encoding="utf-8")
    trusting(runs, tmp_path, ALICE, BOB)
    async with runs.working(refunding(log, 29.0, policy=policy)):
        run = await runs.start("it")
        first = await approve(run, MALLORY, iss=PROVIDER)
    if gone == "the issuer":
        policy.write_text(TWO, encoding="utf-8")
    else:
        keys.write_text('{"keys": []}', encoding="utf-8")
    async with runs.working(
        refunding(log, 29.0, policy=policy), client=await runs.another_client()
    ):
        second = await approve(run, BOB)
        waiting, before = await run.pending(), lines(log)
        third = await approve(run, ALICE)
        result = await run.result()

    assert (first, third) == ("accepted", "accepted")
    assert second == "accepted; the approval of 'mallory' counts no more"
    assert (len(waiting), before) == (1, [])
    assert (result.answer, lines(log)) == ("refund ok", ["refunded 29.0"])


async def test_a_key_that_is_revoked_while_a_guardrail_looks_releases_nothing(
    runs: Runs, tmp_path: Path
) -> None:
    """Approved and allowed, then looked at; before that is over the key is gone."""
    looking.clear()
    may_pass.clear()
    log = tmp_path / "log"
    trusting(runs, tmp_path, ALICE, BOB)
    async with runs.working(looked_at(log, unhurried)):
        run = await runs.start("it")
        await approve(run, ALICE)
        await looking.wait()
        trusting(runs, tmp_path, BOB)
        may_pass.set()
        (request,) = await run.asked()
        before = lines(log)
        await approve(run, BOB)
        result = await run.result()
        await replayed(runs, run)

    assert (request.request_id, before) == ("req-2", [])
    assert (result.answer, lines(log)) == ("refund ok", ["refunded 29.0"])


async def test_a_key_that_is_revoked_while_a_judge_asks_people_releases_nothing(
    runs: Runs, tmp_path: Path
) -> None:
    """A judge of a call may wait for a person for days: who approved it is asked about anew."""
    log = tmp_path / "log"
    trusting(runs, tmp_path, ALICE, BOB)
    app = looked_at(log, judged_by("critic", layer="pre_execution"))
    async with runs.working(app):
        run = await runs.start("it")
        await approve(run, ALICE)
        judge = child(runs, run, "judged_by_critic-1")
        (question,) = await asked(judge)
        trusting(runs, tmp_path, BOB)
        await judge.signal("answer", {"request_id": question.request_id, "text": "yes"})
        while (request := (await run.asked())[0]).request_id.startswith("judged_by"):
            pass  # the judge's question, until the run knows that it was answered
        await run.handle.cancel()

    assert (request.request_id, lines(log)) == ("req-2", [])


async def test_a_review_counts_no_key_that_was_revoked(runs: Runs, tmp_path: Path) -> None:
    """Of two who sign a review, the key of the first is revoked before the second signs."""
    # RK-19 BY-15
    log = tmp_path / "log"
    trusting(runs, tmp_path, ALICE, BOB)
    two = Requirement(count=2, strength="strong")
    async with runs.working(booking(log, "effect: allow", review=two)):
        run = await runs.start("it", domain="payments")
        (review,) = await run.asked()
        first = await approve(run, ALICE)
        trusting(runs, tmp_path, BOB)
        second = await approve(run, BOB)
        (waiting,) = await run.pending()
        await run.handle.cancel()

    assert isinstance(review, Review)
    assert (first, second) == ("accepted", "accepted; the approval of 'alice' counts no more")
    assert isinstance(waiting, Review)
    assert [record.approver for record in waiting.approvals] == ["bob"]
    assert lines(log) == []


async def test_a_review_counts_no_approval_that_lapsed(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """Of two who approve a review, the second comes after the first one's approval has lapsed."""
    log = tmp_path / "log"
    two = Requirement(count=2, valid_for=60)
    async with memory_runs.working(booking(log, "effect: allow", review=two)):
        run = await memory_runs.start("it", domain="payments")
        await run.asked()
        decision: JsonObject = {"request_id": "req-1", "decision": "approve"}
        first = await run.decide({**decision, "approver": "alice"})
        await memory_runs.pass_time(90)
        second = await run.decide({**decision, "approver": "bob"})
        before = lines(log)
        again = await run.decide({**decision, "approver": "alice"})
        result = await run.result()

    assert (first.reason, again.reason) == ("accepted", "accepted")
    assert second.reason == "accepted; the approval of 'alice' counts no more"
    assert (before, result.answer, lines(log)) == ([], "book ok", ["booked"])


async def test_who_keeps_a_decision_waiting_gains_nothing(
    runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody can tell what is switched off until the approval has lapsed: they are asked anew."""
    # PF-09
    monkeypatch.setattr(switches, "TIMEOUT_SECONDS", 0.2)
    log, board = tmp_path / "log", runs.switches
    async with runs.working(booking(log, "effect: approve, approval: {valid_for: 1s}")):
        run = await runs.start("it")
        await run.asked()
        await runs.client.get_workflow_handle(board).terminate()
        foreign = await runs.client.start_workflow("Nobody", id=board, task_queue="nowhere")
        await run.approve("req-1")
        while await run.pending():  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.02)
        given = time.monotonic()
        while time.monotonic() < given + 1.1:  # noqa: ASYNC110 -- so it was said in the policy
            await asyncio.sleep(0.02)
        await foreign.terminate()
        with suppress(WorkflowAlreadyStartedError):  # the worker was first
            await runs.client.start_workflow(SWITCHES_WORKFLOW_TYPE, id=board, task_queue=board)
        (request,) = await run.asked()
        await run.handle.cancel()

    assert (request.request_id, lines(log)) == ("req-2", [])


async def test_who_might_approve_later_has_not_approved(runs: Runs, tmp_path: Path) -> None:
    """Approved under a policy that let managers; the one that runs it lets them after hours."""
    # PF-09 PF-15
    log = tmp_path / "log"
    async with runs.working(booking(log, "effect: approve, approval: {groups: [managers]}")):
        run = await runs.start("it")
        await run.asked()
        await run.signal("suspend", {})
        early = await run.decide(
            {"request_id": "req-1", "decision": "approve", "approver": "mona"}
        )
    later = "effect: approve, approval: {groups: [finance], escalate: {after: 4h, to: [managers]}}"
    async with runs.working(booking(log, later), client=await runs.another_client()):
        await run.signal("resume", {})
        (request,) = await run.asked()
        before = lines(log)
        await run.approve(request.request_id, "fred")
        result = await run.result()

    assert (early.accepted, request.request_id, before) == (True, "req-2", [])
    assert (result.answer, lines(log)) == ("book ok", ["booked"])


@pytest.mark.parametrize(("late", "code"), [(299, "accepted"), (300, "invalid_token")])
async def test_a_token_is_judged_when_it_is_judged(late: int, code: str) -> None:
    """It waited for a worker: the server says when the judgement began, and no token knows."""
    # RK-19 T-15
    asked, environment = a_hearing([signed()], [STRONG]), in_run("run-1")
    environment.info = dataclasses.replace(
        environment.info, scheduled_time=NOW, started_time=NOW + timedelta(seconds=late)
    )

    verdicts = await environment.run(deciding(Trusting(*TRUST.issuers)).judge, asked)

    assert [verdict.code for verdict in verdicts.verdicts] == [code]


@pytest.mark.parametrize(
    ("waited", "took", "verdict"),
    [(0, 0, "allow"), (5, 0, "approval_required"), (0, 5, "approval_required")],
)
async def test_what_lapses_before_a_decision_does_not_count(
    waited: int, took: int, verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long `authorize` waits for its turn, or for what it has to know."""
    # PF-09
    call, environment = a_call("book", log="/dev/null"), in_run("run-1")
    began = NOW - timedelta(days=1)  # a worker's clock may say anything
    environment.info = dataclasses.replace(
        environment.info,
        is_local=True,
        scheduled_time=began,
        started_time=began + timedelta(seconds=waited),
    )
    ticking = chain([0], repeat(took))
    monkeypatch.setattr(clock, "monotonic", lambda: next(ticking))
    record = a_record(call, expires_at=NOW + timedelta(seconds=5))

    rulings = await environment.run(deciding().authorize, about(call, record))

    (ruling,) = rulings.rulings
    assert isinstance(ruling, Decided)
    assert ruling.decision.verdict == verdict


def deciding(keyring: Keyring = NO_KEYS) -> PolicyActivities:
    surroundings = PolicyEnvironment(NO_POLICY, "", has_sandbox=False)
    return PolicyActivities(ToolRegistry([book]), surroundings, keyring, Switches())


def about(call: ToolCall, *approvals: ApprovalRecord) -> AuthorizeCalls:
    return AuthorizeCalls(
        run_id="run-1",
        agent="it",
        caller=Caller(tenant="acme", actor="bob"),
        calls=(call,),
        approvals=approvals,
        visible_tools=("book",),
        now=NOW,
        execution=EXECUTION,
    )
