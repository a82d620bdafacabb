"""Whether signals that a policy wants signed are, by whom, and for this run. Pure."""

from typing import NamedTuple

from holdfast.contracts.approvals import ControlVerdict, JudgeInput, Proof, Requirement
from holdfast.contracts.signals import (
    AnswerSignal,
    ControlMessage,
    ResolutionSignal,
    SignedSignal,
)
from holdfast.policy.authentication import (
    Objection,
    SignedMatter,
    VerifiedApprover,
    verify_matter,
)
from holdfast.policy.trust import Trust

NO_REQUEST = "-"
"""What a token names as its request where the signal is about none."""

MAX_USED_TOKENS = 500
"""Within the minutes for which a token is good; each was signed by somebody who may."""

_UNSIGNED = Requirement()

_LETS_GO_ON: frozenset[SignedSignal] = frozenset({"resume", "steer"})
"""
What a reset makes worthless that was signed before: that it was used may be forgotten.

What was signed to hold a run, or to end it, holds and ends it still.
"""


class _Signal(NamedTuple):
    """A signal as it was sent: which, about what, and what proves who sent it."""

    name: SignedSignal
    request_id: str
    digest: str
    token: str | None


def find_signer(
    message: AnswerSignal | ResolutionSignal, sent: str, hearing: JudgeInput, trust: Trust
) -> VerifiedApprover | Objection | None:
    """Say who signed a message about a request; null where nobody did, and nobody has to."""
    name: SignedSignal = "answer" if isinstance(message, AnswerSignal) else "resolution"
    signal = _Signal(name, message.request_id, sent, message.token)
    return _find_signer(signal, hearing, trust)


def judge_controls(hearing: JudgeInput, trust: Trust) -> tuple[ControlVerdict, ...]:
    """Accept each signal about no request, or refuse it with the reason, in order."""
    used = {(one.issuer, one.token_id) for one in hearing.used}
    lapsed = sum(one.until <= hearing.now for one in hearing.used)
    room = MAX_USED_TOKENS + lapsed
    return tuple(_judge_control(one, hearing, trust, used, room) for one in hearing.controls)


def _judge_control(
    message: ControlMessage,
    hearing: JudgeInput,
    trust: Trust,
    used: set[tuple[str, str]],
    room: int,
) -> ControlVerdict:
    signal = _Signal(message.signal, NO_REQUEST, message.digest, message.token)
    found = _find_signer(signal, hearing, trust)
    if isinstance(found, VerifiedApprover):
        found = _use_token(found, used, room, message.signal)
    if isinstance(found, Objection):
        return ControlVerdict(
            accepted=False,
            request_id="",
            reason=found.reason,
            code=found.code,
            signal=message.signal,
            digest=message.digest,
        )
    return ControlVerdict(
        accepted=True,
        request_id="",
        reason="accepted",
        approver=found.proof.subject if found else message.by,
        proof=found.proof if found else None,
        signal=message.signal,
        digest=message.digest,
    )


def _use_token(
    found: VerifiedApprover, used: set[tuple[str, str]], room: int, signal: SignedSignal
) -> VerifiedApprover | Objection:
    """Use a token up; for a stop there is always room, whatever others have signed."""
    key = _token_key(found.proof)
    if key in used:
        return Objection("invalid_token", "the token has been used already: sign a new one")
    if len(used) >= room and signal != "stop":
        return Objection(
            "full", f"{MAX_USED_TOKENS} signed signals came within minutes: send it later"
        )
    used.add(key)
    return found


def _find_signer(
    signal: _Signal, hearing: JudgeInput, trust: Trust
) -> VerifiedApprover | Objection | None:
    wanted = trust.signals.get(signal.name)
    if signal.token is None:
        if wanted is None and signal.name not in hearing.signed:
            return None
        return Objection(
            "require_stronger_auth",
            f"the policy wants {signal.name!r} signed: send it by 'holdfast' with your key, or "
            "with a signed token",
        )
    required = wanted or _UNSIGNED
    matter = SignedMatter(
        hearing.run_id,
        signal.request_id,
        signal.digest,
        signal.name,
        hearing.first_execution_run_id,
        required.methods,
        required.max_auth_age,
        hearing.reset_at if signal.name in _LETS_GO_ON else None,
    )
    found = verify_matter(signal.token, matter, trust.issuers, hearing.now)
    if isinstance(found, Objection):
        return found
    groups = {
        group
        for group in required.groups
        if group in found.groups or found.proof.subject in trust.groups.get(group, ())
    }
    if required.groups and not groups:
        return Objection(
            "wrong_group",
            f"{found.proof.subject!r} is in none of the groups that may send {signal.name!r}: "
            f"{', '.join(required.groups)}",
        )
    return found


def _token_key(proof: Proof) -> tuple[str, str]:
    return proof.issuer, proof.token_id
