"""A review is approved exactly as a call is: by somebody else, who proves it, for this text."""

from datetime import timedelta

import pytest

from holdfast.contracts.approvals import Request, Review
from holdfast.policy.approvals import judge
from holdfast.policy.trust import Trust
from tests.builders import (
    LATER,
    NOW,
    a_call,
    a_proof,
    a_record,
    a_resolution,
    an_answer,
    an_approval,
    an_escalation,
)
from tests.policy.hearings import ALICE, BOB, TRUST, Message, a_hearing, codes, judged, signed
from tests.policy.reviews import ATTEMPTS, REVIEW, Attempt, a_review
from tests.tokens import PROVIDER, claims_about, people


@pytest.mark.parametrize(
    "attempt", [pytest.param(attempt, id=name) for name, attempt in ATTEMPTS.items()]
)
def test_no_review_is_approved_falsely(attempt: Attempt) -> None:
    """Forged, replayed, expired, altered, self-made and misplaced approvals are refused."""
    # GR-27 RK-19 BY-15 BY-16 T-14 T-15
    said = judged(attempt.message, attempt.review, run_id=attempt.run_id, now=attempt.now)

    assert (said.accepted, said.code) == (False, attempt.code)
    assert said.proof is None
    assert len(said.reason.splitlines()) == 1
    assert attempt.message.token is None or attempt.message.token not in said.reason


def test_a_good_token_approves_a_review() -> None:
    """Somebody else, of the group, who has signed just this text for this run."""
    # GR-27
    said = judged(signed(REVIEW), REVIEW)

    assert (said.accepted, said.approver, said.groups) == (True, "alice", ("finance",))
    assert said.proof is not None


@pytest.mark.parametrize("decision", ["approve", "reject"])
def test_where_no_proof_is_asked_a_name_will_do(decision: str) -> None:
    """The domain of a run alone asks for a person, not for a signature."""
    # ES-08
    said = judged(an_approval(decision=decision, approver="alice"), a_review())

    assert (said.accepted, said.approver) == (True, "alice")


@pytest.mark.parametrize("approver", ["eve", "agent support", "zoe"])
def test_anybody_may_reject_a_review(approver: str) -> None:
    """A rejection releases nothing, so it needs no proof and no group."""
    assert judged(an_approval(decision="reject", approver=approver), REVIEW).accepted


def test_what_needs_proof_says_which_review() -> None:
    """Who sent a name alone reads how to sign."""
    said = judged(an_approval(approver="alice"), REVIEW)

    assert said.reason == (
        "the review of 'domain:payments' needs strong authentication: approve it with "
        "'holdfast approve', which signs with your key, or send a signed token"
    )


@pytest.mark.parametrize("message", [an_answer(), a_resolution("resume")])
def test_a_review_takes_approvals_alone(message: Message) -> None:
    """Neither an answer nor a resolution releases what somebody has to approve."""
    # ES-14
    said = judged(message, REVIEW)

    assert (said.code, said.reason) == (
        "wrong_kind",
        "request 'req-1' waits for an approval (signal 'approval')",
    )


def test_an_escalation_takes_no_approval() -> None:
    """To pause and to require approval are two things, and so are the ways to answer them."""
    # ES-14
    review: Request = a_review()
    escalation: Request = an_escalation()

    assert judged(an_approval(), escalation).code == "wrong_kind"
    assert (review.action, escalation.action) == ("require_approval", "pause_and_escalate")


def test_a_review_of_two_takes_two_people() -> None:
    """One person with two tokens is one, one token of two people is one; two keys are two."""
    review = REVIEW.model_copy(update={"count": 2})
    again = an_approval(token=ALICE.token(claims_about(review, jti="token-2")))
    second = an_approval(token=BOB.token(claims_about(review, sub="bob", jti="token-3")))

    verdicts = judge(a_hearing([signed(review), again, second], [review]), TRUST)

    assert codes(verdicts) == ["accepted", "approved_already", "accepted"]


@pytest.mark.parametrize(
    ("approver", "code"), [("carol", "accepted"), ("zoe", "wrong_group"), ("bob", "accepted")]
)
def test_after_its_time_a_second_group_may_approve(approver: str, code: str) -> None:
    """The first group still may, and nobody else."""
    review = a_review(groups=("finance",), escalate_to=("leads",), escalated_at=NOW)

    assert judged(an_approval(approver=approver), review).code == code


def test_a_record_of_a_review_names_no_call() -> None:
    """What was approved is the text with this digest; there is no call that it is good for."""
    record = a_record(a_call(), "strong", call_id="", proof=a_proof(issuer=PROVIDER))
    review = a_review(approvals=(record,))

    assert Review.model_validate_json(review.model_dump_json()) == review
    assert judged(an_approval(), review).code == "approved_already"
    assert review.expires_at == LATER


@pytest.mark.parametrize(
    ("trust", "lapsed"),
    [
        pytest.param(TRUST, (), id="as it was"),
        pytest.param(
            TRUST._replace(groups={"finance": frozenset({"bob"})}), ("alice",), id="left the group"
        ),
        pytest.param(TRUST._replace(issuers=(people(BOB),)), ("alice",), id="key revoked"),
    ],
)
def test_an_approval_of_a_review_counts_while_its_giver_may_give_it(
    trust: Trust, lapsed: tuple[str, ...]
) -> None:
    """Of two approvals the first is looked at again when the second comes."""
    # RK-19 BY-15 PF-09
    proof = judged(signed(REVIEW), REVIEW).proof
    first = a_record(a_call(), "strong", call_id="", proof=proof, groups=("finance",))
    review = REVIEW.model_copy(update={"count": 2, "approvals": (first,)})
    second = an_approval(token=BOB.token(claims_about(review, sub="bob", jti="token-2")))

    said = judged(second, review, trust)

    assert (said.code, said.lapsed) == ("accepted", lapsed)


def test_a_token_counts_once_though_its_approval_lapsed() -> None:
    """Whoever reads history finds a token whose time isn't over; it is no approval any more."""
    # RK-19 BY-15
    proof = judged(signed(REVIEW), REVIEW).proof
    record = a_record(a_call(), "strong", call_id="", proof=proof)
    review = REVIEW.model_copy(update={"lapsed": (record,)})

    assert judged(signed(review), review).code == "invalid_token"


def test_whose_approval_lapsed_may_approve_again() -> None:
    """It is the first that counts then; who comes second in the same moment finds none lapsed."""
    # RK-19 BY-15
    before = a_record(a_call(), call_id="", at=NOW - timedelta(minutes=2))
    review = a_review(count=2, valid_for=60, approvals=(before,))
    again, bob = an_approval(approver=before.approver), an_approval(approver="bob")

    verdicts = judge(a_hearing([again, bob], [review]), TRUST)

    assert codes(verdicts) == ["accepted", "accepted"]
    assert [one.lapsed for one in verdicts] == [(before.approver,), ()]
    assert judged(again, a_review(count=2, approvals=(before,))).code == "approved_already"
