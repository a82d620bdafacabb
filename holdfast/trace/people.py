"""Reads what people said to a run, and what became of it."""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from temporalio.api.common.v1 import Payload
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.common import RawValue

from contracts.approvals import (
    AnswerSignal,
    ApprovalSignal,
    Disposition,
    ResolutionSignal,
    SteerSignal,
)
from contracts.tools import ToolFailure, ToolSuccess
from holdfast.trace.draft import Draft, Readers
from holdfast.trace.payloads import at, summary
from holdfast.trace.values import Asked, Outcome, Said
from workflows import messages

# The only trace of an escalation is the timer that limits the wait for it.
_WAIT = re.compile(r"^req-\d+ · ")
_ESCALATED = re.compile(r"(req-\d+) · escalated: ([^;]*)")


class _Sent(NamedTuple):
    """Who sent a message when: what its own words don't say."""

    key: str
    at: datetime
    identity: str


class PeopleReader:
    """Reads signals, updates and the timers of waits; judgements come to it from their markers."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._waits: set[int] = set()
        self.readers: Readers = {
            EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED: self._signalled,
            EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED: self._updated,
            EventType.EVENT_TYPE_TIMER_STARTED: self._timer_started,
            EventType.EVENT_TYPE_TIMER_FIRED: self._timer_fired,
        }

    def _signalled(self, event: HistoryEvent) -> None:
        signalled = event.workflow_execution_signaled_event_attributes
        sent = _Sent(self._draft.key(event), at(event), signalled.identity)
        self._heard(signalled.signal_name, signalled.input.payloads, sent)

    def _updated(self, event: HistoryEvent) -> None:
        request = event.workflow_execution_update_accepted_event_attributes.accepted_request
        sent = _Sent(self._draft.key(event), at(event), request.meta.identity)
        # The update `decide` carries what the signal `approval` does.
        name = "approval" if request.input.name == "decide" else request.input.name
        self._heard(name, request.input.args.payloads, sent)

    def _heard(self, name: str, payloads: Sequence[Payload], sent: _Sent) -> None:
        said = Said(key=sent.key, signal=name, at=sent.at, identity=sent.identity)
        match messages.read(name, [RawValue(payload) for payload in payloads]):
            case messages.Garbage(reason):
                self._draft.hear(replace(said, accepted=False, refusal=reason))
            case ApprovalSignal() as message:
                said = replace(said, text=message.decision, sender=message.approver)
                self._unjudged(said, message.request_id, message.reason)
            case AnswerSignal() as message:
                self._unjudged(replace(said, text=message.text), message.request_id)
            case ResolutionSignal() as message:
                budget = message.budget if message.action == "extend" else None
                said = replace(said, text=message.action, budget=budget)
                self._unjudged(said, message.request_id, message.guidance)
            case SteerSignal(text=text):
                self._draft.hear(replace(said, text=text, accepted=True))
            case _:
                self._draft.suspended = name == "suspend"
                self._draft.hear(replace(said, accepted=True))

    def _unjudged(self, said: Said, request_id: str, reason: str | None = None) -> None:
        self._draft.unjudged.append(replace(said, request_id=request_id, reason=reason or ""))

    def judged(self, disposition: Disposition, now: datetime) -> None:
        """Take a judgement: it is about the oldest message that names its request."""
        unjudged = self._draft.unjudged
        said = next((one for one in unjudged if one.request_id == disposition.request_id), None)
        if said is None:
            return
        unjudged.remove(said)
        asked = self._draft.requests.get(said.request_id)
        if not disposition.accepted:
            self._draft.refuse(replace(said, accepted=False, refusal=disposition.reason))
        elif asked is not None and asked.outcome is not None:
            late = "the request has just closed"
            self._draft.refuse(replace(said, accepted=False, refusal=late))
        else:
            self._accept(asked or self._escalated(said), replace(said, accepted=True), now)

    def _escalated(self, said: Said) -> Asked:
        """Open the request that an accepted message proves, though no timer told of it."""
        asked = Asked(
            request_id=said.request_id,
            key=f"{said.key}.{said.request_id}",
            kind="escalation",
            call_id="",
            reason="",
            at=said.at,
        )
        self._draft.ask(asked)
        return asked

    def _accept(self, asked: Asked, said: Said, now: datetime) -> None:
        outcome = _outcome(said)
        self._draft.settle(asked, outcome, said, now)
        call = self._draft.call(asked.call_id)
        if call is None:
            return
        if outcome == "rejected":
            reason = f"rejected by {said.sender}: {said.reason or 'no reason given'}"
            failure = ToolFailure(
                status="denied",
                call_id=asked.call_id,
                name=call.call.name,
                type="permission_denied",
                reason=reason,
            )
            self._draft.close_call(failure, now)
        elif outcome == "answered":
            answer = ToolSuccess(
                call_id=asked.call_id,
                name=call.call.name,
                summary=said.text[:200],
                data={"answer": said.text},
            )
            self._draft.close_call(answer, now)

    def _timer_started(self, event: HistoryEvent) -> None:
        line = summary(event)
        if not _WAIT.match(line):
            return
        self._waits.add(event.event_id)
        for request_id, reason in _ESCALATED.findall(line):
            if request_id not in self._draft.requests:
                self._draft.ask(
                    Asked(
                        request_id=request_id,
                        key=f"{self._draft.key(event)}.{request_id}",
                        kind="escalation",
                        call_id="",
                        reason=reason,
                        at=at(event),
                    )
                )

    def _timer_fired(self, event: HistoryEvent) -> None:
        if event.timer_fired_event_attributes.started_event_id in self._waits:
            self._draft.expire(at(event))


def _outcome(said: Said) -> Outcome:
    match said.signal, said.text:
        case "approval", "reject":
            return "rejected"
        case "approval", _:
            return "approved"
        case "answer", _:
            return "answered"
        case _:
            return "resolved"
