"""Approvals of one call: what a request says, how many it takes, who else may decide in time."""

from datetime import datetime, timedelta

import pytest

from holdfast.contracts.approvals import ApprovalRequest, Proof, Requirement, Review
from holdfast.contracts.calls import (
    Draft,
    Grant,
    ToolCall,
    ToolFailure,
)
from holdfast.contracts.effects import UndoRuling
from holdfast.contracts.state.run import RunState
from holdfast.contracts.tools import Risk
from holdfast.run import approvals, steps, tool_calls, verdicts
from holdfast.run.approvals import ReviewSubject
from tests.builders import (
    LATER,
    NOW,
    SOON,
    a_call,
    a_state,
    an_approval,
    asked_for,
    ruled_upon,
    to_approve,
    yes,
)

SEND = a_call("send", text="hi")
PROOF = Proof(
    issuer="holdfast",
    subject="fred",
    methods=("swk",),
    authenticated_at=NOW,
    token_id="t-1",
    verified_at=NOW,
)


def waiting(call: ToolCall = SEND, now: datetime = NOW, **requirement: object) -> RunState:
    """A run that waits for approval of a call that takes this."""
    asked = asked_for(call, state=a_state(run={"actor": "bob"}))
    return ruled_upon(asked, (to_approve(call, **requirement),), now, policy="abc")  # pyright: ignore[reportArgumentType] -- a test's own requirement


def in_another_execution() -> RunState:
    """The same run, after a reset or under an id that was used before."""
    state = asked_for(SEND).model_copy(update={"execution": "another"})
    return ruled_upon(state, (to_approve(SEND),))


def request_of(state: RunState) -> ApprovalRequest:
    (request,) = state.oversight.requests
    assert isinstance(request, ApprovalRequest)
    return request


def approved(
    state: RunState, approver: str, proof: Proof | None = None, groups: tuple[str, ...] = ()
) -> RunState:
    verdict = yes(approver=approver, proof=proof, groups=groups)
    return verdicts.after_verdict(state, an_approval(approver=approver), verdict, SOON)[0]


def test_a_request_says_what_it_takes() -> None:
    """Who may approve, how many must, how they prove it and the way back stand in the request."""
    # BY-14 RK-10
    request = request_of(
        waiting(
            strength="strong",
            groups=("finance",),
            count=2,
            max_auth_age=300.0,
            methods=("mfa",),
            recovery="RB-12",
        )
    )

    assert (request.strength, request.groups, request.count) == ("strong", ("finance",), 2)
    assert (request.max_auth_age, request.methods) == (300.0, ("mfa",))
    assert request.recovery == "RB-12"
    assert (request.policy, request.target, request.approval_type) == ("abc", "send", "call")


def test_a_request_lasts_as_long_as_the_rule_says() -> None:
    """A rule's own time limit stands before the agent's."""
    assert request_of(waiting(expires_after=60.0)).expires_at == NOW + timedelta(seconds=60)
    assert request_of(waiting()).expires_at == NOW + timedelta(hours=1)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(waiting(a_call("send", text="ho")), id="arguments"),
        pytest.param(in_another_execution(), id="execution"),
        pytest.param(waiting(a_call("send", call_id="c2", text="hi")), id="call"),
    ],
)
def test_no_two_requests_have_one_challenge(other: RunState) -> None:
    """What a token is bound to differs with arguments, call and execution."""
    # BY-15
    assert request_of(other).challenge != request_of(waiting()).challenge


def test_the_challenge_covers_the_undo() -> None:
    """Whoever signs a call signs what was ruled on its undo, and the record keeps that."""
    # PF-01
    undo = UndoRuling(
        tool="unsend",
        risk=Risk.DESTRUCTIVE,
        verdict="approval_required",
        rule="policy:back",
        reason="it destroys",
    )
    ruling = to_approve(SEND)
    several = [undo, undo.model_copy(update={"recovery": "the backup"}), None]
    shown = [
        request_of(
            ruled_upon(asked_for(SEND), (ruling.model_copy(update={"undo": one}),)),
        )
        for one in several
    ]

    assert [request.undo for request in shown] == several
    assert len({request.challenge for request in shown}) == len(several)


def test_what_is_signed_covers_no_time() -> None:
    """
    A replay may give another time to what was asked; what was signed must still count.

    That is so where a query has divided the workflow task in which it was asked.
    """
    # PF-01
    under_review = ReviewSubject("domain:payments", ("domain:payments",), "look", "pay them")

    for one, other in (
        [request_of(waiting(now=now)) for now in (NOW, LATER)],
        [
            opened
            for now in (NOW, LATER)
            for opened in approvals.open_review(
                a_state(), under_review, Requirement(), now
            ).oversight.requests
            if isinstance(opened, Review)
        ],
    ):
        assert one.requested_at != other.requested_at
        assert (one.digest, one.challenge) == (other.digest, other.challenge)


def test_the_challenge_covers_the_grant() -> None:
    """Whoever signs a call signs which hosts its code may ask, and the record keeps that."""
    # BY-15
    several = [Grant(), Grant(hosts=("a.example",)), Grant(commands=("make",)), None]
    states = [waiting(grant=one) for one in several]
    shown = [request_of(state) for state in states]
    records = [call.approvals[0] for state in states for call in approved(state, "fred").calls]

    assert [request.grant for request in shown] == several
    assert [record.grant for record in records] == several
    assert len({request.challenge for request in shown}) == len(several)
    assert len({request.digest for request in shown}) == len(several)


