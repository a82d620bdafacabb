"""The file of the people whose own signatures count: which public keys, and whose they are."""

import fcntl
import json
import os
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from holdfast.contracts.base import JsonObject
from holdfast.contracts.errors import HoldfastError
from holdfast.policy.signatures import (
    find_key_fault,
    is_same_key,
    parse_jwks,
    parse_strict_json,
    select_public_part,
    thumbprint,
)

PEM = "-----BEGIN "
"""How a key begins that is written in another way."""


def read_keys(approvers: Path) -> tuple[JsonObject, ...]:
    """Return the keys of a file; there are none where there is no file."""
    try:
        return parse_jwks(approvers.read_bytes())
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise HoldfastError(f"{approvers}: {error.strerror}") from None
    except ValueError as error:
        raise HoldfastError(f"{approvers}: {error}") from None


def trust(approvers: Path, text: str) -> JsonObject:
    """Add a public key to a file and return it as it is there; only a good and new one is."""
    key = _parse_public_key(text)
    with _changing(approvers):
        known = read_keys(approvers)
        if same := next((one for one in known if is_same_key(one, key)), None):
            raise HoldfastError(f"this key is trusted already, for {same.get('sub')!r}")
        if any(one.get("kid") == key["kid"] for one in known):
            raise HoldfastError(
                f"a key with the id {key['kid']!r} is trusted already: revoke it first"
            )
        _replace(approvers, (*known, key))
    return key


def revoke(approvers: Path, name: str) -> tuple[JsonObject, ...]:
    """
    Remove all keys of a person, or the one with this id, and return what was removed.

    What is the same key under another name goes with it.
    """
    with _changing(approvers):
        known = read_keys(approvers)
        named = [key for key in known if name in (key.get("sub"), key.get("kid"))]
        gone = tuple(key for key in known if any(is_same_key(key, one) for one in named))
        if not gone:
            people = ", ".join(sorted({str(key.get("sub")) for key in known})) or "nobody"
            raise HoldfastError(
                f"no key of {name!r} is trusted in {approvers} (trusted: {people})"
            )
        _replace(approvers, [key for key in known if key not in gone])
    return gone


@contextmanager
def _changing(approvers: Path) -> Generator[None]:
    """
    Let nobody else change the file while the block lasts, in this process or another one.

    What one of two had read before the other wrote would bring back a key that was revoked.
    """
    lock = approvers.with_name(f"{approvers.name}.lock")
    try:
        approvers.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(lock, os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW, 0o644)
    except OSError as error:
        raise HoldfastError(f"{lock}: {error.strerror}") from None
    with os.fdopen(descriptor):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError as error:
            raise HoldfastError(f"{lock}: {error.strerror}") from None
        yield


def _parse_public_key(text: str) -> JsonObject:
    if PEM in text:
        private = (
            "a private key, which nobody else may see, as" if "PRIVATE" in text else "a key as"
        )
        raise HoldfastError(
            f"that is {private} PEM: give the JWK that 'holdfast keys new NAME' has printed"
        )
    try:
        key = parse_strict_json(text)
    except ValueError as error:
        raise HoldfastError(
            f"that is no JSON ({error}): give the JWK that 'holdfast keys new NAME' has printed"
        ) from None
    if not isinstance(key, dict):
        raise HoldfastError("that is no key: give the JWK that 'holdfast keys new' has printed")
    if "private" in key:
        raise HoldfastError(
            "that is the file of somebody's own key: give what 'holdfast keys new' has printed, "
            "its public part"
        )
    if fault := find_key_fault(key):
        raise HoldfastError(f"the key {fault}: give the public one, as 'holdfast keys new' prints")
    owner = key.get("sub")
    if not isinstance(owner, str) or not owner or not owner.isprintable():
        raise HoldfastError("the key doesn't say whose it is: it needs the member 'sub'")
    kid = key.get("kid", thumbprint(key))
    if not isinstance(kid, str) or not kid or not kid.isprintable():
        raise HoldfastError("the key's 'kid' is no text that can be read: leave it out")
    return {**select_public_part(key), "kid": kid, "sub": owner, "use": "sig"}


def _replace(approvers: Path, keys: Sequence[JsonObject]) -> None:
    """Write the file anew, so that a worker sees the old one or the new one, and no half."""
    try:
        descriptor, name = tempfile.mkstemp(dir=approvers.parent, prefix=f".{approvers.name}.")
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump({"keys": list(keys)}, file, indent=2)
            file.flush()
            os.fchmod(file.fileno(), 0o644)
            os.fsync(file.fileno())
        Path(name).replace(approvers)
    except OSError as error:
        raise HoldfastError(f"{approvers}: {error.strerror}") from None
