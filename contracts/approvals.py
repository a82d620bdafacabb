"""What waits for a person, what people say about it, and what became of that."""

from collections.abc import Mapping
from datetime import datetime
from operator import not_
from typing import Annotated, Literal, Self, TypeAlias, TypedDict, Unpack

from pydantic import Field, JsonValue

from holdfast.contracts.base import AuthoredContract, Contract, Digested, JsonObject
from holdfast.contracts.bounds import Seconds
from holdfast.contracts.budget import BudgetStatus
from holdfast.contracts.calls import DEFAULT_TENANT, Grant, ToldTenant
from holdfast.contracts.control import Approach, EarlierActors, ModelAttempt
from holdfast.contracts.effects import UndoRuling
from holdfast.contracts.signals import (
    ControlMessage,
    Message,
    MessageOutcome,
    SignedSignal,
    UsedToken,
)
from holdfast.contracts.tools import Risk
from holdfast.contracts.usage import UsageMetrics


class _Request(Digested):
    """One of a part of a run has the part, a slash and its own id as its id, and a `run_id`."""

    undigested = frozenset(
        {"approvals", "lapsed", "escalated_at", "requested_at", "expires_at", "run_id"}
    )
    """What changes of it while it waits, and its times, of which a replay may give others."""

    request_id: str
    run_id: str = Field(default="", exclude_if=not_)
    reason: str
    requested_at: datetime
    expires_at: datetime
    left_out: str = Field(default="", exclude_if=not_)

    @property
    def own_id(self) -> str:
        """Its id in the run that asks; wherever it is shown its digest is the same."""
        return self.request_id.rpartition("/")[2]

    def _digest_basis(self) -> JsonObject:
        return {**super()._digest_basis(), "request_id": self.own_id}


class Requirement(AuthoredContract):
    """
    What an approval takes: who may give it, how many must, and how sure we are of who they are.

    Members of any of `groups` may approve; without groups anybody but the requester may. `strong`
    means a signed token (docs/approvals.md). `methods` are `amr` values of RFC 8176 of which the
    token needs one; `max_auth_age` is how long ago the approver may have signed in. All times are
    in seconds. An approval that isn't used within `valid_for` lapses. After `escalate_after`
    members of `escalate_to` may approve too. `recovery` names the documented way back.
    """

    strength: Literal["plain", "strong"] = "plain"
    groups: tuple[str, ...] = ()
    count: int = Field(default=1, ge=1, le=100)
    methods: tuple[str, ...] = ()
    max_auth_age: Seconds | None = None
    valid_for: Seconds | None = None
    expires_after: Seconds | None = None
    escalate_after: Seconds | None = None
    escalate_to: tuple[str, ...] = ()
    recovery: str = ""

    @property
    def needs_proof(self) -> bool:
        """Whether nothing but a token counts: a name says not how or when somebody signed in."""
        return self.strength == "strong" or bool(self.methods) or self.max_auth_age is not None


class Proof(Contract):
    """
    What a verified token says of who approved; `token_id` (`jti`) counts only once.

    `key` is the id (`kid`) of the key that signed it, which another key may have later, and
    `thumbprint` what no other has (RFC 7638). `groups` are those of the groups that might approve
    which the token itself named.
    """

    issuer: str
    subject: str
    methods: tuple[str, ...]
    authenticated_at: datetime
    token_id: str
    verified_at: datetime
    key: str = Field(default="", exclude_if=not_)
    thumbprint: str = Field(default="", exclude_if=not_)
    groups: tuple[str, ...] = Field(default=(), exclude_if=not_)

    def with_(self, *, groups: tuple[str, ...]) -> Self:
        """Return a copy with other groups."""
        return self.copy_with({"groups": groups})


class ApprovalRecord(Contract):
    """
    An accepted approval of one person. Only a message handler makes one, never a model or a tool.

    It is good for one dispatch of exactly this call, until `expires_at`. `groups` are those that
    made the approver eligible, `challenge` is that of the request, which was made at
    `requested_at` and showed this `risk`, this `undo` and this `grant`. Only a review shows no
    `risk`.
    """

    request_id: str
    call_id: str
    arguments_digest: str
    approver: str
    strength: Literal["plain", "strong"]
    reason: str | None
    requested_at: datetime
    at: datetime
    scope: Literal["single_use"] = "single_use"
    challenge: str = ""
    groups: tuple[str, ...] = ()
    expires_at: datetime | None = None
    recovery: str = ""
    proof: Proof | None = None
    risk: Risk | None = Field(default=None, exclude_if=not_)
    undo: UndoRuling | None = Field(default=None, exclude_if=not_)
    grant: Grant | None = Field(default=None, exclude_if=lambda grant: grant is None)

    def is_past_expiry(self, now: datetime) -> bool:
        """Whether it wasn't used in the time that it was given for."""
        return self.expires_at is not None and now >= self.expires_at


