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
from holdfast.contracts.calls import ToolCall, ToolInvocation, ToolSuccess
from holdfast.contracts.guardrails import ACTIVITY_PREFIX, GuardrailVerdicts, RunGuardrails
from holdfast.contracts.project import ProjectContext, WorkspaceSnapshot
from holdfast.run.summaries import call_line
from holdfast.trace.background_tasks import BackgroundTask, GuardrailRun
from holdfast.trace.builder import TraceBuilder
from holdfast.trace.payloads import RESULT, decode, read_summary, read_time
from holdfast.trace.words import pluralize
from holdfast.workflows import failures

NOTIFY = "notify"
PROJECT = frozenset({"open_project", "snapshot_workspace", "restore_workspace"})

_INVOCATION = TypeAdapter(ToolInvocation)
_RUN_GUARDRAILS = TypeAdapter(RunGuardrails)
_VERDICTS = TypeAdapter(GuardrailVerdicts)
_NOTICE = TypeAdapter(Notice)
_CONTEXT = TypeAdapter(ProjectContext)
_SNAPSHOT = TypeAdapter(WorkspaceSnapshot)

_DIGEST_PREFIX_CHARS = 16


class LocalActivityRun(NamedTuple):
    """What the marker of a local activity says of it."""

    name: str
    attempts: int
    began: datetime
    ended: datetime
    error: ActivityError | None


class BackgroundTaskReader:
    """Knows which of a run's own activities is open under which event."""

    def __init__(self, chronicle: TraceBuilder) -> None:
        self._chronicle = chronicle
        self._open: dict[str, int] = {}

    def on_schedule(self, event: HistoryEvent) -> bool:
        """Take an activity that was scheduled; false if it is none of the run's own."""
        scheduled = event.activity_task_scheduled_event_attributes
        name, payloads = scheduled.activity_type.name, scheduled.input.payloads
        entry = self._build_entry(event, name, payloads)
        if entry is None and (invocation := decode(payloads, _INVOCATION)) is not None:
            entry = self._build_tool_entry(event, name, invocation)
        if entry is None:
            return False
        self._open[self._chronicle.key(event)] = self._add(entry)
        return True

    def on_start(self, place: str, attempt: int, now: datetime) -> bool:
        """Take that an activity began; false if it is none of the run's own."""
        found = self._open.get(place)
        if found is None:
            return False
        entry = self._find_entry(found)
        # Only the last attempt has an event; the time of all begins when it was scheduled.
        began = now if attempt == 1 else entry.at
        self._chronicle.entries[found] = replace(entry, started_at=began, attempts=attempt)
        return True

    def on_completion(self, place: str, payloads: Sequence[Payload], now: datetime) -> bool:
        """Take what an activity came to; false if it is none of the run's own."""
        found = self._open.pop(place, None)
        if found is None:
            return False
        self._chronicle.entries[found] = _with_result(self._find_entry(found), payloads, now)
        return True

    def on_failure(self, place: str, error: ActivityError, now: datetime) -> bool:
        """Take that an activity failed; false if it is none of the run's own."""
        found = self._open.pop(place, None)
        if found is None:
            return False
        self._chronicle.entries[found] = _with_failure(self._find_entry(found), error, now)
        return True

    def on_local_activity(self, event: HistoryEvent, local: LocalActivityRun) -> bool:
        """Take a local activity, which is over; false if it is none of the run's own."""
        entry = self._build_entry(event, local.name, ())
        if entry is None:
            return False
        began, ended = local.began, local.ended
        entry = replace(entry, at=began, started_at=began, attempts=local.attempts)
        if local.error is not None:
            entry = _with_failure(entry, local.error, ended)
        else:
            result = event.marker_recorded_event_attributes.details["result"]
            entry = _with_result(entry, result.payloads, ended)
        self._add(entry)
        return True

    def _build_entry(
        self, event: HistoryEvent, name: str, payloads: Sequence[Payload]
    ) -> GuardrailRun | BackgroundTask | None:
        """Begin an entry for an activity that is the run's own by its type."""
        key, now = self._chronicle.key(event), read_time(event)
        if name.startswith(ACTIVITY_PREFIX):
            names = tuple(name.removeprefix(ACTIVITY_PREFIX).split("+"))
            return GuardrailRun(key=key, names=names, layer=_layer(event, payloads), at=now)
        if name == NOTIFY:
            told = decode(payloads, _NOTICE)
            about = f"{told.request_id} ({told.kind})" if told else "a request"
            return BackgroundTask(key=key, kind="notice", name=name, at=now, about=about)
        if name in PROJECT:
            return BackgroundTask(key=key, kind="project", name=name, at=now)
        return None

    def _build_tool_entry(
        self, event: HistoryEvent, name: str, invocation: ToolInvocation
    ) -> BackgroundTask | None:
        """Begin an entry for a tool that no model asked for."""
        work = BackgroundTask(
            key=self._chronicle.key(event),
            kind="undo",
            name=name,
            at=read_time(event),
            about=call_line(
                ToolCall(call_id=invocation.call_id, name=name, arguments=invocation.arguments)
            ),
            call_id=invocation.call_id,
            task_queue=event.activity_task_scheduled_event_attributes.task_queue.name,
        )
        if invocation.purpose == "undo":
            return work
        guardrail = self._chronicle.find_command_guardrail(invocation.call_id)
        if guardrail is None or self._chronicle.find_call(invocation.call_id) is not None:
            return None
        about = _command(invocation) or work.about
        return replace(work, kind="command", guardrail=guardrail.name, about=about)

    def _add(self, entry: GuardrailRun | BackgroundTask) -> int:
        self._chronicle.entries.append(entry)
        return len(self._chronicle.entries) - 1

    def _find_entry(self, place: int) -> GuardrailRun | BackgroundTask:
        entry = self._chronicle.entries[place]
        if not isinstance(entry, GuardrailRun | BackgroundTask):
            raise TypeError(f"entry {place} is none of the run's own")
        return entry


