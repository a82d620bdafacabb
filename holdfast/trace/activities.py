"""Reads the activities of a history that are events of their own: models and tools."""

from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from pydantic import TypeAdapter
from temporalio.api.enums.v1 import EventType
from temporalio.api.failure.v1 import CanceledFailureInfo, Failure
from temporalio.api.history.v1 import HistoryEvent

from holdfast.contracts.calls import (
    MalformedCall,
    ToolFailure,
    ToolInvocation,
    ToolResult,
)
from holdfast.contracts.model import ModelCall, ModelReply
from holdfast.contracts.transcript import ToolTurn
from holdfast.contracts.usage import CallUsage
from holdfast.trace.builder import Readers, TraceBuilder
from holdfast.trace.own import BackgroundTaskReader
from holdfast.trace.payloads import (
    RESULT,
    build_activity_error,
    decode,
    describe_hand_back,
    read_summary,
    read_time,
)
from holdfast.trace.values import AuxiliaryCall, Call, Purpose, Turn
from holdfast.workflows import failures

_CALL = TypeAdapter(ModelCall)
_REPLY = TypeAdapter(ModelReply)
_INVOCATION = TypeAdapter(ToolInvocation)

_CANCELLED = Failure(message="cancelled", canceled_failure_info=CanceledFailureInfo())


class _OpenActivity(NamedTuple):
    """
    An activity that has no end yet; *call_id* is null for a question to a model.

    *companion* is the key of a tool that runs for the call, and empty for the call itself.
    """

    call_id: str | None
    scheduled_at: datetime
    companion: str = ""


