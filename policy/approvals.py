"""Whether what a person says about a request counts, and who they are. Pure."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from contracts.approvals import (
    AnswerSignal,
    Approvable,
    ApprovalRequest,
    ApprovalSignal,
    Escalation,
    Hearing,
    Proof,
    Question,
    Request,
    ResolutionSignal,
    Review,
    Verdict,
)
from contracts.budget import Means
from policy import extending
from policy.authentication import Objection, verify
from policy.people import person
from policy.trust import TrustedIssuer

Message: TypeAlias = ApprovalSignal | AnswerSignal | ResolutionSignal


class Trust(NamedTuple):
    """Who is in which group, and whose signatures count."""

    groups: Mapping[str, frozenset[str]] = MappingProxyType({})
    issuers: tuple[TrustedIssuer, ...] = ()


class _Voice(NamedTuple):
    """Who says something; without a proof it is only what they say."""

    name: str
    groups: frozenset[str] = frozenset()
    proof: Proof | None = None


class _Given(NamedTuple):
    """What was accepted earlier in this hearing: who approved what, and by which tokens."""

    approvals: set[tuple[str, str]]
    token_ids: set[tuple[str, str]]


def judge(hearing: Hearing, trust: Trust) -> tuple[Verdict, ...]:
    """
    Accept each message or refuse it with the reason, in order.

    What an accepted message does to its request is not seen here: a request that a message of the
    same hearing closes is open for the next one too.
    """
    given = _Given(set(), set())
    return tuple(_judged(message, hearing, trust, given) for message in hearing.messages)


def _judged(message: Message, hearing: Hearing, trust: Trust, given: _Given) -> Verdict:
    request = _request(message, hearing)
    if isinstance(request, Objection):
        return _refused(message, request)
    if isinstance(message, ResolutionSignal):
        objection = _no_extension(message, request, hearing.means)
        return _accepted(message) if objection is None else _refused(message, objection)
    if not isinstance(message, ApprovalSignal) or not isinstance(request, Approvable):
        return _accepted(message)
    voice = _voice(message, request, hearing, trust)
    if isinstance(voice, Objection):
        return _refused(message, voice)
    groups = _groups(voice, request, trust)
    if message.decision == "approve":
        objection = _objection(voice, request, hearing, groups)
        if objection := objection or _repetition(voice, request, given):
            return _refused(message, objection, voice.name if voice.proof else "")
        given.approvals.add((request.request_id, person(voice.name)))
    if voice.proof:
        given.token_ids.add(_token(voice.proof))
    return _accepted(message, voice, groups)


def _no_extension(
    message: ResolutionSignal, request: Request, means: Means | None
) -> Objection | None:
    """Object to limits that extend nothing."""
    if means is None or message.action != "extend" or message.budget is None:
        return None
    # The wait for this very message isn't in the ledger yet, and is no work.
    elapsed = (request.requested_at - means.started_at).total_seconds()
    reason = extending.objection(
        message.budget, means.limits, means.ceiling, means.ledger, elapsed
    )
    return None if reason is None else Objection("unreadable", reason)


def _request(message: Message, hearing: Hearing) -> Request | Objection:
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
    match message, request:
        case (
            (ApprovalSignal(), ApprovalRequest() | Review())
            | (AnswerSignal(), Question())
            | (ResolutionSignal(), Escalation())
        ):
            return request
        case _:
            return Objection("wrong_kind", f"request {name!r} waits for {_wanted(request)}")


def _voice(
    message: ApprovalSignal, request: Approvable, hearing: Hearing, trust: Trust
) -> _Voice | Objection:
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
        return _Voice(verified.proof.subject, verified.groups, verified.proof)
    if message.decision == "approve" and request.needs_proof:
        return Objection(
            "require_stronger_auth",
            f"{_named(request)} needs strong authentication: approve it with "
            "'holdfast approve', which signs with your key, or send a signed token",
        )
    return _Voice(message.approver)


def _objection(
    voice: _Voice, request: Approvable, hearing: Hearing, groups: tuple[str, ...]
) -> Objection | None:
    """Say why this person may not approve this request."""
    name = person(voice.name)
    if not name:
        return Objection("unreadable", "the approval names nobody: say who approves")
    if name in {person(f"agent {hearing.agent}"), person(hearing.agent), "agent"}:
        return Objection("self_approval", "no agent approves what an agent does: ask a person")
    if name in {person(hearing.requester), person(request.requester)}:
        return Objection(
            "self_approval", f"the run works for {voice.name!r}: somebody else must approve this"
        )
    if request.groups and not groups:
        wanted = ", ".join(_may_approve(request))
        return Objection(
            "wrong_group", f"{voice.name!r} is in none of the groups that may approve: {wanted}"
        )
    return None


def _repetition(voice: _Voice, request: Approvable, given: _Given) -> Objection | None:
    """Say what of this approval has counted already."""
    name = person(voice.name)
    before = {person(record.approver) for record in request.approvals}
    if name in before or (request.request_id, name) in given.approvals:
        return Objection(
            "approved_already",
            f"{voice.name!r} has approved {request.request_id!r} already: another person must",
        )
    used = {_token(record.proof) for record in request.approvals if record.proof}
    if voice.proof and _token(voice.proof) in used | given.token_ids:
        return Objection("invalid_token", "the token has been used already: sign a new one")
    return None


def _may_approve(request: Approvable) -> tuple[str, ...]:
    later = request.escalate_to if request.escalated_at is not None else ()
    return tuple(dict.fromkeys((*request.groups, *later)))


def _groups(voice: _Voice, request: Approvable, trust: Trust) -> tuple[str, ...]:
    """Return the groups of a person that make them eligible."""
    return tuple(
        group
        for group in _may_approve(request)
        if voice.name in trust.groups.get(group, ()) or group in voice.groups
    )


def _token(proof: Proof) -> tuple[str, str]:
    return proof.issuer, proof.token_id


def _named(request: Approvable) -> str:
    if isinstance(request, Review):
        return f"the review of {request.subject!r}"
    return f"{request.tool!r} ({request.risk})"


def _wanted(request: Request) -> str:
    match request:
        case ApprovalRequest() | Review():
            return "an approval (signal 'approval')"
        case Question():
            return "an answer in words (signal 'answer')"
        case Escalation():
            return "a resolution (signal 'resolution')"


def _accepted(
    message: Message, voice: _Voice | None = None, groups: tuple[str, ...] = ()
) -> Verdict:
    return Verdict(
        accepted=True,
        request_id=message.request_id,
        reason="accepted",
        approver=voice.name if voice else "",
        groups=groups,
        proof=voice.proof if voice else None,
    )


def _refused(message: Message, objection: Objection, approver: str = "") -> Verdict:
    return Verdict(
        accepted=False,
        request_id=message.request_id,
        reason=objection.reason,
        code=objection.code,
        approver=approver,
    )
