"""From the events of a history to a trace, one event at a time."""

from collections.abc import Iterable

from pydantic import TypeAdapter
from temporalio.api.enums.v1 import EventType, TimeoutType, WorkflowTaskFailedCause
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import WorkflowHistory

from holdfast.contracts.run import RunInput, RunResult
from holdfast.contracts.state import RunState
from holdfast.trace.activities import ActivityReader
from holdfast.trace.builder import Readers, TraceBuilder
from holdfast.trace.carried import carry_on
from holdfast.trace.children import ChildReader
from holdfast.trace.markers import MarkerReader
from holdfast.trace.own import OwnReader
from holdfast.trace.payloads import activity_error, at, decoded
from holdfast.trace.signal_reader import PeopleReader
from holdfast.trace.values import Trace
from holdfast.workflows import failures

_INPUT = TypeAdapter(RunInput)
_STATE = TypeAdapter(RunState)
_RESULT = TypeAdapter(RunResult)

# A message came in while the run wrote its last step: Temporal lets it look again.
_ROUTINE = {
    WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND,
    WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_UPDATE,
}


def read_trace(histories: Iterable[WorkflowHistory]) -> Trace:
    """
    Read a run from the histories of its executions, the oldest first.

    Raises ValueError when they hold no start of a run.
    """
    reader = TraceReader()
    for history in histories:
        for event in history.events:
            reader.read(event)
    return reader.trace()


class TraceReader:
    """Reads events in their order; the trace so far can be had at any time."""

    def __init__(self) -> None:
        self._chronicle = TraceBuilder()
        people, own = PeopleReader(self._chronicle), OwnReader(self._chronicle)
        self._readers: Readers = {
            EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED: self._started,
            EventType.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED: self._completed,
            EventType.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED: self._failed,
            EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT: self._timed_out,
            EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED: self._terminated,
            EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED: self._cancelled,
            EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED: self._cancel_requested,
            EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED: self._task_failed,
            EventType.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT: self._task_timed_out,
            **ActivityReader(self._chronicle, own).readers,
            **people.readers,
            **MarkerReader(self._chronicle, people.judged, own).readers,
            **ChildReader(self._chronicle).readers,
        }

    def read(self, event: HistoryEvent) -> None:
        """Take one more event; those that say nothing about the run are skipped."""
        if (read := self._readers.get(event.event_type)) is not None:
            read(event)

    def trace(self) -> Trace:
        """Return the run as far as it was read."""
        return self._chronicle.trace()

    def _started(self, event: HistoryEvent) -> None:
        started = event.workflow_execution_started_event_attributes
        chronicle = self._chronicle
        chronicle.executions += 1
        if chronicle.started_at is not None:
            return
        arguments = started.input.payloads
        chronicle.run_id = started.workflow_id
        chronicle.first_execution = started.first_execution_run_id
        chronicle.started_at = at(event)
        if (given := decoded(arguments, _INPUT)) is not None:
            chronicle.brief, chronicle.goal = given, given.input
            chronicle.budgets += [given.budget] if given.budget else []
        elif (carried := decoded(arguments, _STATE)) is not None:
            carry_on(chronicle, carried, at(event))

    def _completed(self, event: HistoryEvent) -> None:
        completed = event.workflow_execution_completed_event_attributes
        self._chronicle.result = decoded(completed.result.payloads, _RESULT)
        status = self._chronicle.result.status if self._chronicle.result else "completed"
        self._chronicle.end(status, at(event))

    def _failed(self, event: HistoryEvent) -> None:
        failed = event.workflow_execution_failed_event_attributes
        self._chronicle.end("failed", at(event), failures.message(activity_error(failed.failure)))

    def _timed_out(self, event: HistoryEvent) -> None:
        self._chronicle.end("timed_out", at(event), "the run's own time limit was reached")

    def _terminated(self, event: HistoryEvent) -> None:
        terminated = event.workflow_execution_terminated_event_attributes
        reason = terminated.reason or "no reason given"
        self._chronicle.end("terminated", at(event), f"by {terminated.identity}: {reason}")

    def _cancelled(self, event: HistoryEvent) -> None:
        self._chronicle.end("cancelled", at(event))

    def _cancel_requested(self, event: HistoryEvent) -> None:
        requested = event.workflow_execution_cancel_requested_event_attributes
        reason = f": {requested.cause}" if requested.cause else ""
        self._chronicle.note("cancel requested", f"by {requested.identity}{reason}", at(event))

    def _task_failed(self, event: HistoryEvent) -> None:
        failed = event.workflow_task_failed_event_attributes
        if failed.cause not in _ROUTINE:
            cause = WorkflowTaskFailedCause.Name(failed.cause).removeprefix(
                "WORKFLOW_TASK_FAILED_CAUSE_"
            )
            said = failed.failure.message or cause.lower().replace("_", " ")
            self._chronicle.note("workflow task failed", said, at(event))

    def _task_timed_out(self, event: HistoryEvent) -> None:
        kind = event.workflow_task_timed_out_event_attributes.timeout_type
        if kind == TimeoutType.TIMEOUT_TYPE_START_TO_CLOSE:
            self._chronicle.note("worker lost", "it did not answer a workflow task", at(event))
