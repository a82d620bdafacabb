"""How a run goes about its goal, as a frozen value."""

from typing import Self, TypedDict, Unpack

from holdfast.contracts.base import Contract
from holdfast.contracts.control import Approach, Checkpoint


class ApproachesChange(TypedDict, total=False):
    """What may change of it."""

    failed: tuple[Approach, ...]
    current: str | None
    checkpoint: Checkpoint | None
    dead_end: str


class Approaches(Contract):
    """
    How the run goes about its goal: what it gave up, and where it goes back to.

    At a `dead_end`, which is why, it goes back to its `checkpoint`, and plans another approach.
    """

    failed: tuple[Approach, ...] = ()
    current: str | None = None
    checkpoint: Checkpoint | None = None
    dead_end: str = ""

    def with_(self, **changes: Unpack[ApproachesChange]) -> Self:
        """Return a copy with these fields changed."""
        return self.copy_with(changes)
