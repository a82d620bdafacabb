"""People's own keys: made here, kept in a file that is theirs alone, used to sign decisions."""

import json
import os
import secrets
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Literal, cast

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwe import JWERegistry, decrypt_compact, encrypt_compact
from joserfc.jwk import DictKey, OctKey, OKPKey

from holdfast.contracts.approvals import Approvable
from holdfast.contracts.base import Inbound, JsonObject, digest
from holdfast.contracts.errors import HoldfastError
from holdfast.contracts.patterns import WORD, Pattern
from holdfast.contracts.signals import SignedSignal
from holdfast.policy.authentication import SignedMatter
from holdfast.policy.signatures import parse_strict_json
from holdfast.policy.signed_signals import NO_REQUEST
from holdfast.policy.trust import LOCAL_ISSUER

TOKEN_LIFETIME_SECONDS = 300
"""Seconds for which a token is good: longer than any clock is wrong, shorter than a coffee."""

MIN_PASSPHRASE_CHARS = 8

_NAME = Pattern(rf"[{WORD}][{WORD}.@+\-]{{0,99}}")

# A passphrase is guessed at a disk's speed otherwise; the number is OWASP's for this hash.
_JWE_HEADER: JsonObject = {"alg": "PBES2-HS512+A256KW", "enc": "A256GCM", "p2c": 210_000}
_JWE_REGISTRY = JWERegistry(algorithms=["PBES2-HS512+A256KW", "A256GCM"])


@dataclass(frozen=True)
class OwnKey:
    """
    A key in its file: `public` is for everybody, `private` for nobody else.

    With a passphrase the private part is locked (a JWE, RFC 7517 appendix C).
    """

    name: str
    public: JsonObject
    private: JsonObject | str = field(repr=False)

    @property
    def has_passphrase(self) -> bool:
        """Whether it takes a passphrase to sign."""
        return isinstance(self.private, str)

    def unlock(self, passphrase: str | None) -> OKPKey:
        """Return the key itself; raises HoldfastError for a wrong passphrase."""
        private = self.private
        if isinstance(private, str):
            private = _decrypt(private, passphrase or "", self.name)
        try:
            key = OKPKey.import_key(cast("DictKey", private))
            if key.thumbprint() == self.public["kid"]:
                return key
        except (JoseError, ValueError, TypeError, KeyError):
            pass
        raise HoldfastError(f"key {self.name!r} is damaged: make a new one and have it trusted")


def make(folder: Path, name: str, passphrase: str | None) -> OwnKey:
    """Make a key and keep it; an existing one is never overwritten."""
    if not _NAME.fits(name):
        raise HoldfastError(
            f"{name!r} can't name a key: use letters, digits, and . @ + - _ after the first"
        )
    if passphrase is not None and len(passphrase) < MIN_PASSPHRASE_CHARS:
        raise HoldfastError(f"a passphrase has at least {MIN_PASSPHRASE_CHARS} characters")
    key = OKPKey.generate_key("Ed25519")
    public = {**key.as_dict(), "kid": key.thumbprint(), "sub": name, "use": "sig"}
    private = key.as_dict(private=True)
    kept = private if passphrase is None else _encrypt(json.dumps(private), passphrase)
    path = folder / f"{name}.json"
    _write(path, json.dumps({"public": public, "private": kept}, indent=2))
    return _read(path)


def keys_in(folder: Path) -> tuple[OwnKey, ...]:
    """Return all keys of a folder by name."""
    return tuple(_read(path) for path in sorted(folder.glob("*.json")))


def choose(keys: Sequence[OwnKey], folder: Path, wanted: str | None, user: str) -> OwnKey:
    """Return the key that was named, or the one of that user, or the only one there is."""
    named = {key.name: key for key in keys}
    if wanted is not None and wanted not in named:
        known = ", ".join(named) or "none"
        raise HoldfastError(f"no key {wanted!r} in {folder} (known: {known})")
    if (found := named.get(wanted or user)) or (len(keys) == 1 and (found := keys[0])):
        return found
    if not keys:
        raise HoldfastError(
            f"there is no key in {folder} to sign with: make one with 'holdfast keys new NAME' "
            "and have its public part trusted where the worker runs, with 'holdfast keys trust'"
        )
    raise HoldfastError(f"several keys are in {folder}: choose one of {', '.join(named)} (--key)")


