"""A trace: what happened in a run, in its order, as frozen values."""

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal, Self, TypeAlias

from pydantic import JsonValue

from holdfast.contracts.base import JsonObject
from holdfast.contracts.budget import Ledger, Limits
from holdfast.contracts.calls import AnyCall, CustomSpan, ToolFailure, ToolResult
from holdfast.contracts.control import Approach, UndoRuling, Waiting
from holdfast.contracts.decisions import Caller, Decided, Decision, Ruling
from holdfast.contracts.guardrails import ACTIVITY_PREFIX
from holdfast.contracts.journal import HandoffRecord, MessageEnded, MessageTaken
from holdfast.contracts.model import ModelPurpose, StopCause
from holdfast.contracts.run import AgentSnapshot, RunMetadata, RunResult
from holdfast.contracts.state.calls import CallState
from holdfast.contracts.tools import Risk
from holdfast.contracts.transcript import Part, Trust
from holdfast.contracts.usage import CallUsage
from holdfast.trace.background_tasks import BackgroundTask, GuardrailRun, TaskKind, Timed
from holdfast.trace.requests import MessageTrace, RequestTrace

TraceStatus: TypeAlias = Literal[
    "running",
    "waiting",
    "idle",
    "suspending",
    "suspended",
    "completed",
    "stopped",
    "blocked",
    "failed",
    "cancelled",
    "terminated",
    "timed_out",
]


@dataclass(frozen=True, kw_only=True)
class DecisionTrace:
    """
    A ruling on a call, by the policy with this digest.

    `trust` is the least of what the model had read that asked, `caller` for whom it did, as far as
    that is known. `request_id` names the request that the ruling led to.
    """

    ruling: Ruling
    policy: str
    at: datetime
    trust: Trust | None = None
    caller: Caller | None = None
    request_id: str | None = None

    @property
    def decision(self) -> Decision | None:
        """The permission decision; null where the call was refused before one was needed."""
        return self.ruling.decision if isinstance(self.ruling, Decided) else None

    @property
    def verdict(self) -> str:
        """The permission decision in one word, or why none was needed."""
        ruling = self.ruling
        return ruling.decision.verdict if isinstance(ruling, Decided) else ruling.type

    @property
    def rule(self) -> str:
        """The rule that fired."""
        return self.decision.rule if self.decision else ""

    @property
    def undo(self) -> UndoRuling | None:
        """What was ruled on the undo of the call."""
        return self.ruling.undo if isinstance(self.ruling, Decided) else None

    @property
    def risk(self) -> Risk | None:
        """The risk class that was decided upon."""
        return self.ruling.risk if isinstance(self.ruling, Decided) else None

    @property
    def reason(self) -> str:
        """Why."""
        ruling = self.ruling
        return ruling.decision.reason if isinstance(ruling, Decided) else ruling.reason


@dataclass(frozen=True, kw_only=True)
class _ToolRun(Timed):
    """A tool that runs. `draft_id` names the draft that it prepared, or committed."""

    task_queue: str = ""
    draft_id: str = ""
    result: ToolResult | None = None
    spans: tuple[CustomSpan, ...] = ()

    @property
    def elapsed_ms(self) -> int | None:
        """How long it ran, all attempts together, at least 1; null unless it ran to an end."""
        if self.started_at is None or self.ended_at is None:
            return None
        return max(1, round((self.ended_at - self.started_at).total_seconds() * 1000))


@dataclass(frozen=True, kw_only=True)
class AuxiliaryCall(_ToolRun):
    """
    A tool that ran for a call.

    To draft what it would commit, to find out if it happened, or to prepare who takes over.
    """

    tool: str
    purpose: Literal["draft", "reconcile", "prepare"]


