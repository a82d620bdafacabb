"""How far guardrails have looked at a run, as a frozen value."""

from operator import not_
from typing import Self, TypedDict, Unpack

from pydantic import Field

from holdfast.contracts.base import Contract


class GuardingChange(TypedDict, total=False):
    """What may change of it."""

    guarded: int
    watched: int
    checks: int
    held: tuple[str, ...]
    claimed: tuple[tuple[str, str], ...]


class Guarding(Contract):
    """
    How far guardrails have looked.

    `guarded` items were looked at by blocking ones, `watched` ones by parallel ones. `checks`
    numbers what they had run: commands and agents. `held` is what the run says of the resources
    that it is at, and `claimed` names those by which nothing has run yet, each with the id of a
    call that wants it.
    """

    guarded: int = 0
    watched: int = 0
    checks: int = 0
    held: tuple[str, ...] = ()
    claimed: tuple[tuple[str, str], ...] = Field(default=(), exclude_if=not_)

    def with_(self, **changes: Unpack[GuardingChange]) -> Self:
        """Return a copy with these fields changed."""
        return self.copy_with(changes)