def sign_decision(
    key: OwnKey,
    passphrase: str | None,
    run_id: str,
    request: Approvable,
    decision: Literal["approve", "reject"],
    now: datetime,
) -> str:
    """Return a token with which the owner of a key decides one request, now."""
    matter = SignedMatter(
        run_id, request.own_id, request.arguments_digest, decision, request.challenge
    )
    return sign_matter(key, passphrase, matter, now)


def sign_signal(
    key: OwnKey,
    passphrase: str | None,
    matter: tuple[str, str],
    signal: SignedSignal,
    message: Inbound,
    now: datetime,
) -> str:
    """
    Return a token with which the owner of a key sends a signal, now.

    *matter* are the id of the run, and that of its first execution. The message has no token yet.
    """
    run_id, first_execution_run_id = matter
    sent = message.model_dump(mode="json", exclude_unset=True)
    about = sent.get("request_id", NO_REQUEST)
    found = SignedMatter(run_id, about, digest(sent), signal, first_execution_run_id)
    return sign_matter(key, passphrase, found, now)


def sign_matter(key: OwnKey, passphrase: str | None, matter: SignedMatter, now: datetime) -> str:
    """Return a token that names this, by the owner of a key, now."""
    time = int(now.timestamp())
    methods = ["swk", "pwd", "mfa"] if key.has_passphrase else ["swk"]
    claims = {
        "iss": LOCAL_ISSUER,
        "sub": key.public["sub"],
        "aud": "holdfast",
        "iat": now.timestamp(),  # what is signed within the second of a reset may be meant for it
        "exp": time + TOKEN_LIFETIME_SECONDS,
        "jti": secrets.token_urlsafe(16),
        "auth_time": time,
        "amr": methods,
        "run_id": matter.run_id,
        "request_id": matter.request_id,
        "arguments_digest": matter.arguments_digest,
        "decision": matter.decision,
        "nonce": matter.nonce,
    }
    header = {"alg": "Ed25519", "kid": key.public["kid"]}
    return jwt.encode(header, claims, key.unlock(passphrase), algorithms=["Ed25519"])


def _encrypt(private: str, passphrase: str) -> str:
    return encrypt_compact(
        dict(_JWE_HEADER), private, _build_oct_key(passphrase), registry=_JWE_REGISTRY
    )


def _decrypt(locked: str, passphrase: str, name: str) -> JsonObject:
    try:
        opened = decrypt_compact(locked, _build_oct_key(passphrase), registry=_JWE_REGISTRY)
    except (JoseError, ValueError):
        raise HoldfastError(f"that is not the passphrase of key {name!r}") from None
    return cast("JsonObject", json.loads(opened.plaintext or b"{}"))


def _build_oct_key(passphrase: str) -> OctKey:
    # Not import_key: it warns of short keys, and words are none.
    return OctKey(passphrase.encode(), passphrase.encode())


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise HoldfastError(f"there is a key {path.stem!r} already: {path}") from None
    except OSError as error:
        raise HoldfastError(f"{path}: {error.strerror}") from None


def _read(path: Path) -> OwnKey:
    try:
        if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise HoldfastError(f"others may read {path}: chmod 600 {path}")
        match parse_strict_json(path.read_bytes()):
            case {
                "public": {"kid": str(), "sub": str()} as public,
                "private": (str() | dict()) as private,
            }:
                return OwnKey(path.stem, public, private)
            case _:
                raise HoldfastError(f"{path} is no key of 'holdfast keys new'")
    except ValueError:
        raise HoldfastError(f"{path} is no key of 'holdfast keys new'") from None
    except OSError as error:
        raise HoldfastError(f"{path}: {error.strerror}") from None
