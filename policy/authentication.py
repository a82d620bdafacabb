"""
Who a signed approval is from, and whether it is about this decision and no other. Pure.

A token is good for one decision about one request of one run, with exactly these arguments, for
minutes. Keys and the time come in.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Literal, NamedTuple, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from holdfast.contracts.approvals import (
    Approvable,
    Proof,
)
from holdfast.contracts.base import JsonObject
from holdfast.contracts.errors import OutcomeCode
from holdfast.policy.signatures import (
    InvalidToken,
    VerifiedToken,
    is_same_key,
    quote_short,
    thumbprint,
    verify_token,
)
from holdfast.policy.trust import LOCAL_ISSUER, TrustedIssuer

LEEWAY_SECONDS = 30.0
"""Seconds that the signer's clock may be ahead of ours."""

MAX_TOKEN_LIFETIME_SECONDS = 600.0
"""Seconds between `iat` and `exp`: a token that leaks is of no use soon."""

_MAX_NAMES = 500

_EMAIL, _VERIFIED = "email", "email_verified"
"""Claims of OpenID Connect Core, 5.1: an address, as people enter it, and whether it is so."""


class Objection(NamedTuple):
    """Why a message doesn't count, in one word and in one line that says what to do."""

    code: OutcomeCode
    reason: str


class SignedMatter(NamedTuple):
    """
    What a token has to name, each by the claim of that name, and how its owner signed in.

    It was signed `not_before` some moment, of a token that says seconds alone not in that second.
    """

    run_id: str
    request_id: str
    arguments_digest: str
    decision: str
    nonce: str
    methods: tuple[str, ...] = ()
    max_auth_age: float | None = None
    not_before: datetime | None = None


class VerifiedApprover(NamedTuple):
    """Who it is beyond doubt, and the groups that their identity provider says they are in."""

    proof: Proof
    groups: frozenset[str]


def verify(
    token: str,
    request: Approvable,
    decision: Literal["approve", "reject"],
    run_id: str,
    issuers: tuple[TrustedIssuer, ...],
    now: datetime,
) -> VerifiedApprover | Objection:
    """Say who signed a decision about a request, or why the token doesn't prove that."""
    matter = SignedMatter(
        run_id,
        request.request_id,
        request.arguments_digest,
        decision,
        request.challenge,
        request.methods,
        request.max_auth_age,
    )
    return verify_matter(token, matter, issuers, now)


def verify_matter(
    token: str, matter: SignedMatter, issuers: tuple[TrustedIssuer, ...], now: datetime
) -> VerifiedApprover | Objection:
    """Say who signed this, or why the token doesn't prove that."""
    try:
        signed = verify_token(token, issuers)
        claims = _parse_claims(signed.claims)
        _check_audience(claims, signed)
        _check_binding(claims, matter)
        _check_times(claims, now)
        _check_not_before(claims, matter)
        _check_sign_in(claims, matter, now)
        return VerifiedApprover(_build_proof(claims, signed, now), _read_groups(signed))
    except InvalidToken as error:
        return Objection(error.code, str(error))


def _check_printable(text: str) -> str:
    """What can't be seen could hide in history that somebody is somebody else."""
    if not text.isprintable():
        raise ValueError("it has characters that can't be seen")
    return text


_Word: TypeAlias = Annotated[
    str, Field(min_length=1, max_length=200), AfterValidator(_check_printable)
]
_Names: TypeAlias = Annotated[list[_Word], Field(max_length=_MAX_NAMES)]
_Seconds: TypeAlias = Annotated[float, Field(ge=0, le=1e11, allow_inf_nan=False)]


