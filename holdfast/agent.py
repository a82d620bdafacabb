"""An agent, as a platform engineer defines it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from holdfast.contracts.approvals import Requirement
from holdfast.contracts.budget import Budget, Limits
from holdfast.contracts.control import Backtracking, Fallback, Route, Tiers, Triggers
from holdfast.contracts.delegation.ceilings import Ceiling
from holdfast.contracts.model import DEFAULT_CONTEXT_BYTES, ModelSettings, Stream
from holdfast.contracts.project import ProjectSpec
from holdfast.contracts.run import AgentSnapshot
from holdfast.contracts.tools import HostedTool, ToolContract
from holdfast.delegation import Handoff, SubAgent
from holdfast.guardrails.definition import Guardrail
from holdfast.tools.builtin.commands import run_command
from holdfast.tools.registry import companions
from holdfast.tools.schema import output_schema
from holdfast.tools.tool import Tool


@dataclass(frozen=True, kw_only=True)
class Agent:
    """
    An agent: what it is told, which models it asks in order, what it can do, what it may use.

    *models* are named `provider:name`; the first is asked, the next only when it fails.
    *routes* say for which turns another of them is asked (docs/adapters.md).
    *settings* say how they think and how much they may write. *output* is the shape of the answer
    as data, a pydantic model or a dataclass; what doesn't fit goes back to the model. *hosted* are
    tools that run at the provider.
    *escalates* says that somebody answers when the agent fails again and again: then the run waits
    for a `resolution` instead of stopping. Requests expire after *approval_timeout*. Old tool
    results are pruned from the model's view beyond *max_context_bytes* of transcript.
    A run goes on in a new execution after *max_history_events*: 1,000 steps stay one page in the
    UI, and the server's own limit is 51,200.

    *guardrails* look before, between and after (docs/control.md), *acceptance* checks are
    guardrails whose findings go back to the model. After a tripwire the model may try again
    *max_output_retries* times. *review* says who must approve a run in a sensitive domain, and
    what a guardrail with on_trip "ask" objects to; anybody but the requester may, unless it names
    groups. *fallback* says what follows when a model fails, *triggers* when a
    run waits for a person, *backtracking* that it may go back and try another approach. An agent
    with *tiers* has others do the work. *project* is a folder on the workers that have the
    sandbox: each run works on a copy of its own. *stream* has the words of its models told while
    they come; "before_checks" also where its answers are looked at before they are out.
    With *summary_at_limit* a model sums up, without tools, where its steps are used up.
    *subagents* do tasks for it, *handoffs* name those who may go on in its place, *ceiling* says
    what they and all behind them may not use (docs/agents.md). Runs of a *regulated* one are
    about data that a law protects (docs/security.md).
    A turn is sent *tools_per_turn* of its tools at most; by `holdfast.tools.find_tools` its models
    find others (docs/tools.md).
    """

    name: str
    instructions: str
    models: Sequence[str] = ()
    routes: Sequence[Route] = ()
    tools: Sequence[Tool] = ()
    hosted: Sequence[HostedTool] = ()
    settings: ModelSettings = field(default_factory=ModelSettings)
    output: type[object] | None = None
    budget: Budget = field(default_factory=Budget)
    escalates: bool = False
    approval_timeout: timedelta = timedelta(days=7)
    max_context_bytes: int = DEFAULT_CONTEXT_BYTES
    max_history_events: int = 15_000
    guardrails: Sequence[Guardrail] = ()
    acceptance: Sequence[Guardrail] = ()
    max_output_retries: int = 2
    review: Requirement = field(default_factory=Requirement)
    fallback: Fallback = field(default_factory=Fallback)
    triggers: Triggers = field(default_factory=Triggers)
    backtracking: Backtracking | None = None
    tiers: Tiers | None = None
    project: str | Path | None = None
    stream: Stream = False
    summary_at_limit: bool = False
    subagents: Sequence[SubAgent] = ()
    handoffs: Sequence[Handoff] = ()
    ceiling: Ceiling = field(default_factory=Ceiling)
    regulated: bool = False
    tools_per_turn: int | None = None

    def snapshot(self, delegating: Sequence[Tool] = ()) -> AgentSnapshot:
        """
        Return what a run of this agent records of it; tools in order of names.

        Those that are *delegating* an app makes, which knows the agents that get the tasks.
        """
        contracts = [tool.contract for tool in (*self.tools, *delegating)]
        snapshot = AgentSnapshot(
            name=self.name,
            models=tuple(self.models),
            routes=tuple(self.routes),
            instructions=self.instructions,
            prefix_digest="",
            tools=tuple(sorted(contracts, key=lambda contract: contract.name)),
            budget=Limits.model_validate(self.budget.model_dump()),
            escalates=self.escalates,
            approval_timeout=self.approval_timeout.total_seconds(),
            max_context_bytes=self.max_context_bytes,
            max_history_events=self.max_history_events,
            search_attributes=False,
            hosted=tuple(sorted(self.hosted, key=lambda tool: tool.name)),
            settings=self.settings,
            output_schema=None if self.output is None else output_schema(self.name, self.output),
            companions=tuple(tool.contract for tool in self.companions),
            guardrails=tuple(guardrail.spec for guardrail in self.guardrails),
            acceptance=tuple(check.spec for check in self.acceptance),
            max_output_retries=self.max_output_retries,
            review=self.review,
            fallback=self.fallback,
            triggers=self.triggers,
            backtracking=self.backtracking,
            tiers=self.tiers,
            project=None if self.project is None else ProjectSpec(folder=str(self.project)),
            stream=self.stream,
            summary_at_limit=self.summary_at_limit,
            delegations=tuple(one.delegation for one in (*self.subagents, *self.handoffs)),
            ceiling=None if self.ceiling == Ceiling() else self.ceiling,
            regulated=self.needs_codec,
            tools_per_turn=self.tools_per_turn,
        )
        return snapshot.with_(prefix_digest=snapshot.prefix.digest)

    @property
    def needs_codec(self) -> bool:
        """Whether it says so of itself, or of one of its tools."""
        tools = (*self.tools, *self.companions)
        return self.regulated or any(tool.contract.needs_codec for tool in tools)

    @property
    def companions(self) -> tuple[Tool, ...]:
        """The tools that the run itself uses, and that no model sees."""
        specs = [one.spec for one in (*self.guardrails, *self.acceptance)]
        commands = any(spec.command or spec.project_commands for spec in specs)
        own = (run_command,) if commands and run_command not in self.tools else ()
        prepare = dict.fromkeys(one.prepare for one in self.handoffs if one.prepare is not None)
        loading = (one for one in prepare if one not in self.tools)
        return (*companions(self.tools), *own, *loading)

    @property
    def delegates(self) -> tuple[str, ...]:
        """The agents that this one has do something, in runs of their own."""
        specs = [one.spec for one in (*self.guardrails, *self.acceptance)]
        found = [spec.agent for spec in specs if spec.agent is not None]
        found += [one.agent for one in (*self.subagents, *self.handoffs) if one.works_apart]
        if self.tiers is not None:
            found += filter(None, (self.tiers.full, self.tiers.simplified))
            if (parts := self.tiers.decomposed) is not None:
                found += (parts.planner, parts.worker)
        return tuple(dict.fromkeys(found))


def find_companions(
    own: AgentSnapshot, parts: Iterable[AgentSnapshot]
) -> tuple[ToolContract, ...]:
    """
    Return the tools that a run of an agent uses itself, those that undo the work of its parts too.

    What takes calls back, or finds out about them, is among them also where a model sees it: what
    a ceiling keeps from the model, it keeps from no run.
    """
    undos = (
        one.find_any_tool(tool.undo)
        for one in (own, *parts)
        for tool in (*one.tools, *one.companions)
    )
    finders = (own.find_any_tool(tool.reconcile) for tool in own.tools)
    every = (*own.companions, *(one for one in (*undos, *finders) if one is not None))
    return tuple({one.name: one for one in every}.values())
