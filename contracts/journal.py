"""The journal: what a run decided and no other event of its history says, as frozen values."""

from datetime import datetime
from operator import not_
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import Field, field_serializer

from holdfast.contracts.approvals import ClosedRequest, RequestKind, Requirement
from holdfast.contracts.base import Contract, JsonObject
from holdfast.contracts.control import Approach
from holdfast.contracts.errors import OutcomeCode
from holdfast.contracts.signals import SignedSignal


class RequestOpened(Contract):
    """
    A request waits for a person, for a call or for the run itself.

    `subject` is what is reviewed, where it is a review. `required` is what an approval takes; null
    where it is none. One that `shows_answer` is about the answer that waits. A `reason` that is
    very long is cut.
    """

    type: Literal["request.opened"] = "request.opened"
    request_id: str
    kind: RequestKind
    reason: str
    requested_at: datetime
    expires_at: datetime
    call_id: str = Field(default="", exclude_if=not_)
    subject: str = Field(default="", exclude_if=not_)
    required: Requirement | None = Field(default=None, exclude_if=not_)
    shows_answer: bool = Field(default=False, exclude_if=not_)

    @field_serializer("required")
    def _leave_out_defaults(self, required: Requirement | None) -> JsonObject | None:
        return required and required.model_dump(mode="json", exclude_defaults=True)


class RequestEscalated(Contract):
    """Nobody decided a request in time, so members of further groups may decide it too."""

    type: Literal["request.escalated"] = "request.escalated"
    request_id: str
    groups: tuple[str, ...]
    at: datetime


class RequestClosed(ClosedRequest):
    """A request waits no longer though no message decided it."""

    type: Literal["request.closed"] = "request.closed"


class AnswerWithheld(Contract):
    """An answer doesn't go out; `by` is the guardrail or check that kept it back, if one did."""

    type: Literal["answer.withheld"] = "answer.withheld"
    by: str = ""


class ApproachFailed(Contract):
    """The run gave up an approach, or an agent that was to reach the goal."""

    type: Literal["approach.failed"] = "approach.failed"
    approach: Approach


class HandoffRecord(Contract):
    """
    Another agent goes on with the run: who, what for, and what it was given beside the transcript.

    `task_id` is the run; a `timeout_seconds` has only a handoff whose result is expected back.
    """

    type: Literal["handoff"] = "handoff"
    handoff_id: str
    from_agent: str
    to_agent: str
    timestamp: datetime
    task_id: str
    goal: str
    context_passed: tuple[str, ...]
    return_expected: bool = False
    timeout_seconds: float | None = None


class MessageTaken(Contract):
    """The work on a message of a session begins; it is the so-manieth of all."""

    type: Literal["session.message"] = "session.message"
    message_id: str
    position: int
    actor: str
    at: datetime


class MessageEnded(Contract):
    """The work on a message of a session has its outcome."""

    type: Literal["session.outcome"] = "session.outcome"
    message_id: str
    status: str
    at: datetime


UnsignedSignal = Literal["message", "requests", "verdict"]
"""What no signature is asked for, and yet is about no request of the run."""


class MessageRefused(Contract):
    """
    Signals about no request changed nothing, though no verdict says so.

    `digest` is that of what was sent but its token; so many said the same together. Without one
    it is about the latest so many.
    """

    type: Literal["message.refused"] = "message.refused"
    signal: SignedSignal | UnsignedSignal
    digest: str
    reason: str
    code: OutcomeCode
    count: int = 1

    def with_(self, *, count: int) -> Self:
        """Return the event for so many."""
        return self.model_copy(update={"count": count})

    def with_another(self) -> Self:
        """Return the event for one more, that says something else: which they are isn't told."""
        return self.model_copy(update={"digest": "", "count": self.count + 1})


JournalEvent: TypeAlias = Annotated[
    RequestOpened
    | RequestEscalated
    | RequestClosed
    | AnswerWithheld
    | ApproachFailed
    | HandoffRecord
    | MessageTaken
    | MessageEnded
    | MessageRefused,
    Field(discriminator="type"),
]


class Journal(Contract):
    """
    Output of the activity `record`: what happened since there was one before.

    `line` is that of a regulated run, which stands nowhere else.
    """

    events: tuple[JournalEvent, ...]
    line: str = Field(default="", exclude_if=not_)


class AuditEvent(Contract):
    """
    Input of the activity `record`: something that people must find in history at a glance.

    What the `journal` holds travels with it. Of a `regulated` run the text stands neither in the
    log nor beside the event, but in what the activity returns.
    """

    run_id: str
    event: str
    text: str
    regulated: bool = Field(default=False, exclude_if=not_)
    journal: tuple[JournalEvent, ...] = ()


class Notice(Contract):
    """Input of the activity `notify`: a request that waits, without arguments or secrets."""

    run_id: str
    first_execution_run_id: str
    app: str = Field(default="", exclude_if=not_)
    agent: str
    tenant: str
    request_id: str
    kind: RequestKind
    reason: str
    requested_at: datetime
    expires_at: datetime
