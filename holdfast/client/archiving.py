"""Histories and traces of runs that are over, archived before the server forgets them."""

import asyncio
import string
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Self

from temporalio.client import Client, WorkflowExecution, WorkflowHistory
from temporalio.service import RPCError, RPCStatusCode

from holdfast import histories
from holdfast.activities.sessions.archive import Archive
from holdfast.activities.statuses import IS_OVER, UnreadableHistory, list_executions
from holdfast.client.spans import join_spans
from holdfast.contracts.errors import HoldfastError
from holdfast.contracts.run import WORKFLOW_TYPE
from holdfast.contracts.sessions.messages import SESSION_WORKFLOW_TYPE
from holdfast.event_log import log
from holdfast.trace.reader import read_trace
from holdfast.trace.spans.tree import span_tree
from holdfast.trace.spans.values import SpanTree
from holdfast.trace.values import Trace

SWEEP_SECONDS = 10.0
"""Between two looks at what has ended."""

LATENESS = timedelta(minutes=5)
"""So much later than a run ends it may be listed."""

_OVER = f"WorkflowType IN ('{WORKFLOW_TYPE}', '{SESSION_WORKFLOW_TYPE}') AND {IS_OVER}"

_OF_ONE_RUN = frozenset(
    {
        RPCStatusCode.INVALID_ARGUMENT,
        RPCStatusCode.FAILED_PRECONDITION,
        RPCStatusCode.OUT_OF_RANGE,
        RPCStatusCode.DATA_LOSS,
        RPCStatusCode.INTERNAL,
        RPCStatusCode.UNKNOWN,
    }
)
"""What a server says that can't answer about one run; about another it may."""

_MAX_READABLE_CHARS = 100

_READABLE = frozenset(f"{string.ascii_letters}{string.digits}._-")

_UNREADABLE = (
    ValueError,
    ArithmeticError,
    LookupError,
    TypeError,
    AssertionError,
    RecursionError,
    UnreadableHistory,
)
"""What reading a history may raise that no run of ours has written: no other waits for it."""


class _Attempt:
    """
    What is archived, or looked for: whatever is raised, also by a codec, all else goes on.

    Of *one* run what a server says of no other counts: where it is away, it is so for all.
    """

    def __init__(self, what: str, *, one: bool) -> None:
        self._what, self._one = what, one
        self.failed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        error: BaseException | None,
        _stack: TracebackType | None,
    ) -> bool:
        if not isinstance(error, Exception):
            return False
        if self._one and isinstance(error, RPCError) and error.status not in _OF_ONE_RUN:
            return False
        # A codec without its keys may quote what it was given: what it says is for its own log.
        told = isinstance(error, OSError | RPCError)
        reason = str(error) if told else type(error).__name__
        log.warning("archive.late", run=self._what, reason=reason)
        self.failed = True
        return True


