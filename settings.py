"""What comes from the environment; nothing else reads it."""

import getpass
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from contracts.errors import HoldfastError


@dataclass(frozen=True)
class Settings:
    """
    Settings of a process. Temporal's own (TEMPORAL_ADDRESS, ...) are read by its SDK.

    `app` is the app as module:attribute (HOLDFAST_APP), `home` the folder for local state
    (HOLDFAST_HOME), `user` the name that approvals are sent under unless another is given.
    """

    app: str | None
    home: Path
    user: str

    @classmethod
    def load(cls) -> Self:
        """Read the environment of this process."""
        return cls(
            app=os.environ.get("HOLDFAST_APP") or None,
            home=Path(os.environ.get("HOLDFAST_HOME") or ".holdfast"),
            user=_user(),
        )


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        # A container may run under a number that no user has.
        return f"user {os.getuid()}"


def variable(name: str) -> str | None:
    """Return a variable of the environment, for a setting that the app names."""
    return os.environ.get(name) or None


def secret(name: str) -> str:
    """Return the secret HOLDFAST_SECRET_<NAME> of this process; the value is never logged."""
    named = f"HOLDFAST_SECRET_{name.upper()}"
    value = os.environ.get(named)
    if not value:
        raise HoldfastError(f"no secret {name!r}: set {named} for the worker")
    return value
