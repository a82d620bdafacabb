"""A trace: what happened in a run, in its order, as frozen values."""

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from holdfast.contracts.budget import Ledger, Limits
from holdfast.contracts.control import Approach, Waiting
from holdfast.contracts.guardrails import ACTIVITY_PREFIX
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
