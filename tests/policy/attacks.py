"""Every way we know to have a token believed that proves nothing, by name."""

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import NamedTuple

from pydantic import JsonValue

from holdfast.contracts.approvals import (
    Approvable,
)
from holdfast.contracts.base import JsonObject
from holdfast.contracts.errors import OutcomeCode
from holdfast.policy.authentication import Objection, VerifiedApprover, verify
from holdfast.policy.signatures import MAX_TOKEN_CHARS
from holdfast.policy.trust import TrustedIssuer
from tests.builders import NOW, a_request
from tests.tokens import (
    PROVIDER,
    Signer,
    a_provider,
    a_signer,
    b64,
    claims_about,
    compact,
    hs256,
    people,
    respelled,
)

ALICE = a_signer()
BOB = a_signer(kid="bob-1", subject="bob")
MALLORY = a_signer(kid="key-1", subject="mallory")
IDP = {name: a_signer(name, kid=f"idp-{name}") for name in ("EdDSA", "ES256", "RS256", "PS256")}
ISSUERS = (people(ALICE, BOB), a_provider(*IDP.values()))

REFUND = a_request(
    tool="issue_refund", risk="financial", strength="strong", challenge="c" * 64, max_auth_age=300
)
OTHER = a_request("req-2", tool="issue_refund", strength="strong", challenge="d" * 64)
AGAIN = REFUND.model_copy(update={"challenge": "e" * 64})


def checked(
    token: str,
    request: Approvable = REFUND,
    *,
    decision: str = "approve",
    run_id: str = "run-1",
    now: datetime = NOW,
    issuers: tuple[TrustedIssuer, ...] = ISSUERS,
) -> VerifiedApprover | Objection:
    assert decision in {"approve", "reject"}
    return verify(
        token, request, "approve" if decision == "approve" else "reject", run_id, issuers, now
    )


def token(**changes: JsonValue) -> str:
    return ALICE.token(claims_about(REFUND, **changes))


def unsigned(_: bytes) -> bytes:
    return b""


class Attack(NamedTuple):
    """A token that somebody sends, where it is sent, and what has to be said about it."""

    token: str | Callable[[], str]
    said: str
    request: Approvable = REFUND
    decision: str = "approve"
    run_id: str = "run-1"
    now: datetime = NOW
    issuers: tuple[TrustedIssuer, ...] = ISSUERS
    code: OutcomeCode = "invalid_token"


def tampered(**changes: JsonValue) -> str:
    """Alice's token with other claims under her signature."""
    header, _, signature = token().split(".")
    return f"{header}.{b64(json.dumps(claims_about(REFUND, **changes)).encode())}.{signature}"


def confused(secret: bytes) -> str:
    """The public key as the secret of an HMAC."""
    return compact({"alg": "HS256", "kid": "idp-RS256"}, about_provider(), hs256(secret))


def about_provider(**changes: JsonValue) -> JsonObject:
    return claims_about(REFUND, **{"iss": PROVIDER, **changes})


def pointing(**header: JsonValue) -> str:
    """Mallory's signature with a hint where to find the key for it."""
    return MALLORY.token(claims_about(REFUND), header)


def twice(name: str, value: JsonValue) -> str:
    """A payload that says something twice, so that two readers may read two things."""
    claims = json.dumps(claims_about(REFUND))
    return ALICE.token(f"{{{json.dumps(name)}: {json.dumps(value)}, {claims[1:]}")


def as_json(*, general: bool) -> str:
    """The same signature in the JSON serialisation."""
    header, payload, signature = token().split(".")
    signed = {"protected": header, "signature": signature}
    return json.dumps(
        {"payload": payload, "signatures": [signed]} if general else {"payload": payload, **signed}
    )


def two_owners() -> tuple[TrustedIssuer, ...]:
    """One key that is trusted for two people."""
    local = people(ALICE)
    both = (*local.keys, {**ALICE.public, "kid": "key-2", "sub": "bob"})
    return (local._replace(keys=both),)


def of_two(signer: Signer, other: JsonObject) -> Attack:
    """What somebody signs with a key that is trusted for bob, too, as this one."""
    local = people(signer)
    other = {**other, "kid": "key-2", "sub": "bob"}
    return Attack(
        signer.token(claims_about(REFUND)),
        "the key belongs to 'alice', 'bob'",
        issuers=(local._replace(keys=(*local.keys, other)),),
    )