class RequestChange(TypedDict, total=False):
    """What may change of it."""

    request_id: str
    run_id: str
    left_out: str


class ApprovableChange(RequestChange, total=False):
    """What may change of it."""

    approvals: tuple[ApprovalRecord, ...]
    lapsed: tuple[ApprovalRecord, ...]
    escalated_at: datetime | None
    challenge: str


class ReviewChange(ApprovableChange, total=False):
    """What may change of it."""

    reason: str
    text: str
    objections: tuple[str, ...]


class ApprovalRequest(_Request, Requirement):
    """
    A call waits for approval: everything that a person needs to judge it.

    The approval binds to `arguments_digest` (SHA-256 of the arguments' canonical JSON, RFC 8785)
    and to `challenge`, which is this request's alone: it covers the run, its id, the tool, the
    risk, the draft, the undo and the grant. `preview` is the draft that would be committed and
    `preview_ref` its id. `undo` is what would take the call back, which an approval allows too.
    `grant` is all that the sandbox lets the call do, whatever its code tries; null where it runs
    outside of one.
    `approvals` are those given so far, `lapsed` those that count no more, nor do the tokens that
    proved them. `policy` is the digest of the policy that asked.
    """

    kind: Literal["approval"] = "approval"
    approval_type: Literal["call", "commit"] = "call"
    call_id: str
    tool: str
    action: str
    arguments: JsonObject
    arguments_digest: str
    risk: Risk
    rule: str
    policy: str = ""
    scope: str
    target: str = ""
    expected_result: str
    rollback: str
    requester: str
    preview_ref: str | None = None
    preview: JsonValue = None
    undo: UndoRuling | None = Field(default=None, exclude_if=not_)
    grant: Grant | None = Field(default=None, exclude_if=lambda grant: grant is None)
    challenge: str = ""
    approvals: tuple[ApprovalRecord, ...] = ()
    lapsed: tuple[ApprovalRecord, ...] = Field(default=(), exclude_if=not_)
    escalated_at: datetime | None = None

    def with_(self, **changes: Unpack[ApprovableChange]) -> Self:
        """Return a copy with these fields changed."""
        return self.copy_with(changes)


class Review(_Request, Requirement):
    """
    The run waits for approval, not one of its calls: a person judges its goal or its answer.

    `subject` is what is reviewed: the domain of the run, or a guardrail with the digest of what it
    looked at. `text` is what the person reads; `arguments_digest` and `challenge` bind a token to
    it as they do for a call. `call_id` names the call that a guardrail objects to, if it is one,
    `calls` are those that `text` shows because they are next where the run's domain is reviewed.
    `objections` are what an approval counts for, and nothing beside them: the domain, or each
    guardrail's reason about what it looked at. `quotes` says that the `reason` may have words of
    the answer, which nobody but reviewers is told.
    """

    kind: Literal["review"] = "review"
    action: Literal["require_approval"] = "require_approval"
    subject: str
    objections: tuple[str, ...]
    text: str
    arguments_digest: str
    requester: str
    challenge: str
    call_id: str = ""
    calls: tuple[str, ...] = Field(default=(), exclude_if=not_)
    quotes: bool = Field(default=False, exclude_if=not_)
    approvals: tuple[ApprovalRecord, ...] = ()
    lapsed: tuple[ApprovalRecord, ...] = Field(default=(), exclude_if=not_)
    escalated_at: datetime | None = None

    def with_(self, **changes: Unpack[ReviewChange]) -> Self:
        """Return a copy with these fields changed."""
        return self.copy_with(changes)


Approvable: TypeAlias = ApprovalRequest | Review
"""What the signal `approval` and the update `decide` are about."""


def find_eligible_groups(request: Approvable) -> tuple[str, ...]:
    """Return the groups whose members may decide now; none where nobody need be in one."""
    later = request.escalate_to if request.escalated_at is not None else ()
    return tuple(dict.fromkeys((*request.groups, *later))) if request.groups else ()


class Question(_Request):
    """
    A call waits for an answer.

    `arguments` are those of the `tool` beside the question. An answer is words where
    `answer_schema` takes words, or is null, and else JSON; it must fit.
    """

    kind: Literal["question"] = "question"
    call_id: str
    question: str
    tool: str = ""
    arguments: JsonObject = Field(default_factory=dict, exclude_if=not_)
    answer_schema: JsonObject | None = Field(default=None, exclude_if=lambda value: value is None)

    def with_(self, **changes: Unpack[RequestChange]) -> Self:
        """Return a copy with these fields changed."""
        return self.copy_with(changes)


