"""The state of a run: everything that decides what happens next, as one frozen value."""

from datetime import datetime
from operator import not_
from typing import Literal, Self, TypedDict, Unpack

from pydantic import Field, JsonValue

from holdfast.contracts.approvals import (
    ApprovalRecord,
    ClosedRequest,
    Request,
    Review,
)
from holdfast.contracts.base import Contract, JsonObject
from holdfast.contracts.budget import Ledger, PartialBudget
from holdfast.contracts.calls import AnyCall, Draft, RecordedResult, ToolCall, ToolResult
from holdfast.contracts.control import (
    Approach,
    Candidate,
    Checkpoint,
    Compensation,
    Effect,
    KnownEffect,
    LimitSummary,
    ModelAttempt,
    ProviderWait,
    Subtask,
)
from holdfast.contracts.decisions import Decided, Decision, Ruling, RunAsDraftOnly, decision_of
from holdfast.contracts.guardrails import GuardrailVerdict, Signals, checks_answers
from holdfast.contracts.journal import JournalEvent
from holdfast.contracts.project import ProjectContext
from holdfast.contracts.run import AgentSnapshot, RunMetadata, RunStatus
from holdfast.contracts.sessions.state import SessionState
from holdfast.contracts.signals import RefusedMessage, UsedToken
from holdfast.contracts.stops import Stop
from holdfast.contracts.transcript import (
    ItemRange,
    TranscriptDigest,
    TranscriptItem,
    TranscriptView,
    UserTurn,
)


class CallStateChange(TypedDict, total=False):
    """What may change of it."""

    call: AnyCall
    ruling: Ruling | None
    draft: Draft | None
    approvals: tuple[ApprovalRecord, ...]
    result: ToolResult | None
    guarded: str
    sent_back: int


class CallState(Contract):
    """
    How far one call of the current turn has come.

    `guarded` is the reading by which guardrails have looked at it. `sent_back` is how often it was
    decided and didn't begin: its worker decides by something else, the decision was too old, or
    guardrails had looked at another reading.
    """

    call: AnyCall
    ruling: Ruling | None = None
    draft: Draft | None = None
    approvals: tuple[ApprovalRecord, ...] = ()
    result: ToolResult | None = None
    guarded: str = Field(default="", exclude_if=not_)
    sent_back: int = Field(default=0, exclude_if=not_)

    def with_(self, **changes: Unpack[CallStateChange]) -> Self:
        """Return a copy with these fields changed."""
        return self.copy_with(changes)

    @property
    def decision(self) -> Decision | None:
        """The latest decision about the call, if the engine has made one."""
        return decision_of(self.ruling)

    @property
    def arguments(self) -> JsonObject:
        """Its arguments as their types write them; of a call that can't be read there are none."""
        canonical = self.ruling.canonical if isinstance(self.ruling, Decided) else None
        if canonical is None and isinstance(self.call, ToolCall):
            return self.call.arguments
        return canonical or {}

    @property
    def reading(self) -> str:
        """What guardrails look at, if the engine has decided about the call."""
        return self.ruling.reading if isinstance(self.ruling, Decided) else ""

    @property
    def drafting(self) -> RunAsDraftOnly | None:
        """The decision by which the call's draft variant runs in its place, if it does."""
        return self.decision if isinstance(self.decision, RunAsDraftOnly) else None


class RunStateChange(TypedDict, total=False):
    """What may change of it."""

    execution: str
    brief: RunMetadata
    agent: AgentSnapshot
    ledger: Ledger
    origin: str
    sent: TranscriptDigest
    head: TranscriptDigest
    items: tuple[TranscriptItem, ...]
    context_bytes: int
    pruned_before: int
    model_index: int
    provider_state: JsonObject
    unheard: bool
    calls: tuple[CallState, ...]
    planning: bool
    planned: tuple[str, ...] | None
    checked: tuple[GuardrailVerdict, ...]
    progress: str
    requests: tuple[Request, ...]
    closed: tuple[ClosedRequest, ...]
    journal: tuple[JournalEvent, ...]
    requests_made: int
    request_mark: str
    steers: tuple[UserTurn, ...]
    unread: int
    call_marks: tuple[str, ...]
    paused: bool
    notes: tuple[str, ...]
    suspended: bool
    unresolved: tuple[str, ...]
    refused: tuple[RefusedMessage, ...]
    refused_total: int
    used_tokens: tuple[UsedToken, ...]
    guarded: int
    watched: int
    tripped: GuardrailVerdict | None
    dead_end: str
    notified: int
    checks: int
    delegated: int
    handoffs: int
    held: tuple[str, ...]
    candidate: Candidate | None
    output_retries: int
    revisions: int
    reviewed: tuple[str, ...]
    releases: tuple[Review, ...]
    acknowledged: tuple[str, ...]
    signals: Signals
    confidence: float | None
    effects: tuple[Effect, ...]
    forgotten_effects: int
    lost: bool
    compensation: Compensation | None
    attempts: tuple[ModelAttempt, ...]
    provider_wait: ProviderWait | None
    approaches: tuple[Approach, ...]
    approach: str | None
    checkpoint: Checkpoint | None
    hidden: tuple[ItemRange, ...]
    summary: str
    summarised_before: int
    failed_summaries: int
    project: ProjectContext | None
    tier: int
    tier_attempts: int
    tier_failure: str
    subtasks: tuple[Subtask, ...]
    answer: str | None
    output: JsonValue
    stopping: Stop | None
    stop: Stop | None
    outcome: RunStatus | None
    grading: Literal["", "under_way", "done"]
    started_at: datetime
    ceiling: PartialBudget | None
    known: tuple[KnownEffect, ...]
    recorded: tuple[RecordedResult, ...]
    closing: Stop | None
    limit_summary: LimitSummary | None
    session: SessionState | None