RSA = IDP["RS256"]
ELLIPTIC, MODULAR = a_signer("ES256"), a_signer("RS256")
FORGED = {
    "signed with another key": Attack(MALLORY.token(claims_about(REFUND)), "the signature is not"),
    "signed by another issuer": Attack(
        token(iss=PROVIDER), f"'{PROVIDER}' has no key 'key-1' that is trusted"
    ),
    "signed by an unknown issuer": Attack(
        token(iss="https://evil.example"),
        f"'https://evil.example' is not trusted (known: 'holdfast', '{PROVIDER}')",
    ),
    "payload tampered": Attack(tampered(sub="ceo"), "the signature is not that of key 'key-1'"),
    "decision tampered": Attack(tampered(decision="reject"), "the signature is not"),
    "signature cut": Attack(token()[:-4], "the signature is not"),
    "signature left out": Attack(token().rpartition(".")[0] + ".", "no JWT of three parts"),
    "signature of nothing": Attack(f"{token().rpartition('.')[0]}.AA", "the signature is not"),
    "alg none": Attack(
        compact({"alg": "none", "kid": "key-1"}, claims_about(REFUND), unsigned),
        "no JWT of three parts",
    ),
    "alg none with a signature": Attack(
        ALICE.token(claims_about(REFUND), {"alg": "none"}), "the algorithm 'none' proves nothing"
    ),
    "alg NONE": Attack(ALICE.token(claims_about(REFUND), {"alg": "NONE"}), "proves nothing"),
    "alg left out": Attack(ALICE.token(claims_about(REFUND), {"alg": None}), "proves nothing"),
    "alg a list": Attack(ALICE.token(claims_about(REFUND), {"alg": ["EdDSA"]}), "proves nothing"),
    "alg RS512": Attack(RSA.token(about_provider(), {"alg": "RS512"}), "proves nothing"),
    "secret is the public key's PEM": Attack(confused(RSA.pem), "'HS256' proves nothing"),
    "secret is the public key's DER": Attack(
        confused(b"".join(RSA.pem.split(b"\n")[1:-2])), "'HS256' proves nothing"
    ),
    "secret is the public key's JWK": Attack(
        confused(json.dumps(RSA.public).encode()), "'HS256' proves nothing"
    ),
    "secret is the public key's raw x": Attack(
        compact(
            {"alg": "HS256", "kid": "key-1"},
            claims_about(REFUND),
            hs256(str(ALICE.public["x"]).encode()),
        ),
        "'HS256' proves nothing",
    ),
    "RS256 with an Ed25519 key": Attack(
        ALICE.token(claims_about(REFUND), {"alg": "RS256"}), "key 'key-1' is no key for RS256"
    ),
    "EdDSA with an RSA key": Attack(
        RSA.token(about_provider(), {"alg": "EdDSA"}), "'idp-RS256' is no key for EdDSA"
    ),
    "PS256 with a key for RS256": Attack(
        IDP["PS256"].token(about_provider()),
        "'idp-PS256' is no key for PS256",
        issuers=(TrustedIssuer(ISSUERS[1].issuer, ({**IDP["PS256"].public, "alg": "RS256"},)),),
    ),
    "embedded jwk": Attack(pointing(jwk=MALLORY.public), "header says 'jwk'"),
    "embedded jku": Attack(pointing(jku="https://evil.example/keys"), "header says 'jku'"),
    "embedded x5u": Attack(pointing(x5u="https://evil.example/cert"), "header says 'x5u'"),
    "embedded x5c": Attack(pointing(x5c=["MIIB"]), "header says 'x5c'"),
    "crit": Attack(
        ALICE.token(claims_about(REFUND), {"crit": ["exp"], "exp": 1}), "header says 'crit'"
    ),
    "unencoded payload": Attack(
        ALICE.token(claims_about(REFUND), {"b64": False}), "header says 'b64'"
    ),
    "nested": Attack(ALICE.token(claims_about(REFUND), {"cty": "JWT"}), "header says 'cty'"),
    "a token in a token": Attack(ALICE.token(token()), "payload is no JSON"),
    "encrypted": Attack(f"{token()}.AA.AA", "no JWT of three parts"),
    "general JSON serialisation": Attack(as_json(general=True), "no JWT of three parts"),
    "flattened JSON serialisation": Attack(as_json(general=False), "no JWT of three parts"),
    "another type": Attack(
        ALICE.token(claims_about(REFUND), {"typ": "at+jwt"}), "is of type 'at+jwt'"
    ),
    "a type that is no text": Attack(ALICE.token(claims_about(REFUND), {"typ": ["JWT"]}), "type"),
    "unknown kid": Attack(
        ALICE.token(claims_about(REFUND), {"kid": "key-9"}),
        "'holdfast' has no key 'key-9' that is trusted; add it with 'holdfast keys trust'",
    ),
    "kid over-long": Attack(ALICE.token(claims_about(REFUND), {"kid": "k" * 4_000}), "…"),
    "kid empty": Attack(
        ALICE.token(claims_about(REFUND), {"kid": ""}),
        "its 'kid' as a text",
        issuers=(people(a_signer(kid="")),),
    ),
    "kid left out": Attack(ALICE.token(claims_about(REFUND), {"kid": None}), "its 'kid'"),
    "kid no text": Attack(ALICE.token(claims_about(REFUND), {"kid": ["key-1"]}), "its 'kid'"),
    "kid of somebody else": Attack(
        ALICE.token(claims_about(REFUND), {"kid": "bob-1"}), "is not that of key 'bob-1'"
    ),
    "kid twice": Attack(token(), "has 2 keys 'key-1'", issuers=(people(ALICE, MALLORY),)),
    "issuer twice": Attack(token(), "is not trusted", issuers=(people(ALICE), people(MALLORY))),
    "issuer no text": Attack(token(iss=["holdfast"]), "its 'iss'"),
    "another subject with one's own key": Attack(
        token(sub="bob"), "the key belongs to 'alice', not to 'bob'"
    ),
    "one key for two subjects": Attack(
        token(), "the key belongs to 'alice', 'bob'", issuers=two_owners()
    ),
    "a key of two in two spellings": of_two(ELLIPTIC, respelled(ELLIPTIC.public, "x")),
    "a modulus of two in two spellings": of_two(MODULAR, respelled(MODULAR.public, "n")),
    "a modulus of two with two exponents": of_two(MODULAR, {**MODULAR.public, "e": "Aw"}),
    "a key of two, with a number that it has no use for": of_two(
        ALICE, {**ALICE.public, "y": "AA"}
    ),
    "a key of nobody": Attack(
        token(sub="alice"),
        "the key belongs to ''",
        issuers=(people(a_signer(subject=""))._replace(keys=({**ALICE.public, "sub": ""},)),),
    ),
    "header names something twice": Attack(
        compact(
            '{"alg": "none", "alg": "EdDSA", "kid": "key-1"}', claims_about(REFUND), ALICE.sign
        ),
        "header is no JSON, or names something twice",
    ),
    "payload names something twice": Attack(
        twice("sub", "bob"), "payload is no JSON, or names something twice"
    ),
    "payload no object": Attack(ALICE.token([1, 2]), "payload is no JSON object"),
    "payload too deep": Attack(ALICE.token("[" * 5_000), "payload is no JSON"),
    "payload not UTF-8": Attack(
        f"{b64(b'{}')}.{b64(bytes([0xFF, 0xFE]))}.AAAA", "payload is no JSON"
    ),
    "padded": Attack(f"{token()}==", "no JWT of three parts"),
    "a line more": Attack(f"{token()}\n", "no JWT of three parts"),
    "letters of another alphabet": Attack(f"{token()[:-1]}\u212a", "no JWT of three parts"),
    "over-long": Attack(token(padding="x" * MAX_TOKEN_CHARS), "characters, and 8,192 is most"),
    "empty": Attack("", "no JWT of three parts"),
}

