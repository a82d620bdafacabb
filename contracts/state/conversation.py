"""What was said in a run, as a frozen value."""

from operator import not_
from typing import Self, TypedDict, Unpack

from pydantic import Field

from holdfast.contracts.base import Contract
from holdfast.contracts.transcript import (
    ItemRange,
    TranscriptDigest,
    TranscriptItem,
    TranscriptView,
    UserTurn,
)


class ConversationChange(TypedDict, total=False):
    """What may change of it."""

    origin: str
    sent: TranscriptDigest
    head: TranscriptDigest
    items: tuple[TranscriptItem, ...]
    context_bytes: int
    pruned_before: int
    hidden: tuple[ItemRange, ...]
    summary: str
    summarised_before: int
    summary_read_before: int
    failed_summaries: int
    steers: tuple[UserTurn, ...]
    unread: int


class Conversation(Contract):
    """
    What was said, and what of it a model is shown.

    The goal is the first of `items`. `sent` is the transcript as the model saw it last, `head` as
    it is now; `origin` is the digest that the transcript of an earlier execution ended with.
    `summary` stands for what is `summarised_before` a place; what its writer had read is before
    `summary_read_before`. `steers` wait for the next model call, `unread` are the bytes of words
    that no model has read yet.
    """

    origin: str = ""
    sent: TranscriptDigest = TranscriptDigest()
    head: TranscriptDigest = TranscriptDigest()
    items: tuple[TranscriptItem, ...] = ()
    context_bytes: int = 0
    pruned_before: int = 0
    hidden: tuple[ItemRange, ...] = ()
    summary: str = ""
    summarised_before: int = 0
    summary_read_before: int = Field(default=0, exclude_if=not_)
    failed_summaries: int = 0
    steers: tuple[UserTurn, ...] = ()
    unread: int = 0

    def with_(self, **changes: Unpack[ConversationChange]) -> Self:
        """Return a copy with these fields changed."""
        return self.copy_with(changes)

    @property
    def view(self) -> TranscriptView:
        """Which part of the transcript a model is shown."""
        return TranscriptView(
            pruned_before=self.pruned_before,
            hidden=self.hidden,
            summary=self.summary,
            summarised_before=self.summarised_before,
        )
