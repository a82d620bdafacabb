"""What passes in a run, asked of the server: once for all who watch it in this process."""

import asyncio
from collections.abc import AsyncGenerator, Iterable
from typing import Protocol
from weakref import WeakKeyDictionary

from temporalio.api.common.v1 import Payload, WorkflowExecution
from temporalio.api.workflow.v1 import PendingActivityInfo
from temporalio.api.workflowservice.v1 import DescribeWorkflowExecutionRequest
from temporalio.client import Client
from temporalio.service import RPCError

from holdfast.client.cursor import shorten_execution
from holdfast.client.live_fold import Beat, Look
from holdfast.client.news import News
from holdfast.contracts.usage import Attempts
from holdfast.trace.payloads import decode

LIVE_SECONDS = 1.0
"""Seconds between two looks at what passes."""


class LiveSource(Protocol):
    """Where is seen what passes."""

    def watch(self, run_id: str) -> AsyncGenerator[Look]:
        """Yield what a run's activities tell, again and again, as long as somebody takes it."""
        ...


class LiveFeed:
    """Looks at one run for all who watch it here, as often as the most impatient of them wants."""

    def __init__(self, client: Client, run_id: str) -> None:
        self._client = client
        self._run_id = run_id
        self._watchers: dict[object, float] = {}
        self._looking: asyncio.Task[None] | None = None
        self._look: Look | None = None
        self._news = News()

    @property
    def has_watchers(self) -> bool:
        """Whether anybody is left."""
        return bool(self._watchers)

    async def watch(self, seconds: float) -> AsyncGenerator[Look]:
        """Yield each look that is new, as long as somebody takes it; one every so many seconds."""
        watcher, seen = object(), self._look
        self._watchers[watcher] = seconds
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look_again_and_again())
        try:
            while True:
                await self._news.wait()
                if self._looking.done():
                    self._looking.result()
                if self._look is not None and self._look is not seen:
                    seen = self._look
                    yield seen
        finally:
            del self._watchers[watcher]
            if not self._watchers:
                self._looking.cancel()
                self._looking = None

    async def _look_again_and_again(self) -> None:
        try:
            while True:
                self._look = await self._ask() or self._look
                self._news.tell()
                await asyncio.sleep(min(self._watchers.values(), default=LIVE_SECONDS))
        finally:
            self._news.tell()

    async def _ask(self) -> Look | None:
        """Return what the server knows; null where it doesn't answer, or knows no such run."""
        request = DescribeWorkflowExecutionRequest(
            namespace=self._client.namespace,
            execution=WorkflowExecution(workflow_id=self._run_id),
        )
        try:
            found = await self._client.workflow_service.describe_workflow_execution(request)
        except RPCError:
            return None  # whoever reads the history is told
        beats = [
            Beat(one.activity_id, one.attempt, await self._read_details(one))
            for one in found.pending_activities
        ]
        execution = found.workflow_execution_info.execution.run_id
        return Look(shorten_execution(execution), tuple(beats))

    async def _read_details(self, activity: PendingActivityInfo) -> Attempts:
        """Read what an activity told last; of what no worker of ours wrote, nothing."""
        payloads: Iterable[Payload] = activity.heartbeat_details.payloads
        if (codec := self._client.data_converter.payload_codec) is not None:
            payloads = await codec.decode([*payloads])
        return decode([*payloads], Attempts) or Attempts()


_FEEDS: WeakKeyDictionary[Client, dict[str, LiveFeed]] = WeakKeyDictionary()
"""One for each run that somebody in this process watches."""


class ServerLive:
    """What passes in the runs of a server."""

    def __init__(self, client: Client, seconds: float = LIVE_SECONDS) -> None:
        self._client = client
        self._seconds = seconds

    async def watch(self, run_id: str) -> AsyncGenerator[Look]:
        """Yield what a run's activities tell, again and again, as long as somebody takes it."""
        feeds = _FEEDS.setdefault(self._client, {})
        feed = feeds.setdefault(run_id, LiveFeed(self._client, run_id))
        watching = feed.watch(self._seconds)
        try:
            async for look in watching:
                yield look
        finally:
            await watching.aclose()
            if not feed.has_watchers:
                feeds.pop(run_id, None)