class ArchiveSweep:
    """
    Archives all runs of a queue that are over, however they ended, each once.

    It asks the server and no run: nobody's history grows by it. What one worker has archived
    another leaves as it is. Of a run and its parts whose histories have more than *most* bytes no
    trace is kept, which would take all of them at once.
    """

    def __init__(
        self,
        client: Client,
        archive: Archive,
        queue: str,
        most: int = histories.MAX_HELD_BYTES,
    ) -> None:
        self._client, self._archive, self._queue, self._most = client, archive, queue, most
        self._latest: datetime | None = None
        self._known: frozenset[str] = frozenset()

    async def run(self) -> None:
        """Sweep again and again; what can't be reached or written is tried the next time."""
        while True:
            with _Attempt("", one=False):
                await self.sweep()
            await asyncio.sleep(SWEEP_SECONDS)

    async def sweep(self) -> None:
        """
        Archive what has ended since the last time; raises RPCError.

        What can't be written keeps no other run out; it is looked for again.
        """
        known, latest, failed = set[str](), self._latest, list[datetime]()
        async for execution in list_executions(self._client, self._query):
            if (ended_at := execution.close_time) is None:
                continue
            folder = name_run(execution.id, execution.run_id, ended_at)
            done = f"{folder}/history.json"
            with _Attempt(execution.id, one=True) as attempt:
                if folder not in self._known and not await self._archive.has(done):
                    await self._keep(execution, folder)
            if attempt.failed:
                failed.append(ended_at)
                continue
            known.add(folder)
            latest = max(latest or ended_at, ended_at)
        self._latest, self._known = min(failed, default=latest), frozenset(known)

    @property
    def _query(self) -> str:
        query = f"{_OVER} AND TaskQueue = '{self._queue}'"
        if self._latest is None:
            return query
        # Of a clock that was set back meanwhile what ended last lies ahead of what ends next.
        since = min(self._latest, datetime.now(UTC)) - LATENESS
        return f"{query} AND CloseTime > '{since.isoformat()}'"

    async def _keep(self, execution: WorkflowExecution, folder: str) -> None:
        room, whole = histories.Room(self._most), f"{folder}/history.json"
        try:
            found = await self._fetch(execution.id, execution.run_id, room)
        except histories.HistoriesTooLarge as error:
            log.warning("archive.no_trace", run=execution.id, reason=str(error))
            await self._write_in_pieces(execution, whole)
            return
        except UnreadableHistory as error:
            log.warning("archive.no_history", run=execution.id, reason=str(error))
            return
        if not found:
            return
        if (tree := await self._render_trace(found, room)) is not None:
            await self._archive.write(f"{folder}/trace.json", tree)
        try:
            text = await asyncio.to_thread(histories.render_export, found)
        except _UNREADABLE as error:
            log.warning("archive.no_history", run=execution.id, reason=repr(error))
            return
        await self._archive.write(whole, text.encode())

    async def _write_in_pieces(self, execution: WorkflowExecution, path: str) -> None:
        pieces = histories.stream_export(self._client, execution.id, execution.run_id)
        try:
            await self._archive.write_pieces(path, pieces)
        except _UNREADABLE as error:
            log.warning("archive.no_history", run=execution.id, reason=repr(error))

    async def _render_trace(
        self, found: Sequence[WorkflowHistory], room: histories.Room
    ) -> bytes | None:
        try:
            read = await asyncio.to_thread(read_trace, found)
            tree = await self._read_tree(read, room)
            return await asyncio.to_thread(lambda: tree.model_dump_json(indent=2).encode())
        except _UNREADABLE as error:
            log.warning("archive.no_trace", run=found[0].workflow_id, reason=repr(error))
            return None

    async def _read_tree(self, read: Trace, room: histories.Room) -> SpanTree:
        """Return the spans of a run with its parts, or without where one can't be read."""
        try:
            return await join_spans(self._client, read, reasoning=False, room=room)
        except HoldfastError as error:
            log.warning("archive.no_parts", run=read.run_id, reason=str(error))
            return await asyncio.to_thread(span_tree, read)

    async def _fetch(
        self, run_id: str, execution: str, room: histories.Room
    ) -> tuple[WorkflowHistory, ...]:
        """Return all histories of a run; none where the server has forgotten it."""
        try:
            return await histories.fetch(self._client, run_id, execution, room)
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise
            return ()


def name_run(run_id: str, execution: str, ended_at: datetime) -> str:
    """Return the folder of a run that is over, by the execution that ended, whatever its id is."""
    readable = "".join(one if one in _READABLE else "_" for one in run_id[:_MAX_READABLE_CHARS])
    day = ended_at.astimezone(UTC).date().isoformat()
    return f"completed/{day}/{readable}.{execution}"


@asynccontextmanager
async def sweep_runs(client: Client, archive: Archive | None, queue: str) -> AsyncGenerator[None]:
    """Archive the runs of a queue while the block lasts, if there is an archive."""
    if archive is None:
        yield
        return
    sweeping = asyncio.create_task(ArchiveSweep(client, archive, queue).run())
    try:
        yield
    finally:
        sweeping.cancel()
        with suppress(asyncio.CancelledError):
            await sweeping
