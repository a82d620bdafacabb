"""What a model asks of a tool, and what comes back."""

from datetime import UTC, datetime, timedelta
from operator import not_
from typing import Annotated, Literal, Self, TypeAlias, TypedDict, Unpack
from urllib.parse import quote

from pydantic import AfterValidator, Field, JsonValue

from holdfast.contracts.base import Contract, JsonObject, digest

DEFAULT_TENANT, DEFAULT_ACTOR = "default", "anonymous"
"""On whose behalf a run works that was started for nobody in particular."""

ToldTenant: TypeAlias = Annotated[str, Field(exclude_if=DEFAULT_TENANT.__eq__)]
"""A tenant that is left out where it is the default one."""

SANDBOX_SPARE = timedelta(seconds=90)
"""
Beyond its tool's time, after which a sandbox ends by itself though its worker stands still.

It starts within a third of that, and then its call is admitted.
"""

ErrorType = Literal[
    "unknown_tool",
    "invalid_arguments",
    "permission_denied",
    "approval_required",
    "auth_expired",
    "not_found",
    "timeout",
    "rate_limited",
    "conflict",
    "non_idempotent_retry_blocked",
    "internal_error",
    "aborted",
    "subagent_failed",
]

NEXT_VALID_ACTIONS: dict[ErrorType, tuple[str, ...]] = {
    "unknown_tool": ("use a tool that is listed", "answer without it"),
    "invalid_arguments": ("correct the arguments",),
    "permission_denied": ("go on without it", "tell the user what you would have done"),
    "approval_required": ("ask for it again", "go on without it"),
    "auth_expired": ("go on without it", "tell the user that access has to be renewed"),
    "not_found": ("look for what there is", "go on without it"),
    "timeout": ("ask for less at once", "go on without it"),
    "rate_limited": ("ask for it again later", "go on without it"),
    "conflict": ("find out how it is by now before you ask for it again", "go on without it"),
    "non_idempotent_retry_blocked": ("find out whether it happened", "go on without it"),
    "internal_error": ("try other arguments", "go on without it"),
    "aborted": ("ask for it again if it is still wanted",),
    "subagent_failed": ("go on without it", "do it yourself, or give a smaller task"),
}
"""What a model may do next, where whoever failed its call doesn't say."""


class ToolCallChange(TypedDict, total=False):
    """What may change of it."""

    call_id: str
    name: str
    arguments: JsonObject


class ToolCall(Contract):
    """A model asks for a tool."""

    call_id: str
    name: str
    arguments: JsonObject

    def with_(self, **changes: Unpack[ToolCallChange]) -> Self:
        """Return a copy with these fields changed."""
        return self.copy_with(changes)

    def diff_arguments(self, written: JsonObject) -> JsonObject:
        """Return its arguments that weren't *written* so: something of them was filled in."""
        return {
            name: value
            for name, value in self.arguments.items()
            if name not in written or written[name] != value
        }

    def with_arguments(self, values: JsonObject) -> Self:
        """Return the call with these arguments too."""
        return self.with_(arguments={**self.arguments, **values})


class MalformedCallChange(TypedDict, total=False):
    """What may change of it."""

    call_id: str
    name: str


class MalformedCall(Contract):
    """A model asks for a tool, but its arguments are no JSON object."""

    call_id: str
    name: str
    raw_arguments: str

    def with_(self, **changes: Unpack[MalformedCallChange]) -> Self:
        """Return a copy with these fields changed."""
        return self.copy_with(changes)


AnyCall: TypeAlias = ToolCall | MalformedCall


class Grant(Contract):
    """What a sandboxed call may do: the commands and hosts of the rule that let it run."""

    commands: tuple[str, ...] = Field(default=(), exclude_if=not_)
    hosts: tuple[str, ...] = Field(default=(), exclude_if=not_)


class Draft(Contract):
    """
    What a draft variant prepared, and what a person is shown before it is committed.

    `draft_id` is the idempotency key of the draft's own call.
    """

    draft_id: str
    call_id: str
    tool: str
    summary: str
    data: JsonValue = None


Purpose: TypeAlias = Literal["call", "draft", "reconcile", "undo", "prepare"]


def idempotency_key(first_execution_run_id: str, call_id: str, purpose: Purpose) -> str:
    """Return the key of a call. A quoted id has no slash: no call has that of another's draft."""
    key = f"{first_execution_run_id}/{quote(call_id, safe=':|=+')}"
    return f"{key}/{purpose}" if purpose in {"draft", "undo", "prepare"} else key