MISUSED = {
    "replayed on another request": Attack(
        token(), "the token's request_id, nonce is not that of this decision", request=OTHER
    ),
    "replayed on a second call": Attack(token(), "nonce is not", request=AGAIN),
    "replayed on another run": Attack(token(), "run_id is not", run_id="run-2"),
    "another run": Attack(token(run_id="run-2"), "run_id is not"),
    "another request": Attack(token(request_id="req-2"), "request_id is not"),
    "other arguments": Attack(token(arguments_digest="0" * 64), "arguments_digest is not"),
    "another decision": Attack(token(decision="reject"), "decision is not"),
    "an approval sent as a rejection": Attack(token(), "decision is not", decision="reject"),
    "another nonce": Attack(token(nonce="d" * 64), "nonce is not"),
    "an empty nonce for no challenge": Attack(
        token(nonce=""), "the request has no challenge", request=a_request(strength="strong")
    ),
    "another audience": Attack(token(aud="shop"), "for the audience 'shop', not for 'holdfast'"),
    "another audience of several": Attack(token(aud=["shop", "hold"]), "not for 'holdfast'"),
    "an audience with ours in its name": Attack(token(aud="not-holdfast"), "not for 'holdfast'"),
    "no audience": Attack(token(aud=[]), "not for 'holdfast'"),
    "expired": Attack(token(), "the token has expired 0 s ago", now=NOW + timedelta(seconds=300)),
    "not yet issued": Attack(
        token(), "iat is 31 s in the future", now=NOW - timedelta(seconds=31)
    ),
    "not yet valid": Attack(
        token(nbf=NOW.timestamp() + 60), "nbf is 60 s in the future: set the clocks"
    ),
    "signed in later": Attack(token(auth_time=NOW.timestamp() + 60), "auth_time is 60 s"),
    "lives too long": Attack(token(exp=NOW.timestamp() + 601), "lives for 601 s, and 600 is most"),
    "lives backwards": Attack(
        token(iat=NOW.timestamp() + 20, exp=NOW.timestamp() + 10), "lives for -10 s"
    ),
    "stale authentication": Attack(
        token(auth_time=NOW.timestamp() - 301),
        "the approver has signed in 301 s ago, and 300 s is most: sign in again",
        code="stale_authentication",
    ),
    "signed in by too little": Attack(
        token(amr=["pwd", "sms"]),
        "has signed in by 'pwd', 'sms', and one of hwk, otp is needed",
        request=REFUND.model_copy(update={"methods": ("hwk", "otp")}),
    ),
    "signed in by nothing": Attack(
        token(amr=[]), "by none", request=REFUND.model_copy(update={"methods": ("hwk",)})
    ),
}

