"""Reads what a run has done for itself: guardrails, undoing, notices, projects, child runs."""

import shlex
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from pydantic import TypeAdapter
from temporalio.api.common.v1 import Payload
from temporalio.api.history.v1 import HistoryEvent
from temporalio.exceptions import ActivityError, is_cancelled_exception

from holdfast.contracts.approvals import Notice
from holdfast.contracts.guardrails import ACTIVITY_PREFIX, GuardrailVerdicts, RunGuardrails
from holdfast.contracts.project import ProjectContext, WorkspaceSnapshot
from holdfast.contracts.tools import ToolCall, ToolInvocation, ToolSuccess
from holdfast.run.summaries import call_line
from holdfast.trace.background_tasks import GuardrailRun, Work
from holdfast.trace.builder import TraceBuilder
from holdfast.trace.payloads import RESULT, at, decoded, summary
from holdfast.trace.words import counted
from holdfast.workflows import failures

NOTIFY = "notify"
PROJECT = frozenset({"open_project", "snapshot_workspace", "restore_workspace"})

_INVOCATION = TypeAdapter(ToolInvocation)
_ASKED = TypeAdapter(RunGuardrails)
_VERDICTS = TypeAdapter(GuardrailVerdicts)
_NOTICE = TypeAdapter(Notice)
_CONTEXT = TypeAdapter(ProjectContext)
_SNAPSHOT = TypeAdapter(WorkspaceSnapshot)

_SHOWN_DIGITS = 16


class Ran(NamedTuple):
    """What the marker of a local activity says of it."""

    name: str
    attempts: int
    began: datetime
    ended: datetime
    error: ActivityError | None


class OwnReader:
    """Knows which of a run's own activities is open under which event."""

    def __init__(self, chronicle: TraceBuilder) -> None:
        self._chronicle = chronicle
        self._open: dict[str, int] = {}

    def begun(self, event: HistoryEvent) -> bool:
        """Take an activity that was scheduled; false if it is none of the run's own."""
        scheduled = event.activity_task_scheduled_event_attributes
        name, payloads = scheduled.activity_type.name, scheduled.input.payloads
        entry = self._entry(event, name, payloads)
        if entry is None and (invocation := decoded(payloads, _INVOCATION)) is not None:
            entry = self._invoked(event, name, invocation)
        if entry is None:
            return False
        self._open[self._chronicle.key(event)] = self._added(entry)
        return True

    def started(self, place: str, attempt: int, now: datetime) -> bool:
        """Take that an activity began; false if it is none of the run's own."""
        found = self._open.get(place)
        if found is None:
            return False
        entry = self._at(found)
        # Only the last attempt has an event; the time of all begins when it was scheduled.
        began = now if attempt == 1 else entry.at
        self._chronicle.entries[found] = replace(entry, started_at=began, attempts=attempt)
        return True

    def completed(self, place: str, payloads: Sequence[Payload], now: datetime) -> bool:
        """Take what an activity came to; false if it is none of the run's own."""
        found = self._open.pop(place, None)
        if found is None:
            return False
        self._chronicle.entries[found] = _completed(self._at(found), payloads, now)
        return True

    def failed(self, place: str, error: ActivityError, now: datetime) -> bool:
        """Take that an activity failed; false if it is none of the run's own."""
        found = self._open.pop(place, None)
        if found is None:
            return False
        self._chronicle.entries[found] = _failed(self._at(found), error, now)
        return True

    def ran(self, event: HistoryEvent, local: Ran) -> bool:
        """Take a local activity, which is over; false if it is none of the run's own."""
        entry = self._entry(event, local.name, ())
        if entry is None:
            return False
        began, ended = local.began, local.ended
        entry = replace(entry, at=began, started_at=began, attempts=local.attempts)
        if local.error is not None:
            entry = _failed(entry, local.error, ended)
        else:
            result = event.marker_recorded_event_attributes.details["result"]
            entry = _completed(entry, result.payloads, ended)
        self._added(entry)
        return True

    def _entry(
        self, event: HistoryEvent, name: str, payloads: Sequence[Payload]
    ) -> GuardrailRun | Work | None:
        """Begin an entry for an activity that is the run's own by its type."""
        key, now = self._chronicle.key(event), at(event)
        if name.startswith(ACTIVITY_PREFIX):
            names = tuple(name.removeprefix(ACTIVITY_PREFIX).split("+"))
            return GuardrailRun(key=key, names=names, layer=_layer(event, payloads), at=now)
        if name == NOTIFY:
            told = decoded(payloads, _NOTICE)
            about = f"{told.request_id} ({told.kind})" if told else "a request"
            return Work(key=key, kind="notice", name=name, at=now, about=about)
        if name in PROJECT:
            return Work(key=key, kind="project", name=name, at=now)
        return None

    def _invoked(self, event: HistoryEvent, name: str, invocation: ToolInvocation) -> Work | None:
        """Begin an entry for a tool that no model asked for."""
        work = Work(
            key=self._chronicle.key(event),
            kind="undo",
            name=name,
            at=at(event),
            about=call_line(
                ToolCall(call_id=invocation.call_id, name=name, arguments=invocation.arguments)
            ),
            call_id=invocation.call_id,
            task_queue=event.activity_task_scheduled_event_attributes.task_queue.name,
        )
        if invocation.purpose == "undo":
            return work
        guardrail = self._chronicle.commanded(invocation.call_id)
        if guardrail is None or self._chronicle.call(invocation.call_id) is not None:
            return None
        about = _command(invocation) or work.about
        return replace(work, kind="command", guardrail=guardrail.name, about=about)

    def _added(self, entry: GuardrailRun | Work) -> int:
        self._chronicle.entries.append(entry)
        return len(self._chronicle.entries) - 1

    def _at(self, place: int) -> GuardrailRun | Work:
        entry = self._chronicle.entries[place]
        if not isinstance(entry, GuardrailRun | Work):
            raise TypeError(f"entry {place} is none of the run's own")
        return entry


