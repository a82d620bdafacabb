"""What goes into a session, what it answers, and what it leaves when it ends."""

from datetime import datetime
from operator import not_
from typing import Annotated, Literal, TypeAlias

from pydantic import ConfigDict, Field

from holdfast.contracts import bounds
from holdfast.contracts.base import Contract, Inbound, JsonObject
from holdfast.contracts.bounds import Metadata, Seconds, Tenant
from holdfast.contracts.budget import Budget
from holdfast.contracts.calls import DEFAULT_ACTOR, DEFAULT_TENANT
from holdfast.contracts.errors import OutcomeCode
from holdfast.contracts.model import Streamed
from holdfast.contracts.run import AgentName, RunResult
from holdfast.contracts.signals import Name
from holdfast.contracts.usage import UsageMetrics

SESSION_WORKFLOW_TYPE = "AgentSession"

IDLE_SECONDS = 3_600.0
"""So long a session waits for the next message before it closes."""

Actor: TypeAlias = Annotated[str, Field(min_length=1, max_length=200)]

MessageText: TypeAlias = Annotated[str, Field(min_length=1, max_length=bounds.MAX_MESSAGE_BYTES)]


class SessionInput(Contract):
    """
    The one JSON argument of the workflow `AgentSession`. Only `agent` is required.

    `budget` names the limits of the work on each message that differ from the agent's,
    `session_budget` are limits on all messages together. `idle_timeout` is in seconds. `context`
    is what a session begins with that has never been open before. `actor` sends the messages that
    name nobody. With `stream` words are told while they come. `regulated` is what it is of a run.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    agent: AgentName
    tenant: Tenant = DEFAULT_TENANT
    actor: Actor = DEFAULT_ACTOR
    budget: Budget | None = None
    session_budget: Budget | None = None
    idle_timeout: Seconds = IDLE_SECONDS
    context: Metadata = Field(default_factory=dict)
    metadata: Metadata = Field(default_factory=dict)
    stream: Streamed = None
    regulated: bool = Field(default=False, exclude_if=not_)


class MessageSignal(Inbound):
    """
    The signal `message` and the update `send`: what a person says to a session.

    A `message_id` that was taken before changes nothing, whatever the words are. With a `tenant`
    it is taken by a session of that one alone, with an `agent` by one that was opened with it.
    """

    message_id: Name
    text: MessageText
    actor: Actor | None = None
    metadata: Metadata = Field(default_factory=dict)
    tenant: Tenant | None = None
    agent: AgentName | None = None


MessageState: TypeAlias = Literal["unknown", "queued", "working", "waiting", "done"]
"""Where the work on a message stands, in one word; `waiting` is for people."""


class MessageReceipt(Contract):
    """
    Answer to the update `send`: the place of a message among all of the session, from 1 on.

    One that is refused has the state `refused`, position 0, and a `reason`.
    """

    message_id: str
    position: int
    state: MessageState | Literal["refused"]
    reason: str = Field(default="", exclude_if=not_)
    code: OutcomeCode = Field(default="accepted", exclude_if=lambda code: code == "accepted")


class OutcomeReport(Contract):
    """
    Answer to the query `outcome`.

    `result` is that of the work on the message, once it is done and while the session keeps it:
    those of the latest messages. The answers of all are in the conversation.
    """

    state: MessageState
    result: RunResult | None = None


class ConversationTurn(Contract):
    """
    What a person said, or what the agent answered.

    What ended without an answer has no `content`, and says why in its `metadata`.
    """

    role: Literal["user", "assistant"]
    content: str
    metadata: JsonObject
    timestamp: datetime
    message_id: str
    agent: str


class ConversationPage(Contract):
    """
    Answer to the query `conversation`: turns from `first_offset` on; the first of all has 0.

    Those before the first that the session carries are in its history and its archive.
    """

    first_offset: int
    items: tuple[ConversationTurn, ...]
    total: int


class SessionReport(Contract):
    """
    Answer to the query `session`; `usage` is that of all messages that are done.

    It was `opened_with` one agent, and by a handoff another may have it now.
    """

    session_id: str
    agent: str
    opened_with: str
    tenant: str
    actor: str
    context: JsonObject
    last_updated: datetime
    messages: int
    waiting: int
    working_on: str | None
    usage: UsageMetrics


class SessionResult(Contract):
    """The result of the workflow `AgentSession`: its totals over all times that it was open."""

    session_id: str
    agent: str
    status: Literal["closed"] = "closed"
    reason: str
    messages: int
    steps: int
    tool_calls: int
    usage: UsageMetrics
    archived: bool
