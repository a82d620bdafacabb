"""Whether what a person says about a request counts, and who they are. Pure."""

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from holdfast.contracts.approvals import (
    Approvable,
    ApprovalRequest,
    Escalation,
    JudgeInput,
    Proof,
    Question,
    Request,
    Review,
    Verdict,
    find_eligible_groups,
)
from holdfast.contracts.signals import (
    AnswerSignal,
    ApprovalSignal,
    Message,
    ResolutionSignal,
)
from holdfast.policy.authentication import Objection, verify
from holdfast.policy.signatures import KeyClaim, parse_key_claim
from holdfast.policy.signed_signals import find_signer
from holdfast.policy.standing import counts
from holdfast.policy.trust import Trust, normalize_name


class _Identity(NamedTuple):
    """Who says something; without a proof it is only what they say."""

    name: str
    groups: frozenset[str] = frozenset()
    proof: Proof | None = None


class _AcceptedSoFar(NamedTuple):
    """
    What was accepted earlier in this hearing: who approved what, and by which tokens.

    `reviewed` are the requests of which somebody was told which approvals count no more.
    """

    approvals: set[tuple[str, str]]
    token_ids: set[tuple[str, str]]
    reviewed: set[str]


def judge(hearing: JudgeInput, trust: Trust) -> tuple[Verdict, ...]:
    """
    Accept each message or refuse it with the reason, in order.

    What an accepted message does to its request is not seen here: a request that a message of the
    same hearing closes is open for the next one too.
    """
    given = _AcceptedSoFar(set(), set(), set())
    sent = hearing.sent or ("",) * len(hearing.messages)
    return tuple(
        _judge_message(message, digest, hearing, trust, given)
        for message, digest in zip(hearing.messages, sent, strict=True)
    )


def find_key_claims(hearing: JudgeInput) -> set[KeyClaim]:
    """Return the keys that the tokens of a hearing say they were signed with."""
    tokens = (one.token for one in (*hearing.messages, *hearing.controls))
    claims = (parse_key_claim(token) for token in tokens if token is not None)
    return {claim for claim in claims if claim is not None}


def _judge_message(
    message: Message, sent: str, hearing: JudgeInput, trust: Trust, given: _AcceptedSoFar
) -> Verdict:
    request = _find_request(message, hearing)
    if isinstance(request, Objection):
        return _refuse(message, request)
    if not isinstance(message, ApprovalSignal):
        return _judge_signature(message, sent, hearing, trust)
    if not isinstance(request, Approvable):
        return _accept(message)
    voice = _identify(message, request, hearing, trust)
    if isinstance(voice, Objection):
        return _refuse(message, voice)
    groups, lapsed = _select_groups(voice, request, trust), tuple[str, ...]()
    if message.decision == "approve":
        lapsed = _find_lapsed_approvers(request, hearing, trust)
        objection = _check_approver(voice, request, hearing, groups)
        if objection := objection or _check_repetition(voice, request, given, lapsed):
            return _refuse(message, objection, voice.name if voice.proof else "")
        given.approvals.add((request.request_id, normalize_name(voice.name)))
        if request.request_id in given.reviewed:
            lapsed = ()
        given.reviewed.add(request.request_id)
    if voice.proof:
        given.token_ids.add(_token_key(voice.proof))
    return _accept(message, voice, groups, lapsed)


def _judge_signature(
    message: AnswerSignal | ResolutionSignal, sent: str, hearing: JudgeInput, trust: Trust
) -> Verdict:
    found = find_signer(message, sent, hearing, trust)
    if isinstance(found, Objection):
        return _refuse(message, found)
    if found is None:
        return _accept(message)
    return _accept(message, _Identity(found.proof.subject, frozenset(), found.proof))


def find_lapsed_reviews(reviews: Iterable[Review], trust: Trust, now: datetime) -> tuple[str, ...]:
    """Return the ids of approved reviews of which too few approvals count now."""
    return tuple(
        review.request_id
        for review in reviews
        if sum(counts(one, review, trust, now) for one in review.approvals) < review.count
    )


def _find_lapsed_approvers(
    request: Approvable, hearing: JudgeInput, trust: Trust
) -> tuple[str, ...]:
    """Return whose earlier approvals of a request count no more."""
    return tuple(
        record.approver
        for record in request.approvals
        if not counts(record, request, trust, hearing.now)
    )