class Escalation(_Request):
    """
    The run itself waits: a person says whether and how it goes on.

    It brings what they need to know: every model call that failed, every approach that was given
    up, what was used so far, and the answer that nobody is sure of, if there is one.
    `next_safe_action` is for the stop of the run, if nobody lets it go on.
    """

    kind: Literal["escalation"] = "escalation"
    action: Literal["pause_and_escalate"] = "pause_and_escalate"
    detail: str
    trigger: str = Field(default="", exclude_if=not_)
    attempts: tuple[ModelAttempt, ...] = Field(default=(), exclude_if=not_)
    approaches: tuple[Approach, ...] = Field(default=(), exclude_if=not_)
    usage: UsageMetrics | None = Field(default=None, exclude_if=lambda value: value is None)
    confidence: float | None = Field(default=None, exclude_if=lambda value: value is None)
    answer: str | None = Field(default=None, exclude_if=lambda value: value is None)
    next_safe_action: str

    def with_(self, **changes: Unpack[RequestChange]) -> Self:
        """Return a copy with these fields changed."""
        return self.copy_with(changes)


Request: TypeAlias = Annotated[
    ApprovalRequest | Review | Question | Escalation, Field(discriminator="kind")
]


def outline(request: Request, left_out: str = "") -> Request:
    """Return a request without what it shows a person, and with a note of what is left out."""
    empty: dict[str, object]
    match request:
        case ApprovalRequest():
            empty = {"arguments": {}, "preview": None, "undo": None, "grant": None}
        case Review():
            empty = {"text": ""}
        case Question():
            empty = {"question": "", "arguments": {}}
        case Escalation():
            empty = {"detail": "", "attempts": (), "approaches": (), "answer": None}
    return request.copy_with({**empty, "left_out": left_out})


class PendingPage(Contract):
    """Some of the requests that wait; `next_offset` is null on the last page."""

    items: tuple[Request, ...]
    total: int
    next_offset: int | None


RequestKind = Literal["approval", "review", "question", "escalation"]

RequestOutcome = Literal["approved", "rejected", "answered", "resolved", "expired", "withdrawn"]


class ClosedRequest(Contract):
    """A request that no longer waits, and why."""

    request_id: str
    outcome: RequestOutcome
    at: datetime


class Verdict(MessageOutcome):
    """
    The judgement of one message, as history keeps it.

    `approver` is who it is really from: the subject of a verified token, else who it says.
    `lapsed` are those whose earlier approvals of the request count no more.
    """

    approver: str = Field(default="", exclude_if=not_)
    groups: tuple[str, ...] = Field(default=(), exclude_if=not_)
    lapsed: tuple[str, ...] = Field(default=(), exclude_if=not_)
    proof: Proof | None = Field(default=None, exclude_if=not_)


class ControlVerdict(Verdict):
    """The judgement of a message about no request, which has this `digest`."""

    signal: SignedSignal
    digest: str


class JudgeInput(Contract):
    """
    Input of the activity `judge`: messages in the order of their arrival, and what they are about.

    `requester` is the person on whose behalf the run works, `agent` what works, and `path` the
    agents that it works for: none of them may approve, nor may `earlier_actors`, for whom runs
    worked that this one tries again.
    `requests` are outlines of those that the messages name, and `digests` those of the
    whole requests, by id. `means` are there where a message wants to extend them. `sent` are the
    digests of the messages without their tokens, where any has one. `controls` are about no
    request; those of their tokens that are `used` count no more, and those that are `signed` take
    a token by the policy that the run goes by, whatever this worker's says. Since the workflow was
    `reset_at` some time nobody knows which tokens had been used by then.
    """

    run_id: str
    tenant: ToldTenant = DEFAULT_TENANT
    execution: str
    app: str = Field(default="", exclude_if=not_)
    agent: str
    path: tuple[str, ...] = Field(default=(), exclude_if=not_)
    requester: str
    earlier_actors: EarlierActors = ()
    messages: tuple[Message, ...]
    sent: tuple[str, ...] = Field(default=(), exclude_if=not_)
    controls: tuple[ControlMessage, ...] = Field(default=(), exclude_if=not_)
    used: tuple[UsedToken, ...] = Field(default=(), exclude_if=not_)
    signed: tuple[SignedSignal, ...] = Field(default=(), exclude_if=not_)
    first_execution_run_id: str = Field(default="", exclude_if=not_)
    reset_at: datetime | None = Field(default=None, exclude_if=not_)
    requests: tuple[Request, ...]
    closed: tuple[ClosedRequest, ...]
    now: datetime
    means: BudgetStatus | None = None
    digests: Mapping[str, str] = Field(default_factory=dict[str, str])

    def with_(self, *, now: datetime, reset_at: datetime | None = None) -> Self:
        """Return a copy with another now, and where it was reset since."""
        return self.copy_with({"now": now, "reset_at": reset_at or self.reset_at})


class Verdicts(Contract):
    """Output of the activity `judge`: one verdict a message, and in which execution it judged."""

    verdicts: tuple[Verdict, ...]
    controls: tuple[ControlVerdict, ...] = Field(default=(), exclude_if=not_)
    execution: str
