"""What goes into a run, what comes out, and what can be asked while it works."""

from datetime import datetime
from operator import not_
from typing import Annotated, Literal, Self, TypeAlias, TypedDict, Unpack

from pydantic import ConfigDict, Field, JsonValue, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from holdfast.contracts import bounds
from holdfast.contracts.approvals import Requirement
from holdfast.contracts.base import Contract, JsonObject, Stored
from holdfast.contracts.bounds import Goal, Metadata, Tenant
from holdfast.contracts.budget import Budget, Ledger, Limits
from holdfast.contracts.calls import DEFAULT_ACTOR, DEFAULT_TENANT
from holdfast.contracts.control import (
    Approach,
    Backtracking,
    Delegation,
    EarlierActors,
    EarlierRun,
    Fallback,
    GoalReport,
    LimitSummary,
    ModelAttempt,
    ModelFacts,
    ReasoningRoute,
    Route,
    Tiers,
    Triggers,
    Waiting,
)
from holdfast.contracts.delegation.ceilings import Ceiling, RisksWithout, ToolsWithout
from holdfast.contracts.effects import Compensation, Effect, KnownEffect
from holdfast.contracts.guardrails import GuardrailSpec
from holdfast.contracts.model import (
    ChosenModels,
    ModelSettings,
    Prefix,
    Strategy,
    Stream,
    Streamed,
    ToolSchema,
)
from holdfast.contracts.project import ProjectSpec
from holdfast.contracts.signals import RefusedMessage, SignedSignal
from holdfast.contracts.stops import Stop
from holdfast.contracts.tools import HostedTool, ToolContract
from holdfast.contracts.usage import UsageMetrics

WORKFLOW_TYPE = "AgentRun"
TASK_QUEUE = "holdfast"


def sandbox_queue(task_queue: str) -> str:
    """Return the task queue of sandboxed calls, so that their workers can be deployed apart."""
    return f"{task_queue}-sandbox"


RunStatus = Literal["completed", "stopped", "blocked", "failed"]

ReportedStatus: TypeAlias = Literal[
    "running", "waiting", "idle", "suspending", "suspended", RunStatus
]
"""Where a run stands, in one word."""

MAX_DOMAIN_CHARS = 100

Domain: TypeAlias = Annotated[str, Field(min_length=1, max_length=MAX_DOMAIN_CHARS)]

SensitiveDomain: TypeAlias = Annotated[str, Field(max_length=MAX_DOMAIN_CHARS)]
"""A blank one is that of a run that names none."""

AgentName: TypeAlias = Annotated[str, Field(min_length=1, max_length=100)]


class RunMetadata(Contract):
    """
    On whose behalf a run works, and what else is kept with it.

    `path` are the agents that it works for, the first of all first: what holds one of them, as a
    switch does, holds this run. Who starts a run for nobody else leaves it out. `withheld` says
    that the run it works for has output guardrails: what is said here is told to nobody else.
    `words_watched` says that it has guardrails that look at people's words: none are taken here.
    A `tainted` one may quote in its goal what anybody may have written.
    `sensitive_domains` are those in which it begins nothing before somebody approves. `retry_of`
    is the run that it tries again, `earlier_actors` are those for whom that one worked. `stream`
    has its words told while they come, or not; null leaves it to the agent. In `mode` "plan"
    nothing is changed before a person has approved a plan. Its agents, and all behind them, get
    no tools of the names `without_tools`, and of the classes `without_risks`. A `regulated` one is
    about data that a law protects: of it only ids stand where no codec reaches.
    """

    agent: AgentName
    tenant: Tenant = DEFAULT_TENANT
    actor: Annotated[str, Field(min_length=1, max_length=200)] = DEFAULT_ACTOR
    session_id: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    strategy: Strategy = "stateless"
    task_kind: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    domain: Domain | None = None
    metadata: Metadata = Field(default_factory=dict)
    path: Annotated[tuple[AgentName, ...], Field(max_length=bounds.MAX_ANCESTORS)] = Field(
        default=(), exclude_if=not_
    )
    withheld: bool = Field(default=False, exclude_if=not_)
    words_watched: bool = Field(default=False, exclude_if=not_)
    tainted: bool = Field(default=False, exclude_if=not_)
    sensitive_domains: Annotated[
        tuple[SensitiveDomain, ...], Field(max_length=bounds.MAX_SENSITIVE_DOMAINS)
    ] = Field(default=(), exclude_if=not_)
    retry_of: EarlierRun = None
    earlier_actors: EarlierActors = ()
    stream: Streamed = None
    mode: Literal["plan"] | None = Field(default=None, exclude_if=not_)
    without_tools: ToolsWithout = ()
    without_risks: RisksWithout = ()
    regulated: bool = Field(default=False, exclude_if=not_)

    @property
    def is_dry(self) -> bool:
        """Whether it runs no tool, and has its calls answered with what another run recorded."""
        return self.retry_of is not None and self.retry_of.dry


