"""Whether what a person says about a request counts."""

from datetime import timedelta

import pytest
from pydantic import JsonValue

from holdfast.contracts.approvals import ClosedRequest, Proof, Request, Verdict
from holdfast.contracts.budget import BudgetStatus, Ledger, Limits
from holdfast.policy.signatures import thumbprint
from holdfast.policy.trust import Trust
from tests.builders import (
    LATER,
    NOW,
    a_question,
    a_request,
    a_resolution,
    an_answer,
    an_approval,
    an_escalation,
)
from tests.policy.hearings import ALICE, STRONG, Message, judged, signed
from tests.policy.reviews import a_review
from tests.tokens import claims_about


@pytest.mark.parametrize(
    ("message", "request_"),
    [
        pytest.param(an_answer(), a_question(), id="answer"),
        pytest.param(a_resolution("resume"), an_escalation(), id="resume"),
        pytest.param(a_resolution("abort"), an_escalation(), id="abort"),
        pytest.param(
            a_resolution("extend", budget={"max_steps": 9}), an_escalation(), id="extend"
        ),
    ],
)
def test_a_message_that_fits_its_request_is_accepted(message: Message, request_: Request) -> None:
    """A question is answered, an escalation resolved, by whoever comes."""
    assert judged(message, request_) == Verdict(
        accepted=True, request_id="req-1", reason="accepted"
    )


@pytest.mark.parametrize(
    ("budget", "reason"),
    [
        ({"max_steps": 9}, "accepted"),
        ({"max_steps": 4}, "max_steps 4 is less than 5: extend raises limits"),
        ({"max_wall_time": 20}, "accepted"),  # the wait for this message is no work
    ],
    ids=["more", "less", "time"],
)
def test_an_extension_is_accepted_if_it_is_one(budget: dict[str, JsonValue], reason: str) -> None:
    """What lowers a limit is refused, and history says so."""
    # ES-14
    means = BudgetStatus(
        limits=Limits(max_steps=5, max_wall_time=10),
        ceiling=None,
        ledger=Ledger(steps=2),
        started_at=an_escalation().requested_at,
    )
    message = a_resolution("extend", budget=budget)

    verdict = judged(message, an_escalation(), means=means)

    assert (verdict.accepted, verdict.reason) == (reason == "accepted", reason)


@pytest.mark.parametrize("decision", ["approve", "reject"])
def test_a_plain_approval_is_from_whom_it_says(decision: str) -> None:
    """Where nobody wants proof, the name that is given is the approver."""
    assert judged(an_approval(decision=decision), a_request()) == Verdict(
        accepted=True, request_id="req-1", reason="accepted", approver="alice"
    )


@pytest.mark.parametrize(
    ("message", "request_", "wanted"),
    [
        pytest.param(an_answer(), a_request(), "an approval (signal 'approval')", id="answered"),
        pytest.param(
            a_resolution("resume"), a_request(), "an approval (signal 'approval')", id="resolved"
        ),
        pytest.param(
            an_approval(), a_question(), "an answer in words (signal 'answer')", id="question"
        ),
        pytest.param(
            an_approval(decision="reject"),
            an_escalation(),
            "a resolution (signal 'resolution')",
            id="escalation",
        ),
    ],
)
def test_a_message_of_another_kind_is_refused(
    message: Message, request_: Request, wanted: str
) -> None:
    """A request only takes what it waits for, and the refusal says what that is."""
    assert judged(message, request_) == Verdict(
        accepted=False,
        request_id="req-1",
        reason=f"request 'req-1' waits for {wanted}",
        code="wrong_kind",
    )


@pytest.mark.parametrize(
    "message", [an_approval("req-9"), an_answer("req-9"), a_resolution("resume", "req-9")]
)
@pytest.mark.parametrize("request_", [None, a_request()])
def test_a_message_about_no_request_is_refused(message: Message, request_: Request | None) -> None:
    """A message that comes too early, or names no request of the run, changes nothing."""  # T-17
    assert judged(message, request_) == Verdict(
        accepted=False,
        request_id="req-9",
        reason="no request 'req-9' in this run",
        code="unknown_request",
    )


@pytest.mark.parametrize(
    ("message", "request_"),
    [
        (an_approval(), a_request()),
        (an_approval(decision="reject"), a_request()),
        (an_approval(), a_review()),
        (an_answer(), a_question()),
        (a_resolution("resume"), an_escalation()),
    ],
)
def test_who_says_what_they_saw_decides_nothing_else(message: Message, request_: Request) -> None:
    """A digest that isn't that of the request refuses the message; the right one does nothing."""
    saw = message.model_copy(update={"digest": request_.digest})
    other = request_.model_copy(update={"reason": "another one"})

    assert judged(saw, request_) == judged(message, request_)
    assert judged(saw, other) == Verdict(
        accepted=False,
        request_id="req-1",
        reason="request 'req-1' is not the one that was seen: see it again",
        code="changed",
    )


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")  # of values that can't be
@pytest.mark.parametrize("request_", [a_request(), a_review(), a_question(), an_escalation()])
def test_the_digest_covers_all_that_is_judged(request_: Request) -> None:
    """Any field that a person judges changes it; a time, an approval or a group more doesn't."""
    unjudged = {"approvals", "lapsed", "escalated_at", "requested_at", "expires_at", "run_id"}
    before = request_.digest
    changed = {
        name
        for name in type(request_).model_fields
        if request_.model_copy(update={name: "other"}).digest != before
    }

    assert changed == set(type(request_).model_fields) - unjudged
    assert type(request_).model_validate_json(request_.model_dump_json()).digest == before


