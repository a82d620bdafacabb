"""What a run has had done, from begin to end: activities, local ones, child runs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal, NamedTuple, Protocol, TypeAlias, TypeVar

from temporalio.api.common.v1 import Payload
from temporalio.api.enums.v1 import EventType, StartChildWorkflowExecutionFailedCause
from temporalio.api.failure.v1 import CanceledFailureInfo, Failure
from temporalio.api.history.v1 import HistoryEvent
from temporalio.exceptions import ActivityError

from holdfast.trace.builder import Readers, TraceBuilder
from holdfast.trace.entries import BackgroundTask, GuardrailRun, Turn
from holdfast.trace.payloads import (
    LocalActivity,
    build_activity_error,
    decode,
    describe_hand_back,
    read_summary,
    read_time,
)
from holdfast.workflows import failures

EntryT = TypeVar("EntryT", Turn, GuardrailRun, BackgroundTask)

_MARKER_NAME = "core_local_activity"
_CANCELLED = Failure(message="cancelled", canceled_failure_info=CanceledFailureInfo())
_CHILD_ENDS: Mapping[EventType.ValueType, str] = {
    EventType.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_FAILED: "it was not started: ",
    EventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_COMPLETED: "",
    EventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_FAILED: "failed: ",
    EventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_CANCELED: "cancelled",
    EventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_TIMED_OUT: "timed out",
    EventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_TERMINATED: "terminated",
}
"""How a child run ends, in words, and what those of a failure begin with."""

_NOT_STARTED = "START_CHILD_WORKFLOW_EXECUTION_FAILED_CAUSE_"


class _ActivityFailure(Protocol):
    scheduled_event_id: int
    failure: Failure


class _ChildEnd(Protocol):
    initiated_event_id: int


@dataclass(frozen=True, kw_only=True)
class Operation:
    """
    Something that a run had done, as it was asked for. What a local one was given isn't kept.

    `name` is the type of the activity or workflow, `run_id` the id of a child run, `limit` how
    long the server tries. Of a local one the `outcome` is known as soon as it is.
    """

    kind: Literal["activity", "local", "child"]
    key: str
    name: str
    at: datetime
    given: Sequence[Payload] = ()
    summary: str = ""
    task_queue: str = ""
    run_id: str = ""
    limit: timedelta = timedelta(0)
    outcome: "Outcome | None" = None


class Outcome(NamedTuple):
    """How an operation ended: with what it returned, or with a `failure` in words."""

    at: datetime
    payloads: Sequence[Payload] = ()
    failure: str = ""
    error: ActivityError | None = None


def _ignore(_attempts: int, _began: datetime, _execution: str = "") -> None:
    """Tell nobody when it began."""


class Work(NamedTuple):
    """
    What is told when an operation ends, and before, when so many attempts have begun.

    The first began at that time, a child run in that execution. What runs `beside` others of its
    task took none of their time.
    """

    end: Callable[[Outcome], None]
    start: Callable[[int, datetime, str], None] = _ignore
    beside: bool = False


def keep_entry(
    trace: TraceBuilder, entry: EntryT, conclude: Callable[[EntryT, Outcome], EntryT]
) -> Work:
    """Add an entry to the trace that changes as its work goes on."""
    place = trace.add(entry)

    def put(changed: EntryT) -> None:
        nonlocal entry
        entry = changed
        trace.put(place, changed)

    def start(attempts: int, began: datetime, execution: str) -> None:
        begun = replace(entry, started_at=began, attempts=attempts)
        put(replace(begun, execution=execution) if isinstance(begun, BackgroundTask) else begun)

    def end(outcome: Outcome) -> None:
        put(conclude(replace(entry, ended_at=outcome.at), outcome))

    return Work(end, start)


Begin: TypeAlias = Callable[[Operation], Work | None]
"""Begins to keep an operation; null where a trace says nothing of it."""


class OperationReader:
    """
    Knows which operation is open under which event.

    It keeps the run's own clock, from which the time that a local activity took follows. A marker
    says when its activity ended, not when it began. It began when the workflow task did, or when
    the decision was made that let it run.
    """

    def __init__(self, trace: TraceBuilder, begin: Begin) -> None:
        self._trace = trace
        self._begin = begin
        self._open: dict[str, tuple[Operation, Work | None]] = {}
        self._clock: datetime | None = None
        self._task_completed_id = 0
        self._prolonged = False
        self.readers: Readers = {
            EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED: self._on_schedule,
            EventType.EVENT_TYPE_ACTIVITY_TASK_STARTED: self._on_start,
            EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED: self._on_end,
            EventType.EVENT_TYPE_ACTIVITY_TASK_FAILED: self._on_end,
            EventType.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT: self._on_end,
            EventType.EVENT_TYPE_ACTIVITY_TASK_CANCELED: self._on_end,
            EventType.EVENT_TYPE_MARKER_RECORDED: self._on_marker,
            EventType.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED: self._on_task_schedule,
            EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED: self._on_task_start,
            EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED: self._on_task_completion,
            EventType.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED: self._on_child,
            EventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_STARTED: self._on_child_start,
            **dict.fromkeys(_CHILD_ENDS, self._on_child_end),
        }

    def _add(self, operation: Operation) -> None:
        self._open[operation.key] = operation, self._begin(operation)

    def _end(self, scheduled: int, outcome: Outcome) -> None:
        _, work = self._open.pop(self._trace.build_key(scheduled), (None, None))
        if work is not None:
            work.end(outcome)

    def _note_hand_back(self, name: str, failure: Failure, at: datetime) -> None:
        """Leave a line where another worker had to do what was left undone."""
        if why := describe_hand_back(failure):
            self._trace.add_audit_line("handed back", f"{name}: {why}", at)

    def _on_schedule(self, event: HistoryEvent) -> None:
        scheduled = event.activity_task_scheduled_event_attributes
        self._add(
            Operation(
                kind="activity",
                key=self._trace.key(event),
                name=scheduled.activity_type.name,
                at=read_time(event),
                given=scheduled.input.payloads,
                summary=read_summary(event),
                task_queue=scheduled.task_queue.name,
                limit=scheduled.schedule_to_close_timeout.ToTimedelta(),
            )
        )

    def _on_start(self, event: HistoryEvent) -> None:
        started, now = event.activity_task_started_event_attributes, read_time(event)
        found = self._open.get(self._trace.build_key(started.scheduled_event_id))
        if found is None:
            return
        operation, work = found
        self._note_hand_back(operation.name, started.last_failure, now)
        if work is not None:
            # Only the last attempt has an event; the time of all begins when it was scheduled.
            work.start(started.attempt, now if started.attempt == 1 else operation.at, "")

    def _on_end(self, event: HistoryEvent) -> None:
        """Take the end of an activity: what it returned, or its failure."""
        at = read_time(event)
        if event.HasField("activity_task_completed_event_attributes"):
            completed = event.activity_task_completed_event_attributes
            outcome = Outcome(at, completed.result.payloads)
            self._end(completed.scheduled_event_id, outcome)
            return
        ended: _ActivityFailure = getattr(event, event.WhichOneof("attributes") or "")
        operation, _ = self._open.get(
            self._trace.build_key(ended.scheduled_event_id), (None, None)
        )
        cancelled = event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_CANCELED
        failure = _CANCELLED if cancelled else ended.failure
        name = operation.name if operation else "activity"
        self._end(ended.scheduled_event_id, self._read_failure(name, failure, at))

    def _read_failure(self, name: str, failure: Failure, at: datetime) -> Outcome:
        """Return how an activity failed; a line says so where another worker had to do it."""
        self._note_hand_back(name, failure, at)
        error = build_activity_error(failure)
        return Outcome(at, failure=failures.message(error), error=error)

    def _on_task_schedule(self, event: HistoryEvent) -> None:
        # A task right behind another only keeps a long local activity alive: nothing began then.
        self._prolonged = event.event_id == self._task_completed_id + 1

    def _on_task_start(self, event: HistoryEvent) -> None:
        if not self._prolonged:
            self._clock = read_time(event)

    def _on_task_completion(self, event: HistoryEvent) -> None:
        self._task_completed_id = event.event_id

    def _on_marker(self, event: HistoryEvent) -> None:
        """Take a local activity, all of it at once, unless it has only been put off."""
        marked = event.marker_recorded_event_attributes
        done = decode(marked.details["data"].payloads, LocalActivity)
        if marked.marker_name != _MARKER_NAME or done is None or done.backoff is not None:
            return
        ended = done.complete_time.as_datetime() if done.complete_time else read_time(event)
        began = min(self._clock or ended, ended)
        outcome = Outcome(ended, marked.details["result"].payloads)
        if marked.HasField("failure"):
            outcome = self._read_failure(done.activity_type, marked.failure, ended)
        work = self._begin(
            Operation(
                kind="local",
                key=self._trace.key(event),
                name=done.activity_type,
                at=began,
                summary=read_summary(event),
                outcome=outcome,
            )
        )
        if work is not None:
            work.start(done.attempt, began, "")
            work.end(outcome)
        if work is None or not work.beside:
            self._clock = ended

    def _on_child(self, event: HistoryEvent) -> None:
        initiated = event.start_child_workflow_execution_initiated_event_attributes
        self._add(
            Operation(
                kind="child",
                key=self._trace.key(event),
                name=initiated.workflow_type.name,
                at=read_time(event),
                given=initiated.input.payloads,
                run_id=initiated.workflow_id,
            )
        )

    def _on_child_start(self, event: HistoryEvent) -> None:
        started = event.child_workflow_execution_started_event_attributes
        key = self._trace.build_key(started.initiated_event_id)
        _, work = self._open.get(key, (None, None))
        if work is not None:
            work.start(1, read_time(event), started.workflow_execution.run_id)

    def _on_child_end(self, event: HistoryEvent) -> None:
        ended: _ChildEnd = getattr(event, event.WhichOneof("attributes") or "")
        said, payloads = _CHILD_ENDS[event.event_type], list[Payload]()
        if event.HasField("child_workflow_execution_completed_event_attributes"):
            completed = event.child_workflow_execution_completed_event_attributes
            payloads += completed.result.payloads
        elif event.HasField("child_workflow_execution_failed_event_attributes"):
            failed = event.child_workflow_execution_failed_event_attributes
            said += failures.message(build_activity_error(failed.failure))
        elif event.HasField("start_child_workflow_execution_failed_event_attributes"):
            unstarted = event.start_child_workflow_execution_failed_event_attributes
            cause = StartChildWorkflowExecutionFailedCause.Name(unstarted.cause)
            said += cause.removeprefix(_NOT_STARTED).lower().replace("_", " ")
        self._end(ended.initiated_event_id, Outcome(read_time(event), payloads, said))
