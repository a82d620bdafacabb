"""How far guardrails have looked at a run, as a frozen value."""

from typing import Self, TypedDict, Unpack

from holdfast.contracts.base import Contract


class GuardingChange(TypedDict, total=False):
    """What may change of it."""

    guarded: int
    watched: int
    checks: int
    held: tuple[str, ...]


class Guarding(Contract):
    """
    How far guardrails have looked.

    `guarded` items were looked at by blocking ones, `watched` ones by parallel ones. `checks`
    numbers what they had run: commands and agents. `held` is what the run says of the resources
    that it is at.
    """

    guarded: int = 0
    watched: int = 0
    checks: int = 0
    held: tuple[str, ...] = ()

    def with_(self, **changes: Unpack[GuardingChange]) -> Self:
        """Return a copy with these fields changed."""
        return self.copy_with(changes)
