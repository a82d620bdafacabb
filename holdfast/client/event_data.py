"""What the events of a run hold, by their types (`holdfast.client.events`)."""

from datetime import datetime
from operator import not_
from typing import TypeAlias

from pydantic import Field, JsonValue

from holdfast.contracts.approvals import RequestKind, RequestOutcome, Requirement
from holdfast.contracts.base import Contract, JsonObject
from holdfast.contracts.calls import Purpose, ToolResult
from holdfast.contracts.control import EarlierRun
from holdfast.contracts.guardrails import Layer
from holdfast.contracts.model import ModelPurpose, StopCause, Strategy
from holdfast.contracts.stops import Stop
from holdfast.contracts.tools import Risk
from holdfast.contracts.usage import CallUsage, UsageMetrics
from holdfast.trace.values import TraceStatus


class RunStarted(Contract):
    """
    What a run was started with. `workflow_id` is the id that somebody chose for it.

    The goal of one that tries another again is that one's, and empty here.
    """

    workflow_id: str
    goal: str
    tenant: str
    actor: str
    strategy: Strategy = "stateless"
    session_id: str | None = None
    task_kind: str | None = None
    domain: str | None = None
    retry_of: EarlierRun = None


class TurnStarted(Contract):
    """A model is asked."""

    turn: int
    purpose: ModelPurpose
    model: str


class TextDelta(Contract):
    """
    More words of the reply that a model is writing, in this attempt to get one.

    `seq` counts the deltas of an attempt from 0; where it is 0 the text begins anew. `offset` is
    how many characters stand before it: more than were told where somebody came too late for them.
    """

    turn: int
    attempt: int
    seq: int
    offset: int
    text: str


class TextReset(Contract):
    """
    What an attempt wrote is void: it failed, was cut off, or was lost with its worker.

    `reason` is "missed" where it goes on, and some of it came and went unseen.
    """

    attempt: int
    reason: str = ""


class RequestedCall(Contract):
    """
    A call as the model wrote it; `index` is its place in the turn, from 0.

    A run gives a call whose id it has seen before an id of its own: later events, which have the
    index too, name that. `arguments` are null where they are no JSON object.
    """

    index: int
    call_id: str
    name: str
    arguments: JsonObject | None


class TurnCompleted(Contract):
    """
    A model has replied, or failed for good: then `error` says why.

    `text` are its words beside calls, unless output guardrails look at what it says. Words without
    calls are an answer that may yet be held back: the event `answer` has it once it is out.
    `objections` say why an answer that has to fit a schema was sent back. Times are milliseconds.
    """

    turn: int
    purpose: ModelPurpose
    model: str
    attempts: int
    text: str
    calls: tuple[RequestedCall, ...]
    stop: StopCause | None
    objections: tuple[str, ...] = ()
    error: str | None = None
    latency_ms: int | None = None
    first_token_ms: int | None = None


class DecisionMade(Contract):
    """What the permission engine said of a call, and by which rule of which policy (a digest)."""

    turn: int
    index: int
    call_id: str
    name: str
    verdict: str
    rule: str
    policy: str
    reason: str
    risk: Risk | None
    scope: str | None
    arguments_digest: str | None


class ToolStarted(Contract):
    """
    A tool was scheduled for a call, or to draft it, to find out what became of it, to undo it.

    `turn` and `index` say for which call; an undo has none, but its `call_id`.
    """

    turn: int | None
    index: int | None
    call_id: str
    name: str
    purpose: Purpose
    arguments: JsonObject | None
    draft_id: str = Field(default="", exclude_if=not_)


class ToolProgress(Contract):
    """What a tool that runs reports of its progress."""

    call_id: str
    attempt: int
    progress: JsonValue


class ToolCompleted(Contract):
    """
    A call has its result, which `ran` or not: one that was denied only has this event.

    `elapsed_ms` is null where it didn't run to an end.
    """

    turn: int | None
    index: int | None
    call_id: str
    name: str
    purpose: Purpose
    ran: bool
    result: ToolResult
    attempts: int
    elapsed_ms: int | None