class RunState(Contract):
    """
    Everything that a run knows. Carried whole when it continues as a new execution.

    `first_execution_run_id` tells it from every other run, `run_id` is the name that somebody
    chose. `execution` is the one whose decisions and approvals count; after a reset it is another
    one, and requests have its `request_mark` in their ids.

    The goal is the first of `items`. `sent` is the transcript as the model saw it last, `head` as
    it is now; `origin` is the digest that the transcript of an earlier execution ended with.
    `calls` are those of the current turn, `journal` what history doesn't tell yet, `steers` wait
    for the next model call, `unread` are the bytes of words that no model has read yet.
    `call_marks` are the first 8 digits of the digest of each call id of all executions. While a
    model is `paused` its turn isn't done, and people's words wait until it is.
    `unheard` from each question to a model until the run has taken the reply: what the provider
    keeps may be ahead. `notes` are what the models' adapters reported, each once. `unresolved` are
    fingerprints of writes of which nobody knows whether they happened. `outcome` is how it ended,
    and `grading` says how far guardrails are that look at it then.

    `ceiling` are limits that nothing raises, those of the run that started this one. `guarded`
    items were looked at by blocking guardrails, `watched` ones by parallel ones. A `candidate` is
    an answer that has yet to pass, `tripped` what kept one from passing: the run takes back what
    it did before it goes on. At a `dead_end` it goes back to its `checkpoint`. `reviewed` are the
    objections that people approved, `releases` those approved reviews by which nothing has run
    yet, without their texts, `acknowledged` the triggers that they waved through. `checks` numbers
    what guardrails had run: commands and agents, `delegated` the tasks that were given to other
    agents, `handoffs` how often another went on. `output_schema` is the shape that its starter
    wants the answer in, whoever gives it. `notified` is the last request that somebody was told
    of. `held` is what the run says of the resources that it is at. `effects` are what the run did
    since it began, `attempts` the model calls that failed, `approaches` those that it gave up;
    `approach` is the one under way. With a `provider_wait` it waits for its last model. `budget`
    is what it was started with. `known` is what was done before this run began, which it doesn't
    do again, `recorded` what answers the calls of a dry fork; it has `lost` something of that, of
    what its parts did or of `unresolved` where there was no room to keep all. `tier` is the one
    tried now, `tier_attempts` numbers what was tried at any, `tier_failure` is why the one before
    failed, `subtasks` are failed ones; `used_tokens` prove nothing more. `checked` is what
    acceptance checks found last, `progress` how far a model says that it is. It changes nothing
    while `planning`, then only by what is `planned`, and begins nothing while `stopping`.
    Once it is `closing` a model has said its `limit_summary`, and nothing but guardrails follows.
    """

    run_id: str
    first_execution_run_id: str
    execution: str
    brief: RunMetadata
    agent: AgentSnapshot
    started_at: datetime
    ceiling: PartialBudget | None = None
    budget: PartialBudget | None = Field(default=None, exclude_if=lambda value: value is None)
    ledger: Ledger = Field(default_factory=Ledger)
    origin: str = ""
    sent: TranscriptDigest = TranscriptDigest()
    head: TranscriptDigest = TranscriptDigest()
    items: tuple[TranscriptItem, ...] = ()
    context_bytes: int = 0
    pruned_before: int = 0
    model_index: int = 0
    provider_state: JsonObject = Field(default_factory=dict)
    unheard: bool = False
    calls: tuple[CallState, ...] = ()
    requests: tuple[Request, ...] = ()
    closed: tuple[ClosedRequest, ...] = ()
    journal: tuple[JournalEvent, ...] = Field(default=(), exclude_if=not_)
    requests_made: int = 0
    request_mark: str = ""
    planning: bool = Field(default=False, exclude_if=not_)
    planned: tuple[str, ...] | None = Field(default=None, exclude_if=lambda named: named is None)
    checked: tuple[GuardrailVerdict, ...] = Field(default=(), exclude_if=not_)
    progress: str = Field(default="", exclude_if=not_)
    steers: tuple[UserTurn, ...] = ()
    unread: int = 0
    call_marks: tuple[str, ...] = ()
    paused: bool = False
    notes: tuple[str, ...] = ()
    suspended: bool = False
    unresolved: tuple[str, ...] = ()
    refused: tuple[RefusedMessage, ...] = ()
    refused_total: int = 0
    used_tokens: tuple[UsedToken, ...] = Field(default=(), exclude_if=not_)
    guarded: int = 0
    watched: int = 0
    tripped: GuardrailVerdict | None = None
    dead_end: str = ""
    notified: int = 0
    checks: int = 0
    delegated: int = Field(default=0, exclude_if=not_)
    handoffs: int = Field(default=0, exclude_if=not_)
    output_schema: JsonObject | None = Field(default=None, exclude_if=lambda shape: shape is None)
    held: tuple[str, ...] = ()
    candidate: Candidate | None = None
    output_retries: int = 0
    revisions: int = 0
    reviewed: tuple[str, ...] = ()
    releases: tuple[Review, ...] = Field(default=(), exclude_if=not_)
    acknowledged: tuple[str, ...] = ()
    signals: Signals = Signals()
    confidence: float | None = None
    effects: tuple[Effect, ...] = ()
    forgotten_effects: int = 0
    known: tuple[KnownEffect, ...] = ()
    recorded: tuple[RecordedResult, ...] = Field(default=(), exclude_if=not_)
    lost: bool = False
    compensation: Compensation | None = None
    attempts: tuple[ModelAttempt, ...] = ()
    provider_wait: ProviderWait | None = None
    approaches: tuple[Approach, ...] = ()
    approach: str | None = None
    checkpoint: Checkpoint | None = None
    hidden: tuple[ItemRange, ...] = ()
    summary: str = ""
    summarised_before: int = 0
    failed_summaries: int = 0
    project: ProjectContext | None = None
    tier: int = 0
    tier_attempts: int = 0
    tier_failure: str = ""
    subtasks: tuple[Subtask, ...] = ()
    answer: str | None = None
    output: JsonValue = None
    closing: Stop | None = Field(default=None, exclude_if=not_)
    limit_summary: LimitSummary | None = Field(default=None, exclude_if=not_)
    stopping: Stop | None = Field(default=None, exclude_if=not_)
    stop: Stop | None = None
    outcome: RunStatus | None = None
    grading: Literal["", "under_way", "done"] = Field(default="", exclude_if=not_)
    session: SessionState | None = Field(default=None, exclude_if=lambda value: value is None)

    def with_(self, **changes: Unpack[RunStateChange]) -> Self:
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

    @property
    def next_request_id(self) -> str:
        """The id of the next request that is opened."""
        return f"req-{self.request_mark}{self.requests_made + 1}"

    @property
    def model(self) -> str | None:
        """The model that is asked next, or null when none is left."""
        models = self.agent.models
        return models[self.model_index] if self.model_index < len(models) else None

    @property
    def is_ending(self) -> bool:
        """Whether nothing more begins: it is over, or stopped, or a session that has no work."""
        return self.outcome is not None or self.stopping is not None or self.is_idle

    @property
    def is_over(self) -> bool:
        """Whether nothing begins, not even for guardrails that look at what is ending."""
        return self.is_ending and self.grading != "under_way"

    @property
    def turns_taken(self) -> int:
        """How many turns of a model there were; in a session those of all messages."""
        return self.ledger.turns + (self.session.totals.steps if self.session else 0)

    @property
    def is_idle(self) -> bool:
        """Whether it is a session without work."""
        return self.session is not None and self.session.current is None

    @property
    def withholds(self) -> bool:
        """Whether what a model says here is told to nobody before an answer is out."""
        return self.agent.guards_answers or self.brief.withheld

    @property
    def streams_text(self) -> bool:
        """
        Whether what a model says is told while it says it.

        Where somebody looks at answers before they are out, only the agent can say so, and no
        start; what is said for a run that withholds it is told to nobody.
        """
        agent, wanted = self.agent, self.brief.stream
        if self.brief.withheld or wanted is False:
            return False
        if checks_answers(agent.guardrails):
            return agent.stream == "before_checks"
        return bool(wanted or agent.stream)
