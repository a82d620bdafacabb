"""What a trace says of waits for people: who decided what, how sure that is, and who may yet."""

from datetime import timedelta
from typing import Literal

import pytest
from pydantic_core import to_json
from temporalio.client import WorkflowHistory

from holdfast.contracts.approvals import Verdict
from holdfast.contracts.base import JsonObject
from holdfast.contracts.budget import Budget
from holdfast.contracts.journal import RequestClosed, RequestEscalated
from holdfast.contracts.sessions.messages import SessionInput
from holdfast.contracts.state.unheard import UnheardMessage
from holdfast.contracts.tools import Risk
from holdfast.run import verdicts
from holdfast.run.transcript import build_continue_as_new_input
from holdfast.trace.reader import TraceReader
from holdfast.trace.spans.tree import span_tree
from holdfast.trace.transcript import Progress, lines
from tests.builders import (
    NOW,
    a_call,
    a_contract,
    a_proof,
    a_state,
    a_success,
    allowed,
    an_agent,
    an_approval,
    asked_for,
    no,
    ruled_upon,
    to_answer,
    to_approve,
    yes,
)
from tests.holdfast.written import POLICY, Written, read, told

PAY = a_call("pay", "c1", amount=900)
TOKEN = "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJmcmVkIn0.c2lnbmVkYnlmcmVk"
PAYING = an_agent(tools=(a_contract("pay", risk=Risk.FINANCIAL), a_contract("ask_user")))


def approval(decision: str = "approve", request_id: str = "req-1", **more: str) -> JsonObject:
    """A signal that decides about a request."""
    return {"request_id": request_id, "decision": decision, "approver": "alice", **more}


def waiting(strength: Literal["plain", "strong"] = "plain", **requirement: object) -> Written:
    """A run that waits for the approval of a payment."""
    written = Written()
    written.opened(PAYING)
    written.asked(PAY)
    written.ruled(to_approve(PAY, strength, **requirement))
    return written


def decide(written: Written, verdict: Verdict, *, decision: str = "approve", **more: str) -> None:
    """Have somebody decide, and the run judge that."""
    written.said("approval", approval(decision, verdict.request_id, **more))
    written.judged(verdict)


def watched(*histories: WorkflowHistory) -> list[str]:
    """What somebody reads who watches the run event by event."""
    reader, progress = TraceReader(), Progress()
    found: list[str] = []
    for history in histories:
        for event in history.events:
            reader.read(event)
            found += map(str, progress.fresh(reader.trace))
    return found


def test_each_of_several_approvals_is_shown() -> None:
    """With two approvals needed, the first leaves the request open; each has its line."""
    written = waiting(count=2)
    written.passes(seconds=3)
    decide(written, yes(approver="fred"), reason="seen the invoice")
    first = read(written)
    written.passes(seconds=2)
    decide(written, yes(approver="gina"))

    assert [asked.request_id for asked in first.waiting] == ["req-1"]
    assert str(list(lines(first))[-1]).endswith("(1 of 2): it reaches other people")
    assert told(read(written)) == [
        "  rule    pay: approval_required (communication)",
        "  wait    approved by fred (1 of 2) after 3.0 s: seen the invoice",
        "  wait    approved by gina (2 of 2) after 5.0 s",
    ]
    assert read(written).waiting == ()


def test_rejection_closes_at_once() -> None:
    """One person who says no is enough, however many have said yes."""
    written = waiting(count=3)
    decide(written, yes(approver="fred"))
    decide(written, yes(approver="gina"), decision="reject", reason="not again")

    trace = read(written)
    assert told(trace) == [
        "  rule    pay: approval_required (communication)",
        "  wait    approved by fred (1 of 3) after 0 ms",
        "  wait    rejected by gina after 0 ms: not again",
        "  result  denied  permission_denied: rejected by gina: not again",
    ]
    assert [said.author for said in trace.requests["req-1"].approvals] == ["fred"]


@pytest.mark.parametrize(
    ("methods", "line"),
    [
        (("swk", "pwd"), "  wait    approved by fred, strongly (swk, pwd) after 0 ms"),
        ((), "  wait    approved by fred, strongly after 0 ms"),
    ],
)
def test_strong_approval_shows_who_signed(methods: tuple[str, ...], line: str) -> None:
    """The approver is the subject of the token, whatever name the message gives."""
    # RK-19
    written = waiting(strength="strong")
    proof = a_proof(subject="fred", methods=methods)
    decide(written, yes(approver="fred", proof=proof), approver="mallory", token=TOKEN)

    trace = read(written)
    assert line in told(trace)
    assert [said.sender for said in trace.messages] == ["mallory"]


def test_no_token_is_in_a_trace() -> None:
    """A token stays in the history: good, refused or in a message that nobody can read."""
    written = waiting(strength="strong")
    decide(written, no("the token has expired"), token=TOKEN)
    written.said("approval", {"token": TOKEN, "jwt": TOKEN})
    decide(written, yes(approver="fred", proof=a_proof(subject="fred")), token=TOKEN)

    trace = read(written)
    shown = "\n".join(map(str, lines(trace))) + span_tree(trace).model_dump_json()
    assert len([said for said in trace.messages if said.accepted is False]) == 2
    assert [part for part in TOKEN.split(".") if part in shown] == []


def test_request_is_passed_on_and_then_expires() -> None:
    """A second group may decide as well, until nobody may any more."""
    written = waiting(
        groups=("staff",), escalate_after=60, escalate_to=("seniors", "board"), expires_after=600
    )
    written.passes(seconds=60)
    further = ("seniors", "board")
    written.tells(RequestEscalated(request_id="req-1", groups=further, at=written.now))
    passed_on = read(written)
    written.passes(seconds=540)
    written.tells(RequestClosed(request_id="req-1", outcome="expired", at=written.now))

    assert [asked.escalated_at for asked in passed_on.waiting] == [NOW + timedelta(seconds=60)]
    assert told(read(written)) == [
        "  rule    pay: approval_required (communication)",
        "  wait    passed on to seniors or board after 1m 0s",
        "  wait    expired after 10m 0s",
        "  result  denied  approval_required: nobody decided req-1 until 2026-03-01 12:10",
    ]


