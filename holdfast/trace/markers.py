"""Reads local activities, which are markers in a history: decisions, audit lines, quick tools."""

from datetime import datetime

from pydantic import TypeAdapter
from temporalio.api.enums.v1 import EventType
from temporalio.api.failure.v1 import Failure
from temporalio.api.history.v1 import HistoryEvent

from holdfast.contracts.approvals import Verdicts
from holdfast.contracts.decisions import Rulings, fill_arguments
from holdfast.contracts.journal import Journal
from holdfast.contracts.run import AgentSnapshot
from holdfast.contracts.state import Carryover
from holdfast.run import tool_results
from holdfast.run.summaries import call_line
from holdfast.trace.builder import Readers, TraceBuilder
from holdfast.trace.carried import take_over
from holdfast.trace.own import BackgroundTaskReader, LocalActivityRun
from holdfast.trace.payloads import (
    RESULT,
    LocalActivity,
    build_activity_error,
    decode,
    describe_hand_back,
    parse_marker,
    read_summary,
    read_time,
)
from holdfast.trace.signal_reader import SignalReader
from holdfast.trace.values import Call, DecisionTrace

_MARKER_NAME = "core_local_activity"
_SNAPSHOT = TypeAdapter(AgentSnapshot)
_CARRYOVER = TypeAdapter(Carryover)
_RULINGS = TypeAdapter(Rulings)
_VERDICTS = TypeAdapter(Verdicts)
_JOURNAL = TypeAdapter(Journal)


class MarkerReader:
    """
    Keeps the run's own clock, from which the time that a local tool took follows.

    A marker says when its activity ended, not when it began. It began when the workflow task did,
    or when the decision was made that let it run.
    """

    def __init__(
        self, chronicle: TraceBuilder, people: SignalReader, own: BackgroundTaskReader
    ) -> None:
        self._chronicle = chronicle
        self._people = people
        self._own = own
        self._clock: datetime | None = None
        self._task_completed_id = 0
        self._prolonged = False
        self.readers: Readers = {
            EventType.EVENT_TYPE_MARKER_RECORDED: self._on_marker,
            EventType.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED: self._on_task_schedule,
            EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED: self._on_task_start,
            EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED: self._on_task_completion,
        }

    def _on_task_schedule(self, event: HistoryEvent) -> None:
        # A task right behind another only keeps a long local activity alive: nothing began then.
        self._prolonged = event.event_id == self._task_completed_id + 1

    def _on_task_start(self, event: HistoryEvent) -> None:
        if not self._prolonged:
            self._clock = read_time(event)

    def _on_task_completion(self, event: HistoryEvent) -> None:
        self._task_completed_id = event.event_id

    def _on_marker(self, event: HistoryEvent) -> None:
        marked = event.marker_recorded_event_attributes
        done = parse_marker(marked.details["data"])
        if marked.marker_name != _MARKER_NAME or done is None or done.backoff is not None:
            return None
        ended = (
            read_time(event) if done.complete_time is None else done.complete_time.as_datetime()
        )
        self._note_hand_back(done.activity_type, marked.failure, ended)
        payloads = marked.details["result"].payloads
        match done.activity_type:
            case "open_run":
                self._chronicle.agent = decode(payloads, _SNAPSHOT)
            case "read_earlier_run":
                take_over(self._chronicle, decode(payloads, _CARRYOVER))
            case "authorize":
                if (answer := decode(payloads, _RULINGS)) is not None:
                    self._read_rulings(answer, ended)
            case "judge":
                if (verdicts := decode(payloads, _VERDICTS)) is not None:
                    self._people.apply_verdicts(verdicts, ended)
            case "record":
                self._read_record(event, decode(payloads, _JOURNAL), ended)
            case _:
                if not self._read_background_task(event, done, ended):
                    return self._read_tool_call(event, done, ended)
        self._clock = ended
        return None

    def _note_hand_back(self, name: str, failure: Failure, now: datetime) -> None:
        if why := describe_hand_back(failure):
            self._chronicle.add_audit_line("handed back", f"{name}: {why}", now)

    def _read_record(self, event: HistoryEvent, journal: Journal | None, now: datetime) -> None:
        """Take a line of the audit, and what came with it; that may be all there is of it."""
        name, _, text = read_summary(event).partition(": ")
        told = journal.events if journal else ()
        if name not in {one.type for one in told}:
            self._chronicle.add_audit_line(name, text, now)
        for one in told:
            self._people.take(one, self._chronicle.key(event))

    def _read_rulings(self, answer: Rulings, now: datetime) -> None:
        call_ids = [ruling.call_id for ruling in answer.rulings]
        if not any(map(self._chronicle.find_command_guardrail, call_ids)):
            self._chronicle.name_calls(call_ids)
        for ruling in answer.rulings:
            call = self._chronicle.find_call(ruling.call_id)
            if call is None or call.result is not None:
                continue
            ruled = DecisionTrace(ruling=ruling, policy=answer.policy, at=now)
            self._chronicle.change_call(
                ruling.call_id,
                call=fill_arguments(call.call, ruling),
                course=(*call.course, ruled),
            )
            if (refusal := tool_results.build_refusal(ruling)) is not None:
                self._chronicle.close_call(refusal, now)

    def _read_background_task(
        self, event: HistoryEvent, done: LocalActivity, ended: datetime
    ) -> bool:
        marked = event.marker_recorded_event_attributes
        error = build_activity_error(marked.failure) if marked.HasField("failure") else None
        ran = LocalActivityRun(
            done.activity_type, done.attempt, min(self._clock or ended, ended), ended, error
        )
        return self._own.on_local_activity(event, ran)

    def _read_tool_call(self, event: HistoryEvent, done: LocalActivity, ended: datetime) -> None:
        marked = event.marker_recorded_event_attributes
        result = decode(marked.details["result"].payloads, RESULT)
        call = (
            self._chronicle.find_call(result.call_id)
            if result
            else self._find_failed_call(event, done)
        )
        if call is None:
            return
        call_id = call.call.call_id
        began = min(self._clock or ended, ended)
        self._chronicle.change_call(call_id, started_at=began, attempts=done.attempt)
        if result is not None:
            self._chronicle.conclude_call(call_id, result, ended)
        else:
            self._chronicle.fail_call(call_id, build_activity_error(marked.failure), ended)

    def _find_failed_call(self, event: HistoryEvent, done: LocalActivity) -> Call | None:
        """Find the call of a failure, which names none: the first open one that reads the same."""
        line = read_summary(event)
        open_calls = [
            call
            for call in (self._chronicle.turn.calls if self._chronicle.turn else ())
            if call.result is None and call.call.name == done.activity_type
        ]
        same = (call for call in open_calls if call_line(call.call) == line)
        return next(same, open_calls[0] if open_calls else None)
