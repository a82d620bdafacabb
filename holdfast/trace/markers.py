"""Reads local activities, which are markers in a history: decisions, audit lines, quick tools."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import TypeAlias

from pydantic import TypeAdapter
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent

from contracts.approvals import Disposition
from contracts.decisions import ApprovalRequired, AskUser, Decided, Deny, Ruling, Rulings
from contracts.run import AgentSnapshot
from contracts.tools import ToolFailure
from holdfast.trace.draft import Draft, Readers
from holdfast.trace.payloads import (
    RESULT,
    LocalActivity,
    activity_error,
    at,
    decoded,
    marker,
    summary,
)
from holdfast.trace.values import Asked, Call, Ruled
from workflows.summaries import call_line

Judged: TypeAlias = Callable[[Disposition, datetime], None]

_MARKER_NAME = "core_local_activity"
_SNAPSHOT = TypeAdapter(AgentSnapshot)
_RULINGS = TypeAdapter(Rulings)
_DISPOSITION = TypeAdapter(Disposition)


class MarkerReader:
    """
    Keeps the run's own clock, from which the time that a local tool took follows.

    A marker says when its activity ended, not when it began. It began when the workflow task did,
    or when the decision was made that let it run.
    """

    def __init__(self, draft: Draft, judged: Judged) -> None:
        self._draft = draft
        self._judged = judged
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
                self._draft.agent = decoded(payloads, _SNAPSHOT)
            case "authorize":
                if (answer := decoded(payloads, _RULINGS)) is not None:
                    self._draft.name_calls([ruling.call_id for ruling in answer.rulings])
                    for ruling in answer.rulings:
                        self._ruled(event, ruling, ended)
            case "judge":
                if (disposition := decoded(payloads, _DISPOSITION)) is not None:
                    self._judged(disposition, ended)
            case "record":
                name, _, text = summary(event).partition(": ")
                self._draft.note(name, text, ended)
            case _:
                self._tool_ran(event, done, ended)
                return
        self._clock = ended

    def _ruled(self, event: HistoryEvent, ruling: Ruling, now: datetime) -> None:
        call = self._draft.call(ruling.call_id)
        if call is None or call.result is not None:
            return
        ruled = _ruled(ruling, now)
        asked = self._asked(event, ruling, now)
        if asked is not None:
            ruled = replace(ruled, request_id=asked.request_id)
            self._draft.ask(asked)
        self._draft.change_call(ruling.call_id, rulings=(*call.rulings, ruled))
        if (refusal := _refusal(ruling)) is not None:
            self._draft.close_call(refusal, now)

    def _asked(self, event: HistoryEvent, ruling: Ruling, now: datetime) -> Asked | None:
        match ruling:
            case Decided(decision=ApprovalRequired() as decision):
                kind, reason = "approval", decision.reason
            case Decided(decision=AskUser() as decision):
                kind, reason = "question", decision.question
            case _:
                return None
        return Asked(
            request_id=self._draft.next_request_id(),
            key=f"{self._draft.key(event)}.{ruling.call_id}",
            kind=kind,
            call_id=ruling.call_id,
            reason=reason,
            at=now,
        )

    def _tool_ran(self, event: HistoryEvent, done: LocalActivity, ended: datetime) -> None:
        marked = event.marker_recorded_event_attributes
        result = decoded(marked.details["result"].payloads, RESULT)
        call = self._draft.call(result.call_id) if result else self._failed_call(event, done)
        if call is None:
            return
        call_id = call.call.call_id
        began = min(self._clock or ended, ended)
        self._draft.change_call(call_id, started_at=began, attempts=done.attempt)
        if result is not None:
            self._draft.close_call(result, ended)
        else:
            self._draft.fail_call(call_id, activity_error(marked.failure), ended)

    def _failed_call(self, event: HistoryEvent, done: LocalActivity) -> Call | None:
        """Find the call of a failure, which names none: the first open one that reads the same."""
        line = summary(event)
        open_calls = [
            call
            for call in (self._draft.turn.calls if self._draft.turn else ())
            if call.result is None and call.call.name == done.activity_type
        ]
        same = (call for call in open_calls if call_line(call.call) == line)
        return next(same, open_calls[0] if open_calls else None)


def _ruled(ruling: Ruling, now: datetime) -> Ruled:
    match ruling:
        case Decided(decision=decision):
            return Ruled(
                verdict=decision.verdict,
                rule=decision.rule,
                risk=ruling.risk,
                reason=decision.reason,
                at=now,
            )
        case _:
            return Ruled(verdict=ruling.type, rule="", risk="", reason=ruling.reason, at=now)


def _refusal(ruling: Ruling) -> ToolFailure | None:
    match ruling:
        case Decided(decision=Deny() as decision):
            status, kind, reason = "denied", "permission_denied", decision.reason
            actions = decision.next_valid_actions
        case Decided():
            return None
        case _:
            status, kind, reason = "error", ruling.type, ruling.reason
            actions = ruling.next_valid_actions
    return ToolFailure(
        status=status,
        call_id=ruling.call_id,
        name=ruling.tool,
        type=kind,
        reason=reason,
        next_valid_actions=actions,
    )
