"""Reads local activities, which are markers in a history: decisions, audit lines, quick tools."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import TypeAlias

from pydantic import TypeAdapter
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent

from holdfast.contracts.approvals import Requirement, Verdicts
from holdfast.contracts.decisions import (
    ApprovalRequired,
    AskUser,
    Decided,
    Ruling,
    Rulings,
    as_ruled,
)
from holdfast.contracts.patterns import Pattern
from holdfast.contracts.run import AgentSnapshot
from holdfast.run import tool_results
from holdfast.run.summaries import call_line
from holdfast.trace.builder import Readers, TraceBuilder
from holdfast.trace.own import OwnReader, Ran
from holdfast.trace.payloads import (
    RESULT,
    LocalActivity,
    activity_error,
    at,
    decoded,
    marker,
    summary,
)
from holdfast.trace.values import Asked, Call, DecisionTrace

Judged: TypeAlias = Callable[[Verdicts, datetime], None]

_MARKER_NAME = "core_local_activity"
_SNAPSHOT = TypeAdapter(AgentSnapshot)
_RULINGS = TypeAdapter(Rulings)
_VERDICTS = TypeAdapter(Verdicts)

# An audit line about a request begins with its id.
_ABOUT = Pattern(r"(req-\d+) · ")


class MarkerReader:
    """
    Keeps the run's own clock, from which the time that a local tool took follows.

    A marker says when its activity ended, not when it began. It began when the workflow task did,
    or when the decision was made that let it run.
    """

    def __init__(self, chronicle: TraceBuilder, judged: Judged, own: OwnReader) -> None:
        self._chronicle = chronicle
        self._judged = judged
        self._own = own
        self._clock: datetime | None = None
        self._task_completed_id = 0
        self._prolonged = False
        self.readers: Readers = {
            EventType.EVENT_TYPE_MARKER_RECORDED: self._marked,
            EventType.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED: self._task_scheduled,
            EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED: self._task_started,
            EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED: self._task_completed,
        }

    def _task_scheduled(self, event: HistoryEvent) -> None:
        # A task right behind another only keeps a long local activity alive: nothing began then.
        self._prolonged = event.event_id == self._task_completed_id + 1

    def _task_started(self, event: HistoryEvent) -> None:
        if not self._prolonged:
            self._clock = at(event)

    def _task_completed(self, event: HistoryEvent) -> None:
        self._task_completed_id = event.event_id

    def _marked(self, event: HistoryEvent) -> None:
        marked = event.marker_recorded_event_attributes
        done = marker(marked.details["data"])
        if marked.marker_name != _MARKER_NAME or done is None or done.backoff is not None:
            return
        ended = at(event) if done.complete_time is None else done.complete_time.as_datetime()
        payloads = marked.details["result"].payloads
        match done.activity_type:
            case "open_run":
                self._chronicle.agent = decoded(payloads, _SNAPSHOT)
            case "authorize":
                if (answer := decoded(payloads, _RULINGS)) is not None:
                    self._authorized(event, answer, ended)
            case "judge":
                if (verdicts := decoded(payloads, _VERDICTS)) is not None:
                    self._judged(verdicts, ended)
            case "record":
                self._recorded(summary(event), ended)
            case _:
                if not self._own_ran(event, done, ended):
                    self._tool_ran(event, done, ended)
                    return
        self._clock = ended

    def _recorded(self, line: str, now: datetime) -> None:
        name, _, text = line.partition(": ")
        self._chronicle.note(name, text, now)
        if name == "escalated" and (about := _ABOUT.match(text)):
            self._chronicle.waits.pass_on(about.groups[1], now)

    def _authorized(self, event: HistoryEvent, answer: Rulings, now: datetime) -> None:
        call_ids = [ruling.call_id for ruling in answer.rulings]
        if not any(map(self._chronicle.commanded, call_ids)):
            self._chronicle.name_calls(call_ids)
        for ruling in answer.rulings:
            call = self._chronicle.call(ruling.call_id)
            if call is None or call.result is not None:
                continue
            ruled = DecisionTrace(ruling=ruling, policy=answer.policy, at=now)
            asked = self._asked(event, ruling, now)
            if asked is not None:
                ruled = replace(ruled, request_id=asked.request_id)
                self._chronicle.ask(asked)
            self._chronicle.change_call(
                ruling.call_id, call=as_ruled(call.call, ruling), course=(*call.course, ruled)
            )
            if (refusal := tool_results.refusal(ruling)) is not None:
                self._chronicle.close_call(refusal, now)

    def _asked(self, event: HistoryEvent, ruling: Ruling, now: datetime) -> Asked | None:
        match ruling:
            case Decided(decision=ApprovalRequired() as decision):
                kind, reason = "approval", decision.reason
                required = Requirement.model_validate(decision.model_dump())
            case Decided(decision=AskUser() as decision):
                kind, reason, required = "question", decision.question, None
            case _:
                return None
        return Asked(
            request_id=self._chronicle.waits.next_id,
            key=f"{self._chronicle.key(event)}.{ruling.call_id}",
            kind=kind,
            call_id=ruling.call_id,
            reason=reason,
            at=now,
            required=required,
            expires_at=self._chronicle.expiry(required, now),
        )

    def _own_ran(self, event: HistoryEvent, done: LocalActivity, ended: datetime) -> bool:
        marked = event.marker_recorded_event_attributes
        error = activity_error(marked.failure) if marked.HasField("failure") else None
        ran = Ran(done.activity_type, done.attempt, min(self._clock or ended, ended), ended, error)
        return self._own.ran(event, ran)

    def _tool_ran(self, event: HistoryEvent, done: LocalActivity, ended: datetime) -> None:
        marked = event.marker_recorded_event_attributes
        result = decoded(marked.details["result"].payloads, RESULT)
        call = self._chronicle.call(result.call_id) if result else self._failed_call(event, done)
        if call is None:
            return
        call_id = call.call.call_id
        began = min(self._clock or ended, ended)
        self._chronicle.change_call(call_id, started_at=began, attempts=done.attempt)
        if result is not None:
            self._chronicle.conclude_call(call_id, result, ended)
        else:
            self._chronicle.fail_call(call_id, activity_error(marked.failure), ended)

    def _failed_call(self, event: HistoryEvent, done: LocalActivity) -> Call | None:
        """Find the call of a failure, which names none: the first open one that reads the same."""
        line = summary(event)
        open_calls = [
            call
            for call in (self._chronicle.turn.calls if self._chronicle.turn else ())
            if call.result is None and call.call.name == done.activity_type
        ]
        same = (call for call in open_calls if call_line(call.call) == line)
        return next(same, open_calls[0] if open_calls else None)
