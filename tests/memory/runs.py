"""Runs without a server, driven as those on one are: plain JSON in, plain JSON out."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

from pydantic import JsonValue, TypeAdapter
from temporalio.api.common.v1 import Payload
from temporalio.bridge.proto.workflow_commands import UpdateResponse
from temporalio.client import (
    WorkflowFailureError,
    WorkflowQueryFailedError,
    WorkflowUpdateFailedError,
)
from temporalio.exceptions import CancelledError

from holdfast import App, worker
from holdfast.activities.runs import TemporalEarlierRuns
from holdfast.activities.sessions.archive import open_archive
from holdfast.activities.transcripts import Transcripts
from holdfast.contracts.base import JsonObject
from holdfast.contracts.run import RunResult, sandbox_queue
from holdfast.contracts.sessions.messages import SESSION_WORKFLOW_TYPE
from holdfast.contracts.signals import MessageOutcome
from holdfast.settings import Settings
from holdfast.tools.process import warm_up
from holdfast.tools.redaction import Redactor
from holdfast.workflows.payloads import data_converter
from tests.histories import Story
from tests.memory.clock import LoopThread
from tests.memory.earlier import build_client
from tests.memory.execution import Closed
from tests.memory.instances import said
from tests.memory.server import MemoryServer
from tests.memory.surroundings import (
    MemoryDirectory,
    MemoryEarlierSessions,
    MemoryHolders,
    MemorySwitches,
)
from tests.memory.tasks import Habits
from tests.memory.working import MemoryWorker
from tests.running import AnyRun

Answer = TypeVar("Answer")

QUEUE = "memory"

LOOK = 0.05
"""Seconds between two looks at a run that is to ask people something."""

PATIENCE = 60.0
"""Seconds that are skipped between looks; from then on time goes as it goes."""


class MemoryRun(AnyRun):
    """One run, seen from outside."""

    def __init__(self, thread: LoopThread, server: MemoryServer, run_id: str) -> None:
        self.id = run_id
        self._thread = thread
        self._server = server
        self._paused = 0.0

    @property
    def executions(self) -> int:
        """How many executions it has had; each continue-as-new begins another."""
        return len(self._server.executions[self.id])

    async def rest(self) -> bool:
        """Wait until the run is over, or nothing moves in it; say whether it is over."""
        return await self._thread.call(self._rest())

    def part(self, name: str) -> "MemoryRun":
        """Return a run that this run has started, or is about to."""
        return MemoryRun(self._thread, self._server, f"{self.id}.{name}")

    async def forget(self) -> None:
        """Free all that is kept of the run."""
        await self._thread.call(self._forget())

    async def result(self) -> RunResult:
        return await self._thread.call(self._wait_result())

    async def query(self, name: str, answer: type[Answer], *arguments: JsonValue) -> Answer:
        return await self._thread.call(self._ask(name, answer, *arguments))

    async def story(self) -> Story:
        return (await self.stories())[-1]

    async def stories(self) -> tuple[Story, ...]:
        """Return what each of its executions did; doing it again comes to the same."""
        return await self._thread.call(self._tell_stories())

    async def parts(self) -> list[str]:
        """Return what its executions have had others do, from the first on."""
        return [part for one in self._server.executions[self.id] for part in one.parts]

    async def decided(self, activity: str) -> list[JsonObject]:
        """Return what each of its local activities of a name was told, in its latest execution."""
        records = self._server.newest(self.id).tasks.records
        wanted = [one.schedule_local_activity for one in said(records)]
        return [
            json.loads(one.arguments[0].data) for one in wanted if one.activity_type == activity
        ]

    async def pause(self) -> None:
        await self._thread.call(self._pause())

    async def signal(self, name: str, argument: JsonValue) -> None:
        await self.signal_with(name, argument)

    async def signal_with(self, name: str, *arguments: JsonValue) -> None:
        """Send a signal with any number of arguments."""
        await self._thread.call(self._tell(name, arguments))

    async def decide(self, *arguments: JsonValue) -> MessageOutcome:
        return await self.update("decide", *arguments)

    async def update(self, name: str, *arguments: JsonValue) -> MessageOutcome:
        """Send an update of any name."""
        return await self._thread.call(self._update(name, arguments))

    async def decide_behind(
        self, name: str, argument: JsonValue, decision: JsonValue
    ) -> MessageOutcome:
        """Send a signal, and an update right behind it: one workflow task brings both."""
        return await self._thread.call(self._tell_both(name, argument, decision))

    async def cancel(self) -> None:
        await self._thread.call(self._cancel())

    async def _wait_result(self) -> RunResult:
        with self._thread.loop.skipping():
            closed = await self._server.wait_closed(self.id)
        if closed.result is None:
            raise WorkflowFailureError(cause=await _decode_failure(closed))
        [result] = await data_converter.decode([closed.result], [RunResult])
        assert isinstance(result, RunResult)
        return result

    async def _tell_stories(self) -> tuple[Story, ...]:
        known = self._server.executions[self.id]
        for each in known:
            each.tasks.check_replay()
        return tuple(each.scheduled for each in known)

    async def _rest(self) -> bool:
        with self._thread.loop.skipping():
            while not (newest := self._server.newest(self.id)).is_at_rest:
                self._server.raise_fault()
                await asyncio.sleep(LOOK)
        self._server.raise_fault()
        return newest.closed is not None

    async def _forget(self) -> None:
        self._server.forget(self.id)

    async def _ask(self, name: str, answer: type[Answer], *arguments: JsonValue) -> Answer:
        self._server.raise_fault()
        said = await self._server.query(self.id, name, await _encode(arguments))
        if said.HasField("failed"):
            raise WorkflowQueryFailedError(said.failed.message)
        return TypeAdapter(answer).validate_json(said.succeeded.response.data)

    async def _pause(self) -> None:
        """Skip a moment, as long as nobody could believe that people took so long."""
        self._paused += LOOK
        if self._paused > PATIENCE:
            await asyncio.sleep(LOOK)
            return
        with self._thread.loop.skipping():
            await asyncio.sleep(LOOK)

    async def _tell(self, name: str, arguments: Sequence[JsonValue]) -> None:
        self._server.signal(self.id, name, await _encode(arguments))

    async def _cancel(self) -> None:
        self._server.cancel(self.id)

    async def _tell_both(
        self, name: str, argument: JsonValue, decision: JsonValue
    ) -> MessageOutcome:
        first, second = await _encode([argument]), await _encode([decision])
        self._server.signal(self.id, name, first)
        return await self._take(await self._server.update(self.id, "decide", second))

    async def _update(self, name: str, arguments: Sequence[JsonValue]) -> MessageOutcome:
        return await self._take(await self._server.update(self.id, name, await _encode(arguments)))

    async def _take(self, response: UpdateResponse) -> MessageOutcome:
        if response.HasField("rejected"):
            cause = await data_converter.decode_failure(response.rejected)
            raise WorkflowUpdateFailedError(cause)
        [outcome] = await data_converter.decode([response.completed], [MessageOutcome])
        assert isinstance(outcome, MessageOutcome)
        return outcome


class MemoryRuns:
    """Starts runs in memory, and has workers for them."""

    def __init__(self, habits: Habits | None = None) -> None:
        self.switches = MemorySwitches()
        self.thread = LoopThread()
        self.server = MemoryServer(self.thread.loop, habits or Habits())
        self._started = 0

    async def close(self) -> None:
        """End everything. Raises what went wrong in the loop, and nobody was told."""
        await self.thread.call(self._end())
        await self.thread.close()
        self.server.raise_fault()

    async def pass_time(self, seconds: float) -> None:
        """Let time pass, with all that happens in it."""
        await self.thread.call(self._sleep(seconds))

    @asynccontextmanager
    async def working(
        self,
        app: App,
        *,
        cached_transcripts: int = 256,
        archive: str | None = None,
        sandboxed: Sequence[Callable[..., object]] = (),
    ) -> AsyncGenerator[None]:
        """
        Have a worker for *app* while the block lasts: the product's activities.

        What is *sandboxed* stands for those of a worker that has a sandbox, which this one hasn't.
        """
        await self.thread.call(self._open(app, cached_transcripts, archive, sandboxed))
        try:
            yield
        finally:
            await self.thread.call(self._leave())

    async def start(self, agent: str, goal: str = "go", **more: JsonValue) -> MemoryRun:
        brief: JsonObject = {"agent": agent, "input": goal, **more}
        return await self.start_with(brief)

    async def start_with(self, *arguments: JsonValue, run_id: str | None = None) -> MemoryRun:
        self._started += 1
        return await self.thread.call(self._start(run_id or f"run-{self._started}", arguments))

    async def say(self, session_id: str, brief: JsonValue, message: JsonValue) -> MemoryRun:
        """Say something to a session, which opens for it where it isn't open."""
        return await self.thread.call(self._say(session_id, brief, message))

    async def stories(self, run: AnyRun) -> tuple[Story, ...]:
        assert isinstance(run, MemoryRun)
        return await run.stories()

    def find(self, run_id: str) -> MemoryRun:
        """Return a run of this id, which there need not be."""
        return MemoryRun(self.thread, self.server, run_id)

    def tell_soon(self, run_id: str, name: str, argument: JsonValue) -> None:
        """Send a signal as soon as the loop comes to it, if the run is still open then."""

        async def tell() -> None:
            given = await _encode([argument])
            if self.server.find(run_id) is not None:
                self.server.signal(run_id, name, given)

        self.thread.loop.call_soon_threadsafe(lambda: self.thread.loop.create_task(tell()))

    def kill_soon(self) -> None:
        """Have the worker gone in the middle of all that it does, and another in its place."""
        self.thread.loop.call_soon_threadsafe(self._kill)

    async def _open(
        self,
        app: App,
        cached_transcripts: int,
        archive: str | None,
        sandboxed: Sequence[Callable[..., object]],
    ) -> None:
        secrets, found = worker.build_known_secrets(app), Settings.load()
        around = worker.Surroundings(
            MemoryDirectory(self.server),
            TemporalEarlierRuns(build_client(self.server)),
            self.switches,
            MemoryHolders(self.server),
            secrets,
            Redactor(secrets),
            MemoryEarlierSessions(),
            found.own_files,
            open_archive(archive),
        )
        warm_up(app.synchronous_modules())
        activities = worker.build_activities(
            app,
            found,
            around,
            Transcripts(around.runs, cached_transcripts),
            has_sandbox=bool(sandboxed),
        )
        interceptors = worker.build_interceptors(around.redactor)
        self.server.workers.enter(MemoryWorker(activities, interceptors, data_converter, QUEUE))
        if sandboxed:
            place = MemoryWorker(sandboxed, [], data_converter, sandbox_queue(QUEUE))
            self.server.workers.enter(place)

    async def _leave(self) -> None:
        """Let a worker finish what it has in hand, for as long as the product's may."""
        open_ = self.server.open_executions(QUEUE)
        self.server.workers.leave(QUEUE)
        under_way = [task for each in open_ for task in each.activities]
        rest = [asyncio.ensure_future(task.rest()) for task in under_way]
        if rest:
            with self.thread.loop.skipping():
                limit = worker.GRACEFUL_SHUTDOWN_TIMEOUT.total_seconds()
                await asyncio.wait(rest, timeout=limit)
                for task in under_way:
                    task.shut_down()
                await asyncio.gather(*rest)
        for each in open_:
            each.tasks.forget()

    def _kill(self) -> None:
        for each in self.server.open_executions(QUEUE):
            for task in each.activities:
                task.lose()
            each.tasks.forget()

    async def _start(self, run_id: str, arguments: Sequence[JsonValue]) -> MemoryRun:
        self.server.start(run_id, QUEUE, await _encode(arguments))
        return MemoryRun(self.thread, self.server, run_id)

    async def _say(self, session_id: str, brief: JsonValue, message: JsonValue) -> MemoryRun:
        if self.server.find(session_id) is None:
            given = await _encode([brief])
            self.server.start(session_id, QUEUE, given, SESSION_WORKFLOW_TYPE)
        self.server.signal(session_id, "message", await _encode([message]))
        return MemoryRun(self.thread, self.server, session_id)

    async def _sleep(self, seconds: float) -> None:
        with self.thread.loop.skipping():
            await asyncio.sleep(seconds)
        self.server.raise_fault()

    async def _end(self) -> None:
        for run_id in tuple(self.server.executions):
            self.server.forget(run_id)


async def _encode(arguments: Sequence[JsonValue]) -> list[Payload]:
    return await data_converter.encode(arguments) if arguments else []


async def _decode_failure(closed: Closed) -> BaseException:
    if closed.failure is None:
        return CancelledError("Workflow cancelled")
    return await data_converter.decode_failure(closed.failure)
