"""What a session keeps beside the work on one message, as frozen values."""

from datetime import datetime
from operator import not_
from typing import Self, TypedDict, Unpack

from pydantic import Field

from holdfast.contracts.base import Contract, JsonObject
from holdfast.contracts.budget import Budget, Ledger, Limits
from holdfast.contracts.run import RunResult
from holdfast.contracts.sessions.messages import ConversationTurn


class QueuedMessage(Contract):
    """A message that was taken, and by whom it was sent."""

    message_id: str
    text: str
    actor: str
    position: int


class EndedMessage(Contract):
    """A message with what the work on it came to."""

    message_id: str
    result: RunResult


class SessionStateChange(TypedDict, total=False):
    """What may change of it."""

    limits: Limits
    last_updated: datetime
    idle_since: datetime
    messages: int
    seen: str
    waiting: tuple[QueuedMessage, ...]
    current: QueuedMessage | None
    ended: tuple[EndedMessage, ...]
    totals: Ledger
    worked: float
    conversation: tuple[ConversationTurn, ...]
    first_offset: int
    archived: int
    closing: str | None
    ceiling: Budget | None


class SessionState(Contract):
    """
    What a session knows beside the state of the run that works on its `current` message.

    `agent` is the one that it was opened with, `limits` are those of the work on each message,
    which nothing raises above its `ceiling`, `budget` those of all together. `seen` are the first
    six bytes of the digests of the latest message ids in Base64, eight characters each. `totals`
    is what ended messages used, `worked` the seconds of work on them. `conversation` begins at
    `first_offset`; what is before `archived` is in the archive too. Once it is `closing`, which is
    why, it ends when nothing waits. It was `opened` so many times, this one among them.
    """

    agent: str
    actor: str
    limits: Limits
    budget: Budget | None = None
    ceiling: Budget | None = Field(default=None, exclude_if=lambda value: value is None)
    idle_timeout: float
    context: JsonObject = Field(default_factory=dict)
    metadata: JsonObject = Field(default_factory=dict, exclude_if=not_)
    last_updated: datetime
    idle_since: datetime
    messages: int = 0
    seen: str = ""
    waiting: tuple[QueuedMessage, ...] = ()
    current: QueuedMessage | None = None
    ended: tuple[EndedMessage, ...] = ()
    totals: Ledger = Ledger()
    worked: float = 0.0
    conversation: tuple[ConversationTurn, ...] = ()
    first_offset: int = 0
    archived: int = 0
    closing: str | None = None
    opened: int = Field(default=1, exclude_if=lambda number: number == 1)

    def with_(self, **changes: Unpack[SessionStateChange]) -> Self:
        """Return a copy with these fields changed."""
        return self.copy_with(changes)
