"""What waits for a person, what people say about it, and what became of that."""

from datetime import datetime
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from contracts.base import Contract, Inbound, JsonObject
from contracts.budget import Budget
from contracts.tools import Risk

Text: TypeAlias = Annotated[str, Field(min_length=1, max_length=20_000)]
Name: TypeAlias = Annotated[str, Field(min_length=1, max_length=200)]


class ApprovalSignal(Inbound):
    """The signal `approval` and the update `decide`: a person decides about one request."""

    request_id: Name
    decision: Literal["approve", "reject"]
    approver: Name
    reason: Text | None = None
    token: Text | None = None


class AnswerSignal(Inbound):
    """The signal `answer`: a person answers a question."""

    request_id: Name
    text: Text


class ResolutionSignal(Inbound):
    """The signal `resolution`: a person says how an escalated run goes on."""

    request_id: Name
    action: Literal["resume", "abort", "extend"]
    guidance: Text | None = None
    budget: Budget | None = None


class SteerSignal(Inbound):
    """The signal `steer`: words for the model, before its next turn."""

    text: Text


class EmptySignal(Inbound):
    """The signals `suspend` and `resume`: an empty object."""


class _Request(Contract):
    request_id: str
    reason: str
    requested_at: datetime
    expires_at: datetime


class ApprovalRequest(_Request):
    """
    A call waits for approval: everything that a person needs to judge it.

    The approval binds to `arguments_digest`: SHA-256 of the arguments' canonical JSON (RFC 8785).
    """

    kind: Literal["approval"] = "approval"
    call_id: str
    tool: str
    action: str
    arguments: JsonObject
    arguments_digest: str
    risk: Risk
    rule: str
    scope: str
    strength: Literal["plain", "strong"]
    expected_result: str
    rollback: str
    requester: str


class Question(_Request):
    """A call waits for an answer in words."""

    kind: Literal["question"] = "question"
    call_id: str
    question: str


class Escalation(_Request):
    """The run itself waits: a person says whether and how it goes on."""

    kind: Literal["escalation"] = "escalation"
    detail: str


Request: TypeAlias = Annotated[
    ApprovalRequest | Question | Escalation, Field(discriminator="kind")
]


class ApprovalRecord(Contract):
    """An accepted approval. Only a message handler makes one, never a model or a tool."""

    request_id: str
    call_id: str
    arguments_digest: str
    approver: str
    strength: Literal["plain", "strong"]
    reason: str | None
    at: datetime


class ClosedRequest(Contract):
    """A request that no longer waits, and why."""

    request_id: str
    outcome: Literal["approved", "rejected", "answered", "resolved", "expired", "withdrawn"]
    at: datetime


class Judgement(Contract):
    """Input of the activity `judge`: a message, the request that it names, and the time."""

    message: ApprovalSignal | AnswerSignal | ResolutionSignal
    request: Request | None
    closed: ClosedRequest | None
    now: datetime


class Disposition(Contract):
    """What became of a message."""

    accepted: bool
    request_id: str
    reason: str


class RefusedMessage(Contract):
    """A message that changed nothing, kept for the audit."""

    signal: str
    request_id: str
    sender: str
    reason: str
    at: datetime
