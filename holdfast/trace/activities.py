"""Reads the activities of a history that are events of their own: models and tools."""

from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from pydantic import TypeAdapter
from temporalio.api.enums.v1 import EventType
from temporalio.api.failure.v1 import Failure
from temporalio.api.history.v1 import HistoryEvent

from contracts.model import ModelCall, ModelReply
from contracts.tools import MalformedCall, ToolFailure, ToolInvocation
from contracts.transcript import ToolTurn
from contracts.usage import CallUsage
from holdfast.trace.draft import Draft, Readers
from holdfast.trace.payloads import RESULT, activity_error, at, decoded, summary
from holdfast.trace.values import Call, Turn
from workflows import failures

_CALL = TypeAdapter(ModelCall)
_REPLY = TypeAdapter(ModelReply)
_INVOCATION = TypeAdapter(ToolInvocation)


class _Open(NamedTuple):
    """An activity that has no end yet; *call_id* is null for a question to a model."""

    call_id: str | None
    scheduled_at: datetime


class ActivityReader:
    """Knows which activity is open under which event."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._open: dict[int, _Open] = {}
        self.readers: Readers = {
            EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED: self._scheduled,
            EventType.EVENT_TYPE_ACTIVITY_TASK_STARTED: self._started,
            EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED: self._completed,
            EventType.EVENT_TYPE_ACTIVITY_TASK_FAILED: self._failed,
            EventType.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT: self._timed_out,
            EventType.EVENT_TYPE_ACTIVITY_TASK_CANCELED: self._cancelled,
        }

    def _scheduled(self, event: HistoryEvent) -> None:
        scheduled = event.activity_task_scheduled_event_attributes
        if scheduled.activity_type.name == "call_model":
            self._model_asked(event)
            self._open[event.event_id] = _Open(None, at(event))
        else:
            self._open[event.event_id] = _Open(self._tool_called(event), at(event))

    def _model_asked(self, event: HistoryEvent) -> None:
        scheduled = event.activity_task_scheduled_event_attributes
        asked = decoded(scheduled.input.payloads, _CALL)
        if asked is not None:
            self._keep_results(asked)
        before = self._draft.turn.number if self._draft.turn else 0
        self._draft.begin_turn(
            Turn(
                key=self._draft.key(event),
                number=asked.turn if asked else before + 1,
                model=asked.model if asked else summary(event),
                at=at(event),
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
                    self._draft.change_call(result.call_id, result=result)

    def _tool_called(self, event: HistoryEvent) -> str:
        scheduled = event.activity_task_scheduled_event_attributes
        invocation = decoded(scheduled.input.payloads, _INVOCATION)
        call_id = invocation.call_id if invocation else f"event {event.event_id}"
        turn = self._draft.turn
        if turn is not None and self._draft.call(call_id) is None:
            # The reply that asked for it can't be read; that it ran can.
            unread = MalformedCall(
                call_id=call_id, name=scheduled.activity_type.name, raw_arguments="?"
            )
            found = Call(key=self._draft.key(event), call=unread, at=at(event))
            self._draft.change_turn(replace(turn, calls=(*turn.calls, found)))
        return call_id

    def _started(self, event: HistoryEvent) -> None:
        started = event.activity_task_started_event_attributes
        open_ = self._open.get(started.scheduled_event_id)
        if open_ is None:
            return
        if open_.call_id is None:
            self._change_turn(attempts=started.attempt)
            return
        # Only the last attempt has an event; the time of all begins when it was scheduled.
        began = at(event) if started.attempt == 1 else open_.scheduled_at
        self._draft.change_call(open_.call_id, started_at=began, attempts=started.attempt)

    def _completed(self, event: HistoryEvent) -> None:
        completed = event.activity_task_completed_event_attributes
        open_ = self._open.pop(completed.scheduled_event_id, None)
        if open_ is None:
            return
        if open_.call_id is not None:
            result = decoded(completed.result.payloads, RESULT)
            self._draft.change_call(open_.call_id, result=result, ended_at=at(event))
            return
        reply = decoded(completed.result.payloads, _REPLY)
        self._change_turn(ended_at=at(event))
        if reply is not None:
            self._replied(event, reply)

    def _replied(self, event: HistoryEvent, reply: ModelReply) -> None:
        if (turn := self._draft.turn) is None:
            return
        key, now = self._draft.key(event), at(event)
        calls = tuple(
            Call(key=f"{key}.{number}", call=call, at=now)
            for number, call in enumerate(reply.calls, 1)
        )
        self._draft.change_turn(
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

    def _failed(self, event: HistoryEvent) -> None:
        failed = event.activity_task_failed_event_attributes
        self._close(event, failed.scheduled_event_id, failed.failure)

    def _timed_out(self, event: HistoryEvent) -> None:
        timed_out = event.activity_task_timed_out_event_attributes
        self._close(event, timed_out.scheduled_event_id, timed_out.failure)

    def _cancelled(self, event: HistoryEvent) -> None:
        cancelled = event.activity_task_canceled_event_attributes
        self._close(event, cancelled.scheduled_event_id, Failure(message="cancelled"))

    def _close(self, event: HistoryEvent, scheduled_event_id: int, failure: Failure) -> None:
        open_ = self._open.pop(scheduled_event_id, None)
        if open_ is None:
            return
        error = activity_error(failure)
        if open_.call_id is None:
            used = failures.usage(error)
            self._change_turn(ended_at=at(event), error=failures.message(error), used=used)
        else:
            self._draft.fail_call(open_.call_id, error, at(event))

    def _change_turn(
        self,
        *,
        ended_at: datetime | None = None,
        attempts: int | None = None,
        error: str | None = None,
        used: CallUsage | None = None,
    ) -> None:
        if (turn := self._draft.turn) is not None:
            self._draft.change_turn(
                replace(
                    turn,
                    ended_at=ended_at or turn.ended_at,
                    attempts=attempts or turn.attempts,
                    error=error or turn.error,
                    failed_usage=used or turn.failed_usage,
                )
            )