class GuardrailDone(Contract):
    """
    A guardrail has looked. `tripped`: it lets something not happen.

    One that wasn't `applicable` had nothing to look at, one `cancelled` found nothing. `call_id`
    names the call that it looked at, if it was one.
    """

    guardrail: str
    layer: Layer | None
    call_id: str = Field(default="", exclude_if=not_)
    tripped: bool
    reason: str
    applicable: bool = True
    cancelled: bool = Field(default=False, exclude_if=not_)


class RequestWaits(Contract):
    """A request waits for a person; the query `pending` has all that they need to know."""

    request_id: str
    kind: RequestKind
    reason: str
    call_id: str
    required: Requirement | None
    requested_at: datetime
    expires_at: datetime | None


class RequestDone(Contract):
    """A request waits no longer. `by` is who decided it, `text` what they answered."""

    request_id: str
    kind: RequestKind
    call_id: str
    outcome: RequestOutcome
    by: str
    reason: str
    text: str


class HandoffMade(Contract):
    """An agent has handed its work to another one."""

    handoff_id: str
    from_agent: str
    to_agent: str
    task_id: str
    goal: str
    context_passed: tuple[str, ...]
    return_expected: bool
    timeout_seconds: float | None


class SubagentStarted(Contract):
    """Another agent does a part, in a run of its own, whose events stand between these two."""

    agent: str
    workflow_id: str
    task: str


class SubagentCompleted(Contract):
    """A part has ended, however. `summary` is one line, `usage` null where it said nothing."""

    agent: str
    workflow_id: str
    failed: bool
    summary: str
    steps: int | None
    usage: UsageMetrics | None


class PlanMade(Contract):
    """What a model plans to do."""

    text: str


class CheckpointTaken(Contract):
    """The files of the workspace were kept, to go back to; or couldn't be."""

    summary: str
    failed: bool


class RolledBack(Contract):
    """An approach was given up; if another one is left, the run goes back to its beginning."""

    number: int
    approach: str
    failure_reason: str
    partial_progress: str


class UsageCounted(Contract):
    """
    What a turn used, `failed` attempts of it included.

    `total` is what the run has used so far, with the parts that have ended.
    """

    turn: int
    model: str
    usage: CallUsage
    failed: CallUsage
    total: UsageMetrics


class Noted(Contract):
    """Something else that people should know, as `event` names it; `by` is who said it, if so."""

    event: str
    text: str
    by: str = Field(default="", exclude_if=not_)


class AnswerReleased(Contract):
    """The answer, once it is out; `output` is it as data, where the agent declares a shape."""

    text: str
    output: JsonValue
    confidence: float | None
    model: str | None


class HoldChanged(Contract):
    """Who suspended or resumed the run, and why, as they said."""

    by: str
    reason: str


class RunCompleted(Contract):
    """
    The run is over. Null is what it didn't say: one that was terminated says nothing.

    `failure` says why it has no result. All of that is told by `Run.result`.
    """

    status: TraceStatus
    stop: Stop | None
    failure: str | None
    steps: int
    usage: UsageMetrics


class SessionMessage(Contract):
    """The work on a message of a session begins; it is the so-manieth of all."""

    message_id: str
    position: int
    actor: str


class SessionOutcome(Contract):
    """The work on a message of a session is over; the query `outcome` has its answer."""

    message_id: str
    status: str


EventData: TypeAlias = (
    RunStarted
    | TurnStarted
    | TextDelta
    | TextReset
    | TurnCompleted
    | DecisionMade
    | ToolStarted
    | ToolProgress
    | ToolCompleted
    | GuardrailDone
    | RequestWaits
    | RequestDone
    | HandoffMade
    | SubagentStarted
    | SubagentCompleted
    | PlanMade
    | CheckpointTaken
    | RolledBack
    | UsageCounted
    | Noted
    | AnswerReleased
    | HoldChanged
    | RunCompleted
    | SessionMessage
    | SessionOutcome
)
