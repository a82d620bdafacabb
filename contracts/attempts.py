"""What the attempts of one activity have come to."""

from collections.abc import Sequence
from operator import not_
from typing import Self, TypedDict, Unpack

from pydantic import Field, JsonValue, ValidationError

from holdfast.contracts.base import Contract
from holdfast.contracts.usage import CallUsage

MAX_LOST_ATTEMPTS = 2_500
"""
Attempts of one activity that may be lost with their workers: with pauses of 30 s about a day.

The server counts all attempts, so its limit is that of the failed ones and this. It is there for
what ends every worker that takes it up.
"""


class AttemptsChange(TypedDict, total=False):
    """What may change of it."""

    usage: CallUsage | None
    failed: int
    progress: JsonValue
    used_up: bool


class Attempts(Contract):
    """
    What the attempts of an activity have come to: its heartbeats carry it from one to the next.

    `failed` ones failed by themselves; one that was lost with its worker isn't among them. `usage`
    is what those used up that brought no reply of a model, `progress` what a tool reports now.
    `used_up` stands in the last failure: there would have been another attempt, but for the limit.
    """

    failed: int = Field(default=0, ge=0, exclude_if=not_)
    usage: CallUsage | None = Field(default=None, exclude_if=not_)
    progress: JsonValue = Field(default=None, exclude_if=lambda value: value is None)
    used_up: bool = Field(default=False, exclude_if=not_)

    def with_(self, **changes: Unpack[AttemptsChange]) -> Self:
        """Return a copy with these fields changed."""
        return self.copy_with(changes)

    @classmethod
    def from_details(cls, details: Sequence[object]) -> Self:
        """Read details of a heartbeat or a failure; of what no worker of ours wrote, nothing."""
        try:
            return cls.model_validate(details[0]) if details else cls()
        except ValidationError:
            return cls()
