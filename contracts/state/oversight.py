"""What a run asks people, as a frozen value."""

from datetime import datetime
from operator import not_
from typing import Self, TypedDict, Unpack

from pydantic import Field

from holdfast.contracts.approvals import ClosedRequest, Request, Review
from holdfast.contracts.base import Contract
from holdfast.contracts.signals import RefusedMessage, UsedToken


class OversightChange(TypedDict, total=False):
    """What may change of it."""

    requests: tuple[Request, ...]
    closed: tuple[ClosedRequest, ...]
    requests_made: int
    request_mark: str
    notified: int
    reviewed: tuple[str, ...]
    releases: tuple[Review, ...]
    acknowledged: tuple[str, ...]
    refused: tuple[RefusedMessage, ...]
    refused_total: int
    used_tokens: tuple[UsedToken, ...]
    reset_at: datetime | None
    relayed: int


class Oversight(Contract):
    """
    What people are asked, and what they said.

    `notified` is the last request that somebody was told of. Requests have the `request_mark` of
    their execution in their ids, where it was reset. `reviewed` are the objections that people
    approved, `releases` those approved reviews by which nothing has run yet, without their texts,
    `acknowledged` the triggers that they waved through. `used_tokens` prove nothing more; which
    others had been used when the workflow was `reset_at` some time nobody knows any more.
    The run that this one works for was told of its requests in `relayed` bytes.
    """

    requests: tuple[Request, ...] = ()
    closed: tuple[ClosedRequest, ...] = ()
    requests_made: int = 0
    request_mark: str = ""
    notified: int = 0
    reviewed: tuple[str, ...] = ()
    releases: tuple[Review, ...] = Field(default=(), exclude_if=not_)
    acknowledged: tuple[str, ...] = ()
    refused: tuple[RefusedMessage, ...] = ()
    refused_total: int = 0
    used_tokens: tuple[UsedToken, ...] = Field(default=(), exclude_if=not_)
    reset_at: datetime | None = Field(default=None, exclude_if=not_)
    relayed: int = Field(default=0, exclude_if=not_)

    def with_(self, **changes: Unpack[OversightChange]) -> Self:
        """Return a copy with these fields changed."""
        return self.copy_with(changes)

    @property
    def next_request_id(self) -> str:
        """The id of the next request that is opened."""
        return f"req-{self.request_mark}{self.requests_made + 1}"
