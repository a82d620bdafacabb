"""What waits for people: opening requests, taking decisions, letting them expire."""

from datetime import timedelta

import pytest

from holdfast.contracts.approvals import (
    ApprovalRequest,
    ClosedRequest,
    Question,
)
from holdfast.contracts.base import digest
from holdfast.contracts.bounds import MAX_SEARCH_ATTRIBUTE_BYTES
from holdfast.contracts.calls import ToolCall, ToolFailure, ToolSuccess
from holdfast.contracts.decisions import Ruling
from holdfast.contracts.signals import (
    AnswerSignal,
    ApprovalSignal,
    RefusedMessage,
    ResolutionSignal,
)
from holdfast.contracts.state.run import RunState
from holdfast.contracts.transcript import UserTurn
from holdfast.run import requests, verdicts
from tests.builders import (
    LATER,
    NOW,
    SOON,
    a_call,
    a_malformed_call,
    a_resolution,
    a_state,
    allowed,
    an_answer,
    an_approval,
    an_escalation,
    asked_for,
    denied,
    no,
    ruled_upon,
    to_answer,
    to_approve,
    unknown,
    yes,
)

SEND = a_call("send", text="hi")


def ruled(*pairs: tuple[ToolCall, Ruling]) -> RunState:
    """A run whose calls were ruled upon like this."""
    state = asked_for(*(call for call, _ in pairs), state=a_state(run={"actor": "bob"}))
    return ruled_upon(state, tuple(ruling for _, ruling in pairs), NOW)


def waiting() -> RunState:
    """A run that waits for the approval of one call."""
    return ruled((SEND, to_approve(SEND)))


def told(state: RunState, message: ApprovalSignal | AnswerSignal | ResolutionSignal) -> RunState:
    """What an accepted message makes of a run."""
    return verdicts.after_verdict(state, message, yes(), SOON)[0]


def result(state: RunState) -> ToolSuccess | ToolFailure | None:
    return state.calls[0].result


def test_a_call_that_needs_approval_opens_a_request() -> None:
    """A request has everything that a person needs to judge the call."""
    # PF-15
    (request,) = waiting().oversight.requests

    assert isinstance(request, ApprovalRequest)
    assert request == ApprovalRequest(
        request_id="req-1",
        reason="it reaches other people",
        requested_at=NOW,
        expires_at=NOW + timedelta(hours=1),
        call_id="c1",
        tool="send",
        action='send(text="hi")',
        arguments={"text": "hi"},
        arguments_digest=digest({"text": "hi"}),
        risk=to_approve(SEND).risk,
        rule="risk:communication",
        scope="none",
        strength="plain",
        expected_result="one mail",
        rollback="none",
        requester="agent it for bob",
        target="send",
        challenge=request.challenge,
    )
    assert result(waiting()) is None


def test_a_question_opens_a_request() -> None:
    """The call of a tool that asks becomes a question to a person."""
    # PF-16
    (request,) = ruled((SEND, to_answer(SEND, "Which one?"))).oversight.requests

    assert request == Question(
        request_id="req-1",
        reason="the agent asks a person",
        requested_at=NOW,
        expires_at=LATER,
        call_id="c1",
        question="Which one?",
        tool="send",
        arguments=SEND.arguments,
    )


def test_a_denied_call_has_its_result_at_once() -> None:
    """A denial is a result with a reason and with what may be done instead."""
    # PF-18
    assert result(ruled((SEND, denied(SEND)))) == ToolFailure(
        status="denied",
        call_id="c1",
        name="send",
        type="permission_denied",
        reason="it destroys",
        next_valid_actions=("choose another tool",),
    )


def test_a_refused_call_has_its_result_at_once() -> None:
    """A call that reached no engine is answered as an error of its type."""
    # PF-05
    failed = result(ruled((SEND, unknown(SEND))))

    assert isinstance(failed, ToolFailure)
    assert (failed.status, failed.type) == ("error", "unknown_tool")


