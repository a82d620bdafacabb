"""Signing a decision with a key of the person at the terminal."""

import sys
from datetime import UTC, datetime
from getpass import getpass
from typing import TYPE_CHECKING, Literal

from contracts.approvals import Approvable
from contracts.errors import HoldfastError
from settings import Settings

if TYPE_CHECKING:
    from holdfast.signing import OwnKey


def own_key(wanted: str | None = None) -> "OwnKey":
    """Return the key to sign with: the one named, else the user's, else the only one there is."""
    # The libraries that sign take a tenth of a second to load, and most commands sign nothing.
    from holdfast import signing

    found = Settings.load()
    return signing.choose(signing.keys_in(found.keys), found.keys, wanted, found.user)


def passphrase_of(key: "OwnKey") -> str | None:
    """Ask for the passphrase of a key, if it has one."""
    return asked(f"passphrase of key {key.name!r}: ") if key.is_locked else None


def needs_terminal() -> None:
    """Raise HoldfastError where nobody can be asked for a passphrase."""
    if not sys.stdin.isatty():
        raise HoldfastError("a passphrase is needed: run this on a terminal")


def asked(question: str) -> str:
    """Ask the person at the terminal for words that nobody else shall see."""
    needs_terminal()
    try:
        return getpass(question)
    except EOFError:
        raise HoldfastError("no passphrase was given") from None


def token(
    key: "OwnKey",
    passphrase: str | None,
    run: str,
    request: Approvable,
    decision: Literal["approve", "reject"],
) -> str:
    """Sign a decision about one request of a run."""
    from holdfast import signing

    return signing.signed(key, passphrase, run, request, decision, datetime.now(UTC))