_LINEAGE = {"retry_of", "earlier_actors"}
_GIVEN_FOR_A_RETRY = {"agent", "tenant", "actor", "budget", "models", "stream", *_LINEAGE}


class RunInput(RunMetadata):
    """
    The one JSON argument of the workflow `AgentRun`. Only `agent` and `input` are required.

    Or `agent` and `retry_of`: all but tenant, actor and what differs in its budget then comes from
    that run, and is refused here. `budget` names the limits that differ from the agent's;
    `models` are those of the agent's that are asked, in this order; left out, all of its own.
    `ceiling` are limits that lower the agent's and never raise them, as a run hands them to those
    that it starts; so it does with `known`, which was done before, and isn't done again, with
    `output_schema`, the shape that it wants the answer in, and with `review`, what reviews take.
    By its `session_id` it is searched as by its tenant, so it is as short.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: Annotated[Goal | None, Field(validate_default=True)] = None
    budget: Budget | None = None
    models: ChosenModels = ()
    ceiling: Budget | None = None
    known: tuple[KnownEffect, ...] = Field(
        default=(), max_length=bounds.MAX_KNOWN_EFFECTS, exclude_if=not_
    )
    session_id: Tenant | None = None
    output_schema: Metadata | None = Field(default=None, exclude_if=lambda shape: shape is None)
    review: Requirement | None = Field(default=None, exclude_if=lambda review: review is None)

    @field_validator("input")
    @classmethod
    def _require_goal(cls, given: str | None, info: ValidationInfo) -> str | None:
        if given is None and info.data.get("retry_of") is None:
            raise PydanticCustomError("missing", "Field required")
        return given

    @model_validator(mode="after")
    def _leave_to_the_earlier_run(self) -> Self:
        given = self.model_dump(exclude_defaults=True, exclude=_GIVEN_FOR_A_RETRY)
        if self.retry_of and given:
            raise ValueError(f"the run that is tried again says {', '.join(sorted(given))}")
        return self


class RunResultChange(TypedDict, total=False):
    """What may change of it."""

    answer: str | None
    output: JsonValue
    attempts: tuple[Approach, ...]


class RunResult(Contract):
    """
    The result of the workflow `AgentRun`.

    `provider_state` is what providers asked to keep, by provider: for example
    `{"anthropic": {"container_id": ...}}` or `{"openai": {"thread_id": ...}}`; null when they
    asked for nothing. `output` is the answer as data where the agent declares a shape for it.
    `attempts` are approaches that failed, `compensation` what was taken back of a blocked answer.
    `effects` are what the run and its parts did and what stands, `unresolved` what may have
    happened. `ledger` and `failures`, the calls of models that failed, are there for the run that
    started this one, if one did, so are the calls that took something back (`undone`), and that
    its words may quote what anybody wrote (`tainted`).
    `summary` is what its model said of the work when its steps were
    used up: no answer, and none of the `steps`.
    """

    status: RunStatus
    answer: str | None
    output: JsonValue = None
    stop: Stop | None
    steps: int
    usage: UsageMetrics
    provider_state: JsonObject | None
    confidence: float | None
    model: str | None
    attempts: tuple[Approach, ...] = Field(default=(), exclude_if=not_)
    compensation: Compensation | None = Field(default=None, exclude_if=not_)
    effects: tuple[Effect, ...] = Field(default=(), exclude_if=not_)
    unresolved: tuple[Effect, ...] = Field(default=(), exclude_if=not_)
    undone: tuple[KnownEffect, ...] = Field(default=(), exclude_if=not_)
    failures: tuple[ModelAttempt, ...] = Field(default=(), exclude_if=not_)
    ledger: Ledger | None = Field(default=None, exclude_if=not_)
    tainted: bool = Field(default=False, exclude_if=not_)
    summary: LimitSummary | None = Field(default=None, exclude_if=not_)

    def with_(self, **changes: Unpack[RunResultChange]) -> Self:
        """Return a copy with these fields changed."""
        return self.copy_with(changes)


class AgentSnapshotChange(TypedDict, total=False):
    """What may change of it."""

    app: str
    prefix_digest: str
    models: tuple[str, ...]
    routes: tuple[Stored[Route], ...]
    budget: Limits
    escalates: bool
    search_attributes: bool
    output_schema: JsonObject | None
    settings: Stored[ModelSettings]
    companions: tuple[ToolContract, ...]
    notifies: bool
    resources_searchable: bool
    facts: tuple[ModelFacts, ...]
    route: ReasoningRoute | None
    signed: tuple[SignedSignal, ...]
    regulated: bool


class AgentSnapshot(Contract):
    """
    An agent as it was when the run began, recorded once in history.

    A later deployment may change the agent; a run that has begun keeps its own. `app` is whose it
    is: no worker of another app goes on with the run. `escalates`: people may be asked.
    `companions` draft, reconcile and undo for the tools, or for those of agents that do its parts;
    no model sees them. A model is shown `max_context_bytes` before old results are pruned.
    `search_attributes` and `resources_searchable` are what the server knows. `acceptance` checks
    send an answer back. `review` is what it takes to approve a sensitive domain, or what a
    guardrail asks about. `notifies`: somebody is told of requests. `signed` signals take a
    signature, as the policy said last. `delegations` are its tools that give tasks to agents,
    `ceiling` is what those that come behind it may not use. `regulated`: each of its runs is.
    A turn is sent `tools_per_turn` of its tools at most; null sends all.
    """

    name: str
    app: str = Field(default="", exclude_if=not_)
    models: tuple[str, ...]
    routes: tuple[Stored[Route], ...] = Field(default=(), exclude_if=not_)
    instructions: str
    prefix_digest: str
    tools: tuple[ToolContract, ...]
    budget: Limits
    escalates: bool
    approval_timeout: float
    max_context_bytes: int
    max_history_events: int
    search_attributes: bool
    hosted: tuple[Stored[HostedTool], ...] = ()
    settings: Stored[ModelSettings] = ModelSettings()
    output_schema: JsonObject | None = None
    companions: tuple[ToolContract, ...] = ()
    guardrails: tuple[GuardrailSpec, ...] = ()
    acceptance: tuple[GuardrailSpec, ...] = ()
    max_output_retries: int = 2
    review: Requirement = Requirement()
    fallback: Stored[Fallback] = Fallback()
    triggers: Stored[Triggers] = Triggers()
    backtracking: Stored[Backtracking] | None = None
    tiers: Stored[Tiers] | None = None
    project: ProjectSpec | None = None
    notifies: bool = False
    resources_searchable: bool = False
    facts: tuple[ModelFacts, ...] = ()
    route: ReasoningRoute | None = None
    signed: tuple[SignedSignal, ...] = Field(default=(), exclude_if=not_)
    stream: Stream = Field(default=False, exclude_if=not_)
    delegations: tuple[Delegation, ...] = Field(default=(), exclude_if=not_)
    ceiling: Ceiling | None = Field(default=None, exclude_if=not_)
    summary_at_limit: bool = Field(default=False, exclude_if=not_)
    regulated: bool = Field(default=False, exclude_if=not_)
    tools_per_turn: int | None = Field(default=None, exclude_if=not_)

    def with_(self, **changes: Unpack[AgentSnapshotChange]) -> Self:
        """Return a copy with these fields changed."""
        return self.copy_with(changes)

    @property
    def guards_answers(self) -> bool:
        """Whether guardrails look at its answers before anybody may read them."""
        return bool(self.answer_guardrails)

    @property
    def answer_guardrails(self) -> frozenset[str]:
        """Names of what looks at its answers before anybody may read them."""
        return frozenset(spec.name for spec in self.guardrails if spec.layer == "output")

    @property
    def watches_words(self) -> bool:
        """Whether guardrails look at what people say to it before a model reads that."""
        return any(spec.layer == "input" and "words" in spec.watches for spec in self.guardrails)

    @classmethod
    def placeholder(cls, name: str) -> Self:
        """Return what is known of an agent before its run has been opened: the name."""
        return cls(
            name=name,
            models=(),
            instructions="",
            prefix_digest="",
            tools=(),
            budget=Limits(),
            escalates=False,
            approval_timeout=0,
            max_context_bytes=0,
            max_history_events=0,
            search_attributes=False,
        )

    @property
    def prefix(self) -> Prefix:
        """What every model call of the run begins with; `prefix_digest` is its name."""
        return Prefix(
            instructions=self.instructions,
            tools=tuple(
                ToolSchema(
                    name=tool.name, description=tool.description, input_schema=tool.input_schema
                )
                for tool in self.tools
            ),
            hosted=self.hosted,
            settings=self.settings,
            output_schema=self.output_schema,
        )

    def find_tool(self, name: str) -> ToolContract | None:
        """Return the contract of a tool that this run has."""
        return next((tool for tool in self.tools if tool.name == name), None)

    def find_any_tool(self, name: str | None) -> ToolContract | None:
        """Return the contract of a tool, also of one that no model sees."""
        known = (*self.companions, *self.tools)
        return next((tool for tool in known if tool.name == name), None)


class StatusReport(Contract):
    """
    Answer to the query `status`.

    `in_flight` is what has begun and hasn't ended: models, tools, guardrails, runs. A run that was
    told to suspend is `suspending` until nothing is, then `suspended`. `waits_for` are people's
    decisions, `waiting` is for a provider that is down, or until a write that was cut off can't
    happen any more.
    `refused` are the latest messages that changed nothing, `notes` what models had to do without
    or said that nobody could read, `signed` the signals that take a signature. While it is
    `planning` nothing is changed. `goal` is what it is for, and how far. `provider_state` is what
    providers asked to keep by now, without what their adapters keep for themselves.
    `transcript_digest` is null where output guardrails look: it would tell who guesses an answer
    that they are right.
    """

    run_id: str
    agent: str
    tenant: str
    actor: str
    status: ReportedStatus
    in_flight: tuple[str, ...] = ()
    waits_for: tuple[str, ...]
    waiting: Waiting | None = None
    step: int
    budget: Limits
    model: str | None
    answer: str | None
    stop: Stop | None
    started_at: datetime
    transcript_digest: str | None
    refused: tuple[RefusedMessage, ...]
    refused_total: int
    notes: tuple[str, ...] = ()
    retry_of: EarlierRun = None
    signed: tuple[SignedSignal, ...] = Field(default=(), exclude_if=not_)
    planning: bool = Field(default=False, exclude_if=not_)
    goal: GoalReport | None = None
    provider_state: JsonObject = Field(default_factory=dict)