class ToolInvocationChange(TypedDict, total=False):
    """What may change of it."""

    time_limit: float | None
    max_result_chars: int | None
    basis: str
    call_id: str
    agent: str
    path: tuple[str, ...]
    purpose: Purpose
    draft_id: str | None
    done: JsonValue
    grant: Grant | None


class ToolInvocation(Contract):
    """
    Input of every tool's activity, whose type is the tool's name.

    `purpose`: to do it, to draft it, to find out whether it happened, to take it back, or to load
    what the agent needs that it hands the run to.
    `draft_id` is that of the draft which is approved, or taken back, `done` what was answered that
    is taken back. A call with a `grant` runs in the sandbox. `first_execution_run_id` is what
    tells the run from every other: `run_id` is a name that somebody chose. `path` are the agents
    that this one works for. `execution` is that in which the call was allowed, left out where it
    is the first; nothing begins in any other. `basis` is by what it was allowed; nothing begins on
    a worker that decides by something else. Of a run that is `dry` nothing begins at all.
    `time_limit`, in seconds, and `max_result_chars` are those that the run counts with, where it
    does: a worker of a release that allows more keeps to them.
    """

    run_id: str
    first_execution_run_id: str
    execution: str = Field(default="", exclude_if=not_)
    basis: str = Field(default="", exclude_if=not_)
    call_id: str
    app: str = Field(default="", exclude_if=not_)
    agent: str
    path: tuple[str, ...] = Field(default=(), exclude_if=not_)
    tenant: str
    actor: str
    arguments: JsonObject
    purpose: Purpose = Field(default="call", exclude_if=lambda purpose: purpose == "call")
    draft_id: str | None = Field(default=None, exclude_if=not_)
    done: JsonValue = Field(default=None, exclude_if=lambda value: value is None)
    grant: Grant | None = Field(default=None, exclude_if=lambda grant: grant is None)
    dry: bool = Field(default=False, exclude_if=not_)
    time_limit: float | None = Field(default=None, exclude_if=not_)
    max_result_chars: int | None = Field(default=None, exclude_if=not_)

    def with_(self, **changes: Unpack[ToolInvocationChange]) -> Self:
        """Return a copy with these fields changed."""
        return self.copy_with(changes)

    def limit_time(self, seconds: float) -> float:
        """Return how long the call may take where its tool may take so long."""
        return min(seconds, self.time_limit or seconds)

    def limit_chars(self, most: int) -> int:
        """Return what a model reads at once of its result, of whose tool it reads so much."""
        return min(most, self.max_result_chars or most)

    @property
    def allowed_in(self) -> str:
        """The execution in which the call was allowed."""
        return self.execution or self.first_execution_run_id

    @property
    def idempotency_key(self) -> str:
        """
        The same for every attempt of this call, and no other's: the server made up its first part.

        A draft has its own, which is the draft's id, and so has what takes a call back, or its
        draft. Who finds out whether a call happened looks for the key of that call.
        """
        key = idempotency_key(self.first_execution_run_id, self.call_id, self.purpose)
        return f"{key}/draft" if self.purpose == "undo" and self.draft_id else key


class Reconciled(Contract):
    """
    What a tool that reconciles found out about a call whose answer was lost.

    `happened` is null when it can't tell. `result` is what the call would have answered.
    """

    happened: bool | None
    result: JsonValue = None


class ArtifactRef(Contract):
    """Where the whole of a result lies that was too large for the model (size in characters)."""

    path: str
    characters: int
    digest: str


def _require_zone(time: datetime) -> datetime:
    return time if time.tzinfo else time.replace(tzinfo=UTC)


SpanTime: TypeAlias = Annotated[datetime, AfterValidator(_require_zone)]
"""Without a zone it is in UTC: code in a sandbox may say anything, and times are compared."""


MAX_CUSTOM_SPANS = 50
"""Spans that one call, or one look of guardrails, may leave; later ones are left out."""

MAX_SPAN_NAME_CHARS = 100
"""Of the name of a span, and of the exception that ended it."""


