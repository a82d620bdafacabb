"""The state of a run: everything that decides what happens next, as one frozen value."""

from datetime import datetime

from pydantic import Field, JsonValue

from contracts.approvals import (
    ApprovalRecord,
    ClosedRequest,
    RefusedMessage,
    Request,
)
from contracts.base import Contract, JsonObject
from contracts.budget import GivenBudget, Ledger
from contracts.control import Approach, Candidate, Checkpoint, Compensation, Effect, ModelAttempt
from contracts.decisions import Decision, Ruling, RunAsDraftOnly, decision_of
from contracts.guardrails import GuardrailVerdict, Signals
from contracts.project import ProjectContext
from contracts.run import AgentSnapshot, Brief, RunStatus, Stop
from contracts.tools import AnyCall, Draft, ToolResult
from contracts.transcript import Mark, Span, TranscriptItem, UserTurn, View


class CallState(Contract):
    """How far one call of the current turn has come."""

    call: AnyCall
    ruling: Ruling | None = None
    draft: Draft | None = None
    approvals: tuple[ApprovalRecord, ...] = ()
    result: ToolResult | None = None
    guarded: bool = False

    @property
    def decision(self) -> Decision | None:
        """The latest decision about the call, if the engine has made one."""
        return decision_of(self.ruling)

    @property
    def drafting(self) -> RunAsDraftOnly | None:
        """The decision by which the call's draft variant runs in its place, if it does."""
        return self.decision if isinstance(self.decision, RunAsDraftOnly) else None


class RunState(Contract):
    """
    Everything that a run knows. Carried whole when it continues as a new execution.

    The goal is the first of `items`. `sent` is the transcript as the model saw it last, `head` as
    it is now; `origin` is the digest that the transcript of an earlier execution ended with.
    `calls` are those of the current turn, `steers` wait for the next model call.
    `call_marks` are the first 8 digits of the digest of each call id of the run, those of earlier
    executions too. A `paused` model isn't done with its turn, and people's words wait until it is.
    `notes` are what the models' adapters reported, each once. `unresolved` are the fingerprints of
    writes of which nobody knows whether they happened. The run is over when it has an `outcome`.

    `ceiling` are limits that nothing raises, those of the run that started this one. `guarded`
    items were looked at by blocking guardrails, `watched` ones by parallel ones. A `candidate` is
    an answer that has yet to pass, `tripped` what kept one from passing: the run takes back what
    it did before it goes on. At a `dead_end` it goes back to its `checkpoint`. `reviewed` are the
    subjects that people approved, `acknowledged` the triggers that they waved through. `checks`
    numbers what guardrails had run: commands and agents. `notified` is the number of the last
    request that somebody was told of. `held` is what the run says of the resources that it is at.
    `effects` are what the run did since it began, `attempts` the model calls that failed,
    `approaches` those that it gave up; `approach` is the one under way. `tier` is the one that is
    tried now, `tier_failure` why the one before failed.
    """

    run_id: str
    brief: Brief
    agent: AgentSnapshot
    started_at: datetime
    ceiling: GivenBudget | None = None
    ledger: Ledger = Ledger()
    origin: str = ""
    sent: Mark = Mark()
    head: Mark = Mark()
    items: tuple[TranscriptItem, ...] = ()
    context_bytes: int = 0
    pruned_before: int = 0
    model_index: int = 0
    provider_state: JsonObject = Field(default_factory=dict)
    calls: tuple[CallState, ...] = ()
    requests: tuple[Request, ...] = ()
    closed: tuple[ClosedRequest, ...] = ()
    requests_made: int = 0
    steers: tuple[UserTurn, ...] = ()
    call_marks: tuple[str, ...] = ()
    paused: bool = False
    notes: tuple[str, ...] = ()
    suspended: bool = False
    unresolved: tuple[str, ...] = ()
    refused: tuple[RefusedMessage, ...] = ()
    refused_total: int = 0
    guarded: int = 0
    watched: int = 0
    tripped: GuardrailVerdict | None = None
    dead_end: str = ""
    notified: int = 0
    checks: int = 0
    held: tuple[str, ...] = ()
    candidate: Candidate | None = None
    output_retries: int = 0
    revisions: int = 0
    reviewed: tuple[str, ...] = ()
    acknowledged: tuple[str, ...] = ()
    signals: Signals = Signals()
    confidence: float | None = None
    effects: tuple[Effect, ...] = ()
    forgotten_effects: int = 0
    compensation: Compensation | None = None
    attempts: tuple[ModelAttempt, ...] = ()
    approaches: tuple[Approach, ...] = ()
    approach: str | None = None
    checkpoint: Checkpoint | None = None
    hidden: tuple[Span, ...] = ()
    summary: str = ""
    summarised_before: int = 0
    failed_summaries: int = 0
    project: ProjectContext | None = None
    tier: int = 0
    tier_failure: str = ""
    answer: str | None = None
    output: JsonValue = None
    stop: Stop | None = None
    outcome: RunStatus | None = None

    @property
    def view(self) -> View:
        """Which part of the transcript a model is shown."""
        return View(
            pruned_before=self.pruned_before,
            hidden=self.hidden,
            summary=self.summary,
            summarised_before=self.summarised_before,
        )

    @property
    def next_request_id(self) -> str:
        """The id of the next request that is opened."""
        return f"req-{self.requests_made + 1}"

    @property
    def model(self) -> str | None:
        """The model that is asked next, or null when none is left."""
        models = self.agent.models
        return models[self.model_index] if self.model_index < len(models) else None