def _find_request(message: Message, hearing: JudgeInput) -> Request | Objection:
    """Find the open request that a message fits."""
    name = message.request_id
    request = next((one for one in hearing.requests if one.request_id == name), None)
    if request is None:
        closed = next((one for one in hearing.closed if one.request_id == name), None)
        if closed is None:
            return Objection("unknown_request", f"no request {name!r} in this run")
        return Objection("closed", f"request {name!r} is already {closed.outcome}")
    if hearing.now >= request.expires_at:
        return Objection("expired", f"request {name!r} has expired")
    if message.digest not in {None, hearing.digests.get(name)}:
        return Objection("changed", f"request {name!r} is not the one that was seen: see it again")
    match message, request:
        case (
            (ApprovalSignal(), ApprovalRequest() | Review())
            | (AnswerSignal(), Question())
            | (ResolutionSignal(), Escalation())
        ):
            return request
        case _:
            return Objection(
                "wrong_kind", f"request {name!r} waits for {_describe_expected_signal(request)}"
            )


def _identify(
    message: ApprovalSignal, request: Approvable, hearing: JudgeInput, trust: Trust
) -> _Identity | Objection:
    """
    Say who it is. A token that is given must be good, whether one was needed or not.

    A rejection needs none: it releases nothing.
    """
    if message.token is not None:
        verified = verify(
            message.token, request, message.decision, hearing.run_id, trust.issuers, hearing.now
        )
        if isinstance(verified, Objection):
            return verified
        named = tuple(one for one in find_eligible_groups(request) if one in verified.groups)
        proof = verified.proof.with_(groups=named)
        return _Identity(proof.subject, frozenset(named), proof)
    if message.decision == "approve" and request.needs_proof:
        return Objection(
            "require_stronger_auth",
            f"{_describe_request(request)} needs strong authentication: approve it with "
            "'holdfast approve', which signs with your key, or send a signed token",
        )
    return _Identity(message.approver)


def _check_approver(
    voice: _Identity, request: Approvable, hearing: JudgeInput, groups: tuple[str, ...]
) -> Objection | None:
    """Say why this person may not approve this request."""
    name = normalize_name(voice.name)
    if not name:
        return Objection("unreadable", "the approval names nobody: say who approves")
    agents = (hearing.agent, *hearing.path)
    called = (said for agent in agents for said in (agent, f"agent {agent}"))
    if name in {"agent", *map(normalize_name, called)}:
        return Objection("self_approval", "no agent approves what an agent does: ask a person")
    behind = (hearing.requester, request.requester, *hearing.earlier_actors)
    if name in map(normalize_name, behind):
        return Objection(
            "self_approval", f"the run works for {voice.name!r}: somebody else must approve this"
        )
    if request.groups and not groups:
        wanted = ", ".join(find_eligible_groups(request))
        return Objection(
            "wrong_group", f"{voice.name!r} is in none of the groups that may approve: {wanted}"
        )
    return None


def _check_repetition(
    voice: _Identity, request: Approvable, given: _AcceptedSoFar, lapsed: tuple[str, ...]
) -> Objection | None:
    """Say what of this approval has counted already."""
    name = normalize_name(voice.name)
    before = {
        normalize_name(one.approver) for one in request.approvals if one.approver not in lapsed
    }
    if name in before or (request.request_id, name) in given.approvals:
        return Objection(
            "approved_already",
            f"{voice.name!r} has approved {request.request_id!r} already: another person must",
        )
    records = (*request.approvals, *request.lapsed)
    used = {_token_key(record.proof) for record in records if record.proof}
    if voice.proof and _token_key(voice.proof) in used | given.token_ids:
        return Objection("invalid_token", "the token has been used already: sign a new one")
    return None


def _select_groups(voice: _Identity, request: Approvable, trust: Trust) -> tuple[str, ...]:
    """Return the groups of a person that make them eligible."""
    return tuple(
        group
        for group in find_eligible_groups(request)
        if voice.name in trust.groups.get(group, ()) or group in voice.groups
    )


def _token_key(proof: Proof) -> tuple[str, str]:
    return proof.issuer, proof.token_id


def _describe_request(request: Approvable) -> str:
    if isinstance(request, Review):
        return f"the review of {request.subject!r}"
    return f"{request.tool!r} ({request.risk})"


def _describe_expected_signal(request: Request) -> str:
    match request:
        case ApprovalRequest() | Review():
            return "an approval (signal 'approval')"
        case Question():
            return "an answer in words (signal 'answer')"
        case Escalation():
            return "a resolution (signal 'resolution')"


def _accept(
    message: Message,
    voice: _Identity | None = None,
    groups: tuple[str, ...] = (),
    lapsed: tuple[str, ...] = (),
) -> Verdict:
    gone = ", ".join(map(repr, lapsed))
    return Verdict(
        accepted=True,
        request_id=message.request_id,
        reason=f"accepted; the approval of {gone} counts no more" if gone else "accepted",
        approver=voice.name if voice else "",
        groups=groups,
        lapsed=lapsed,
        proof=voice.proof if voice else None,
    )


def _refuse(message: Message, objection: Objection, approver: str = "") -> Verdict:
    return Verdict(
        accepted=False,
        request_id=message.request_id,
        reason=objection.reason,
        code=objection.code,
        approver=approver,
    )