def _command(invocation: ToolInvocation) -> str:
    """Write the program and its arguments as on a command line; nothing if it names none."""
    command = invocation.arguments.get("command")
    return shlex.join(map(str, command)) if isinstance(command, list) else ""


def _layer(event: HistoryEvent, payloads: Sequence[Payload]) -> str:
    """Find the layer: the input of a local activity isn't kept, its summary is."""
    asked = decoded(payloads, _ASKED)
    return asked.layer if asked else summary(event).partition(": ")[0]


def _completed(
    entry: GuardrailRun | Work, payloads: Sequence[Payload], now: datetime
) -> GuardrailRun | Work:
    if isinstance(entry, GuardrailRun):
        answer = decoded(payloads, _VERDICTS)
        if answer is None:
            return replace(entry, ended_at=now, error="its verdict can't be read")
        return replace(entry, ended_at=now, verdicts=answer.verdicts)
    if entry.kind in {"undo", "command"}:
        return _answered(entry, payloads, now)
    return replace(entry, ended_at=now, came_to=_outcome(entry, payloads))


def _answered(work: Work, payloads: Sequence[Payload], now: datetime) -> Work:
    result = decoded(payloads, RESULT)
    if result is None:
        return replace(work, ended_at=now, came_to="its result can't be read", failed=True)
    if isinstance(result, ToolSuccess):
        return replace(work, ended_at=now, came_to=result.summary, result=result)
    return replace(work, ended_at=now, came_to=result.reason, failed=True, result=result)


def _failed(
    entry: GuardrailRun | Work, error: ActivityError, now: datetime
) -> GuardrailRun | Work:
    message = failures.message(error)
    if isinstance(entry, GuardrailRun):
        if is_cancelled_exception(error):
            return replace(entry, ended_at=now, cancelled=True)
        return replace(entry, ended_at=now, error=message)
    return replace(entry, ended_at=now, came_to=message, failed=True)


def _outcome(work: Work, payloads: Sequence[Payload]) -> str:
    """Say on one line what came of an activity that is about files, or of a notice."""
    if work.name == "open_project":
        context = decoded(payloads, _CONTEXT)
        if context is None:
            return ""
        read = f"{counted(len(context.files), 'file')} read"
        return f"{read}, workspace {context.workspace[:_SHOWN_DIGITS]}".removesuffix(
            ", workspace "
        )
    found = decoded(payloads, _SNAPSHOT)
    if found is None:
        return ""
    files = f"{counted(found.files, 'file')}, {counted(found.bytes, 'byte')}"
    return f"{files}, workspace {found.digest[:_SHOWN_DIGITS]}"
