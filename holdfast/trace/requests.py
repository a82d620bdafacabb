"""What people were asked, and what they said to a run, as frozen values."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Self

from holdfast.contracts.approvals import Proof, RequestKind, RequestOutcome, Requirement, Verdict
from holdfast.contracts.budget import Budget
from holdfast.contracts.errors import OutcomeCode
from holdfast.contracts.journal import RequestOpened


@dataclass(frozen=True, kw_only=True)
class MessageTrace:
    """
    What a person said to a run. `accepted` is null until the run has judged it, at `judged_at`.

    `sender` is the name that the message gives, `approver` who the run found it to be from,
    `proof` what a verified token said of them, `identity` the Temporal client that sent it.
    `reason` is the person's own, `budget` holds the limits that an extension changes, `refusal`
    says why the message changed nothing, and `code` says it in one word. One that `lapsed` was
    accepted, and counted no more before there were enough. `digest` is that of what was sent, of
    one about no request. A token is never kept.
    """

    key: str
    signal: str
    at: datetime
    identity: str
    text: str = ""
    sender: str = ""
    request_id: str = ""
    reason: str = ""
    budget: Budget | None = None
    accepted: bool | None = None
    judged_at: datetime | None = None
    refusal: str = ""
    code: OutcomeCode | None = None
    approver: str = ""
    groups: tuple[str, ...] = ()
    proof: Proof | None = None
    lapsed: bool = False
    digest: str = ""

    def refuse(self, reason: str, code: OutcomeCode) -> Self:
        """Return the message as one that changed nothing."""
        return replace(self, accepted=False, refusal=reason, code=code)

    def with_verdict(self, verdict: Verdict, now: datetime) -> Self:
        """Return the message as the run judged it."""
        return replace(
            self,
            accepted=verdict.accepted,
            judged_at=now,
            code=verdict.code,
            refusal="" if verdict.accepted else verdict.reason,
            approver=verdict.approver,
            groups=verdict.groups,
            proof=verdict.proof,
        )

    @property
    def author(self) -> str:
        """Who it is from, as well as that is known."""
        return self.approver or self.sender


@dataclass(frozen=True, kw_only=True)
class EscalatedToGroup:
    """Nobody decided in time, so members of further groups may decide too."""

    groups: tuple[str, ...]
    at: datetime


@dataclass(frozen=True, kw_only=True)
class RequestTrace:
    """
    A request that waits, or waited, for a person.

    `heard` is what happened while it waited, in its order: messages that were refused, approvals
    that weren't enough yet, that it was passed on. `settled` is the message that ended the wait:
    none if it expired. `required` is what its approval takes; null where it is no approval.
    `subject` is what is reviewed, where it is a review. One that `shows_answer` is about the
    answer that waits.
    """

    request_id: str
    key: str
    kind: RequestKind
    call_id: str
    reason: str
    at: datetime
    subject: str = ""
    required: Requirement | None = None
    expires_at: datetime | None = None
    shows_answer: bool = False
    heard: tuple[MessageTrace | EscalatedToGroup, ...] = ()
    outcome: RequestOutcome | None = None
    settled: MessageTrace | None = None
    closed_at: datetime | None = None

    @classmethod
    def of(cls, opened: RequestOpened, key: str) -> Self:
        """Return what is known of a request as it opens."""
        return cls(
            request_id=opened.request_id,
            key=key,
            kind=opened.kind,
            call_id=opened.call_id,
            reason=opened.reason,
            at=opened.requested_at,
            subject=opened.subject,
            required=opened.required,
            expires_at=opened.expires_at,
            shows_answer=opened.shows_answer,
        )

    @property
    def is_of_run(self) -> bool:
        """Whether the run itself waits, and not one of its calls."""
        return self.kind in {"escalation", "review"}

    @property
    def wait_duration(self) -> timedelta | None:
        """How long it waited, once it is closed."""
        return None if self.closed_at is None else self.closed_at - self.at

    @property
    def count(self) -> int:
        """How many people must approve."""
        return 1 if self.required is None else self.required.count

    @property
    def messages(self) -> Iterator[MessageTrace]:
        """All that people said about it."""
        yield from (heard for heard in self.heard if isinstance(heard, MessageTrace))
        if self.settled is not None:
            yield self.settled

    @property
    def approvals(self) -> tuple[MessageTrace, ...]:
        """The approvals that were accepted and didn't lapse, whether or not they were enough."""
        return tuple(
            said
            for said in self.messages
            if said.accepted and not said.lapsed
            if (said.signal, said.text) == ("approval", "approve")
        )

    @property
    def escalated_at(self) -> datetime | None:
        """When it was passed on to further groups."""
        return next(
            (heard.at for heard in self.heard if isinstance(heard, EscalatedToGroup)), None
        )
