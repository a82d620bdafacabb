"""
Whether an approval that was given still counts. Pure.

There is one answer for calls, their undos and reviews, and for each of several approvals.
"""

from datetime import datetime

from holdfast.contracts.approvals import ApprovalRecord, Proof, Requirement
from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import Grant
from holdfast.policy.signatures import is_key
from holdfast.policy.trust import LOCAL_ISSUER, Trust, is_address

MAX_AHEAD_SECONDS = 60.0
"""So much later than now an approval may be dated: more, and the server's clock was set back."""


def counts(record: ApprovalRecord, requirement: Requirement, trust: Trust, now: datetime) -> bool:
    """Whether an approval is as good as is asked for now, from somebody who may give it now."""
    return (
        _is_in_time(record, requirement, now)
        and _is_strong_enough(record, requirement)
        and (record.proof is None or _has_trusted_signer(record.proof, trust))
        and _is_eligible(record, requirement, trust)
        and requirement.recovery in {"", record.recovery}
    )


def shows(record: ApprovalRecord, grant: Grant | None) -> bool:
    """
    Whether a request showed all that the sandbox lets a call do by now; null is outside of it.

    What code asks of a host stands in no argument that a person could read: the grant says it.
    Who approved a call outside of the sandbox, where nothing confines it, approved more.
    """
    shown = record.grant
    if shown is None or grant is None:
        return shown is None
    return {*grant.hosts} <= {*shown.hosts} and {*grant.commands} <= {*shown.commands}


def takes_less(requirement: Requirement, other: Requirement) -> bool:
    """
    Whether something is good enough for one that isn't for the other, of the people of that.

    In whatever: that an approval lapses sooner doesn't make up for one that a single person gives.
    A requirement that names other people altogether takes neither less nor more.
    """
    named, might = {*requirement.groups}, {*other.groups, *other.escalate_to}
    are_others = bool(named and other.groups) and named.isdisjoint(might)
    return not are_others and not _covers(other, requirement)


def _covers(mine: Requirement, other: Requirement) -> bool:
    """Whether whatever approves by the other requirement approves by mine."""
    return (
        mine.count <= other.count
        and (not mine.needs_proof or other.needs_proof)
        and _names_all(mine.groups, other.groups)
        and _names_all(mine.methods, other.methods)
        and _is_as_late(mine.max_auth_age, other.max_auth_age)
        and _is_as_late(mine.valid_for, other.valid_for)
        and mine.recovery in {"", other.recovery}
        and (not mine.groups or _escalates_as(mine, other))
    )


def _names_all(mine: tuple[str, ...], others: tuple[str, ...]) -> bool:
    """Whether it names whatever the others do; who names nothing takes all."""
    return not mine or (bool(others) and {*others} <= {*mine})


def _is_as_late(mine: float | None, other: float | None) -> bool:
    return mine is None or (other is not None and other <= mine)


def _escalates_as(mine: Requirement, other: Requirement) -> bool:
    after, others_after = mine.escalate_after, other.escalate_after
    if others_after is None:
        return True
    sooner = after is not None and after <= others_after
    return sooner and {*other.escalate_to} <= {*mine.escalate_to}


def _is_in_time(record: ApprovalRecord, requirement: Requirement, now: datetime) -> bool:
    """Whether it hasn't lapsed; how old one is that is still to come nobody knows."""
    lasts, age = requirement.valid_for, (now - record.at).total_seconds()
    in_time = lasts is None or -MAX_AHEAD_SECONDS <= age < lasts
    return in_time and not record.is_past_expiry(now)


def _is_strong_enough(record: ApprovalRecord, requirement: Requirement) -> bool:
    if requirement.strength == "plain":
        return True
    proof, wanted = record.proof, requirement.methods
    if record.strength != "strong" or proof is None:
        return False
    age = (proof.verified_at - proof.authenticated_at).total_seconds()
    fresh = requirement.max_auth_age is None or age <= requirement.max_auth_age
    return fresh and (not wanted or not set(wanted).isdisjoint(proof.methods))


def _has_trusted_signer(proof: Proof, trust: Trust) -> bool:
    """
    Whether its issuer counts, and the key that signed it, as far as keys lie in a file.

    Keys that an identity provider publishes come and go: one that is gone wasn't revoked.
    """
    return any(
        is_address(trusted.issuer.jwks) or any(_is_signing_key(key, proof) for key in trusted.keys)
        for trusted in trust.issuers
        if trusted.issuer.issuer == proof.issuer
    )


def _is_signing_key(key: JsonObject, proof: Proof) -> bool:
    owned = proof.issuer != LOCAL_ISSUER or key.get("sub") == proof.subject
    return owned and is_key(key, proof.thumbprint)


def _is_eligible(record: ApprovalRecord, requirement: Requirement, trust: Trust) -> bool:
    """Whether somebody was in a group that might approve then, and is now, as far as is known."""
    if not requirement.groups:
        return True
    groups = {*requirement.groups, *_find_escalation_groups(record, requirement)}.intersection(
        record.groups
    )
    naming = {one.issuer.issuer for one in trust.issuers if one.issuer.groups is not None}
    proof = record.proof
    vouched = proof.groups if proof is not None and proof.issuer in naming else ()
    return any(
        group in vouched or record.approver in trust.groups.get(group, ()) for group in groups
    )


def _find_escalation_groups(record: ApprovalRecord, requirement: Requirement) -> tuple[str, ...]:
    """Return the groups that may approve too, if their time had come when it was given."""
    after = requirement.escalate_after
    waited = (record.at - record.requested_at).total_seconds()
    return requirement.escalate_to if after is not None and waited >= after else ()