class _Claims(BaseModel):
    """What a token must say besides who it is from; nothing is converted to fit."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")

    aud: str | list[str]
    iat: _Seconds
    exp: _Seconds
    auth_time: _Seconds
    nbf: _Seconds = 0
    jti: _Word
    amr: _Names
    run_id: str
    request_id: str
    arguments_digest: str
    decision: str
    nonce: str


class _Person(BaseModel):
    """Who a token is from, by whatever names its issuer gives these claims."""

    model_config = ConfigDict(frozen=True, strict=True)

    subject: _Word
    groups: _Names | _Word = []


def _parse_claims(given: JsonObject) -> _Claims:
    try:
        return _Claims.model_validate(given)
    except ValidationError as error:
        raise InvalidToken(f"the token's claims don't fit: {_describe_errors(error)}") from None


def _check_audience(claims: _Claims, signed: VerifiedToken) -> None:
    wanted = signed.trusted.issuer.audience
    if wanted not in ([claims.aud] if isinstance(claims.aud, str) else claims.aud):
        raise InvalidToken(
            f"the token is for the audience {quote_short(claims.aud)}, not for {wanted!r}"
        )


def _check_binding(claims: _Claims, matter: SignedMatter) -> None:
    """The token names this one decision; one that fits another is of no use here."""
    if not matter.nonce:
        raise InvalidToken(
            "the request has no challenge, so nothing that is signed can be meant for it"
        )
    meant = {
        "run_id": (claims.run_id, matter.run_id),
        "request_id": (claims.request_id, matter.request_id),
        "arguments_digest": (claims.arguments_digest, matter.arguments_digest),
        "decision": (claims.decision, matter.decision),
        "nonce": (claims.nonce, matter.nonce),
    }
    if others := [name for name, (said, expected) in meant.items() if said != expected]:
        raise InvalidToken(
            f"the token's {', '.join(others)} is not that of this decision: sign what "
            "'holdfast pending' shows"
        )


def _check_times(claims: _Claims, now: datetime) -> None:
    time = now.timestamp()
    if claims.exp <= time:
        raise InvalidToken(f"the token has expired {time - claims.exp:.0f} s ago: sign it anew")
    if not 0 < claims.exp - claims.iat <= MAX_TOKEN_LIFETIME_SECONDS:
        raise InvalidToken(
            f"the token lives for {claims.exp - claims.iat:.0f} s, "
            f"and {MAX_TOKEN_LIFETIME_SECONDS:.0f} is most"
        )
    times = {"iat": claims.iat, "auth_time": claims.auth_time, "nbf": claims.nbf}
    for name, said in times.items():
        if (ahead := said - time) > LEEWAY_SECONDS:
            raise InvalidToken(
                f"the token's {name} is {ahead:.0f} s in the future: set the clocks"
            )


def _check_not_before(claims: _Claims, matter: SignedMatter) -> None:
    if matter.not_before is not None and claims.iat < matter.not_before.timestamp():
        raise InvalidToken(
            "the token was signed before the workflow was reset, or in that second, and may have "
            "been used then: sign it anew"
        )


def _check_sign_in(claims: _Claims, matter: SignedMatter, now: datetime) -> None:
    age, most = now.timestamp() - claims.auth_time, matter.max_auth_age
    if most is not None and age > most:
        raise InvalidToken(
            f"the approver has signed in {age:.0f} s ago, and {most:.0f} s is most: sign in again",
            "stale_authentication",
        )
    if matter.methods and not set(matter.methods).intersection(claims.amr):
        used = ", ".join(map(quote_short, claims.amr)) or "none"
        raise InvalidToken(
            f"the approver has signed in by {used}, and one of {', '.join(matter.methods)} is "
            "needed: sign in that way"
        )


def _build_proof(claims: _Claims, signed: VerifiedToken, now: datetime) -> Proof:
    issuer = signed.trusted.issuer
    subject = _parse_person(signed).subject
    said = signed.claims.get(_VERIFIED, True)
    if issuer.subject == _EMAIL and str(said).lower() != "true":
        raise InvalidToken(
            f"{quote_short(issuer.issuer)} hasn't verified that {subject!r} is their address"
        )
    if issuer.issuer == LOCAL_ISSUER and (owners := _find_key_owners(signed)) != {subject}:
        raise InvalidToken(
            f"the key belongs to {', '.join(sorted(map(quote_short, owners)))}, "
            f"not to {subject!r}: sign with a key of your own"
        )
    return Proof(
        issuer=issuer.issuer,
        subject=subject,
        methods=tuple(claims.amr),
        authenticated_at=datetime.fromtimestamp(claims.auth_time, UTC),
        token_id=claims.jti,
        verified_at=now,
        key=str(signed.key["kid"]),
        thumbprint=thumbprint(signed.key),
    )


def _read_groups(signed: VerifiedToken) -> frozenset[str]:
    groups = _parse_person(signed).groups
    return frozenset([groups] if isinstance(groups, str) else groups)


def _parse_person(signed: VerifiedToken) -> _Person:
    issuer = signed.trusted.issuer
    named = {"subject": issuer.subject, "groups": issuer.groups}
    given = {name: signed.claims[claim] for name, claim in named.items() if claim in signed.claims}
    try:
        return _Person.model_validate(given)
    except ValidationError as error:
        raise InvalidToken(
            f"the token's claims don't fit: {_describe_errors(error, named)}"
        ) from None


def _find_key_owners(signed: VerifiedToken) -> set[str]:
    """Everybody who is said to own the key: a key of two people proves neither."""
    return {str(key.get("sub", "")) for key in signed.trusted.keys if is_same_key(key, signed.key)}


def _describe_errors(error: ValidationError, named: Mapping[str, str | None] | None = None) -> str:
    found = {
        str(entry["loc"][0]): entry["msg"]
        for entry in error.errors(include_url=False, include_input=False)
    }
    return "; ".join(f"{(named or {}).get(name, name)!r}: {said}" for name, said in found.items())