def test_requests_are_numbered_through_the_run() -> None:
    """Ids are never used twice, so a late message can't hit another request."""
    # T-17
    first, second = a_call("send", call_id="c1"), a_call("send", call_id="c2")
    state = ruled((first, to_approve(first)), (second, to_answer(second)))
    state = told(state, an_approval("req-1"))
    again = ruled_upon(state, (to_approve(first, "strong"),), NOW)

    assert [request.request_id for request in again.oversight.requests] == ["req-2", "req-3"]
    assert again.oversight.requests_made == 3


def test_a_call_with_a_result_is_never_ruled_upon_again() -> None:
    """A second ruling about a call that was answered changes nothing."""
    state = ruled((SEND, denied(SEND)))

    assert ruled_upon(state, (allowed(SEND),), NOW) == state


def test_an_approval_is_recorded_with_what_it_binds_to() -> None:
    """The record names request, call, digest of the arguments and approver; it is never strong."""
    # PF-17 T-14
    state = told(waiting(), an_approval(reason="fine"))

    (record,) = state.calls[0].approvals
    assert (record.request_id, record.call_id, record.approver) == ("req-1", "c1", "alice")
    assert record.arguments_digest == digest({"text": "hi"})
    assert (record.strength, record.reason, record.at) == ("plain", "fine", SOON)
    assert state.oversight.requests == ()
    assert state.oversight.closed == (
        ClosedRequest(request_id="req-1", outcome="approved", at=SOON),
    )


def test_an_approval_that_wasnt_enough_is_taken_back() -> None:
    """When the next decision asks for approval again, the old record is gone."""
    approved = told(waiting(), an_approval())

    again = ruled_upon(approved, (to_approve(SEND, "strong"),), LATER)

    assert again.calls[0].approvals == ()
    assert [request.request_id for request in again.oversight.requests] == ["req-2"]


def test_a_rejection_is_the_result_of_the_call() -> None:
    """A rejected call is denied, with name and reason of who rejected it."""
    state = told(waiting(), an_approval(decision="reject", reason="too early"))

    assert result(state) == ToolFailure(
        status="denied",
        call_id="c1",
        name="send",
        type="permission_denied",
        reason="rejected by alice: too early",
        next_valid_actions=("do without it", "ask the user"),
        by_person=True,
    )
    assert state.oversight.closed[0].outcome == "rejected"


def test_an_answer_is_the_result_of_the_call() -> None:
    """The words of a person are what the model reads."""
    # PF-16
    state = told(ruled((SEND, to_answer(SEND))), an_answer(text="the blue one"))

    assert result(state) == ToolSuccess(
        call_id="c1",
        name="send",
        summary="the blue one",
        data={"answer": "the blue one"},
        by_person=True,
    )
    assert state.oversight.closed[0].outcome == "answered"


def test_a_refused_message_is_kept() -> None:
    """What changed nothing is kept for the audit, with its sender and the reason."""
    state, disposition = verdicts.after_verdict(waiting(), an_approval(), no(), SOON)

    assert (disposition.accepted, disposition.reason) == (False, no().reason)
    assert state.oversight.refused == (
        RefusedMessage(
            signal="approval",
            request_id="req-1",
            sender="alice",
            reason="request 'req-1' has expired",
            at=SOON,
            code="expired",
        ),
    )
    assert state.calls == waiting().calls
    assert state.oversight.requests == waiting().oversight.requests


def test_a_request_that_closed_while_a_message_was_judged_stays_closed() -> None:
    """Of two accepted messages about one request only the first has an effect."""
    # T-17
    once = told(waiting(), an_approval())

    twice, disposition = verdicts.after_verdict(once, an_approval(approver="bob"), yes(), SOON)

    assert (disposition.accepted, disposition.reason) == (False, "the request has just closed")
    assert twice.calls == once.calls
    assert twice.oversight.refused_total == 1