def test_the_challenge_covers_the_class() -> None:
    """Whoever signs a call signs what it is known as, and the record keeps that."""
    # BY-15
    ruling = to_approve(SEND)
    several = [Risk.WRITE_INTERNAL, Risk.FINANCIAL]
    states = [
        ruled_upon(asked_for(SEND), (ruling.model_copy(update={"risk": one}),)) for one in several
    ]
    records = [call.approvals[0] for state in states for call in approved(state, "fred").calls]

    assert [record.risk for record in records] == several
    assert len({request_of(state).challenge for state in states}) == len(several)


def test_the_challenge_covers_the_draft() -> None:
    """Approving one draft is not approving another with the same arguments."""
    # BY-05
    drafts = [
        Draft(draft_id="run-1/c1/draft", call_id="c1", tool="draft", summary="", data=words)
        for words in ("Dear Ada", "Dear Bob")
    ]
    states = [asked_for(SEND) for _ in drafts]
    shown = [
        request_of(
            ruled_upon(
                state.model_copy(
                    update={"calls": (state.calls[0].model_copy(update={"draft": draft}),)}
                ),
                (to_approve(SEND),),
            )
        )
        for state, draft in zip(states, drafts, strict=True)
    ]

    assert [request.preview for request in shown] == ["Dear Ada", "Dear Bob"]
    assert [request.preview_ref for request in shown] == ["run-1/c1/draft"] * 2
    assert shown[0].approval_type == "commit"
    assert shown[0].challenge != shown[1].challenge


def test_one_of_two_approvals_is_not_enough() -> None:
    """The request stays open, and says who has approved, until as many have as must."""
    # PF-09
    once = approved(waiting(count=2), "fred")
    twice = approved(once, "gina")

    assert [given.approver for given in request_of(once).approvals] == ["fred"]
    assert isinstance(steps.next_step(once, NOW), steps.AwaitPeople)
    assert twice.oversight.requests == ()
    assert [given.approver for given in twice.calls[0].approvals] == ["fred", "gina"]
    assert isinstance(steps.next_step(twice, NOW), steps.Authorize)


def test_the_record_keeps_the_proof() -> None:
    """Method, subject and time of the verification stay with the approval, and when it lapses."""
    # RK-19 BY-15
    state = approved(waiting(valid_for=600.0), "fred", proof=PROOF, groups=("finance",))

    (record,) = state.calls[0].approvals
    assert (record.strength, record.proof, record.groups) == ("strong", PROOF, ("finance",))
    assert (record.scope, record.expires_at) == ("single_use", SOON + timedelta(minutes=10))
    assert record.challenge == request_of(waiting(valid_for=600.0)).challenge


def test_a_rejection_outweighs_approvals() -> None:
    """One rejection closes a request that others have approved already."""
    once = approved(waiting(count=2), "fred")

    state, _ = verdicts.after_verdict(once, an_approval(decision="reject"), yes(), SOON)

    assert isinstance(state.calls[0].result, ToolFailure)
    assert state.oversight.closed[0].outcome == "rejected"


def test_a_second_group_may_decide_after_a_while() -> None:
    """When the first group lets time pass, a durable timer opens the request to another."""
    # PF-15
    state = waiting(
        groups=("finance",), escalate_after=60.0, escalate_to=("managers",), expires_after=600.0
    )
    minute = NOW + timedelta(seconds=60)

    assert steps.next_step(state, NOW) == steps.AwaitPeople(minute)
    assert verdicts.after_timeout(state, NOW + timedelta(seconds=59)) == state
    passed = verdicts.after_timeout(state, minute)
    assert request_of(passed).escalated_at == minute
    assert steps.next_step(passed, minute) == steps.AwaitPeople(NOW + timedelta(seconds=600))
    assert verdicts.after_timeout(passed, NOW + timedelta(seconds=600)).oversight.requests == ()


def test_a_request_that_expires_first_never_escalates() -> None:
    """A second group isn't asked about what is over."""
    state = waiting(escalate_after=600.0, escalate_to=("managers",), expires_after=60.0)

    assert steps.next_step(state, NOW) == steps.AwaitPeople(NOW + timedelta(seconds=60))
    assert verdicts.select_for_escalation(state, NOW + timedelta(seconds=600)) == ()


def test_what_lapsed_makes_room_for_others() -> None:
    """It is no approval any more; what proved it stays known, for a token counts once."""
    # RK-19 BY-15
    once = approved(waiting(count=2), "fred", proof=PROOF)
    message, verdict = an_approval(approver="gina"), yes(approver="gina", lapsed=("fred",))

    state, _ = verdicts.after_verdict(once, message, verdict, SOON)

    request = request_of(state)
    assert [one.approver for one in request.approvals] == ["gina"]
    assert [one.approver for one in request.lapsed] == ["fred"]


def test_what_expired_since_the_verdict_is_refused() -> None:
    """Nobody approves what was over before their approval could take effect."""
    # PF-15
    state, said = verdicts.after_verdict(
        waiting(), an_approval(), yes(), waiting().oversight.requests[0].expires_at
    )

    assert (said.accepted, said.code) == (False, "expired")
    assert state.calls[0].approvals == ()


def test_what_lapses_before_its_call_runs_is_decided_anew() -> None:
    """A guardrail may look for minutes at what was allowed because of an approval."""
    # PF-09
    state = approved(waiting(valid_for=60.0), "fred")
    (call,) = state.calls

    assert tool_calls.drop_lapsed_approvals(state, (call,), SOON) is state
    late = tool_calls.drop_lapsed_approvals(state, (call,), SOON + timedelta(seconds=60))
    assert late.calls[0].approvals == ()
    assert isinstance(steps.next_step(late, SOON), steps.Authorize)