class ActivityReader:
    """Knows which activity is open under which event."""

    def __init__(self, chronicle: TraceBuilder, own: BackgroundTaskReader) -> None:
        self._chronicle = chronicle
        self._own = own
        self._open: dict[str, _OpenActivity] = {}
        self._names: dict[str, str] = {}
        self.readers: Readers = {
            EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED: self._on_schedule,
            EventType.EVENT_TYPE_ACTIVITY_TASK_STARTED: self._on_start,
            EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED: self._on_completion,
            EventType.EVENT_TYPE_ACTIVITY_TASK_FAILED: self._on_failure,
            EventType.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT: self._on_timeout,
            EventType.EVENT_TYPE_ACTIVITY_TASK_CANCELED: self._on_cancellation,
        }

    def _on_schedule(self, event: HistoryEvent) -> None:
        scheduled = event.activity_task_scheduled_event_attributes
        self._names[self._chronicle.key(event)] = scheduled.activity_type.name
        match scheduled.activity_type.name:
            case "call_model":
                self._begin_turn(event)
                self._open[self._chronicle.key(event)] = _OpenActivity(None, read_time(event))
            case "mark_judged":
                pass
            case "find_worker":
                self._chronicle.add_audit_line(
                    "handed back", f"it goes on with {read_summary(event)}", read_time(event)
                )
            case _:
                if not self._own.on_schedule(event):
                    self._open[self._chronicle.key(event)] = self._open_tool_call(event)

    def _begin_turn(self, event: HistoryEvent) -> None:
        scheduled = event.activity_task_scheduled_event_attributes
        asked = decode(scheduled.input.payloads, _CALL)
        if asked is not None:
            self._keep_results(asked)
        before = self._chronicle.turn.number if self._chronicle.turn else 0
        self._chronicle.begin_turn(
            Turn(
                key=self._chronicle.key(event),
                number=asked.turn if asked else before + 1,
                model=asked.model if asked else read_summary(event),
                at=read_time(event),
                purpose=_find_purpose(event, asked),
            )
        )

    def _keep_results(self, asked: ModelCall) -> None:
        """
        Take the failures that the model is told of: no word about them is truer.

        Of a success it may be told less than the tool returned.
        """
        for item in asked.items:
            for result in item.results if isinstance(item, ToolTurn) else ():
                if isinstance(result, ToolFailure):
                    self._chronicle.change_call(result.call_id, result=result)

    def _open_tool_call(self, event: HistoryEvent) -> _OpenActivity:
        scheduled = event.activity_task_scheduled_event_attributes
        invocation = decode(scheduled.input.payloads, _INVOCATION)
        if invocation is None:
            return self._open_unreadable_call(event, f"event {event.event_id}")
        call, queue = self._chronicle.find_call(invocation.call_id), scheduled.task_queue.name
        if call is None:
            return self._open_unreadable_call(event, invocation.call_id)
        match invocation.purpose:
            case "draft" | "reconcile" as purpose:
                companion = AuxiliaryCall(
                    key=self._chronicle.key(event),
                    tool=scheduled.activity_type.name,
                    purpose=purpose,
                    at=read_time(event),
                    task_queue=queue,
                    draft_id=invocation.idempotency_key if purpose == "draft" else "",
                )
                self._chronicle.change_call(invocation.call_id, course=(*call.course, companion))
                return _OpenActivity(invocation.call_id, read_time(event), companion.key)
            case "call" | "undo":  # what undoes is the run's own work
                self._chronicle.change_call(
                    invocation.call_id, task_queue=queue, draft_id=invocation.draft_id or ""
                )
                return _OpenActivity(invocation.call_id, read_time(event))

    def _open_unreadable_call(self, event: HistoryEvent, call_id: str) -> _OpenActivity:
        """Keep a call whose asking can't be read: that it ran can."""
        scheduled = event.activity_task_scheduled_event_attributes
        turn = self._chronicle.turn
        if turn is not None:
            unread = MalformedCall(
                call_id=call_id, name=scheduled.activity_type.name, raw_arguments="?"
            )
            found = Call(
                key=self._chronicle.key(event),
                call=unread,
                at=read_time(event),
                task_queue=scheduled.task_queue.name,
            )
            self._chronicle.change_turn(replace(turn, calls=(*turn.calls, found)))
        return _OpenActivity(call_id, read_time(event))

    def _on_start(self, event: HistoryEvent) -> None:
        started = event.activity_task_started_event_attributes
        place = self._chronicle.build_key(started.scheduled_event_id)
        self._note_hand_back(event, place, started.last_failure)
        open_ = self._open.get(place)
        if self._own.on_start(place, started.attempt, read_time(event)) or open_ is None:
            return
        if open_.call_id is None:
            self._change_turn(attempts=started.attempt)
            return
        # Only the last attempt has an event; the time of all begins when it was scheduled.
        began = read_time(event) if started.attempt == 1 else open_.scheduled_at
        attempts = started.attempt
        if open_.companion:
            self._chronicle.change_auxiliary_call(
                open_.call_id, open_.companion, started_at=began, attempts=attempts
            )
        else:
            self._chronicle.change_call(open_.call_id, started_at=began, attempts=attempts)

    def _note_hand_back(self, event: HistoryEvent, place: str, failure: Failure) -> None:
        """Leave a line where another worker had to do what was left undone."""
        if why := describe_hand_back(failure):
            self._chronicle.add_audit_line(
                "handed back", f"{self._names.get(place, 'activity')}: {why}", read_time(event)
            )

    def _on_completion(self, event: HistoryEvent) -> None:
        completed = event.activity_task_completed_event_attributes
        place = self._chronicle.build_key(completed.scheduled_event_id)
        open_ = self._pop_open(completed.scheduled_event_id)
        if (
            self._own.on_completion(place, completed.result.payloads, read_time(event))
            or open_ is None
        ):
            return
        if open_.call_id is not None:
            result = decode(completed.result.payloads, RESULT)
            self._conclude_tool_call(open_, open_.call_id, result, read_time(event))
            return
        reply = decode(completed.result.payloads, _REPLY)
        self._change_turn(ended_at=read_time(event))
        if reply is not None:
            self._record_reply(event, reply)

    def _conclude_tool_call(
        self, open_: _OpenActivity, call_id: str, result: ToolResult | None, now: datetime
    ) -> None:
        if result is None:
            self._chronicle.change_call(call_id, ended_at=now)
        elif open_.companion:
            self._chronicle.conclude_auxiliary_call(call_id, open_.companion, result, now)
        else:
            self._chronicle.conclude_call(call_id, result, now)

    def _record_reply(self, event: HistoryEvent, reply: ModelReply) -> None:
        if (turn := self._chronicle.turn) is None:
            return
        key, now = self._chronicle.key(event), read_time(event)
        calls = tuple(
            Call(key=f"{key}.{number}", call=call, at=now)
            for number, call in enumerate(reply.calls, 1)
        )
        self._chronicle.change_turn(
            replace(
                turn,
                model=reply.model,
                text=reply.words if calls else reply.text,
                parts=reply.parts,
                calls=calls,
                stop=reply.stop,
                objections=reply.objections,
                usage=reply.usage,
                failed_usage=reply.failed_usage or CallUsage(),
                latency_ms=reply.latency_ms,
                first_token_ms=reply.first_token_ms or None,
            )
        )

    def _on_failure(self, event: HistoryEvent) -> None:
        failed = event.activity_task_failed_event_attributes
        self._close_with_failure(event, failed.scheduled_event_id, failed.failure)

    def _on_timeout(self, event: HistoryEvent) -> None:
        timed_out = event.activity_task_timed_out_event_attributes
        self._close_with_failure(event, timed_out.scheduled_event_id, timed_out.failure)

    def _on_cancellation(self, event: HistoryEvent) -> None:
        cancelled = event.activity_task_canceled_event_attributes
        self._close_with_failure(event, cancelled.scheduled_event_id, _CANCELLED)

    def _close_with_failure(
        self, event: HistoryEvent, scheduled_event_id: int, failure: Failure
    ) -> None:
        place = self._chronicle.build_key(scheduled_event_id)
        self._note_hand_back(event, place, failure)
        open_, error = self._pop_open(scheduled_event_id), build_activity_error(failure)
        if self._own.on_failure(place, error, read_time(event)) or open_ is None:
            return
        if open_.call_id is None:
            used = failures.usage(error)
            self._change_turn(ended_at=read_time(event), error=failures.message(error), used=used)
        elif open_.companion:
            self._chronicle.fail_auxiliary_call(
                open_.call_id, open_.companion, error, read_time(event)
            )
        else:
            self._chronicle.fail_call(open_.call_id, error, read_time(event))

    def _pop_open(self, scheduled_event_id: int) -> _OpenActivity | None:
        return self._open.pop(self._chronicle.build_key(scheduled_event_id), None)

    def _change_turn(
        self,
        *,
        ended_at: datetime | None = None,
        attempts: int | None = None,
        error: str | None = None,
        used: CallUsage | None = None,
    ) -> None:
        if (turn := self._chronicle.turn) is not None:
            self._chronicle.change_turn(
                replace(
                    turn,
                    ended_at=ended_at or turn.ended_at,
                    attempts=attempts or turn.attempts,
                    error=error or turn.error,
                    failed_usage=used or turn.failed_usage,
                )
            )


def _find_purpose(event: HistoryEvent, asked: ModelCall | None) -> Purpose:
    """Find out what a model is asked for: the call says that it is no turn, the summary what."""
    if asked is not None and not asked.without_tools:
        return "turn"
    match read_summary(event).rpartition(" · ")[2]:
        case "plan" | "summary" as purpose:
            return purpose
        case _:
            return "turn"