@dataclass(frozen=True, kw_only=True)
class Call(_ToolRun):
    """
    A call that a model asked for, whether or not it ran, with the arguments it was ruled on with.

    `course` is what was ruled about it and what ran for it before it had a result, in that order.
    `ended_at` is when its result was known. `lost` is how it ended if it may have happened and
    another tool had to find out.
    """

    call: AnyCall
    course: tuple[DecisionTrace | AuxiliaryCall, ...] = ()
    lost: ToolFailure | None = None

    @property
    def in_flight(self) -> bool:
        """Whether the tool, or one that runs for it, has begun and may still do something."""
        runs = (self, *self.auxiliary_calls)
        return any(one.task_queue and one.ended_at is None for one in runs)

    @property
    def rulings(self) -> tuple[DecisionTrace, ...]:
        """What was ruled about it: more than once if it waited."""
        return tuple(step for step in self.course if isinstance(step, DecisionTrace))

    @property
    def auxiliary_calls(self) -> tuple[AuxiliaryCall, ...]:
        """What ran for it."""
        return tuple(step for step in self.course if isinstance(step, AuxiliaryCall))

    @property
    def state(self) -> CallState:
        """The call as it was ruled on last, as the state of its run has it."""
        return CallState(call=self.call, ruling=self.rulings[-1].ruling if self.rulings else None)

    def find_auxiliary_call(self, key: str) -> AuxiliaryCall | None:
        """Return what ran for it under this key."""
        return next((step for step in self.auxiliary_calls if step.key == key), None)

    def with_auxiliary_call(self, ran: AuxiliaryCall) -> Self:
        """Return the call with what ran for it, in the place of what that was before."""
        known = self.find_auxiliary_call(ran.key)
        return replace(self, course=tuple(ran if one is known else one for one in self.course))


@dataclass(frozen=True, kw_only=True)
class Turn(Timed):
    """
    A question to a model and its reply, or its failure.

    `agent` is the one that had the work then. `failed_usage` is what attempts without a reply used
    up. `objections` say why an answer that has to fit a schema was sent back to the model. An
    answer that is `held_back` doesn't go out. The model was sent these `tools` of that agent
    alone; all where none is named. `provider_state` is what its provider wanted to see again.
    """

    number: int
    model: str
    agent: AgentSnapshot | None = None
    purpose: ModelPurpose = "turn"
    tools: tuple[str, ...] = ()
    text: str = ""
    parts: tuple[Part, ...] = ()
    calls: tuple[Call, ...] = ()
    stop: StopCause | None = None
    objections: tuple[str, ...] = ()
    usage: CallUsage = field(default_factory=CallUsage)
    failed_usage: CallUsage = field(default_factory=CallUsage)
    latency_ms: int | None = None
    first_token_ms: int | None = None
    error: str | None = None
    held_back: bool = False
    provider_state: JsonObject = field(default_factory=dict[str, JsonValue])

    @property
    def is_answer(self) -> bool:
        """Whether it answers, and doesn't ask for calls, plan or sum up."""
        whole = self.ended_at is not None and self.error is None and self.stop == "end_turn"
        says = self.purpose in ("turn", "closing")
        return says and whole and not self.calls and not self.objections

    @property
    def is_step(self) -> bool:
        """Whether it is one of the run's steps: a model answered, and not with last words."""
        return self.ended_at is not None and self.error is None and self.purpose != "closing"


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """The run itself began to wait for a person: escalated, or for a review."""

    request_id: str


@dataclass(frozen=True, kw_only=True)
class AuditLine:
    """A line of the audit, written by the run, or what Temporal says about the run."""

    event: str
    text: str
    at: datetime


Entry: TypeAlias = Turn | RunRequest | MessageTrace | AuditLine | GuardrailRun | BackgroundTask


