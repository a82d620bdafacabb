"""What a run that is over leaves to one that tries it again."""

from operator import not_
from typing import Self, TypedDict, Unpack

from pydantic import Field

from holdfast.contracts.base import Contract
from holdfast.contracts.budget import Budget
from holdfast.contracts.calls import RecordedResult
from holdfast.contracts.control import EarlierActors, RetryOf
from holdfast.contracts.effects import KnownEffect
from holdfast.contracts.run import RunMetadata, RunStatus
from holdfast.contracts.transcript import TranscriptItem


class CarryoverChange(TypedDict, total=False):
    """What may change of it."""

    reason: str
    told: str
    items: tuple[TranscriptItem, ...]
    summary: str
    summarised_before: int
    recorded: tuple[RecordedResult, ...]
    origin: str
    redacted: bool


class Carryover(Contract):
    """
    Answer to the query `carryover`: what a run that is over leaves to one that tries it again.

    `brief`, `budget` and `ceiling` are what it was started with. `known` is what it did, or may
    have, and what it knew of; `told` the same in words. `items` are what is left in view of its
    transcript, in which each call has a result; `origin` is the digest of the whole. What came of
    its calls, before and behind a turn, is `recorded` for a dry fork alone. Where answers are
    `withheld` it is `redacted` for whoever doesn't have the digest of what a model was shown; of a
    run that was handed over `guarded_by` names all guardrails which look at them.
    """

    first_execution_run_id: str
    outcome: RunStatus | None
    reason: str
    brief: RunMetadata
    budget: Budget | None = None
    ceiling: Budget | None = None
    known: tuple[KnownEffect, ...] = ()
    told: str = ""
    origin: str
    items: tuple[TranscriptItem, ...]
    summary: str = ""
    summarised_before: int = 0
    call_marks: tuple[str, ...] = ()
    recorded: tuple[RecordedResult, ...] = Field(default=(), exclude_if=not_)
    withheld: bool = Field(default=False, exclude_if=not_)
    guarded_by: frozenset[str] = Field(default=frozenset(), exclude_if=not_)
    redacted: bool = False

    def with_(self, **changes: Unpack[CarryoverChange]) -> Self:
        """Return a copy with these fields changed."""
        return self.copy_with(changes)


class ReadEarlierRun(Contract):
    """Input of the activity `read_earlier_run`: who tries which run again."""

    run_id: str
    agent: str
    tenant: str
    retry_of: RetryOf
    earlier_actors: EarlierActors = ()
