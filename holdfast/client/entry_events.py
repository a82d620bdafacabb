"""What the entries of a trace tell those who watch the run."""

from collections.abc import Iterator

from holdfast.client.disclosure import serves_guarded_run, show_result, withholds
from holdfast.client.event_data import (
    CheckpointTaken,
    GuardrailDone,
    HandoffMade,
    Noted,
    RequestDone,
    RequestWaits,
    SessionMessage,
    SessionOutcome,
    SubagentCompleted,
    SubagentStarted,
    ToolCompleted,
    ToolStarted,
)
from holdfast.client.events import EventType
from holdfast.client.turn_events import Told
from holdfast.contracts.approvals import RequestOutcome
from holdfast.contracts.calls import ToolFailure
from holdfast.contracts.delegation.relayed import RELAYED_SIGNALS
from holdfast.contracts.guardrails import WITHHELD, Layer
from holdfast.contracts.journal import HandoffRecord, MessageEnded, MessageTaken
from holdfast.trace.course import describe_exit, has_failure
from holdfast.trace.entries import AuditLine, BackgroundTask, Entry, GuardrailRun
from holdfast.trace.released import leave_digest
from holdfast.trace.requests import EscalatedToGroup, MessageTrace, RequestTrace
from holdfast.trace.values import Trace

_TOLD_ELSEWHERE = {
    "message",
    "outcome",
    "handoff",
    "ruled",
    "escalated",
    "stopped",
    "blocked",
    "failed",
    "review",
    "message refused",
    "model failed",
    "answer sent back",
    "approach",
    "approach failed",
    "undone",
}
"""Audit lines of which another event says more."""


def _tell_progress(run: Trace, event: HandoffRecord | MessageTaken | MessageEnded) -> Told:
    """Tell who goes on, or with which message of a session, and how one ended."""
    match event:
        case HandoffRecord():
            hidden = withholds(run)
            handed = HandoffMade(
                handoff_id=event.handoff_id,
                from_agent=event.from_agent,
                to_agent=event.to_agent,
                task_id=event.task_id,
                goal=WITHHELD if hidden else event.goal,
                context_passed=event.context_passed,
                return_expected=event.return_expected,
                timeout_seconds=event.timeout_seconds,
            )
            return EventType.HANDOFF, handed
        case MessageTaken(message_id=message_id, position=position, actor=actor):
            taken = SessionMessage(message_id=message_id, position=position, actor=actor)
            return EventType.SESSION_MESSAGE, taken
        case MessageEnded(message_id=message_id, status=status):
            return EventType.SESSION_OUTCOME, SessionOutcome(message_id=message_id, status=status)


def tell_task(run: Trace, work: BackgroundTask, *, begins: bool) -> Iterator[Told]:
    """Tell what a run has done for itself; *work* is without what isn't told."""
    match work.kind:
        case "child":
            yield from _tell_child(work, begins=begins)
        case "undo":
            yield from _tell_undo(run, work, begins=begins)
        case _ if work.ended_at is None:
            return
        case "command":
            looked = GuardrailDone(
                guardrail=work.guardrail,
                layer=_find_layer(run, work.guardrail),
                tripped=has_failure(work),
                reason=f"{work.about}: {describe_exit(work)}",
            )
            yield EventType.GUARDRAIL, looked
        case "project" if work.name == "snapshot_workspace":
            taken = CheckpointTaken(summary=work.came_to, failed=work.failed)
            yield EventType.CHECKPOINT, taken
        case "project":
            failed = "failed: " if work.failed else ""
            yield EventType.NOTE, Noted(event=work.name, text=f"{failed}{work.came_to}")
        case "notice" if not work.failed:
            yield EventType.NOTE, Noted(event="notified", text=work.about)
        case "notice":
            return  # an audit line says so


def _tell_child(work: BackgroundTask, *, begins: bool) -> Iterator[Told]:
    if begins:
        started = SubagentStarted(agent=work.name, workflow_id=work.run_id, task=work.about)
        yield EventType.SUBAGENT_STARTED, started
    if work.ended_at is not None:
        completed = SubagentCompleted(
            agent=work.name,
            workflow_id=work.run_id,
            failed=work.failed,
            summary=work.came_to,
            steps=work.ledger and work.ledger.steps,
            usage=work.ledger and work.ledger.usage.summary,
        )
        yield EventType.SUBAGENT_COMPLETED, completed


