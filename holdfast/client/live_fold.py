"""What of a run passes while it works: the words of a reply, the reports of tools. Pure."""

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from pydantic import JsonValue
from temporalio.api.enums.v1 import EventType as HistoryEventType
from temporalio.api.history.v1 import HistoryEvent

from holdfast.client.event_data import TextDelta, TextReset, ToolProgress
from holdfast.client.events import EventType
from holdfast.contracts.base import Contract
from holdfast.contracts.usage import Attempts, LiveText
from holdfast.trace.payloads import decode

LiveTold: TypeAlias = tuple[EventType, TextDelta | TextReset | ToolProgress]

_ENDS = {
    HistoryEventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED: "completed",
    HistoryEventType.EVENT_TYPE_ACTIVITY_TASK_FAILED: "failed",
    HistoryEventType.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT: "timed_out",
    HistoryEventType.EVENT_TYPE_ACTIVITY_TASK_CANCELED: "canceled",
    HistoryEventType.EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED: "cancel_requested",
}

RUN_ENDS = {
    HistoryEventType.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED,
    HistoryEventType.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED,
    HistoryEventType.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT,
    HistoryEventType.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED,
    HistoryEventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED,
}
"""With which a run is over."""


class Beat(NamedTuple):
    """What an activity under way told last: in which attempt it is, and what that has told."""

    activity_id: str
    attempt: int
    told: Attempts


class Look(NamedTuple):
    """What the server knew of an execution when it was asked."""

    execution: str
    beats: tuple[Beat, ...]


class LivePosition(NamedTuple):
    """
    How far a reply was told: that of an activity, by the event that scheduled it.

    `seq` is the number of the next delta of this attempt, `end` how much was told of its text.
    """

    execution: str
    event: int
    attempt: int
    seq: int
    end: int


class _Begun(Contract):
    """What is needed of the input of a model's call, or of a tool's."""

    stream: bool = False
    turn: int = 0
    call_id: str = ""


class _Work(NamedTuple):
    """An activity under way."""

    event: int
    begun: _Begun


class LiveFold:
    """
    One run while its history and what its activities tell are read.

    An activity is listened to from the event that schedules it to the one that tells of its end,
    so what passes never comes before what it belongs to, nor behind what it came to.
    """

    def __init__(self, told: LivePosition | None = None) -> None:
        self.position = told
        self._execution = ""
        self._under_way: dict[str, _Work] = {}
        self._reports: dict[str, JsonValue] = {}

    @property
    def listens(self) -> bool:
        """Whether anything is under way that may tell something."""
        return bool(self._under_way)

    def read(self, execution: str, event: HistoryEvent) -> Iterator[LiveTold]:
        """Take an event of the history; what it ends without a reply takes its words along."""
        if execution != self._execution:
            self._execution = execution
            self._under_way.clear()
            self._reports.clear()
        if event.event_type == HistoryEventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
            self._begin(event)
        elif (end := _ENDS.get(event.event_type)) is not None:
            scheduled: int = getattr(
                event, f"activity_task_{end}_event_attributes"
            ).scheduled_event_id
            # Nobody waits for a model that was called off; a tool may tell more until its end.
            if end != "cancel_requested" or self._is_reply(scheduled):
                yield from self._end(scheduled, end)
        elif event.event_type in RUN_ENDS and self.position is not None:
            yield from self._end(self.position.event, "canceled")

    def look(self, look: Look) -> Iterator[LiveTold]:
        """Say what is new of the activities under way."""
        for beat in look.beats if look.execution == self._execution else ():
            work = self._under_way.get(beat.activity_id)
            if work is None:
                continue
            if work.begun.stream:
                yield from self._tell_reply(work, beat)
            elif beat.told.progress != self._reports.get(beat.activity_id):
                self._reports[beat.activity_id] = beat.told.progress
                if beat.told.progress is not None:
                    yield EventType.TOOL_PROGRESS, _build_report(work, beat)

    def _begin(self, event: HistoryEvent) -> None:
        scheduled = event.activity_task_scheduled_event_attributes
        begun = decode(scheduled.input.payloads, _Begun)
        if begun is not None and (begun.stream or begun.call_id):
            self._under_way[scheduled.activity_id] = _Work(event.event_id, begun)

    def _end(self, scheduled: int, how: str) -> Iterator[LiveTold]:
        for activity, work in list(self._under_way.items()):
            if work.event == scheduled:
                del self._under_way[activity]
                self._reports.pop(activity, None)
        at = self.position
        if at is None or (at.execution, at.event) != (self._execution, scheduled):
            return
        self.position = None
        if how != "completed" and at.seq:
            why = "canceled" if how == "cancel_requested" else how
            yield EventType.TEXT_RESET, TextReset(attempt=at.attempt, reason=why)

    def _is_reply(self, scheduled: int) -> bool:
        under_way = self._under_way.values()
        return any(work.event == scheduled and work.begun.stream for work in under_way)

    def _tell_reply(self, work: _Work, beat: Beat) -> Iterator[LiveTold]:
        at = self._find_position(work, beat.attempt)
        if at.attempt < beat.attempt:
            self.position = LivePosition(self._execution, work.event, beat.attempt, 0, 0)
            if at.seq:
                yield EventType.TEXT_RESET, TextReset(attempt=at.attempt, reason="failed")
            at = self.position
        live = beat.told.live
        if live is None or live.attempt != beat.attempt or _measure_end(live) <= at.end:
            return
        if at.end < live.offset:
            begin = at._replace(seq=0, end=live.offset)
            self.position = begin
            if at.seq:
                yield EventType.TEXT_RESET, TextReset(attempt=at.attempt, reason="missed")
            at = begin
        self.position = at._replace(seq=at.seq + 1, end=_measure_end(live))
        yield EventType.TEXT_DELTA, _build_delta(at, live)

    def _find_position(self, work: _Work, attempt: int) -> LivePosition:
        at = self.position
        if at is not None and (at.execution, at.event) == (self._execution, work.event):
            return at
        return LivePosition(self._execution, work.event, attempt, 0, 0)


def _measure_end(live: LiveText) -> int:
    return live.offset + len(live.text)


def _build_delta(at: LivePosition, live: LiveText) -> TextDelta:
    return TextDelta(
        turn=live.turn,
        attempt=live.attempt,
        seq=at.seq,
        offset=at.end,
        text=live.text[at.end - live.offset :],
    )


def _build_report(work: _Work, beat: Beat) -> ToolProgress:
    return ToolProgress(
        call_id=work.begun.call_id, attempt=beat.attempt, progress=beat.told.progress
    )
