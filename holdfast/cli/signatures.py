"""Signing a decision with a key of the person at the terminal."""

import sys
from datetime import UTC, datetime
from typing import Literal

from holdfast import signing
from holdfast.cli import screen
from holdfast.contracts.approvals import Approvable
from holdfast.contracts.errors import HoldfastError
from holdfast.settings import Settings
from holdfast.signing import OwnKey


def own_key(wanted: str | None = None) -> OwnKey:
    """Return the key to sign with: the one named, else the user's, else the only one there is."""
    found = Settings.load()
    return signing.choose(signing.keys_in(found.keys), found.keys, wanted, found.user)


def passphrase_of(key: OwnKey) -> str | None:
    """Ask for the passphrase of a key, if it has one."""
    return ask_passphrase(f"passphrase of key {key.name!r}: ") if key.has_passphrase else None


def ask_passphrase(question: str) -> str:
    """Ask the person at the terminal for words that nobody else shall see."""
    if not sys.stdin.isatty():
        raise HoldfastError("a passphrase is needed: run this on a terminal")
    try:
        return screen.ask_secret(question)
    except EOFError:
        raise HoldfastError("no passphrase was given") from None


def token(
    key: OwnKey,
    passphrase: str | None,
    run: str,
    request: Approvable,
    decision: Literal["approve", "reject"],
) -> str:
    """Sign a decision about one request of a run."""
    return signing.sign_decision(key, passphrase, run, request, decision, datetime.now(UTC))
