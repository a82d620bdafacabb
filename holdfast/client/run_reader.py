"""Reads one run of a tree: its own events, and when those of its parts stand between them."""

import asyncio
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import aclosing
from datetime import UTC, datetime
from typing import NamedTuple, Protocol, Self

from temporalio.api.enums.v1 import EventType as HistoryEventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.service import RPCError, RPCStatusCode

from holdfast.client.cursor import Cursor, Position, shorten_execution
from holdfast.client.events import EventType, RunEvent
from holdfast.client.fold import Folds
from holdfast.client.live import LiveSource
from holdfast.client.live_fold import RUN_ENDS, LiveFold, LivePosition, LiveTold
from holdfast.contracts.run import WORKFLOW_TYPE
from holdfast.histories import Recorded
from holdfast.trace.payloads import read_time
from holdfast.trace.values import Trace

_SIGNALED = HistoryEventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED

_PART_ENDS: Mapping[HistoryEventType.ValueType, str] = {
    HistoryEventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_COMPLETED: "completed",
    HistoryEventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_FAILED: "failed",
    HistoryEventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_CANCELED: "canceled",
    HistoryEventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_TIMED_OUT: "timed_out",
    HistoryEventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_TERMINATED: "terminated",
}


class HistorySource(Protocol):
    """Where the histories of runs are read."""

    def follow(self, run_id: str, execution: str, *, wait: bool) -> AsyncGenerator[Recorded]:
        """Yield the events of a run from an execution on; with *wait*, until it is over."""
        ...


class Sources(NamedTuple):
    """Where runs are read; nobody looks at what passes where that is left out."""

    histories: HistorySource
    folds: Folds
    live: LiveSource | None = None


class Watched(NamedTuple):
    """A run, the execution from which it is read, and how a cursor names its first one."""

    run_id: str
    execution: str
    first: str


class Known(NamedTuple):
    """How far a run had come: so many events of this execution, and all of those before it."""

    execution: str
    events: int


class Reading(NamedTuple):
    """
    An event that was read, where it stands in its run, and which runs are over with it.

    One that passes stands nowhere; `live` is how far the reply under way was told with it.
    """

    first: str
    position: Position | None
    event: RunEvent
    ended: tuple[str, ...]
    live: LivePosition | None


class CaughtUp(NamedTuple):
    """
    The trace of the root has come further than its events tell.

    First when all was read that had happened as the reading began; from then on with each signal
    of which no event tells, as what its parts ask of people.
    """


class _Ended(Protocol):
    initiated_event_id: int


