"""
Signed tokens (JWT, RFC 7519) and the keys that verify them (JWK, RFC 7517). Pure.

What is believed here is only what a configured issuer's own key has signed. Everything that a
token says about how it wants to be verified is checked against the key, or refused.
"""

import json
from collections.abc import Mapping
from typing import Literal, NamedTuple, NoReturn, TypeAlias, cast

from joserfc.errors import JoseError
from joserfc.jwa import JWSAlgModel
from joserfc.jwk import DictKey, ECKey, OKPKey, RSAKey
from joserfc.jws import JWSRegistry, deserialize_compact
from joserfc.util import urlsafe_b64decode
from pydantic import JsonValue

from holdfast.contracts.base import JsonObject
from holdfast.contracts.errors import HoldfastError
from holdfast.contracts.patterns import Pattern
from holdfast.contracts.texts import clip_chars
from holdfast.policy.trust import LOCAL_ISSUER, TrustedIssuer

MAX_TOKEN_CHARS = 8_192
"""Characters; a token with dozens of groups has half of it."""

PublicKey: TypeAlias = OKPKey | ECKey | RSAKey

MAX_JWKS_BYTES = 262_144
"""Bytes of a set of keys; the big providers' have less than a tenth."""

_COMPACT = Pattern(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")

# What a header may say. x5t names a certificate; it is as little used as any other hint here.
_HEADER = {"alg", "kid", "typ", "x5t", "x5t#S256"}

# Which kind of key each algorithm takes. A secret that two sides know proves nothing: no HMAC.
_KINDS: Mapping[str, tuple[str, str | None]] = {
    "EdDSA": ("OKP", "Ed25519"),
    "Ed25519": ("OKP", "Ed25519"),
    "ES256": ("EC", "P-256"),
    "RS256": ("RSA", None),
    "PS256": ("RSA", None),
}

_NUMBERS: Mapping[JsonValue, tuple[str, ...]] = {
    "OKP": ("x",),
    "EC": ("x", "y"),
    "RSA": ("n", "e"),
}
_COORDINATE_BYTES = 32
_PRIVATE = ("d", "k", "p", "q", "dp", "dq", "qi", "oth")
_MIN_RSA_BITS, _MAX_RSA_BITS = 2_048, 8_192
_MAX_QUOTE_CHARS = 80


class InvalidToken(HoldfastError):
    """A token that doesn't count; the message says why, and never holds the token."""

    def __init__(
        self,
        reason: str,
        code: Literal["invalid_token", "stale_authentication"] = "invalid_token",
    ) -> None:
        super().__init__(reason)
        self.code: Literal["invalid_token", "stale_authentication"] = code


class VerifiedToken(NamedTuple):
    """What a key of a trusted issuer has signed."""

    trusted: TrustedIssuer
    key: JsonObject
    claims: JsonObject


class KeyClaim(NamedTuple):
    """Which key of which issuer a token says that it was signed with."""

    issuer: str
    kid: str


def parse_key_claim(token: str) -> KeyClaim | None:
    """Return whose key a token says it was signed with, or null where it says nothing clear."""
    try:
        header, claims = _split_token(token)
        return KeyClaim(_require_text(claims, "iss"), _require_text(header, "kid"))
    except InvalidToken:
        return None


def verify_token(token: str, issuers: tuple[TrustedIssuer, ...]) -> VerifiedToken:
    """Return what the signature of a token vouches for; raises InvalidToken if it is nothing."""
    header, claims = _split_token(token)
    algorithm = _check_algorithm(header)
    trusted = _find_issuer(_require_text(claims, "iss"), issuers)
    kid = _require_text(header, "kid")
    key = _find_key(kid, trusted)
    if fault := find_key_fault(key):
        raise InvalidToken(
            f"key {quote_short(kid)} of {quote_short(trusted.issuer.issuer)} {fault}"
        )
    if _kind(key) != _KINDS[algorithm] or not _is_for(key, algorithm):
        raise InvalidToken(
            f"key {quote_short(kid)} is no key for {algorithm}: sign as its kind needs it"
        )
    try:
        deserialize_compact(token, parse_public_key(key), registry=_REGISTRY)
    except (JoseError, ValueError):
        raise InvalidToken(
            f"the signature is not that of key {quote_short(kid)}: sign it anew"
        ) from None
    return VerifiedToken(trusted, key, claims)


def find_key_fault(key: JsonObject) -> str | None:
    """Say why a key can't verify approvals, as in 'is a private key'; null for a good key."""
    if held := [name for name in _PRIVATE if name in key]:
        return f"is no public key: it has the secret part {held[0]!r}"
    if (kind := _kind(key)) not in _KINDS.values():
        return "is none of Ed25519, EC P-256 and RSA"
    if key.get("use", "sig") != "sig" or "verify" not in _texts(key.get("key_ops", ["verify"])):
        return "is not for signatures"
    if key.get("alg") is not None and _KINDS.get(str(key["alg"])) != kind:
        return f"is for {quote_short(key['alg'])}, which its kind doesn't fit"
    try:
        if kind[0] == "RSA" and not _MIN_RSA_BITS <= _count_modulus_bits(key) <= _MAX_RSA_BITS:
            return f"has not {_MIN_RSA_BITS} to {_MAX_RSA_BITS} bits"
        parse_public_key(key)
    except (JoseError, ValueError, TypeError, KeyError):
        return "can't be read as a JWK"
    if other := [name for name in _NUMBERS[kind[0]] if not _has_one_spelling(name, key)]:
        return f"spells {other[0]!r} with other zeros before it than a JWK has (RFC 7518)"
    return None


def parse_public_key(key: JsonObject) -> PublicKey:
    """Read a public key of a kind that counts here."""
    kinds: Mapping[JsonValue, type[PublicKey]] = {"OKP": OKPKey, "EC": ECKey, "RSA": RSAKey}
    return kinds[key["kty"]].import_key(cast("DictKey", select_public_part(key)))


def select_public_part(key: JsonObject) -> JsonObject:
    """Return the part of a public key that makes it this key, and no other."""
    names = ("kty", "crv", "x", "y", "n", "e")
    return {name: key[name] for name in names if name in key}


def is_same_key(one: JsonObject, other: JsonObject) -> bool:
    """
    Whether two public keys are one, whatever zeros stand before their numbers.

    An RSA key is the one with its modulus: what one exponent has signed fits others, too.
    """
    return _identify(one) == _identify(other)


def thumbprint(key: JsonObject) -> str:
    """Return the SHA-256 thumbprint of a public key (RFC 7638): the same for the same key."""
    return parse_public_key(key).thumbprint()


def is_key(key: JsonObject, named: str) -> bool:
    """Whether a key that may verify approvals has this thumbprint, whatever its `kid` is."""
    return find_key_fault(key) is None and thumbprint(key) == named


def parse_jwks(text: bytes) -> tuple[JsonObject, ...]:
    """Read a JWKS; raises ValueError for all else."""
    if len(text) > MAX_JWKS_BYTES:
        raise ValueError(f"it has more than {MAX_JWKS_BYTES:,} bytes")
    match parse_strict_json(text):
        case {"keys": list(keys)}:
            return tuple(key for key in keys if isinstance(key, dict))
        case _:
            raise ValueError('it is no set of keys, {"keys": [...]}')


def parse_strict_json(text: bytes | str) -> JsonValue:
    """Read JSON that means the same to every reader; raises ValueError for all else."""
    try:
        return json.loads(
            text, object_pairs_hook=_require_unique_names, parse_constant=_refuse_constant
        )
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


class _Registry(JWSRegistry):
    """Exactly our algorithms, whatever the library thinks of them; sizes are bounded before."""

    max_header_length = max_signature_length = MAX_TOKEN_CHARS

    def get_alg(self, name: str) -> JWSAlgModel:
        return self.algorithms[name]


_REGISTRY = _Registry()


def _split_token(token: str) -> tuple[JsonObject, JsonObject]:
    """Read the header and the payload of a token, which nobody vouches for yet."""
    if len(token) > MAX_TOKEN_CHARS:
        raise InvalidToken(
            f"the token has {len(token):,} characters, and {MAX_TOKEN_CHARS:,} is most"
        )
    if not _COMPACT.fits(token):
        raise InvalidToken("the token is no JWT of three parts (header.payload.signature)")
    header, payload, _ = token.split(".")
    return _parse_object(header, "header"), _parse_object(payload, "payload")


def _parse_object(part: str, name: str) -> JsonObject:
    try:
        value = parse_strict_json(_decode(part).decode())
    except ValueError:
        raise InvalidToken(f"the token's {name} is no JSON, or names something twice") from None
    if not isinstance(value, dict):
        raise InvalidToken(f"the token's {name} is no JSON object")
    return value


def _check_algorithm(header: JsonObject) -> str:
    if unknown := sorted(header.keys() - _HEADER):
        raise InvalidToken(
            f"the token's header says {quote_short(unknown[0])}, which is not honoured here"
        )
    if str(header.get("typ", "JWT")).upper() != "JWT":
        raise InvalidToken(f"the token is of type {quote_short(header['typ'])}, not JWT")
    algorithm = header.get("alg")
    if not isinstance(algorithm, str) or algorithm not in _KINDS:
        known = ", ".join(_KINDS)
        raise InvalidToken(
            f"the algorithm {quote_short(algorithm)} proves nothing here (known: {known})"
        )
    return algorithm


def _find_issuer(name: str, issuers: tuple[TrustedIssuer, ...]) -> TrustedIssuer:
    found = [trusted for trusted in issuers if trusted.issuer.issuer == name]
    if len(found) != 1:
        known = ", ".join(quote_short(trusted.issuer.issuer) for trusted in issuers) or "none"
        raise InvalidToken(f"the issuer {quote_short(name)} is not trusted (known: {known})")
    if found[0].problem:
        raise InvalidToken(f"the keys of {quote_short(name)} can't be read: {found[0].problem}")
    return found[0]


def _find_key(kid: str, trusted: TrustedIssuer) -> JsonObject:
    found = [key for key in trusted.keys if key.get("kid") == kid]
    name = trusted.issuer.issuer
    if not found:
        way = "; add it with 'holdfast keys trust'" if name == LOCAL_ISSUER else ""
        raise InvalidToken(
            f"{quote_short(name)} has no key {quote_short(kid)} that is trusted{way}"
        )
    if len(found) > 1:
        raise InvalidToken(
            f"{quote_short(name)} has {len(found)} keys {quote_short(kid)}: remove all but one"
        )
    return found[0]


def _kind(key: JsonObject) -> tuple[JsonValue, JsonValue]:
    return key.get("kty"), key.get("crv")


def _is_for(key: JsonObject, algorithm: str) -> bool:
    # RFC 9864 gave EdDSA with Ed25519 a name of its own.
    return key["kty"] == "OKP" or (key.get("alg") or algorithm) == algorithm


def _has_one_spelling(name: str, key: JsonObject) -> bool:
    """Whether a number that can be read has as many bytes as it may: all others are spellings."""
    number = _decode(key[name])
    return len(number) == _COORDINATE_BYTES if name in {"x", "y"} else not number.startswith(b"\0")


def _identify(key: JsonObject) -> tuple[JsonValue, ...]:
    match key.get("kty"):
        case "RSA":
            return "RSA", _read_number(key.get("n"))
        case "OKP":
            return *_kind(key), _read_number(key.get("x"))
        case _:
            return *_kind(key), _read_number(key.get("x")), _read_number(key.get("y"))


def _read_number(given: JsonValue) -> JsonValue:
    """Read a number, with whatever zeros before it; what is none stays as it is."""
    try:
        return int.from_bytes(_decode(given)) if isinstance(given, str) else given
    except ValueError:
        return given


def _count_modulus_bits(key: JsonObject) -> int:
    return int.from_bytes(_decode(key["n"])).bit_length()


def _decode(text: JsonValue) -> bytes:
    """Read base64url as RFC 7515 has it, in its one spelling. Raises ValueError for all else."""
    return urlsafe_b64decode(str(text).encode())


def _require_text(values: JsonObject, name: str) -> str:
    value = values.get(name)
    if not isinstance(value, str) or not value:
        raise InvalidToken(f"the token doesn't say its {name!r} as a text")
    return value


def _texts(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


def quote_short(value: object) -> str:
    """Quote what a stranger wrote, in one short line."""
    return clip_chars(repr(value), _MAX_QUOTE_CHARS)


def _require_unique_names(pairs: list[tuple[str, JsonValue]]) -> JsonObject:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("it names something twice")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")
