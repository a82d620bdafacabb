"""What others do for a run, as a frozen value."""

from operator import not_
from typing import Self, TypedDict, Unpack

from pydantic import Field

from holdfast.contracts.base import Contract
from holdfast.contracts.control import Subtask


class PartsChange(TypedDict, total=False):
    """What may change of it."""

    tier: int
    tier_attempts: int
    tier_failure: str
    subtasks: tuple[Subtask, ...]
    delegated: int
    handoffs: int
    tainted: bool


class Parts(Contract):
    """
    What other agents do for the run, or in its place.

    `tier` is the one tried now, `tier_attempts` numbers what was tried at any, `tier_failure` is
    why the one before failed, `subtasks` are failed ones. `delegated` numbers the tasks that were
    given to other agents, `handoffs` how often another went on. What they say may quote what
    anybody wrote once one is `tainted`, and so may what a command of a guardrail printed.
    """

    tier: int = 0
    tier_attempts: int = 0
    tier_failure: str = ""
    subtasks: tuple[Subtask, ...] = ()
    delegated: int = Field(default=0, exclude_if=not_)
    handoffs: int = Field(default=0, exclude_if=not_)
    tainted: bool = Field(default=False, exclude_if=not_)

    def with_(self, **changes: Unpack[PartsChange]) -> Self:
        """Return a copy with these fields changed."""
        return self.copy_with(changes)
