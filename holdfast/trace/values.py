"""A trace: what is known of a run, in the order in which it happened."""

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import reduce
from itertools import takewhile
from typing import Literal, TypeAlias

from holdfast.contracts.budget import Budget, Ledger, Limits
from holdfast.contracts.control import Approach, Waiting
from holdfast.contracts.guardrails import ACTIVITY_PREFIX, GuardrailSpec
from holdfast.contracts.journal import HandoffRecord, MessageEnded, MessageTaken
from holdfast.contracts.run import AgentSnapshot, RunMetadata, RunResult
from holdfast.contracts.usage import CallUsage
from holdfast.trace.entries import (
    AuditLine,
    BackgroundTask,
    Call,
    Entry,
    GuardrailRun,
    TaskKind,
    Turn,
)
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


_UNKNOWN = datetime.min.replace(tzinfo=UTC)


@dataclass(kw_only=True)
class Trace:
    """
    A run, from its start to its end or to now; what is read further changes it.

    `run_id` is the workflow id; `first_execution` stays the same when the run continues as a new
    execution. A session answers one message after the other, a part works for its `whole`.
    `brief`, `agent` and `result` are null where history doesn't hold them in a form that this
    release reads. `failure` says why a run has no result. `budgets` are what changed the limits of
    the agent, in their order, `approaches` those that failed. `flood` are refused messages beyond
    those that anybody would read one by one. `holds` are the words by which the run is held or
    goes on, by the places of their entries: `suspend`, `resume`, or `held` from a part, which is
    named. They count from when they are heard; what is refused later never did. `relays` are the
    ids of requests that wait in runs that work for this one. With a `provider_wait` it asks its
    last model again later.
    `changed` are the places of entries, each as often as the entry was new or other than before:
    whoever watches goes on behind what they have seen.
    """

    run_id: str = ""
    first_execution: str = ""
    executions: int = 0
    is_session: bool = False
    whole: str = ""
    started_at: datetime = _UNKNOWN
    ended_at: datetime | None = None
    ended: TraceStatus | None = None
    goal: str = ""
    brief: RunMetadata | None = None
    agent: AgentSnapshot | None = None
    budgets: list[Budget] = field(default_factory=list[Budget])
    result: RunResult | None = None
    failure: str | None = None
    entries: list[Entry] = field(default_factory=list[Entry])
    requests: dict[str, RequestTrace] = field(default_factory=dict[str, RequestTrace])
    approaches: list[Approach] = field(default_factory=list[Approach])
    flood: list[MessageTrace] = field(default_factory=list[MessageTrace])
    holds: dict[int, tuple[str, str]] = field(default_factory=dict[int, tuple[str, str]])
    relays: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    provider_wait: Waiting | None = None
    changed: list[int] = field(default_factory=list[int], init=False)

    @property
    def status(self) -> TraceStatus:
        """Where the run stands, in one word."""
        if self.ended is not None:
            return self.ended
        if self.is_on_hold:
            return "suspending" if self.in_flight else "suspended"
        if self.provider_wait or self.waiting:
            return "waiting"
        works = any(isinstance(one, MessageTaken) for one in self.talk[-1:])
        return "idle" if self.is_session and not works else "running"

    @property
    def in_flight(self) -> tuple[str, ...]:
        """What has begun and may still do something, in the words of the query `status`."""
        if self.ended_at is not None:
            return ()
        return tuple(
            what for entry in self.entries for what in _find_in_flight(entry, self.held_parts)
        )

    @property
    def held_parts(self) -> frozenset[str]:
        """The parts that have said since the run was suspended that they hold still."""
        since = takewhile(lambda one: one[0] == "held", reversed(self.holds.values()))
        return frozenset(part for _, part in since)

    @property
    def is_on_hold(self) -> bool:
        """Whether the latest word about it suspends the run."""
        words = (signal for signal, _ in reversed(self.holds.values()) if signal != "held")
        return next(words, "resume") == "suspend"

    @property
    def limits(self) -> Limits | None:
        """What bounds the run now; null where nobody knows its agent."""
        if self.agent is None:
            return None
        return reduce(Limits.with_changes, self.budgets, self.agent.budget)

    @property
    def relayed_requests(self) -> tuple[str, ...]:
        """The ids of requests that wait in runs that still work for this one."""
        parts = (work.run_id for work in self.background_tasks if work.ended_at is None)
        return tuple(name for part in parts for name in self.relays.get(part, ()))

    @property
    def handoffs(self) -> tuple[HandoffRecord, ...]:
        """To whom its work was handed."""
        told = (note.told for note in self.audit_lines)
        return tuple(one for one in told if isinstance(one, HandoffRecord))

    @property
    def talk(self) -> tuple[MessageTaken | MessageEnded, ...]:
        """The work on the messages of a session."""
        told = (note.told for note in self.audit_lines)
        return tuple(one for one in told if isinstance(one, MessageTaken | MessageEnded))

    @property
    def guardrail_specs(self) -> tuple[GuardrailSpec, ...]:
        """The guardrails and acceptance checks that the run has."""
        return (*self.agent.guardrails, *self.agent.acceptance) if self.agent else ()

    def find_guardrail(self, name: str) -> GuardrailSpec | None:
        """Return the guardrail or acceptance check of this name, if the run has one."""
        return next((spec for spec in self.guardrail_specs if spec.name == name), None)

    @property
    def turns(self) -> tuple[Turn, ...]:
        """All questions to models, failed ones too."""
        return tuple(entry for entry in self.entries if isinstance(entry, Turn))

    @property
    def calls(self) -> tuple[Call, ...]:
        """All calls that models asked for."""
        return tuple(call for turn in self.turns for call in turn.calls)

    @property
    def ledger(self) -> Ledger:
        """What it used, and what parts used that have ended. A draft counts as a call."""
        parts = [work.ledger for work in self.background_tasks if work.ledger is not None]
        drafts = (one for call in self.calls for one in call.auxiliary_calls)
        ran = (*self.calls, *(one for one in drafts if one.purpose == "draft"))
        said = [part for turn in self.turns for part in turn.parts]
        used = [turn.usage + turn.failed_usage for turn in self.turns]
        return Ledger(
            steps=sum((part.steps for part in parts), sum(turn.is_step for turn in self.turns)),
            tool_calls=sum(
                (part.tool_calls for part in parts), sum(one.started_at is not None for one in ran)
            ),
            hosted_calls=sum(
                (part.hosted_calls for part in parts),
                sum(part.kind == "hosted_call" for part in said),
            ),
            usage=sum((*used, *(part.usage for part in parts)), CallUsage()),
        )

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


def _find_in_flight(entry: Entry, held: Container[str]) -> Iterator[str]:
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
