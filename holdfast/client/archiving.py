"""Histories and traces of runs that are over, archived before the server forgets them."""

import asyncio
import string
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta

from temporalio.client import Client, WorkflowExecution, WorkflowHistory
from temporalio.service import RPCError, RPCStatusCode

from holdfast import histories
from holdfast.activities.sessions.archive import Archive
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

_OVER = (
    f"WorkflowType IN ('{WORKFLOW_TYPE}', '{SESSION_WORKFLOW_TYPE}') AND "
    "ExecutionStatus NOT IN ('Running', 'ContinuedAsNew')"
)

_MAX_READABLE_CHARS = 100

_READABLE = frozenset(f"{string.ascii_letters}{string.digits}._-")

_UNREADABLE = (
    ValueError,
    ArithmeticError,
    LookupError,
    TypeError,
    AssertionError,
    RecursionError,
)
"""What reading a history may raise that no run of ours has written: no other waits for it."""


class ArchiveSweep:
    """
    Archives all runs of a queue that are over, however they ended, each once.

    It asks the server and no run: nobody's history grows by it. What one worker has archived
    another leaves as it is.
    """

    def __init__(self, client: Client, archive: Archive, queue: str) -> None:
        self._client, self._archive, self._queue = client, archive, queue
        self._latest: datetime | None = None
        self._known: frozenset[str] = frozenset()

    async def run(self) -> None:
        """Sweep again and again; what can't be reached or written is tried the next time."""
        while True:
            try:
                await self.sweep()
            except RPCError as error:
                log.warning("archive.late", reason=str(error))
            await asyncio.sleep(SWEEP_SECONDS)

    async def sweep(self) -> None:
        """
        Archive what has ended since the last time; raises RPCError.

        What can't be written keeps no other run out; it is looked for again.
        """
        known, latest, failed = set[str](), self._latest, list[datetime]()
        async for execution in self._client.list_workflows(self._query):
            if (ended_at := execution.close_time) is None:
                continue
            folder = name_run(execution.id, execution.run_id, ended_at)
            done = f"{folder}/history.json"
            try:
                if folder not in self._known and not await self._archive.has(done):
                    await self._keep(execution, folder)
            except OSError as error:
                log.warning("archive.late", run=execution.id, reason=str(error))
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
        found = await self._fetch(execution.id, execution.run_id)
        if not found:
            return
        if (tree := await self._render_trace(found)) is not None:
            await self._archive.write(f"{folder}/trace.json", tree)
        try:
            text = await asyncio.to_thread(histories.render_export, found)
        except _UNREADABLE as error:
            log.warning("archive.no_history", run=execution.id, reason=repr(error))
            return
        await self._archive.write(f"{folder}/history.json", text.encode())

    async def _render_trace(self, found: Sequence[WorkflowHistory]) -> bytes | None:
        try:
            read = await asyncio.to_thread(read_trace, found)
            tree = await self._read_tree(read)
            return await asyncio.to_thread(lambda: tree.model_dump_json(indent=2).encode())
        except _UNREADABLE as error:
            log.warning("archive.no_trace", run=found[0].workflow_id, reason=repr(error))
            return None

    async def _read_tree(self, read: Trace) -> SpanTree:
        """Return the spans of a run with its parts, or without where one can't be read."""
        try:
            return await join_spans(self._client, read, reasoning=False)
        except HoldfastError as error:
            log.warning("archive.no_parts", run=read.run_id, reason=str(error))
            return span_tree(read)

    async def _fetch(
        self, run_id: str, execution: str | None = None
    ) -> tuple[WorkflowHistory, ...]:
        """Return all histories of a run; none where the server has forgotten it."""
        try:
            return await histories.fetch(self._client, run_id, execution)
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
