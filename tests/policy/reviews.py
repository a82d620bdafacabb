"""Reviews, which are approved exactly as calls are, and every way to have one approved falsely."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from pydantic import JsonValue

from holdfast.contracts.approvals import (
    Approvable,
    Requirement,
    Review,
)
from holdfast.contracts.base import JsonObject, digest
from holdfast.contracts.errors import OutcomeCode
from holdfast.contracts.signals import (
    ApprovalSignal,
)
from holdfast.policy.trust import LOCAL_ISSUER
from tests.builders import LATER, NOW, an_approval
from tests.policy.hearings import ALICE, BOB, EVE, IDP
from tests.tokens import PROVIDER, a_signer, claims_about

MALLORY = a_signer(kid="key-1", subject="mallory")


def a_review(request_id: str = "req-1", **changes: object) -> Review:
    """An answer about payments that somebody must look at before it is given."""
    text = "Refund order 1044 and tell the customer."
    fields: dict[str, object] = {
        "request_id": request_id,
        "reason": "Sensitive domain requires human review",
        "requested_at": NOW,
        "expires_at": LATER,
        "subject": "domain:payments",
        "objections": ("domain:payments",),
        "text": text,
        "arguments_digest": digest(text),
        "requester": "agent support for eve",
        "challenge": "c" * 64,
    }
    return Review.model_validate({**fields, **changes})


def as_review(request: Approvable) -> Review:
    """A review that takes just what this request takes, under the same name."""
    required = {name: getattr(request, name) for name in Requirement.model_fields}
    return a_review(
        request.request_id,
        arguments_digest=request.arguments_digest,
        challenge=request.challenge,
        **required,
    )


REVIEW = a_review(strength="strong", groups=("finance",), max_auth_age=300)
OTHER = a_review("req-2", strength="strong", groups=("finance",), challenge="d" * 64)
AGAIN = REVIEW.model_copy(update={"challenge": "e" * 64})
CHANGED = REVIEW.model_copy(update={"arguments_digest": digest("Refund all orders.")})


class Attempt(NamedTuple):
    """A message with which somebody wants a review approved, and the word it is refused with."""

    message: ApprovalSignal
    code: OutcomeCode
    review: Review = REVIEW
    run_id: str = "run-1"
    now: datetime = NOW


def by_alice(**claims: str | float) -> ApprovalSignal:
    """Alice's signed approval of the review, with other claims."""
    return an_approval(token=ALICE.token(claims_about(REVIEW, **claims)))


def about_provider(**claims: JsonValue) -> JsonObject:
    return claims_about(REVIEW, **{"iss": PROVIDER, **claims})


ATTEMPTS: Mapping[str, Attempt] = {
    "a name alone": Attempt(an_approval(approver="alice"), "require_stronger_auth"),
    "forged: another key": Attempt(
        an_approval(token=MALLORY.token(claims_about(REVIEW))), "invalid_token"
    ),
    "forged: another subject with one's own key": Attempt(by_alice(sub="bob"), "invalid_token"),
    "forged: no signature": Attempt(
        an_approval(token=ALICE.token(claims_about(REVIEW))[:-4]), "invalid_token"
    ),
    "replayed on another review": Attempt(
        an_approval("req-2", token=by_alice().token), "invalid_token", OTHER
    ),
    "replayed on the next review of that name": Attempt(by_alice(), "invalid_token", AGAIN),
    "replayed on another run": Attempt(by_alice(), "invalid_token", run_id="run-2"),
    "expired token": Attempt(by_alice(), "invalid_token", now=NOW + timedelta(seconds=300)),
    "expired review": Attempt(by_alice(exp=LATER.timestamp() + 60), "expired", now=LATER),
    "wrong digest: the text has changed": Attempt(by_alice(), "invalid_token", CHANGED),
    "wrong digest: another was signed": Attempt(
        by_alice(arguments_digest="0" * 64), "invalid_token"
    ),
    "a rejection sent as an approval": Attempt(by_alice(decision="reject"), "invalid_token"),
    "stale authentication": Attempt(
        by_alice(auth_time=NOW.timestamp() - 301), "stale_authentication"
    ),
    "self approval: the requester signs": Attempt(
        an_approval(token=EVE.token(claims_about(REVIEW, sub="eve"))), "self_approval"
    ),
    "self approval: the requester by the provider": Attempt(
        an_approval(token=IDP.token(about_provider(sub="eve", groups=["finance"]))),
        "self_approval",
    ),
    "self approval: the agent signs": Attempt(
        an_approval(token=IDP.token(about_provider(sub="agent support", groups=["finance"]))),
        "self_approval",
    ),
    "self approval: by name": Attempt(an_approval(approver="Eve"), "self_approval", a_review()),
    "self approval: the agent by name": Attempt(
        an_approval(approver="support"), "self_approval", a_review()
    ),
    "wrong group: by token": Attempt(
        an_approval(token=IDP.token(about_provider(sub="zoe", groups=["sales"]))), "wrong_group"
    ),
    "wrong group: by name": Attempt(
        an_approval(approver="zoe"), "wrong_group", a_review(groups=("finance",))
    ),
    "wrong group: of the second one, too early": Attempt(
        an_approval(approver="carol"),
        "wrong_group",
        a_review(groups=("finance",), escalate_to=("leads",)),
    ),
    "no challenge to sign": Attempt(
        by_alice(nonce=""), "invalid_token", REVIEW.model_copy(update={"challenge": ""})
    ),
    "another issuer's claim": Attempt(
        an_approval(token=BOB.token(claims_about(REVIEW, iss=f"{LOCAL_ISSUER}2", sub="bob"))),
        "invalid_token",
    ),
}
"""By name, the beginning of which is its kind."""