def _tell_undo(run: Trace, work: BackgroundTask, *, begins: bool) -> Iterator[Told]:
    if begins:
        started = ToolStarted(
            turn=None,
            index=None,
            call_id=work.call_id,
            name=work.name,
            purpose="undo",
            arguments=None,
        )
        yield EventType.TOOL_STARTED, started
    if work.ended_at is None:
        return
    failed = ToolFailure(
        status="error",
        call_id=work.call_id,
        name=work.name,
        type="internal_error",
        reason=work.came_to,
    )
    completed = ToolCompleted(
        turn=None,
        index=None,
        call_id=work.call_id,
        name=work.name,
        purpose="undo",
        ran=work.started_at is not None,
        result=show_result(run, work.result or failed),
        attempts=work.attempts,
        elapsed_ms=None,
    )
    yield EventType.TOOL_COMPLETED, completed


def tell_other(run: Trace, entry: Entry) -> Iterator[Told]:
    """Tell what guardrails found, who goes on, and what else stands in the audit."""
    match entry:
        case GuardrailRun() if entry.ended_at is not None:
            for looked in _list_findings(run, entry):
                yield EventType.GUARDRAIL, looked
        case AuditLine(told=told) if told is not None:
            yield _tell_progress(run, told)
        case AuditLine(event="tripwire"):
            yield from _tell_judgement(run, entry)
        case AuditLine() if entry.event not in _TOLD_ELSEWHERE:
            yield EventType.NOTE, Noted(event=entry.event, text=entry.text)
        case _:
            return


def _list_findings(run: Trace, looked: GuardrailRun) -> Iterator[GuardrailDone]:
    for name in looked.names:
        layer, verdicts = _find_layer(run, name), looked.find_verdicts(name)
        for verdict in verdicts:
            yield GuardrailDone(
                guardrail=name,
                layer=layer,
                call_id=verdict.call_id,
                tripped=verdict.tripwire_triggered,
                reason=verdict.reason,
                applicable=verdict.applicable,
            )
        if looked.cancelled or looked.error:
            yield GuardrailDone(
                guardrail=name,
                layer=layer,
                tripped=not looked.cancelled,
                reason=looked.error,
                cancelled=looked.cancelled,
            )


def _tell_judgement(run: Trace, note: AuditLine) -> Iterator[Told]:
    """Tell of a tripwire that another agent found: of others their own look has told."""
    name, _, found = note.text.partition(": ")
    specs = run.agent.guardrails if run.agent else ()
    spec = next((one for one in specs if one.name == name), None)
    if spec is not None and spec.agent is not None:
        reason = leave_digest(found)
        looked = GuardrailDone(guardrail=name, layer=spec.layer, tripped=True, reason=reason)
        yield EventType.GUARDRAIL, looked


def _find_layer(run: Trace, name: str) -> Layer | None:
    spec = run.find_guardrail(name)
    return None if spec is None else spec.layer


def tell_message(said: MessageTrace) -> Iterator[Told]:
    """Tell what a person said to the run, or that it changed nothing."""
    if said.accepted is not False:  # of what a part judges nothing is known here
        if said.signal not in RELAYED_SIGNALS:
            yield EventType.NOTE, Noted(event=said.signal, text=said.text, by=said.author)
        return
    yield EventType.NOTE, _build_refusal(said)


def tell_heard(asked: RequestTrace, heard: MessageTrace | EscalatedToGroup) -> Told:
    """Tell what happened while a request waited."""
    if isinstance(heard, EscalatedToGroup):
        text = f"{asked.request_id}: {', '.join(heard.groups)} may decide it too"
        return EventType.NOTE, Noted(event="escalated", text=text)
    if not heard.accepted:
        return EventType.NOTE, _build_refusal(heard)
    text = f"{asked.request_id}: {heard.text}"
    return EventType.NOTE, Noted(event=heard.signal, text=text, by=heard.author)


def _build_refusal(said: MessageTrace) -> Noted:
    about = f" of {said.request_id}" if said.request_id else ""
    text = f"{said.signal}{about}: {said.refusal}"
    return Noted(event="message refused", text=text, by=said.author)


def tell_opening(run: Trace, asked: RequestTrace) -> Told:
    """Tell that a request waits."""
    waits = RequestWaits(
        request_id=asked.request_id,
        kind=asked.kind,
        reason=WITHHELD if serves_guarded_run(run) else asked.reason,
        call_id=asked.call_id,
        required=asked.required,
        requested_at=asked.at,
        expires_at=asked.expires_at,
    )
    return EventType.REQUEST_OPENED, waits


def tell_closing(run: Trace, asked: RequestTrace, outcome: RequestOutcome) -> Told:
    """Tell that a request waits no longer."""
    settled, hidden = asked.settled, serves_guarded_run(run)
    says = settled is not None and outcome in {"answered", "resolved"}
    done = RequestDone(
        request_id=asked.request_id,
        kind=asked.kind,
        call_id=asked.call_id,
        outcome=outcome,
        by=settled.author if settled is not None else "",
        reason=settled.reason if settled is not None and not hidden else "",
        text=settled.text if settled is not None and says and not hidden else "",
    )
    return EventType.REQUEST_CLOSED, done
