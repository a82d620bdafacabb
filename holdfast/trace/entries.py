"""What happened in a run, as frozen values: each is an entry of its trace, or a part of one."""

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal, Self, TypeAlias

from pydantic import JsonValue

from holdfast.contracts.base import JsonObject
from holdfast.contracts.budget import Ledger
from holdfast.contracts.calls import AnyCall, CustomSpan, ToolFailure, ToolResult
from holdfast.contracts.decisions import Caller, Decided, Decision, Ruling
from holdfast.contracts.effects import UndoRuling
from holdfast.contracts.guardrails import GuardrailVerdict
from holdfast.contracts.journal import HandoffRecord, MessageEnded, MessageTaken
from holdfast.contracts.model import ModelPurpose, StopCause
from holdfast.contracts.project import ProjectFile
from holdfast.contracts.run import AgentSnapshot
from holdfast.contracts.state.calls import CallState
from holdfast.contracts.tools import Risk
from holdfast.contracts.transcript import Part, Trust
from holdfast.contracts.usage import CallUsage
from holdfast.trace.requests import MessageTrace

TaskKind: TypeAlias = Literal["undo", "command", "notice", "project", "child"]


@dataclass(frozen=True, kw_only=True)
class Timed:
    """What is asked for `at` a time, starts, perhaps more than once, and ends; null until then."""

    key: str
    at: datetime
    started_at: datetime | None = None
    ended_at: datetime | None = None
    attempts: int = 0

    @property
    def elapsed_ms(self) -> int | None:
        """How long it ran, all attempts together, at least 1; null unless it ran to an end."""
        if self.started_at is None or self.ended_at is None:
            return None
        return max(1, round((self.ended_at - self.started_at).total_seconds() * 1000))


@dataclass(frozen=True, kw_only=True)
class GuardrailRun(Timed):
    """
    Guardrails that looked; several that are quick look together.

    `verdicts` are there once they have looked, or `error` says why they couldn't. Those that were
    `cancelled` have found nothing.
    """

    names: tuple[str, ...]
    verdicts: tuple[GuardrailVerdict, ...] = ()
    spans: tuple[CustomSpan, ...] = ()
    error: str = ""
    cancelled: bool = False

    def find_verdicts(self, name: str) -> tuple[GuardrailVerdict, ...]:
        """Return what one of them found: a verdict for each subject."""
        return tuple(verdict for verdict in self.verdicts if verdict.guardrail == name)

    def has_tripwire(self, name: str) -> bool:
        """Whether one of them has tripped; one that couldn't decide has."""
        failed = bool(self.error) and name in self.names
        return failed or any(verdict.tripwire_triggered for verdict in self.find_verdicts(name))


@dataclass(frozen=True, kw_only=True)
class BackgroundTask(Timed):
    """
    Something that a run had done for itself.

    `undo`: the tool `name` took back the call `call_id`. `command`: the tool `name` ran a command
    for `guardrail`. `notice`: somebody was told of a request. `project`: its files were opened,
    kept or put back. `child`: the agent `name` did a part, in the run `run_id`, or judged for
    `guardrail`; `execution` is where that began, for anybody may give another run its id. `about`
    says on one line what it was about, `came_to` what it came to, once it has ended. `output` is
    what a judge answered, `ledger` what a child has used, if it says so, `files` are those of the
    project whose words were read.
    """

    kind: TaskKind
    name: str
    about: str = ""
    call_id: str = ""
    guardrail: str = ""
    run_id: str = ""
    execution: str = ""
    task_queue: str = ""
    came_to: str = ""
    failed: bool = False
    result: ToolResult | None = None
    output: JsonValue = None
    ledger: Ledger | None = None
    files: tuple[ProjectFile, ...] = ()


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
    at: datetime


@dataclass(frozen=True, kw_only=True)
class AuditLine:
    """
    A line of the audit, written by the run, or what Temporal says about the run.

    `told` is who goes on, or what of a session does, where the line tells that.
    """

    event: str
    text: str
    at: datetime
    told: HandoffRecord | MessageTaken | MessageEnded | None = None


Entry: TypeAlias = Turn | RunRequest | MessageTrace | AuditLine | GuardrailRun | BackgroundTask
