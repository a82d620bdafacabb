"""From the events of a history to those of a run: pure, and each says what the trace gained."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple
from weakref import WeakValueDictionary

from temporalio.api.history.v1 import HistoryEvent

from holdfast.client import entry_events, turn_events
from holdfast.client.disclosure import serves_guarded_run, withholds
from holdfast.client.event_data import (
    AnswerReleased,
    HandoffMade,
    HoldChanged,
    RolledBack,
    RunCompleted,
    RunStarted,
    UsageCounted,
)
from holdfast.client.events import EventType, RunEvent
from holdfast.client.turn_events import Told
from holdfast.contracts.control import Approach
from holdfast.contracts.guardrails import WITHHELD
from holdfast.contracts.usage import CallUsage, UsageMetrics
from holdfast.histories import Recorded
from holdfast.trace.entries import BackgroundTask, Entry, Turn
from holdfast.trace.payloads import read_time
from holdfast.trace.reader import TraceReader
from holdfast.trace.released import redact_entry
from holdfast.trace.requests import MessageTrace, RequestTrace
from holdfast.trace.values import Trace


class _Counted(NamedTuple):
    """What a run has used so far."""

    usage: UsageMetrics
    steps: int


class EventFold:
    """
    One run while its history is read.

    What an event of the history brings doesn't depend on when it is read, and costs no more in a
    long run than in a short one.
    """

    def __init__(self) -> None:
        self._reader = TraceReader()
        self._run = self._reader.trace
        self._known: dict[int, Entry] = {}
        self._seen = 0
        self._waiting: dict[str, RequestTrace] = {}
        self._requests = 0
        self._approaches = 0
        self._counted = _Counted(UsageMetrics(), 0)
        self._hold: MessageTrace | None = None
        self._suspended = False
        self._started = False
        self._over = False

    @property
    def trace(self) -> Trace:
        """The run as far as it was read."""
        return self._reader.trace

    def read(self, event: HistoryEvent) -> Sequence[RunEvent]:
        """Take one more event of the history and return what it brought; ids are not given yet."""
        self._reader.read(event)
        run = self._run
        if not run.executions:
            return ()
        return [self.build(told, read_time(event)) for told in self._tell_news()]

    def build(self, told: Told, at: datetime) -> RunEvent:
        """Build an event of this run; its id is not given yet."""
        brief, working, (kind, data) = self._run.brief, self._run.agent, told
        agent = working.name if working else brief.agent if brief else ""
        if isinstance(data, HandoffMade):
            agent = data.from_agent
        return RunEvent(
            id="",
            type=kind,
            run_id=self._run.first_execution,
            at=at,
            agent=agent,
            path=(*(brief.path if brief else ()), agent),
            data=data,
        )

    @property
    def hides_reports(self) -> bool:
        """Whether what its tools report may quote an answer that isn't out."""
        return serves_guarded_run(self._run)

    def _tell_news(self) -> Iterator[Told]:
        if not self._started:
            self._started = True
            yield from self._tell_start()
        yield from self._tell_changed_requests()
        yield from self._tell_entries()
        yield from self._tell_new_requests()
        for approach in self._run.approaches[self._approaches :]:
            yield EventType.ROLLBACK, self._build_rollback(approach)
        self._approaches = len(self._run.approaches)
        yield from self._tell_suspension()
        if self._run.ended is not None and not self._over:
            self._over = True
            for asked in self._waiting.values():  # nothing else closes those of a cancelled run
                yield entry_events.tell_closing(self._run, asked, "withdrawn")
            yield from self._tell_end()

    def _tell_start(self) -> Iterator[Told]:
        run = self._run
        if (brief := run.brief) is None:
            started = RunStarted(workflow_id=run.run_id, goal="", tenant="", actor="")
        else:
            started = RunStarted(
                workflow_id=run.run_id,
                goal=WITHHELD if brief.withheld else run.goal,
                tenant=brief.tenant,
                actor=brief.actor,
                strategy=brief.strategy,
                session_id=brief.session_id,
                task_kind=brief.task_kind,
                domain=brief.domain,
                retry_of=brief.retry_of,
            )
        yield EventType.RUN_STARTED, started

    def _tell_changed_requests(self) -> Iterator[Told]:
        for request_id, before in [*self._waiting.items()]:
            now = self._run.requests[request_id]
            if now is before:
                continue
            yield from self._tell_request(now, len(before.heard))

    def _tell_new_requests(self) -> Iterator[Told]:
        known = self._run.requests
        if len(known) == self._requests:
            return
        for asked in [*known.values()][self._requests :]:
            yield entry_events.tell_opening(self._run, asked)
            yield from self._tell_request(asked, 0)
        self._requests = len(known)

    def _tell_request(self, asked: RequestTrace, heard: int) -> Iterator[Told]:
        for one in asked.heard[heard:]:
            yield entry_events.tell_heard(asked, one)
        if asked.outcome is None:
            self._waiting[asked.request_id] = asked
            return
        self._waiting.pop(asked.request_id, None)
        yield entry_events.tell_closing(self._run, asked, asked.outcome)

    def _tell_entries(self) -> Iterator[Told]:
        entries = self._run.entries
        fresh, self._seen = self._run.changed[self._seen :], len(self._run.changed)
        for place in sorted(set(fresh)):
            before, now = self._known.get(place), entries[place]
            self._known[place] = now
            if now is not before:
                yield from self._tell_entry(before, now)

    def _tell_entry(self, before: Entry | None, now: Entry) -> Iterator[Told]:
        shown = redact_entry(self._run, now)
        match before, shown:
            case Turn() | None, Turn():
                yield from turn_events.tell_turn(self._run, before, shown)
                if shown.ended_at is not None and (before is None or before.ended_at is None):
                    yield self._count(shown)
                yield from turn_events.tell_calls(self._run, before, shown)
            case _, BackgroundTask():
                yield from entry_events.tell_task(self._run, shown, begins=before is None)
                if shown.ledger is not None:
                    self._add(shown.ledger.usage, shown.ledger.steps)
            case _, MessageTrace():
                yield from self._tell_message(shown)
            case _:
                yield from entry_events.tell_other(self._run, shown)

    def _tell_message(self, entry: Entry) -> Iterator[Told]:
        if not isinstance(entry, MessageTrace):
            return
        if entry.accepted and entry.signal in {"suspend", "resume"}:
            self._hold = entry
        elif entry.judged_at is None or not entry.accepted:
            yield from entry_events.tell_message(entry)

    def _count(self, turn: Turn) -> Told:
        self._add(turn.usage + turn.failed_usage, int(turn.is_step))
        counted = UsageCounted(
            turn=turn.number,
            model=turn.model,
            usage=turn.usage + turn.failed_usage,
            failed=turn.failed_usage,
            total=self._counted.usage,
        )
        return EventType.USAGE, counted

    def _add(self, used: CallUsage, steps: int) -> None:
        usage = self._counted.usage + used
        self._counted = _Counted(usage, self._counted.steps + steps)

    def _build_rollback(self, approach: Approach) -> RolledBack:
        # What tiers give up is the name of an agent.
        tiers = self._run.agent is not None and self._run.agent.tiers is not None
        hidden = withholds(self._run) and not tiers
        return RolledBack(
            number=approach.number,
            approach=WITHHELD if hidden else approach.approach,
            failure_reason=approach.failure_reason,
            partial_progress=approach.partial_progress,
        )

    def _tell_suspension(self) -> Iterator[Told]:
        if self._run.is_on_hold is self._suspended:
            return
        self._suspended = self._run.is_on_hold
        said, self._hold = self._hold, None
        kind = EventType.RUN_SUSPENDED if self._suspended else EventType.RUN_RESUMED
        by, reason = (said.author, said.reason) if said is not None else ("", "")
        yield kind, HoldChanged(by=by, reason=reason)

    def _tell_end(self) -> Iterator[Told]:
        run, result = self._run, self._run.result
        told = run.brief is not None and not run.brief.withheld
        if result is not None and result.answer is not None and told:
            answer = AnswerReleased(
                text=result.answer,
                output=result.output,
                confidence=result.confidence,
                model=result.model,
            )
            yield EventType.ANSWER, answer
        over = RunCompleted(
            status=run.status,
            stop=result.stop if result is not None else None,
            failure=run.failure,
            steps=result.steps if result is not None else self._counted.steps,
            usage=result.usage if result is not None else self._counted.usage,
        )
        yield EventType.RUN_COMPLETED, over


class SharedFold(EventFold):
    """The same for all who read one run in this process: each event is taken once."""

    def __init__(self) -> None:
        super().__init__()
        self._told: dict[tuple[str, int], Sequence[RunEvent]] = {}

    def read_once(self, recorded: Recorded) -> Sequence[RunEvent]:
        """Take an event, unless another reader came with it before; return what it brought."""
        place = recorded.execution, recorded.event.event_id
        if place not in self._told:
            self._told[place] = self.read(recorded.event)
        return self._told[place]


class Folds:
    """Runs that are read in this process, each as long as anybody reads it."""

    def __init__(self) -> None:
        self._found = WeakValueDictionary[str, SharedFold]()

    def find(self, execution: str) -> SharedFold:
        """Return the run that is read from this execution on."""
        found = self._found.get(execution)
        if found is None:
            found = self._found[execution] = SharedFold()
        return found