def test_what_nobody_needs_decide_any_more_waits_for_nobody() -> None:
    """A request that the run takes back is closed, and its call has no result by that."""
    written = Written()
    written.opened(PAYING)
    ask = a_call("ask_user", "c2", question="Which?")
    written.asked(PAY, ask)
    written.ruled(to_approve(PAY), to_answer(ask))
    written.tells(RequestClosed(request_id="req-1", outcome="withdrawn", at=written.now))

    trace = read(written)
    assert [asked.request_id for asked in trace.waiting] == ["req-2"]
    assert trace.requests["req-1"].outcome == "withdrawn"
    assert trace.calls[0].result is None


def test_what_came_too_late_in_one_batch_is_refused() -> None:
    """Of two approvals that were judged together, the second finds the request closed."""
    written = waiting()
    for approver in ("fred", "gina"):
        written.said("approval", approval(approver=approver))
    written.judged(yes(approver="fred"), yes(approver="gina"))

    assert [(said.author, said.accepted, said.refusal) for said in read(written).messages] == [
        ("fred", True, ""),
        ("gina", False, "the request has just closed"),
    ]


def test_verdicts_find_their_messages() -> None:
    """Verdicts come in the order of the messages that can be read, whatever came between."""
    written = waiting()
    written.said("approval", approval(request_id="req-9", approver="zoe"))
    written.said("approval", {"garbage": True})
    written.said("steer", {"text": "hurry"})
    written.said("approval", approval(approver="fred"))
    written.judged(no("no request 'req-9' in this run", "req-9"), yes(approver="fred"))

    trace = read(written)
    assert [(said.signal, said.author, said.accepted) for said in trace.messages] == [
        ("approval", "zoe", False),
        ("approval", "", False),
        ("steer", "", True),
        ("approval", "fred", True),
    ]


@pytest.mark.slow
def test_a_flood_buries_nothing() -> None:
    """Of thousands of refused messages a hundred have a line; the others are counted by kind."""
    written = waiting()
    for _ in range(1500):
        decide(written, no("request 'req-1' has expired"), approver="mallory")
    for _ in range(500):
        written.said("approval", {"garbage": True})
    decide(written, yes(approver="fred"))

    trace = read(written)
    shown = list(map(str, lines(trace)))
    assert len(shown) < 120
    assert "refused 1900 more messages: expired 1400, unreadable 500" in shown
    assert "  wait    approved by fred after 0 ms" in shown
    assert len([said for said in trace.messages if said.accepted is False]) == 2000


def going_on(*, unheard: bool) -> tuple[Written, Written]:
    """
    A run that waits for two approvals, has one, and is flooded until it continues as new.

    Where it is *unheard* the other has come by then.
    """
    before, other = waiting(count=2), approval()
    decide(before, yes(approver="fred"))
    if unheard:
        before.said("approval", other)

    state = asked_for(PAY, state=a_state(tools=PAYING.tools))
    state = ruled_upon(state, (to_approve(PAY, count=2),), policy=POLICY)
    state, _ = verdicts.after_verdict(state, an_approval(), yes(approver="fred"), NOW)
    carried = UnheardMessage.from_bytes("approval", [to_json(other)])
    state = build_continue_as_new_input(state).with_(unheard=(carried,) if unheard else ())
    after = Written(state, passed=300)
    after.tells(*state.journal)  # it is carried on where nothing has told it before
    if not unheard:
        after.said("approval", other)
    after.judged(yes(approver="gina"))
    after.ruled(allowed(PAY))
    after.runs("pay", a_success(PAY, "paid"))
    return before, after


@pytest.mark.parametrize("unheard", [False, True])
def test_run_that_continues_while_it_waits_is_one_trace(*, unheard: bool) -> None:
    """Requests, approvals and calls go on in the next execution as if there were none."""
    before, after = going_on(unheard=unheard)
    trace = read(before, after)

    assert told(trace) == [
        "  rule    pay: approval_required (communication)",
        "  wait    approved by fred (1 of 2) after 0 ms",
        "  wait    approved by gina (2 of 2) after 5m 0s",
        "  result  ok  paid (12 ms)",
    ]
    assert watched(before.history, after.history) == list(map(str, lines(trace)))


@pytest.mark.parametrize("unheard", [False, True])
def test_last_execution_alone_knows_what_was_carried(*, unheard: bool) -> None:
    """Where the server no longer has the first execution, what it left stands in the trace."""
    _, after = going_on(unheard=unheard)
    trace = read(after)

    assert told(trace) == [
        "  rule    pay: approval_required (communication)",
        "  wait    approved by fred (1 of 2) after 0 ms",
        "  wait    approved by gina (2 of 2) after 5m 0s",
        "  result  ok  paid (12 ms)",
    ]
    assert (trace.goal, [turn.number for turn in trace.turns]) == ("reach the goal", [1])
    assert trace.calls[0].rulings[0].policy == POLICY


def test_a_session_has_the_limits_that_it_was_begun_with() -> None:
    """They go before those of its agent, and who reads its history alone reads them too."""
    written = Written(SessionInput(agent="it", budget=Budget(max_steps=3)))
    written.opened(an_agent())
    trace = read(written)

    assert (trace.is_session, trace.status) == (True, "idle")
    assert trace.limits == an_agent().budget.copy_with({"max_steps": 3})
