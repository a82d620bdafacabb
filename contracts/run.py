"""What goes into a run, what comes out, and what can be asked while it works."""

from datetime import datetime
from operator import not_
from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, JsonValue

from contracts.approvals import RefusedMessage, Requirement
from contracts.base import Contract, JsonObject
from contracts.budget import Budget, GivenBudget, Ledger, Limits
from contracts.control import (
    Approach,
    Compensation,
    KeptBacktracking,
    KeptFallback,
    KeptTiers,
    KeptTriggers,
    ModelFacts,
    ReasoningRoute,
)
from contracts.guardrails import GuardrailSpec
from contracts.model import KeptSettings, ModelSettings, Prefix, Strategy, ToolSchema
from contracts.project import ProjectSpec
from contracts.tools import KeptHostedTool, ToolContract
from contracts.usage import CallUsage, UsageMetrics

WORKFLOW_TYPE = "AgentRun"
TASK_QUEUE = "holdfast"


def sandbox_queue(task_queue: str) -> str:
    """Return the task queue of sandboxed calls, so that their workers can be deployed apart."""
    return f"{task_queue}-sandbox"


RunStatus = Literal["completed", "stopped", "blocked", "failed"]


class Brief(Contract):
    """On whose behalf a run works, and what else is kept with it."""

    agent: Annotated[str, Field(min_length=1, max_length=100)]
    tenant: Annotated[str, Field(min_length=1, max_length=200)] = "default"
    actor: Annotated[str, Field(min_length=1, max_length=200)] = "anonymous"
    session_id: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    strategy: Strategy = "stateless"
    task_kind: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    domain: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    metadata: JsonObject = Field(default_factory=dict)


class RunInput(Brief):
    """
    The one JSON argument of the workflow `AgentRun`. Only `agent` and `input` are required.

    `budget` names the limits that differ from the agent's; `ceiling` are limits that lower the
    agent's and never raise them, as a run hands them to those that it starts. Unknown fields are
    refused.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: Annotated[str, Field(min_length=1, max_length=200_000)]
    budget: Budget | None = None
    ceiling: GivenBudget | None = None


class Stop(Contract):
    """
    Why a run ended without an answer, and what to do next.

    `ended_by` is who ended it, where a person did: by rejecting a review, or by an abort.
    """

    reason: str
    detail: str
    next_safe_action: str
    ended_by: str = Field(default="", exclude_if=not_)


class RunResult(Contract):
    """
    The result of the workflow `AgentRun`.

    `provider_state` is what providers asked to keep, by provider: for example
    `{"anthropic": {"container_id": ...}}` or `{"openai": {"thread_id": ...}}`; null when they
    asked for nothing. `output` is the answer as data where the agent declares a shape for it.
    `attempts` are approaches that failed, `compensation` what was taken back of a blocked answer.
    `ledger` is there for the run that started this one, if one did.
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
    ledger: Ledger | None = Field(default=None, exclude_if=not_)


class AgentSnapshot(Contract):
    """
    An agent as it was when the run began, recorded once in history.

    A later deployment may change the agent; a run that has begun keeps its own. `escalates` says
    that somebody is there to be asked after repeated failures. `approval_timeout` is in seconds,
    `companions` draft, reconcile and undo for the tools, and no model sees them.
    `max_context_bytes` the size of transcript that a model is shown before old tool results are
    pruned, `max_history_events` when the run goes on in a new execution. `search_attributes` says
    whether the server knows Holdfast's. `acceptance` checks send an answer back; after a tripwire
    the model may try again `max_output_retries` times. `review` is what it takes to approve a
    sensitive domain, or what a guardrail asks about. `notifies`: somebody is told of requests.
    `resources_searchable`: the server can search runs by the resources that they are at.
    Without `fallback` and `triggers` a run began with a release that had neither.
    """

    name: str
    models: tuple[str, ...]
    instructions: str
    prefix_digest: str
    tools: tuple[ToolContract, ...]
    budget: Limits
    escalates: bool
    approval_timeout: float
    max_context_bytes: int
    max_history_events: int
    search_attributes: bool
    hosted: tuple[KeptHostedTool, ...] = ()
    settings: KeptSettings = ModelSettings()
    output_schema: JsonObject | None = None
    companions: tuple[ToolContract, ...] = ()
    guardrails: tuple[GuardrailSpec, ...] = ()
    acceptance: tuple[GuardrailSpec, ...] = ()
    max_output_retries: int = 2
    review: Requirement = Requirement()
    fallback: KeptFallback | None = None
    triggers: KeptTriggers | None = None
    backtracking: KeptBacktracking | None = None
    tiers: KeptTiers | None = None
    project: ProjectSpec | None = None
    notifies: bool = False
    resources_searchable: bool = False
    facts: tuple[ModelFacts, ...] = ()
    route: ReasoningRoute | None = None

    @classmethod
    def unopened(cls, name: str) -> Self:
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

    def tool(self, name: str) -> ToolContract | None:
        """Return the contract of a tool that this run has."""
        return next((tool for tool in self.tools if tool.name == name), None)

    def companion(self, name: str | None) -> ToolContract | None:
        """Return the contract of a tool, also of one that no model sees."""
        known = (*self.companions, *self.tools)
        return next((tool for tool in known if tool.name == name), None)


class OpenRun(Contract):
    """Input of the activity `open_run`."""

    agent: str
    task_kind: str | None = None


class StatusReport(Contract):
    """
    Answer to the query `status`.

    `refused` are the latest messages that changed nothing, `notes` what models had to do without
    or said that nobody could read.
    """

    run_id: str
    agent: str
    tenant: str
    actor: str
    status: Literal["running", "waiting", "suspended", "completed", "stopped", "blocked", "failed"]
    waits_for: tuple[str, ...]
    step: int
    budget: Limits
    model: str | None
    answer: str | None
    stop: Stop | None
    started_at: datetime
    transcript_digest: str
    refused: tuple[RefusedMessage, ...]
    refused_total: int
    notes: tuple[str, ...] = ()


class UsageReport(Contract):
    """
    Answer to the query `usage`: what was used, beside what may be.

    `failed_usage` is the part of `usage` that attempts without a reply used up. `hosted_calls` ran
    at providers.
    """

    steps: int
    tool_calls: int
    hosted_calls: int = 0
    usage: CallUsage
    failed_usage: CallUsage = CallUsage()
    waited_seconds: float
    budget: Limits


class AuditEvent(Contract):
    """Input of the activity `record`: something that people must find in history at a glance."""

    run_id: str
    event: str
    text: str
