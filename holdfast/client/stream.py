"""The events of a run, and of the runs that do parts of it, in one stream."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from weakref import WeakKeyDictionary

from temporalio.client import Client, WorkflowExecutionDescription

from holdfast import histories
from holdfast.client import history_feed
from holdfast.client.cursor import Cursor, refuse_cursor, shorten_execution
from holdfast.client.events import RunEvent
from holdfast.client.fold import Folds
from holdfast.client.live import ServerLive
from holdfast.client.run_reader import CaughtUp, Known, Reading, RunReader, Sources, Watched
from holdfast.histories import Recorded
from holdfast.trace.values import Trace

_FOLDS: WeakKeyDictionary[Client, Folds] = WeakKeyDictionary()

MAX_EVENTS_AHEAD = 100
"""Events that are read before somebody takes them."""


class EventStream:
    """The events of one tree of runs behind a cursor, or all."""

    def __init__(
        self, sources: Sources, run: Watched, after: Cursor, known: Known | None = None
    ) -> None:
        self._cursor = after
        self._readings: asyncio.Queue[Reading | CaughtUp] = asyncio.Queue(MAX_EVENTS_AHEAD)
        self._root = RunReader(sources, self._readings, run, after.copy(), known)

    @property
    def trace(self) -> Trace:
        """The run as far as it was read, which is further than it was told."""
        return self._root.trace

    async def events(self) -> AsyncGenerator[RunEvent]:
        """Yield them in the order in which they can have happened, until the run is over."""
        async with aclosing(self.steps()) as steps:
            async for step in steps:
                if step is not None:
                    yield step

    async def steps(self) -> AsyncGenerator[RunEvent | None]:
        """
        Yield the same, and null where all is told that had happened before it began.

        More of them come where the `trace` has come further and no event tells of it.
        """
        reading = asyncio.create_task(self._root.read())
        try:
            while (read := await self._next(reading)) is not None:
                if isinstance(read, CaughtUp):
                    yield None
                    continue
                self._cursor.forget(read.ended)
                self._cursor.move_live(read.first, read.live)
                if read.position is not None:
                    self._cursor.move(read.first, read.position)
                yield read.event.with_(id=str(self._cursor))
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
            await self._root.close()

    async def _next(self, reading: asyncio.Task[None]) -> Reading | CaughtUp | None:
        """Return the next event; null once all is read."""
        if self._readings.empty():
            coming = asyncio.create_task(self._readings.get())
            try:
                await asyncio.wait({coming, reading}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                coming.cancel()
                await asyncio.wait({coming})
            if not coming.cancelled():
                return coming.result()
        if not self._readings.empty():
            return self._readings.get_nowait()
        reading.result()
        return None


class ServerHistories:
    """Histories as a server has them."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def follow(self, run_id: str, execution: str, *, wait: bool) -> AsyncGenerator[Recorded]:
        """Yield the events of a run from an execution on; with *wait*, until it is over."""
        while execution:
            source = (
                history_feed.follow(self._client, run_id, execution)
                if wait
                else histories.follow(self._client, run_id, execution, wait=False)
            )
            execution = ""
            async with aclosing(source) as events:
                async for recorded in events:
                    continued = recorded.event.workflow_execution_continued_as_new_event_attributes
                    execution = continued.new_execution_run_id
                    yield recorded


async def open_stream(
    client: Client,
    found: WorkflowExecutionDescription,
    after: str | None,
    live_seconds: float | None = None,
) -> EventStream:
    """
    Return the events of a run and its parts behind a cursor, or all of them.

    What passes is looked for every *live_seconds*, or not.

    Raises HoldfastError for a cursor that is of no event which the server keeps, RPCError for what
    the server can't do.
    """
    kept = await histories.find_executions(client, found.id, found.run_id)
    cursor = Cursor() if after is None else Cursor.parse(after, found.id)
    first = shorten_execution(kept.first)
    told = cursor.find(first)
    if after is not None:
        known = [shorten_execution(one) for one in kept.executions]
        if told is None or told.execution not in known:
            raise refuse_cursor(after, found.id)
        if told.execution == known[-1] and told.event > found.history_length:
            raise refuse_cursor(after, found.id)
    live = None if live_seconds is None else ServerLive(client, live_seconds)
    return EventStream(
        Sources(ServerHistories(client), _FOLDS.setdefault(client, Folds()), live),
        Watched(found.id, kept.executions[0], first),
        cursor,
        Known(found.run_id, found.history_length),
    )