@pytest.mark.parametrize(
    ("message", "signal", "sender"),
    [
        (an_approval("req-9"), "approval", "alice"),
        (an_answer("req-9"), "answer", ""),
        (a_resolution("abort", "req-9"), "resolution", ""),
    ],
)
def test_a_message_about_nothing_changes_nothing(
    message: ApprovalSignal | AnswerSignal | ResolutionSignal, signal: str, sender: str
) -> None:
    """Even if it was accepted, a message about no open request has no effect."""
    state, disposition = verdicts.after_verdict(waiting(), message, yes(), SOON)

    assert not disposition.accepted
    assert (state.oversight.refused[0].signal, state.oversight.refused[0].sender) == (
        signal,
        sender,
    )


def test_only_the_latest_refusals_are_kept() -> None:
    """A flood of messages doesn't fill the state of a run; their number stays known."""
    state = waiting()
    for _ in range(25):
        state, _ = verdicts.after_verdict(state, an_approval(), no(), SOON)

    assert (len(state.oversight.refused), state.oversight.refused_total) == (20, 25)


def test_only_the_latest_closed_requests_are_kept() -> None:
    """What a late message missed is known for the last hundred requests."""
    state = waiting()
    for number in range(1, 121):
        state = told(state, an_approval(f"req-{number}"))
        state = ruled_upon(state, (to_approve(SEND),), NOW)

    assert len(state.oversight.closed) == 100
    assert state.oversight.closed[-1].request_id == "req-120"


def test_words_wait_for_the_next_turn() -> None:
    """What people say is kept in order until the model is asked again."""
    state = requests.queue_steering(a_state(), UserTurn(text="a", origin="steer"), NOW)
    state = requests.queue_steering(state, UserTurn(text="b", origin="steer"), NOW)

    assert [words.text for words in state.conversation.steers] == ["a", "b"]
    assert state.conversation.items == a_state().conversation.items


def test_a_malformed_call_opens_no_request() -> None:
    """Nobody is asked to approve what has no arguments."""
    call = a_malformed_call("send")
    state = ruled_upon(asked_for(call), (unknown(call),), NOW)

    assert state.oversight.requests == ()
    assert result(state) is not None


def test_an_earlier_release_lowered_limits_too() -> None:
    """What was judged before limits had to rise takes effect as it did: histories replay."""
    state = requests.open_request(a_state(budget={"max_tokens": 1000}), an_escalation())
    after = told(state, a_resolution("extend", budget={"max_tokens": 500}))

    assert (after.oversight.requests, after.agent.budget.max_tokens) == ((), 500)


def test_what_waits_is_searched_for_by_kind_group_and_tool() -> None:
    """A run is found by whoever may decide: once for each of their groups, and by the tool."""
    pick = a_call("ask_user", "c2", question="Which one?")
    groups = ("finance", "leads", "finance")
    state = ruled(
        (SEND, to_approve(SEND, groups=groups, escalate_after=60, escalate_to=("board",))),
        (pick, to_answer(pick)),
    )
    later = verdicts.after_timeout(state, NOW + timedelta(seconds=61))
    stuck = state.with_oversight(requests=(an_escalation(trigger="models"),))

    assert requests.pending_keywords(state.oversight.requests) == (
        "approval:finance:send",
        "approval:leads:send",
        "question::ask_user",
    )
    assert "approval:board:send" in requests.pending_keywords(later.oversight.requests)
    assert requests.pending_keywords(waiting().oversight.requests) == ("approval::send",)
    assert requests.pending_keywords(stuck.oversight.requests) == ("escalation::models",)


def test_what_waits_is_searched_for_as_far_as_the_server_takes_it() -> None:
    """However many groups may decide, the attribute has no more bytes than the server takes."""
    groups = [f"{number}-{'g' * 190}" for number in range(50)]
    asked = ruled((SEND, to_approve(SEND, groups=tuple(groups))))
    found = requests.pending_keywords(asked.oversight.requests)

    assert 0 < len(found) < len(groups)
    assert sum(map(len, found)) < MAX_SEARCH_ATTRIBUTE_BYTES
