"""What a run changed, as a frozen value."""

from operator import not_
from typing import Self, TypedDict, Unpack

from pydantic import Field

from holdfast.contracts.base import Contract
from holdfast.contracts.calls import RecordedResult
from holdfast.contracts.effects import Compensation, Effect, KnownEffect


class EffectRecordChange(TypedDict, total=False):
    """What may change of it."""

    done: tuple[Effect, ...]
    forgotten: int
    stood: int
    unresolved: tuple[str, ...]
    lost: bool
    known: tuple[KnownEffect, ...]
    undone: tuple[KnownEffect, ...]
    recorded: tuple[RecordedResult, ...]
    compensation: Compensation | None
    workspace: str


class EffectRecord(Contract):
    """
    What the run changed outside, what was changed before it, and what was taken back.

    `done` since it began, the oldest of which may be `forgotten`, so many of them; with these so
    many `stood` when the place was marked that it may go back to. `unresolved` are fingerprints of
    writes of which nobody knows whether they happened. `known` is what was done before this run
    began, which it doesn't do again, `undone` what it and its parts called to take something back,
    `recorded` what answers the calls of a dry fork. Something is `lost` of these, of what its
    parts did or of `unresolved` where there was no room to keep all. `workspace` is the digest of
    its files before the first call that may have changed them; empty where none has.
    """

    done: tuple[Effect, ...] = ()
    forgotten: int = 0
    stood: int = Field(default=0, exclude_if=not_)
    unresolved: tuple[str, ...] = ()
    lost: bool = False
    known: tuple[KnownEffect, ...] = ()
    undone: tuple[KnownEffect, ...] = Field(default=(), exclude_if=not_)
    recorded: tuple[RecordedResult, ...] = Field(default=(), exclude_if=not_)
    compensation: Compensation | None = None
    workspace: str = Field(default="", exclude_if=not_)

    def with_(self, **changes: Unpack[EffectRecordChange]) -> Self:
        """Return a copy with these fields changed."""
        return self.copy_with(changes)

    def without(self, index: int) -> Self:
        """Return a copy without an effect, by its place among those that aren't forgotten."""
        stood = self.stood - (self.forgotten + index < self.stood)
        return self.with_(done=(*self.done[:index], *self.done[index + 1 :]), stood=stood)