def _command(invocation: ToolInvocation) -> str:
    """Write the program and its arguments as on a command line; nothing if it names none."""
    command = invocation.arguments.get("command")
    return shlex.join(map(str, command)) if isinstance(command, list) else ""


def _layer(event: HistoryEvent, payloads: Sequence[Payload]) -> str:
    """Find the layer: the input of a local activity isn't kept, its summary is."""
    asked = decode(payloads, _RUN_GUARDRAILS)
    return asked.layer if asked else read_summary(event).partition(": ")[0]


def _with_result(
    entry: GuardrailRun | BackgroundTask, payloads: Sequence[Payload], now: datetime
) -> GuardrailRun | BackgroundTask:
    if isinstance(entry, GuardrailRun):
        answer = decode(payloads, _VERDICTS)
        if answer is None:
            return replace(entry, ended_at=now, error="its verdict can't be read")
        return replace(entry, ended_at=now, verdicts=answer.verdicts)
    if entry.kind in {"undo", "command"}:
        return _with_tool_result(entry, payloads, now)
    return replace(entry, ended_at=now, came_to=_describe_outcome(entry, payloads))


def _with_tool_result(
    work: BackgroundTask, payloads: Sequence[Payload], now: datetime
) -> BackgroundTask:
    result = decode(payloads, RESULT)
    if result is None:
        return replace(work, ended_at=now, came_to="its result can't be read", failed=True)
    if isinstance(result, ToolSuccess):
        return replace(work, ended_at=now, came_to=result.summary, result=result)
    return replace(work, ended_at=now, came_to=result.reason, failed=True, result=result)


def _with_failure(
    entry: GuardrailRun | BackgroundTask, error: ActivityError, now: datetime
) -> GuardrailRun | BackgroundTask:
    message = failures.message(error)
    if isinstance(entry, GuardrailRun):
        if is_cancelled_exception(error):
            return replace(entry, ended_at=now, cancelled=True)
        return replace(entry, ended_at=now, error=message)
    return replace(entry, ended_at=now, came_to=message, failed=True)


def _describe_outcome(work: BackgroundTask, payloads: Sequence[Payload]) -> str:
    """Say on one line what came of an activity that is about files, or of a notice."""
    if work.name == "open_project":
        context = decode(payloads, _CONTEXT)
        if context is None:
            return ""
        read = f"{pluralize(len(context.files), 'file')} read"
        return f"{read}, workspace {context.workspace[:_DIGEST_PREFIX_CHARS]}".removesuffix(
            ", workspace "
        )
    found = decode(payloads, _SNAPSHOT)
    if found is None:
        return ""
    files = f"{pluralize(found.files, 'file')}, {pluralize(found.bytes, 'byte')}"
    return f"{files}, workspace {found.digest[:_DIGEST_PREFIX_CHARS]}"
