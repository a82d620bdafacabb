"""Reads the runs that a run has started to do a part of it."""

from dataclasses import replace

from pydantic import TypeAdapter
from temporalio.api.enums.v1 import EventType, StartChildWorkflowExecutionFailedCause
from temporalio.api.history.v1 import HistoryEvent

from holdfast.contracts.budget import Ledger
from holdfast.contracts.run import RunInput, RunResult
from holdfast.contracts.usage import CallUsage
from holdfast.trace.background_tasks import BackgroundTask
from holdfast.trace.builder import Readers, TraceBuilder
from holdfast.trace.payloads import build_activity_error, decode, read_time
from holdfast.workflows import failures

_INPUT = TypeAdapter(RunInput)
_RESULT = TypeAdapter(RunResult)


class ChildReader:
    """Knows which child run is open under which event."""

    def __init__(self, chronicle: TraceBuilder) -> None:
        self._chronicle = chronicle
        self._open: dict[str, int] = {}
        self.readers: Readers = {
            EventType.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED: self._on_initiation,
            EventType.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_FAILED: self._on_start_failure,
            EventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_STARTED: self._on_start,
            EventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_COMPLETED: self._on_completion,
            EventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_FAILED: self._on_failure,
            EventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_CANCELED: self._on_cancellation,
            EventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_TIMED_OUT: self._on_timeout,
            EventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_TERMINATED: self._on_termination,
        }

    def _on_initiation(self, event: HistoryEvent) -> None:
        initiated = event.start_child_workflow_execution_initiated_event_attributes
        given = decode(initiated.input.payloads, _INPUT)
        self._open[self._chronicle.key(event)] = len(self._chronicle.entries)
        self._chronicle.entries.append(
            BackgroundTask(
                key=self._chronicle.key(event),
                kind="child",
                name=given.agent if given else initiated.workflow_type.name,
                at=read_time(event),
                about=(given.input if given else None) or "",
                run_id=initiated.workflow_id,
            )
        )

    def _on_start_failure(self, event: HistoryEvent) -> None:
        failed = event.start_child_workflow_execution_failed_event_attributes
        cause = StartChildWorkflowExecutionFailedCause.Name(failed.cause)
        words = cause.removeprefix("START_CHILD_WORKFLOW_EXECUTION_FAILED_CAUSE_")
        said = f"it was not started: {words.lower().replace('_', ' ')}"
        self._close(failed.initiated_event_id, event, said, failed=True)

    def _on_start(self, event: HistoryEvent) -> None:
        started = event.child_workflow_execution_started_event_attributes
        place = self._open.get(self._chronicle.build_key(started.initiated_event_id))
        if place is not None and isinstance(
            work := self._chronicle.entries[place], BackgroundTask
        ):
            self._chronicle.entries[place] = replace(work, started_at=read_time(event), attempts=1)

    def _on_completion(self, event: HistoryEvent) -> None:
        completed = event.child_workflow_execution_completed_event_attributes
        result = decode(completed.result.payloads, _RESULT)
        if result is None:
            said, failed = "completed", False
        elif result.stop is not None:
            said, failed = f"{result.status}: {result.stop.reason}", True
        else:
            said, failed = f"{result.status}: {result.answer or ''}", result.status != "completed"
        ledger = None if result is None else _find_ledger(result)
        self._close(completed.initiated_event_id, event, said, failed=failed, ledger=ledger)

    def _on_failure(self, event: HistoryEvent) -> None:
        failed = event.child_workflow_execution_failed_event_attributes
        said = f"failed: {failures.message(build_activity_error(failed.failure))}"
        self._close(failed.initiated_event_id, event, said, failed=True)

    def _on_cancellation(self, event: HistoryEvent) -> None:
        cancelled = event.child_workflow_execution_canceled_event_attributes
        self._close(cancelled.initiated_event_id, event, "cancelled", failed=True)

    def _on_timeout(self, event: HistoryEvent) -> None:
        timed_out = event.child_workflow_execution_timed_out_event_attributes
        self._close(timed_out.initiated_event_id, event, "timed out", failed=True)

    def _on_termination(self, event: HistoryEvent) -> None:
        terminated = event.child_workflow_execution_terminated_event_attributes
        self._close(terminated.initiated_event_id, event, "terminated", failed=True)

    def _close(
        self,
        initiated: int,
        event: HistoryEvent,
        said: str,
        *,
        failed: bool,
        ledger: Ledger | None = None,
    ) -> None:
        place = self._open.pop(self._chronicle.build_key(initiated), None)
        if place is not None and isinstance(
            work := self._chronicle.entries[place], BackgroundTask
        ):
            self._chronicle.entries[place] = replace(
                work, ended_at=read_time(event), came_to=said, failed=failed, ledger=ledger
            )


def _find_ledger(result: RunResult) -> Ledger:
    """Return what a run has used; one that keeps its ledger to itself has that in its result."""
    return result.ledger or Ledger(steps=result.steps, usage=CallUsage.of(result.usage))
