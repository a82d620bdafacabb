"""From the events of a history to a trace, one event at a time."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial

from temporalio.api.enums.v1 import EventType, TimeoutType, WorkflowTaskFailedCause
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import WorkflowHistory

from holdfast.contracts.approvals import Verdicts
from holdfast.contracts.control import Waiting
from holdfast.contracts.decisions import Rulings, fill_arguments
from holdfast.contracts.delegation.carryover import Carryover
from holdfast.contracts.journal import Journal
from holdfast.contracts.run import AgentSnapshot, RunInput, RunResult
from holdfast.contracts.sessions.messages import SessionInput
from holdfast.contracts.state.run import RunState
from holdfast.contracts.texts import shorten
from holdfast.run import tool_results
from holdfast.run.sessions.opening import build_brief
from holdfast.run.summaries import find_provider_wait
from holdfast.run.texts.figures import duration
from holdfast.trace.builder import Readers, TraceBuilder
from holdfast.trace.carried import restore_state, take_over
from holdfast.trace.entries import DecisionTrace
from holdfast.trace.operations import Operation, OperationReader, Outcome, Work
from holdfast.trace.own import begin_own
from holdfast.trace.payloads import build_activity_error, decode, read_summary, read_time
from holdfast.trace.signal_reader import SignalReader
from holdfast.trace.turns import begin_call, begin_turn
from holdfast.trace.values import Trace, TraceStatus
from holdfast.workflows import failures

# A message came in while the run wrote its last step: Temporal lets it look again.
_ROUTINE = {
    WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND,
    WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_UPDATE,
}

_ENDS: Mapping[EventType.ValueType, TraceStatus] = {
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED: "completed",
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED: "failed",
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT: "timed_out",
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED: "terminated",
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED: "cancelled",
}


def read_trace(histories: Iterable[WorkflowHistory]) -> Trace:
    """
    Read a run from the histories of its executions, the oldest first.

    Raises ValueError when they hold no start of a run, or no server made them.
    """
    reader = TraceReader()
    for history in histories:
        for event in history.events:
            reader.read(event)
    if not reader.trace.executions:
        raise ValueError("the history doesn't begin with the start of a run")
    return reader.trace


class TraceReader:
    """Reads events in their order; the trace so far can be had at any time."""

    def __init__(self) -> None:
        self._trace = TraceBuilder()
        self._people = SignalReader(self._trace)
        self._readers: Readers = {
            EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED: self._on_start,
            **dict.fromkeys(_ENDS, self._on_end),
            EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED: self._on_cancel_request,
            EventType.EVENT_TYPE_TIMER_STARTED: self._on_timer,
            EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED: self._on_task_failure,
            EventType.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT: self._on_task_timeout,
            **self._people.readers,
            **OperationReader(self._trace, self._begin).readers,
        }

    def read(self, event: HistoryEvent) -> None:
        """
        Take one more event; those that say nothing about the run are skipped.

        Of what a later server tells only the type is known. Raises ValueError for one that says
        something about the run and has no attributes, which no server sends.
        """
        if (read := self._readers.get(event.event_type)) is None:
            return
        if event.WhichOneof("attributes") is None:
            raise ValueError(f"event {event.event_id} has a type alone")
        read(event)

    @property
    def trace(self) -> TraceBuilder:
        """The run as far as it was read; it changes with what is read next."""
        return self._trace

    def _on_start(self, event: HistoryEvent) -> None:
        started = event.workflow_execution_started_event_attributes
        trace = self._trace
        trace.executions += 1
        if trace.executions > 1:
            return
        arguments = started.input.payloads
        trace.run_id = started.workflow_id
        trace.first_execution = started.first_execution_run_id
        trace.whole = started.parent_workflow_execution.workflow_id
        trace.started_at = read_time(event)
        if (given := decode(arguments, RunInput)) is not None:
            trace.brief, trace.goal = given, given.input or ""
            trace.budgets += [given.budget] if given.budget else []
        elif (opened := decode(arguments, SessionInput)) is not None:
            trace.is_session = True
            trace.brief = build_brief(opened, trace.run_id, regulated=opened.regulated)
            trace.budgets += [opened.budget] if opened.budget else []
        elif (carried := decode(arguments, RunState)) is not None:
            trace.is_session = carried.session is not None
            restore_state(trace, carried, read_time(event))
            self._people.take_unheard(carried.unheard, read_time(event))

    def _on_end(self, event: HistoryEvent) -> None:
        status, why, trace = _ENDS[event.event_type], None, self._trace
        if event.HasField("workflow_execution_completed_event_attributes"):
            completed = event.workflow_execution_completed_event_attributes
            trace.result = decode(completed.result.payloads, RunResult)
            status = trace.result.status if trace.result else status
        elif event.HasField("workflow_execution_failed_event_attributes"):
            failed = event.workflow_execution_failed_event_attributes
            why = failures.message(build_activity_error(failed.failure))
        elif event.HasField("workflow_execution_terminated_event_attributes"):
            ended = event.workflow_execution_terminated_event_attributes
            why = f"by {ended.identity}: {ended.reason or 'no reason given'}"
        elif status == "timed_out":
            why = "the run's own time limit was reached"
        trace.end(status, read_time(event), why)

    def _on_cancel_request(self, event: HistoryEvent) -> None:
        requested = event.workflow_execution_cancel_requested_event_attributes
        reason = f": {requested.cause}" if requested.cause else ""
        self._trace.add_audit_line(
            "cancel requested", f"by {requested.identity}{reason}", read_time(event)
        )

    def _on_timer(self, event: HistoryEvent) -> None:
        if (reason := find_provider_wait(read_summary(event))) is not None:
            lasts = event.timer_started_event_attributes.start_to_fire_timeout.ToTimedelta()
            until = read_time(event) + lasts
            self._trace.provider_wait = Waiting(reason=reason, until=until)

    def _on_task_failure(self, event: HistoryEvent) -> None:
        failed = event.workflow_task_failed_event_attributes
        if failed.cause not in _ROUTINE:
            cause = WorkflowTaskFailedCause.Name(failed.cause).removeprefix(
                "WORKFLOW_TASK_FAILED_CAUSE_"
            )
            said = failed.failure.message or cause.lower().replace("_", " ")
            self._trace.add_audit_line("workflow task failed", said, read_time(event))

    def _on_task_timeout(self, event: HistoryEvent) -> None:
        kind = event.workflow_task_timed_out_event_attributes.timeout_type
        if kind == TimeoutType.TIMEOUT_TYPE_START_TO_CLOSE:
            self._trace.add_audit_line(
                "worker lost", "it did not answer a workflow task", read_time(event)
            )

    def _begin(self, operation: Operation) -> Work | None:
        """Begin; null where a trace says nothing of it."""
        match operation.kind, operation.name:
            case "local", "open_run":
                return Work(self._open)
            case "local", "read_earlier_run":
                return Work(self._take_over)
            case "local", "authorize":
                return Work(self._rule)
            case "local", "judge":
                return Work(self._judge)
            case "local", "record":
                return Work(partial(self._record, operation))
            case "activity", "call_model":
                return begin_turn(self._trace, operation)
            case "activity", "mark_judged":
                return None
            case "activity", "find_worker":
                longest = duration(operation.limit)
                said = f"it goes on with {operation.summary}, or after {longest} without"
                return self._trace.add_audit_line("handed back", said, operation.at)
            case _:
                own = begin_own(self._trace, operation)
                return own or begin_call(self._trace, operation)

    def _open(self, outcome: Outcome) -> None:
        self._trace.open_agent(decode(outcome.payloads, AgentSnapshot))

    def _take_over(self, outcome: Outcome) -> None:
        take_over(self._trace, decode(outcome.payloads, Carryover))

    def _judge(self, outcome: Outcome) -> None:
        if (verdicts := decode(outcome.payloads, Verdicts)) is not None:
            self._people.apply_verdicts(verdicts, outcome.at)

    def _record(self, operation: Operation, outcome: Outcome) -> None:
        """Take a line of the audit, and what came with it; that may be all there is of it."""
        name, _, text = operation.summary.partition(": ")
        journal = decode(outcome.payloads, Journal)
        text = shorten(journal.line) if journal and journal.line else text
        told = journal.events if journal else ()
        if name not in {one.type for one in told}:
            self._trace.add_audit_line(name, text, outcome.at)
        for one in told:
            self._people.take(one, operation.key)

    def _rule(self, outcome: Outcome) -> None:
        answer = decode(outcome.payloads, Rulings)
        if answer is None:
            return
        call_ids = [ruling.call_id for ruling in answer.rulings]
        if not any(map(self._trace.find_command_guardrail, call_ids)):
            self._trace.name_calls(call_ids)
        for ruling in answer.rulings:
            call = self._trace.find_call(ruling.call_id)
            if call is None or call.result is not None:
                continue
            ruled = DecisionTrace(
                ruling=ruling,
                policy=answer.policy,
                at=outcome.at,
                trust=answer.trust,
                caller=answer.caller,
            )
            asked = fill_arguments(call.call, ruling)
            self._trace.put_call(replace(call, call=asked, course=(*call.course, ruled)))
            if (refusal := tool_results.build_refusal(ruling)) is not None:
                self._trace.close_call(refusal, outcome.at)