class RunReader:
    """
    One run, from its first execution to its end.

    A part is read between the event that tells of its start and the one that tells of its end,
    beside whatever else happens. What was told up to a cursor is read, and not told again.
    """

    def __init__(
        self,
        sources: Sources,
        out: asyncio.Queue[Reading | CaughtUp],
        run: Watched,
        after: Cursor,
        known: Known | None = None,
    ) -> None:
        self._sources = sources
        self._live = LiveFold(after.find_live(run.first))
        self._turn = asyncio.Lock()
        self._began = asyncio.Event()
        self._listening: asyncio.Task[None] | None = None
        self._out = out
        self._run = run
        self._cursor = after
        self._told = after.find(run.first)
        self._known = known
        self._follows = False
        self._fold = sources.folds.find(run.execution)
        self._parts: dict[tuple[str, int], Self] = {}
        self._ended: list[str] = []
        self._read: dict[str, int] = {}
        self._over = False
        self._task: asyncio.Task[None] | None = None
        self._busy = False
        self._hurried = False

    @property
    def trace(self) -> Trace:
        """The run as far as it was read."""
        return self._fold.trace

    async def read(self) -> None:
        """Read the run to its end, however long that takes, or until it is hurried."""
        if (live := self._sources.live) is not None:
            self._listening = asyncio.create_task(self._listen(live))
        try:
            await self._read_history()
        finally:
            await self._stop_listening()

    async def _read_history(self) -> None:
        source = self._sources.histories.follow(self._run.run_id, self._run.execution, wait=True)
        try:
            async with aclosing(source) as records:
                async for recorded in records:
                    self._busy = True
                    async with self._turn:
                        await self._take(recorded)
                    self._busy = False
                    if self._hurried:
                        return
        except RPCError as error:
            # The server keeps the history of a part no longer than its own time.
            if error.status is not RPCStatusCode.NOT_FOUND or self._task is None:
                raise

    async def wait(self) -> bool:
        """Wait until it is read to its end; false if it is not read at all."""
        if self._task is None:
            return False
        await self._task
        return True

    async def _listen(self, source: LiveSource) -> None:
        """Tell what passes while anything is under way that may tell something."""
        while True:
            await self._began.wait()
            async with aclosing(source.watch(self._run.run_id)) as looks:
                async for look in looks:
                    async with self._turn:
                        if not self._live.listens:
                            break
                        if self._told is None:
                            await self._put_live(self._live.look(look))
            self._began.clear()
            if self._live.listens:
                self._began.set()

    async def _put_live(self, told: Iterable[LiveTold]) -> None:
        for kind, data in told:
            if kind is EventType.TOOL_PROGRESS and self._fold.hides_reports:
                continue
            event = self._fold.build((kind, data), datetime.now(UTC))
            await self._out.put(Reading(self._run.first, None, event, (), self._live.position))

    async def _stop_listening(self) -> None:
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.gather(self._listening, return_exceptions=True)

    async def close(self) -> None:
        """Stop reading, the parts too."""
        await self._stop_listening()
        for part in self._parts.values():
            await part.close()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def begin(self) -> None:
        """Read beside whatever else is read."""
        self._task = asyncio.create_task(self.read())

    async def finish(self, until: datetime) -> None:
        """Read what happened up to a moment: the run for which this one works is over."""
        if self._task is None:
            return
        self._hurried = True
        if not self._busy:
            self._task.cancel()
        await asyncio.wait({self._task})
        if not self._task.cancelled():
            self._task.result()
        if self._over:
            return
        source = self._sources.histories.follow(self._run.run_id, self._run.execution, wait=False)
        async with aclosing(source) as records:
            async for recorded in records:
                if recorded.event.event_id <= self._read.get(recorded.execution, 0):
                    continue
                if read_time(recorded.event) > until:
                    break
                await self._take(recorded)
        await self._finish_parts(until)

    async def _finish_parts(self, until: datetime) -> None:
        for part in self._parts.values():
            await part.finish(until)
            self._ended += part.list_names()
        self._parts.clear()

    async def _take(self, recorded: Recorded) -> None:
        execution, event = recorded
        self._read[execution] = event.event_id
        passing = list(self._live.read(shorten_execution(execution), event))
        if self._told is None:
            await self._put_live(passing)
        if self._live.listens:
            self._began.set()
        fresh = self._fold.read_once(recorded)
        self._note_part(recorded)
        await self._end_part(recorded)
        if event.event_type in RUN_ENDS:
            self._over = True
            await self._finish_parts(read_time(event))
        for place, one in enumerate(fresh):
            position = Position(shorten_execution(execution), event.event_id, place)
            if self._is_new(position):
                ended, self._ended = tuple(self._ended), []
                live = self._live.position
                await self._out.put(Reading(self._run.first, position, one, ended, live))
        self._catch_up(recorded)
        if self._known == (execution, event.event_id):
            self._follows = True
            await self._out.put(CaughtUp())
        elif self._follows and not fresh and event.event_type == _SIGNALED:
            await self._out.put(CaughtUp())

    def _is_new(self, position: Position) -> bool:
        told = self._told
        return told is None or (position.execution == told.execution and told.is_before(position))

    def _catch_up(self, recorded: Recorded) -> None:
        """Tell everything from here on, if this is where the cursor stands."""
        told = self._told
        if told is None or told.execution != shorten_execution(recorded.execution):
            return
        if told.event <= recorded.event.event_id or _goes_on(recorded.event):
            self._told = None
            for part in self._parts.values():
                part.begin()

    def _note_part(self, recorded: Recorded) -> None:
        if not recorded.event.HasField("child_workflow_execution_started_event_attributes"):
            return
        started = recorded.event.child_workflow_execution_started_event_attributes
        if started.workflow_type.name != WORKFLOW_TYPE:
            return
        child = started.workflow_execution
        part = type(self)(
            self._sources,
            self._out,
            Watched(child.workflow_id, child.run_id, shorten_execution(child.run_id)),
            self._cursor,
        )
        self._parts[recorded.execution, started.initiated_event_id] = part
        if self._told is None:
            part.begin()

    async def _end_part(self, recorded: Recorded) -> None:
        end = _PART_ENDS.get(recorded.event.event_type)
        if end is None:
            return
        ended: _Ended = getattr(recorded.event, f"child_workflow_execution_{end}_event_attributes")
        part = self._parts.pop((recorded.execution, ended.initiated_event_id), None)
        if part is not None and await part.wait():
            self._ended += part.list_names()

    def list_names(self) -> list[str]:
        """Name this run and its parts as a cursor does."""
        below = (name for part in self._parts.values() for name in part.list_names())
        return [self._run.first, *self._ended, *below]


def _goes_on(event: HistoryEvent) -> bool:
    return event.HasField("workflow_execution_continued_as_new_event_attributes")
