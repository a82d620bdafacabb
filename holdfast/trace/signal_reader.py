"""Reads what people said to a run, and what became of it."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from temporalio.api.common.v1 import Payload
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.common import RawValue

from holdfast.activations import MAX_ARGUMENTS
from holdfast.contracts.approvals import ControlVerdict, RequestOutcome, Verdict, Verdicts
from holdfast.contracts.delegation.relayed import ForwardedSignal, RequestsSignal, VerdictSignal
from holdfast.contracts.errors import OutcomeCode
from holdfast.contracts.journal import (
    AnswerWithheld,
    ApproachFailed,
    HandoffRecord,
    JournalEvent,
    MessageEnded,
    MessageRefused,
    MessageTaken,
    RequestClosed,
    RequestEscalated,
    RequestOpened,
)
from holdfast.contracts.sessions.messages import MessageSignal
from holdfast.contracts.signals import (
    AnswerSignal,
    ApprovalSignal,
    ControlSignal,
    HeldSignal,
    ResolutionSignal,
)
from holdfast.contracts.state.unheard import UnheardMessage
from holdfast.run.delegation.part_ids import find_part, qualify_request
from holdfast.trace.builder import Readers, TraceBuilder
from holdfast.trace.payloads import read_time
from holdfast.trace.requests import EscalatedToGroup, MessageTrace, RequestTrace
from holdfast.workflows.inbound import messages
from holdfast.workflows.inbound.inbox import MAX_MESSAGES_PER_EXECUTION, InboundMessage
from holdfast.workflows.inbound.messages import digest_sent


class SignalReader:
    """Reads signals and updates; judgements and the journal come to it from their markers."""

    def __init__(self, trace: TraceBuilder) -> None:
        self._trace = trace
        # A message may be judged before the journal has told of its request.
        self._early: list[tuple[MessageTrace, Verdict, datetime]] = []
        self._controls: deque[int] = deque(maxlen=MAX_MESSAGES_PER_EXECUTION)
        self.readers: Readers = {
            EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED: self._on_signal,
            EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED: self._on_update,
        }

    def _on_signal(self, event: HistoryEvent) -> None:
        sent = event.workflow_execution_signaled_event_attributes
        self._read(event, sent.signal_name, sent.identity, sent.input.payloads)

    def take_unheard(self, carried: Iterable[UnheardMessage], at: datetime) -> None:
        """Read what came to an execution that the server no longer has, and is heard here."""
        for number, one in enumerate(map(InboundMessage.from_unheard, carried), 1):
            said = MessageTrace(
                key=f"carried.unheard.{number}", signal=one.signal, at=at, identity=""
            )
            self._read_message(said, list(one.payloads[:MAX_ARGUMENTS]))

    def _on_update(self, event: HistoryEvent) -> None:
        sent = event.workflow_execution_update_accepted_event_attributes.accepted_request
        # The update `decide` carries what the signal `approval` does.
        name = messages.UPDATES.get(sent.input.name, sent.input.name)
        self._read(event, name, sent.meta.identity, sent.input.args.payloads)

    def _read(
        self, event: HistoryEvent, name: str, identity: str, payloads: Sequence[Payload]
    ) -> None:
        key, at = self._trace.key(event), read_time(event)
        said = MessageTrace(key=key, signal=name, at=at, identity=identity)
        self._read_message(said, list(map(RawValue, payloads[:MAX_ARGUMENTS])))

    def _read_message(self, said: MessageTrace, values: list[RawValue]) -> None:
        signals = messages.SESSION_SIGNALS if self._trace.is_session else messages.SIGNALS
        match messages.read(said.signal, values, signals):
            case messages.UnreadableMessage(reason):
                self._trace.refuse(said.refuse(reason, "unreadable"))
            case ApprovalSignal() as message:
                said = replace(said, text=message.decision, sender=message.approver)
                self._queue_message(said, message.request_id, message.reason)
            case AnswerSignal() as message:
                said = replace(said, text=message.text, sender=message.by or "")
                self._queue_message(said, message.request_id)
            case ResolutionSignal() as message:
                self._read_resolution(said, message)
            case ControlSignal() as message:
                said = replace(said, text=message.words, sender=message.by or "")
                self._hear_control(replace(said, reason=message.why), values)
            case MessageSignal() as message:
                self._trace.goal = self._trace.goal or message.text
                said = replace(said, text=message.text, sender=message.actor or "")
                self._hear_control(said, values)
            case HeldSignal(run_id=part):
                self._hear_control(said, values, part)
            case RequestsSignal() | VerdictSignal() as message:
                self._relay(message)
                self._hear_control(said, values)
            case ForwardedSignal() as message:
                self._unwrap_message(said, message)

    def _read_resolution(self, said: MessageTrace, message: ResolutionSignal) -> None:
        """Take how a run goes on; a part has refused words for its model before it judged them."""
        budget = message.budget if message.action == "extend" else None
        said = replace(said, text=message.action, budget=budget, sender=message.by or "")
        whole = self._trace.whole
        if whole and messages.has_guidance(message):
            self._trace.refuse(said.refuse(messages.refer_to_whole(whole), "unreadable"))
        else:
            self._queue_message(said, message.request_id, message.guidance)

    def _unwrap_message(self, said: MessageTrace, message: ForwardedSignal) -> None:
        """Take what came through the whole; a run that is no part takes nothing of the kind."""
        if self._trace.whole:
            signal, payload = messages.unwrap(message)
            self._read_message(replace(said, signal=signal), [RawValue(payload)])
        else:
            self._trace.refuse(said.refuse(messages.FOR_NO_OTHER, "unreadable"))

    def _relay(self, message: RequestsSignal | VerdictSignal) -> None:
        """Keep what waits for people in a run that works for this one."""
        if isinstance(message, RequestsSignal):
            part = find_part(message.run_id)
            names = (qualify_request(part, request.request_id) for request in message.requests)
            self._trace.relays[message.run_id] = tuple(names)

    def _hear_control(self, said: MessageTrace, values: list[RawValue], part: str = "") -> None:
        """Take a signal about no request, which a verdict may take back or prove."""
        place = self._trace.add(replace(said, accepted=True, digest=digest_sent(values)))
        if said.signal in {"suspend", "resume", "held"}:
            self._trace.holds[place] = said.signal, part
        self._controls.append(place)

    def _find_controls(self, signal: str, digest: str) -> Iterator[tuple[int, MessageTrace]]:
        """Yield those that count and say this, the oldest first, with their places."""
        for place in self._controls:
            said = self._trace.entries[place]
            if not isinstance(said, MessageTrace) or not said.accepted:
                continue
            if said.signal == signal and digest in ("", said.digest):
                yield place, said

    def _apply_control(self, verdict: ControlVerdict, now: datetime) -> None:
        """Take the judgement of a signal: it is about the oldest that says this."""
        for place, said in self._find_controls(verdict.signal, verdict.digest):
            if said.judged_at is None:
                self._trace.put_message(place, said.with_verdict(verdict, now))
                return

    def _refuse_control(self, event: MessageRefused) -> None:
        """Take that signals changed nothing: the latest that say this, and seemed to count."""
        about = tuple(self._find_controls(event.signal, event.digest))
        for place, said in about[-event.count :]:
            self._trace.put_message(place, said.refuse(event.reason, event.code))

    def _queue_message(
        self, said: MessageTrace, request_id: str, reason: str | None = None
    ) -> None:
        said = replace(said, request_id=request_id, reason=reason or "")
        if "/" in request_id:  # a part of the run judges it
            self._trace.add(said)
        else:
            self._trace.unjudged.append(said)

    def apply_verdicts(self, verdicts: Verdicts, now: datetime) -> None:
        """Take the judgement of messages: each is about the oldest that names its request."""
        for control in verdicts.controls:
            self._apply_control(control, now)
        for verdict in verdicts.verdicts:
            unjudged = self._trace.unjudged
            request_id = verdict.request_id
            said = next((one for one in unjudged if one.request_id == request_id), None)
            if said is not None:
                unjudged.remove(said)
                self._apply_verdict(said, verdict, now)

    def _apply_verdict(self, said: MessageTrace, verdict: Verdict, now: datetime) -> None:
        said = said.with_verdict(verdict, now)
        asked = self._trace.requests.get(said.request_id)
        if said.accepted and asked is None:
            self._early.append((said, verdict, now))
            return
        late = _find_lateness(asked, now) if said.accepted and asked is not None else None
        if late is not None:
            said = said.refuse(f"the request has just {late}", late)
        if said.accepted and asked is not None:
            self._accept(_expire_approvals(asked, verdict.lapsed), said, now)
        else:
            self._trace.refuse(said)

    def take(self, event: JournalEvent, key: str) -> None:
        """Take what the run decided, but for what messages say; *key* names where it stands."""
        match event:
            case RequestOpened(request_id=name):
                self._trace.open_request(RequestTrace.of(event, f"{key}.{name}"))
                early, self._early = self._early, []
                for one in early:
                    self._apply_verdict(*one)
            case RequestEscalated(request_id=name, groups=groups, at=at):
                self._trace.hear(name, EscalatedToGroup(groups=groups, at=at))
            case HandoffRecord() | MessageTaken() | MessageEnded():
                self._trace.take_progress(event)
            case AnswerWithheld():
                self._trace.withhold_answer()
            case ApproachFailed(approach=approach):
                self._trace.approaches.append(approach)
            case MessageRefused():
                self._refuse_control(event)
            case RequestClosed(request_id=name, outcome=outcome, at=at):
                asked = self._trace.requests.get(name)
                if asked is not None and asked.outcome is None:
                    self._trace.close_request(asked, outcome, at)

    def _accept(self, asked: RequestTrace, said: MessageTrace, now: datetime) -> None:
        outcome = _outcome(said)
        if outcome == "approved" and len(asked.approvals) + 1 < asked.count:
            self._trace.put_request(replace(asked, heard=(*asked.heard, said)))
        else:
            self._trace.close_request(asked, outcome, now, said)


def _expire_approvals(asked: RequestTrace, lapsed: tuple[str, ...]) -> RequestTrace:
    """Mark the earlier approvals that count no more: those of these people."""
    gone = [said for said in asked.approvals if said.author in lapsed]
    heard = (
        replace(one, lapsed=True) if isinstance(one, MessageTrace) and one in gone else one
        for one in asked.heard
    )
    return replace(asked, heard=tuple(heard))


def _find_lateness(asked: RequestTrace, now: datetime) -> OutcomeCode | None:
    """Say what became of a request before a message about it could take effect."""
    if asked.outcome is not None:
        return "closed"
    return "expired" if asked.expires_at is not None and asked.expires_at <= now else None


def _outcome(said: MessageTrace) -> RequestOutcome:
    match said.signal, said.text:
        case "approval", "reject":
            return "rejected"
        case "approval", _:
            return "approved"
        case "answer", _:
            return "answered"
        case _:
            return "resolved"