@dataclass(frozen=True, kw_only=True)
class Trace:
    """
    A run, from its start to its end or to now.

    `run_id` is the workflow id; `first_execution` stays the same when the run continues as a new
    execution. `brief`, `agent`, `limits` and `result` are null where history doesn't hold them in
    a form that this release reads. `failure` says why a run has no result. `approaches` are those
    that failed, `handoffs` to whom its work was handed, `talk` the work on the messages of a
    session. `flood` are refused messages beyond those that anybody would read one by one,
    `relayed` the ids of requests that wait in runs that work for this one, `held` those of such
    runs that are suspended. With a `provider_wait` it asks its last model again later.
    """

    run_id: str
    first_execution: str
    executions: int
    started_at: datetime
    ended_at: datetime | None
    status: TraceStatus
    goal: str
    brief: RunMetadata | None
    agent: AgentSnapshot | None
    limits: Limits | None
    result: RunResult | None
    failure: str | None
    entries: tuple[Entry, ...]
    requests: Mapping[str, RequestTrace]
    approaches: tuple[Approach, ...] = ()
    handoffs: tuple[HandoffRecord, ...] = ()
    talk: tuple[MessageTaken | MessageEnded, ...] = ()
    flood: tuple[MessageTrace, ...] = ()
    relayed: tuple[str, ...] = ()
    held: frozenset[str] = frozenset()
    provider_wait: Waiting | None = None

    @property
    def in_flight(self) -> tuple[str, ...]:
        """What has begun and may still do something, in the words of the query `status`."""
        if self.ended_at is not None:
            return ()
        return tuple(what for entry in self.entries for what in find_in_flight(entry, self.held))

    @property
    def is_session(self) -> bool:
        """Whether it is a session, which answers one message after the other."""
        return self.brief is not None and self.brief.session_id == self.run_id

    @property
    def turns(self) -> tuple[Turn, ...]:
        """All questions to models, failed ones too."""
        return tuple(entry for entry in self.entries if isinstance(entry, Turn))

    @property
    def calls(self) -> tuple[Call, ...]:
        """All calls that models asked for."""
        return tuple(call for turn in self.turns for call in turn.calls)

    @property
    def part_ledgers(self) -> tuple[Ledger, ...]:
        """What the runs have used that did a part of this one and have ended."""
        return tuple(work.ledger for work in self.background_tasks if work.ledger is not None)

    @property
    def steps(self) -> int:
        """How often models were asked and answered, but for last words."""
        own = sum(turn.is_step for turn in self.turns)
        return own + sum(part.steps for part in self.part_ledgers)

    @property
    def tool_calls(self) -> int:
        """How many calls ran; a draft counts as one."""
        apart = sum(part.tool_calls for part in self.part_ledgers)
        drafts = (step for call in self.calls for step in call.auxiliary_calls)
        drafted = sum(step.purpose == "draft" and step.started_at is not None for step in drafts)
        return apart + drafted + sum(call.started_at is not None for call in self.calls)

    @property
    def hosted_calls(self) -> int:
        """How many tools ran at providers."""
        own = sum(part.kind == "hosted_call" for turn in self.turns for part in turn.parts)
        return own + sum(part.hosted_calls for part in self.part_ledgers)

    @property
    def messages(self) -> tuple[MessageTrace, ...]:
        """All that people said, in the order in which they sent it."""
        said = [entry for entry in self.entries if isinstance(entry, MessageTrace)]
        for asked in self.requests.values():
            said += asked.messages
        return tuple(sorted((*said, *self.flood), key=lambda one: (one.at, _place(one.key))))

    @property
    def guardrail_runs(self) -> tuple[GuardrailRun, ...]:
        """All looks of guardrails that are functions."""
        return tuple(entry for entry in self.entries if isinstance(entry, GuardrailRun))

    @property
    def background_tasks(self) -> tuple[BackgroundTask, ...]:
        """All that the run had done for itself."""
        return tuple(entry for entry in self.entries if isinstance(entry, BackgroundTask))

    @property
    def audit_lines(self) -> tuple[AuditLine, ...]:
        """All audit lines."""
        return tuple(entry for entry in self.entries if isinstance(entry, AuditLine))

    @property
    def waiting(self) -> tuple[RequestTrace, ...]:
        """The requests that wait now; a run that is over waits for nobody."""
        if self.ended_at is not None:
            return ()
        return tuple(asked for asked in self.requests.values() if asked.outcome is None)

    @property
    def usage(self) -> CallUsage:
        """What all turns used together, with the attempts that failed and the parts."""
        own = sum((turn.usage + turn.failed_usage for turn in self.turns), CallUsage())
        return sum((part.usage for part in self.part_ledgers), own)


def find_in_flight(entry: Entry, held: Container[str]) -> Iterator[str]:
    """Say what of an entry has begun and may still do something; runs that are *held* don't."""
    match entry:
        case Turn(ended_at=None):
            yield f"model {entry.model}"
        case Turn():
            yield from (f"tool {call.call.name}" for call in entry.calls if call.in_flight)
        case GuardrailRun(ended_at=None):
            yield from (f"{ACTIVITY_PREFIX}{name}" for name in entry.names)
        case BackgroundTask(ended_at=None, kind=kind) if entry.run_id not in held:
            if kind in _UNDER_WAY:
                yield _UNDER_WAY[kind].format(work=entry)
        case _:
            return


_UNDER_WAY: Mapping[TaskKind, str] = {
    "undo": "undo",
    "command": f"{ACTIVITY_PREFIX}{{work.guardrail}}",
    "project": "workspace",
    "child": "run {work.run_id}",
}


def _place(key: str) -> tuple[int, ...]:
    """Return where an event stands by its name: some happen in the same moment."""
    return tuple(int(part) if part.isdecimal() else 0 for part in key.split("."))