@pytest.mark.parametrize(
    "outcome", ["approved", "rejected", "answered", "resolved", "expired", "withdrawn"]
)
def test_a_closed_request_stays_closed(outcome: str) -> None:
    """A second message, or a late one, is told what became of the request."""  # T-17 BY-15
    closed = ClosedRequest.model_validate({"request_id": "req-1", "outcome": outcome, "at": NOW})

    assert judged(an_approval(), None, closed=(closed,)) == Verdict(
        accepted=False,
        request_id="req-1",
        reason=f"request 'req-1' is already {outcome}",
        code="closed",
    )


@pytest.mark.parametrize(
    ("seconds", "accepted"),
    [
        pytest.param(-0.000001, True, id="a moment before"),
        pytest.param(0, False, id="at the instant"),
        pytest.param(0.000001, False, id="a moment after"),
        pytest.param(86400, False, id="a day after"),
    ],
)
def test_a_request_expires_at_its_instant(seconds: float, *, accepted: bool) -> None:
    """Until a request expires a message counts; from that instant on none does."""  # BY-15
    for message, request in [
        (an_approval(), a_request()),
        (an_approval(decision="reject"), a_request()),
        (an_answer(), a_question()),
        (a_resolution("resume"), an_escalation()),
    ]:
        said = judged(message, request, now=LATER + timedelta(seconds=seconds))

        assert said.accepted is accepted
        assert accepted or (said.reason, said.code) == (
            "request 'req-1' has expired",
            "expired",
        )


@pytest.mark.parametrize(
    "requirement",
    [
        pytest.param({"strength": "strong"}, id="strong"),
        pytest.param({"methods": ("hwk",)}, id="a method"),
        pytest.param({"max_auth_age": 60}, id="an age"),
    ],
)
def test_a_name_is_no_proof(requirement: dict[str, object]) -> None:
    """What needs proof of who approves is released by no name; the request stays open for one."""
    # RK-09 RK-11 RK-12 BY-02 T-14 T-15
    request = a_request("req-1", tool="issue_refund", risk="financial", **requirement)

    said = judged(an_approval(approver="ceo"), request)

    assert (said.accepted, said.code, said.approver) == (False, "require_stronger_auth", "")
    assert said.reason == (
        "'issue_refund' (financial) needs strong authentication: approve it with "
        "'holdfast approve', which signs with your key, or send a signed token"
    )


def test_a_token_says_who_approves() -> None:
    """With a token the verified subject is the approver, whatever the message says."""  # RK-19
    said = judged(signed(), STRONG)

    assert (said.accepted, said.code, said.approver) == (True, "accepted", "alice")
    assert said.proof == Proof(
        issuer="holdfast",
        subject="alice",
        methods=("swk",),
        authenticated_at=NOW,
        token_id="token-1",
        verified_at=NOW,
        key="key-1",
        thumbprint=thumbprint(ALICE.public),
    )


@pytest.mark.parametrize("decision", ["approve", "reject"])
@pytest.mark.parametrize("strength", ["plain", "strong"])
@pytest.mark.parametrize("token", ["x.y.z", "", "no token"])
def test_a_bad_token_is_refused_everywhere(decision: str, strength: str, token: str) -> None:
    """A token that proves nothing is refused, even where none was needed, instead of ignored."""
    message = an_approval(decision=decision).model_copy(update={"token": token})
    request = a_request(strength=strength, challenge="c" * 64)

    assert judged(message, request).code == "invalid_token"


def test_a_token_counts_where_none_is_needed() -> None:
    """A token that nobody asked for is verified, and its subject is the approver."""
    request = a_request(challenge="c" * 64)

    said = judged(signed(request), request)

    assert (said.accepted, said.approver, said.proof is not None) == (True, "alice", True)


def test_a_token_is_for_one_run() -> None:
    """The same request of another run takes no token that was signed for this one."""  # RK-19
    assert judged(signed(), STRONG, run_id="run-2").code == "invalid_token"


def test_a_stale_sign_in_has_a_word_of_its_own() -> None:
    """Who signed in too long ago is told to sign in again."""
    request = STRONG.model_copy(update={"max_auth_age": 10.0})
    token = ALICE.token(claims_about(request, auth_time=NOW.timestamp() - 11))

    assert judged(an_approval(token=token), request).code == "stale_authentication"


@pytest.mark.parametrize("strength", ["plain", "strong"])
@pytest.mark.parametrize(
    "approver", ["alice", "eve", "agent support", "nobody in particular", " "]
)
def test_anybody_may_say_no(strength: str, approver: str) -> None:
    """A rejection needs no proof, no group and no second person, because it releases nothing."""
    request = a_request(strength=strength, groups=("finance",), methods=("hwk",))

    assert judged(an_approval(decision="reject", approver=approver), request).accepted


def test_without_trust_nobody_is_believed() -> None:
    """A worker that trusts no key releases nothing that needs one."""
    said = judged(signed(), STRONG, Trust())

    assert said.code == "invalid_token"
    assert said.reason == "the issuer 'holdfast' is not trusted (known: none)"
