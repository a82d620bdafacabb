"""A trace: what happened in a run, in its order, as frozen values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal, TypeAlias

from contracts.budget import Budget, Limits
from contracts.content import Part
from contracts.model import StopCause
from contracts.run import AgentSnapshot, Brief, RunResult
from contracts.tools import AnyCall, ToolResult
from contracts.usage import CallUsage

Standing: TypeAlias = Literal[
    "running",
    "waiting",
    "suspended",
    "completed",
    "stopped",
    "blocked",
    "failed",
    "cancelled",
    "terminated",
    "timed_out",
]
Kind: TypeAlias = Literal["approval", "question", "escalation"]
Outcome: TypeAlias = Literal["approved", "rejected", "answered", "resolved", "expired"]


@dataclass(frozen=True, kw_only=True)
class Said:
    """
    What a person said to a run. `accepted` is null until the run has judged it.

    `sender` is the name that the message gives, `identity` the Temporal client that sent it.
    `reason` is the person's own, `budget` holds the limits that an extension changes, `refusal`
    says why the message changed nothing.
    """

    key: str
    signal: str
    at: datetime
    identity: str
    text: str = ""
    sender: str = ""
    request_id: str = ""
    reason: str = ""
    budget: Budget | None = None
    accepted: bool | None = None
    refusal: str = ""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """
    A request that waits, or waited, for a person.

    `refused` are the messages that named it while it waited and changed nothing, `settled` is the
    one that ended the wait: none if it expired.
    """

    request_id: str
    key: str
    kind: Kind
    call_id: str
    reason: str
    at: datetime
    refused: tuple[Said, ...] = ()
    outcome: Outcome | None = None
    settled: Said | None = None
    closed_at: datetime | None = None

    @property
    def waited(self) -> timedelta | None:
        """How long it waited, once it is closed."""
        return None if self.closed_at is None else self.closed_at - self.at


@dataclass(frozen=True, kw_only=True)
class Ruled:
    """
    A ruling on a call. `verdict` is the permission decision, or why none was needed.

    `request_id` names the request that the ruling led to.
    """

    verdict: str
    rule: str
    risk: str
    reason: str
    at: datetime
    request_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class Call:
    """
    A call that a model asked for, whether or not it ran.

    `started_at` is null unless it ran. `ended_at` is when its result was known.
    """

    key: str
    call: AnyCall
    at: datetime
    rulings: tuple[Ruled, ...] = ()
    started_at: datetime | None = None
    ended_at: datetime | None = None
    attempts: int = 0
    result: ToolResult | None = None

    @property
    def elapsed_ms(self) -> int | None:
        """How long it ran, all attempts together, at least 1; null unless it ran to an end."""
        if self.started_at is None or self.ended_at is None:
            return None
        return max(1, round((self.ended_at - self.started_at).total_seconds() * 1000))


@dataclass(frozen=True, kw_only=True)
class Turn:
    """
    A question to a model and its reply, or its failure. `ended_at` is null while it is open.

    `failed_usage` is what attempts without a reply used up. `objections` say why an answer that
    has to fit a schema was sent back to the model.
    """

    key: str
    number: int
    model: str
    at: datetime
    ended_at: datetime | None = None
    attempts: int = 0
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


@dataclass(frozen=True, kw_only=True)
class Escalated:
    """The run itself began to wait for a person."""

    request_id: str


@dataclass(frozen=True, kw_only=True)
class Noted:
    """A line of the audit, written by the run, or what Temporal says about the run."""

    event: str
    text: str
    at: datetime


Entry: TypeAlias = Turn | Escalated | Said | Noted


@dataclass(frozen=True, kw_only=True)
class Trace:
    """
    A run, from its start to its end or to now.

    `run_id` is the workflow id; `first_execution` stays the same when the run continues as a new
    execution. `brief`, `agent`, `limits` and `result` are null where history doesn't hold them in
    a form that this release reads. `failure` says why a run has no result.
    """

    run_id: str
    first_execution: str
    executions: int
    started_at: datetime
    ended_at: datetime | None
    status: Standing
    goal: str
    brief: Brief | None
    agent: AgentSnapshot | None
    limits: Limits | None
    result: RunResult | None
    failure: str | None
    entries: tuple[Entry, ...]
    requests: Mapping[str, Asked]

    @property
    def turns(self) -> tuple[Turn, ...]:
        """All questions to models, failed ones too."""
        return tuple(entry for entry in self.entries if isinstance(entry, Turn))

    @property
    def calls(self) -> tuple[Call, ...]:
        """All calls that models asked for."""
        return tuple(call for turn in self.turns for call in turn.calls)

    @property
    def hosted_calls(self) -> int:
        """How many tools ran at providers."""
        return sum(part.kind == "hosted_call" for turn in self.turns for part in turn.parts)

    @property
    def messages(self) -> tuple[Said, ...]:
        """All that people said, in the order in which they sent it."""
        alone = [entry for entry in self.entries if isinstance(entry, Said)]
        for asked in self.requests.values():
            alone.extend(asked.refused)
            if asked.settled is not None:
                alone.append(asked.settled)
        return tuple(sorted(alone, key=lambda said: said.at))

    @property
    def audits(self) -> tuple[Noted, ...]:
        """All audit lines."""
        return tuple(entry for entry in self.entries if isinstance(entry, Noted))

    @property
    def waiting(self) -> tuple[Asked, ...]:
        """The requests that wait now; a run that is over waits for nobody."""
        if self.ended_at is not None:
            return ()
        return tuple(asked for asked in self.requests.values() if asked.outcome is None)

    @property
    def usage(self) -> CallUsage:
        """What all turns used together, with the attempts that failed."""
        return sum((turn.usage + turn.failed_usage for turn in self.turns), CallUsage())