class CustomSpan(Contract):
    """
    A part of the own work of a tool or of a guardrail, in UTC. Its name says what was done.

    `error` is the name of the exception that ended it. `guardrail` is whose it is, if it is one's.
    """

    name: Annotated[str, Field(max_length=MAX_SPAN_NAME_CHARS)]
    started_at: SpanTime
    ended_at: SpanTime
    data: JsonObject = Field(default_factory=dict, exclude_if=not_)
    error: Annotated[str, Field(max_length=MAX_SPAN_NAME_CHARS)] = Field(
        default="", exclude_if=not_
    )
    guardrail: str = Field(default="", exclude_if=not_)

    def with_guardrail(self, guardrail: str) -> Self:
        """Return a copy that belongs to this guardrail."""
        return self.copy_with({"guardrail": guardrail})


CustomSpans: TypeAlias = Annotated[tuple[CustomSpan, ...], Field(max_length=MAX_CUSTOM_SPANS)]


class ToolSuccessChange(TypedDict, total=False):
    """What may change of it."""

    call_id: str
    name: str
    summary: str
    data: JsonValue
    artifact: ArtifactRef | None
    spans: CustomSpans
    crowded_out: bool
    by_person: bool


class ToolSuccess(Contract):
    """
    A tool did what it was asked.

    `cut`: `data` shows only the beginning, and `artifact` is the whole, where it could be kept; of
    a result in two parts it is the full one.
    `crowded_out`: its turn had no room for it, and shows how it began. `by_person`: it is what a
    person said, `by_agent`: what an agent answered that did a part. `spans` of its own work only
    the history of the call has.
    """

    status: Literal["ok"] = "ok"
    call_id: str
    name: str
    summary: str
    data: JsonValue = None
    artifact: ArtifactRef | None = Field(default=None, exclude_if=lambda value: value is None)
    cut: bool = Field(default=False, exclude_if=not_)
    crowded_out: bool = Field(default=False, exclude_if=not_)
    by_person: bool = Field(default=False, exclude_if=not_)
    by_agent: bool = Field(default=False, exclude_if=not_)
    spans: CustomSpans = Field(default=(), exclude_if=not_)

    def with_(self, **changes: Unpack[ToolSuccessChange]) -> Self:
        """Return a copy with these fields changed."""
        return self.copy_with(changes)


FailureStatus = Literal["error", "denied", "aborted", "outcome_unknown"]


class ToolFailureChange(TypedDict, total=False):
    """What may change of it."""

    call_id: str
    name: str
    reason: str
    next_valid_actions: tuple[str, ...]
    spans: CustomSpans
    crowded_out: bool
    by_person: bool


class ToolFailure(Contract):
    """
    A call has no result, and why. `outcome_unknown`: it may have happened.

    The same shape answers calls that never ran: denied, invalid, unknown, rejected by a person.
    `crowded_out`: its turn had no room for it, and shows how its reason began. `by_person`: a
    person gave the reason. `spans` of its own work only the history of the call has.
    """

    status: FailureStatus
    call_id: str
    name: str
    type: ErrorType
    reason: str
    next_valid_actions: tuple[str, ...] = ()
    crowded_out: bool = Field(default=False, exclude_if=not_)
    by_person: bool = Field(default=False, exclude_if=not_)
    spans: CustomSpans = Field(default=(), exclude_if=not_)

    def with_(self, **changes: Unpack[ToolFailureChange]) -> Self:
        """Return a copy with these fields changed."""
        return self.copy_with(changes)

    @property
    def may_begin_later(self) -> bool:
        """Whether its worker didn't begin it for a reason that passes; no tool says that."""
        return self.status == "denied" and self.type == "rate_limited"

    @classmethod
    def of(
        cls, call: AnyCall, status: FailureStatus, kind: ErrorType, reason: str, *actions: str
    ) -> Self:
        """Return why a call has no result, and what may be asked for next."""
        return cls(
            status=status,
            call_id=call.call_id,
            name=call.name,
            type=kind,
            reason=reason,
            next_valid_actions=actions or NEXT_VALID_ACTIONS[kind],
        )


ToolResult: TypeAlias = Annotated[ToolSuccess | ToolFailure, Field(discriminator="status")]


class RecordedResult(Contract):
    """What came of a call once, by what makes another call the same: see `fingerprint_effect`."""

    digests: tuple[str, ...]
    result: ToolResult


def fingerprint_effect(name: str, values: JsonObject) -> str:
    """Return what makes two calls do the same, however their arguments are written."""
    return digest([name, values])