REQUIRED = (
    *("aud", "iat", "exp", "jti", "auth_time", "amr"),
    *("run_id", "request_id", "arguments_digest", "decision", "nonce"),
)
NO_TIMES: JsonObject = {
    "true": True,
    "a text": str(int(NOW.timestamp())),
    "a list": [1],
    "negative": -1,
    "beyond all time": 1e12,
}
MALFORMED = {
    **{
        f"{name} left out": Attack(token(**{name: None}), f"{name!r}: Field required")
        for name in REQUIRED
    },
    "iss left out": Attack(token(iss=None), "its 'iss' as a text"),
    "sub left out": Attack(token(sub=None), "'sub': Field required"),
    **{
        f"{name} {kind}": Attack(token(**{name: value}), f"{name!r}: Input should be")
        for name in ("iat", "exp", "auth_time", "nbf")
        for kind, value in NO_TIMES.items()
    },
    "exp infinite": Attack(
        ALICE.token(json.dumps(claims_about(REFUND, exp=0)).replace('"exp": 0', '"exp": 1e999')),
        "'exp': Input should be",
    ),
    "exp no JSON": Attack(
        ALICE.token(json.dumps(claims_about(REFUND, exp=0)).replace('"exp": 0', '"exp": NaN')),
        "payload is no JSON",
    ),
    "sub a number": Attack(token(sub=7), "'sub': Input should be a valid string"),
    "sub empty": Attack(token(sub=""), "'sub'"),
    "sub with hidden letters": Attack(token(sub="al\u200bice"), "characters that can't be seen"),
    "sub with half a letter": Attack(token(sub="al\ud800"), "'sub': Input should be a valid str"),
    "sub over-long": Attack(token(sub="a" * 201), "at most 200 characters"),
    "jti a number": Attack(token(jti=7), "'jti': Input should be a valid string"),
    "jti empty": Attack(token(jti=""), "'jti'"),
    "amr a text": Attack(token(amr="hwk"), "'amr': Input should be a valid list"),
    "amr of numbers": Attack(token(amr=[1]), "'amr'"),
    "aud a number": Attack(token(aud=1), "'aud'"),
    "aud of numbers": Attack(token(aud=["holdfast", 1]), "'aud'"),
    "decision true": Attack(token(decision=True), "'decision': Input should be a valid string"),
}
