"""The threads in which workflow code runs: who only looks at what is over keeps nobody waiting."""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import ParamSpec, TypeVar, cast

from temporalio.bridge.proto.workflow_activation import WorkflowActivation, WorkflowActivationJob
from temporalio.bridge.proto.workflow_completion import WorkflowActivationCompletion
from temporalio.client import Client
from temporalio.service import RPCError

from holdfast.activities.runs import TOO_MANY_LOOK
from holdfast.activities.statuses import is_open

P = ParamSpec("P")
T = TypeVar("T")

MAX_REBUILT = 4
"""Runs that are built anew at once before one that is only looked at waits."""

PATIENCE_SECONDS = 10.0
"""So long at most: who waits here keeps one of a worker's places for workflow tasks."""

MAX_SECONDS = 3.0
"""
Of a processor, spent on building runs anew, of which half a second is forgiven in each second:
behind so many none that is over is built, until half of them are.
"""

_DESCRIBE_TIMEOUT = timedelta(seconds=2)


class Rebuilding:
    """Which runs are being built anew, and whether one more that is over may be."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._under_way: set[str] = set()
        self._used = deque[float]()  # from other threads
        self._spent = 0.0
        self._rests = False
        self._counted = now()
        self._room = asyncio.Event()

    def begin(self, execution: str) -> None:
        self._under_way.add(execution)

    def spend(self, seconds: float) -> None:
        self._used.append(seconds)

    def end(self, execution: str) -> None:
        if execution in self._under_way:
            self._under_way.discard(execution)
            self._room.set()

    @property
    def is_idle(self) -> bool:
        return not self._under_way and not self._is_resting()

    async def may_look(self) -> bool:
        """Wait until few are built anew; whether that came soon, and is allowed by the time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_SECONDS):
                while len(self._under_way) >= MAX_REBUILT and not self._is_resting():
                    self._room.clear()
                    await asyncio.wait({asyncio.ensure_future(self._room.wait())}, timeout=0.25)
        return len(self._under_way) < MAX_REBUILT and not self._is_resting()

    def _is_resting(self) -> bool:
        passed = self._now() - self._counted
        self._counted += passed
        self._spent = max(self._spent - passed / 2, 0.0)
        while self._used:
            self._spent = min(self._spent + self._used.popleft(), MAX_SECONDS)
        self._rests = self._spent >= (MAX_SECONDS / 2 if self._rests else MAX_SECONDS)
        return self._rests


class WorkflowThreads(ThreadPoolExecutor):
    """
    A few threads, and two in which runs are built anew.

    A hundred that build at once, as the library has them, take the interpreter from the loop until
    no activity can say any more that it is alive. And a query of a run that is over builds it
    anew, each time and out of its whole history, and whoever may ask may ask a hundred times at
    once. So who goes on doesn't wait behind that, and beyond some of them such a query is refused
    before it begins: they would take all places that a worker has for workflow tasks.
    """

    def __init__(self, client: Client, now: Callable[[], float] = time.monotonic) -> None:
        super().__init__(4, thread_name_prefix="workflow")
        self._client = client
        self._builders = ThreadPoolExecutor(2, thread_name_prefix="rebuild")
        self.rebuilding = Rebuilding(now)
        self._refused: set[str] = set()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        match args:
            case [WorkflowActivation() as act]:
                return self._submit_activation(partial(fn, *args, **kwargs), act)
            case _:
                return super().submit(fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002 -- as the library has it
        self._builders.shutdown(wait, cancel_futures=cancel_futures)
        super().shutdown(wait, cancel_futures=cancel_futures)

    def _submit_activation(self, work: Callable[[], T], act: WorkflowActivation) -> Future[T]:
        if _is_left(act):
            self._refused.discard(act.run_id)
        elif act.run_id in self._refused:  # the SDK asks the next question before it leaves a run
            return _done(cast("T", _build_refusal()))
        if not act.is_replaying or any(map(_is_last, act.jobs)):
            self.rebuilding.end(act.run_id)
            return super().submit(work)
        workflow_id = _find_start(act)
        if workflow_id is None:
            return self._build(work)
        if self.rebuilding.is_idle:
            return self._rebuild(work, act.run_id)
        loop = asyncio.get_running_loop()
        looked = self._refuse_or_rebuild(work, workflow_id, act.run_id)
        return asyncio.run_coroutine_threadsafe(looked, loop)

    def _rebuild(self, work: Callable[[], T], execution: str) -> Future[T]:
        self.rebuilding.begin(execution)
        return self._build(work)

    def _build(self, work: Callable[[], T]) -> Future[T]:
        def build() -> T:
            began = time.thread_time()
            try:
                return work()
            finally:
                self.rebuilding.spend(time.thread_time() - began)

        return self._builders.submit(build)

    async def _refuse_or_rebuild(
        self, work: Callable[[], T], workflow_id: str, execution: str
    ) -> T:
        if await self._is_over(workflow_id, execution) and not await self.rebuilding.may_look():
            self._refused.add(execution)
            return cast("T", _build_refusal())
        return await asyncio.wrap_future(self._rebuild(work, execution))

    async def _is_over(self, workflow_id: str, execution: str) -> bool:
        """Whether nothing is left of an execution but to be looked at: it has no other tasks."""
        handle = self._client.get_workflow_handle(workflow_id, run_id=execution)
        try:
            found = await handle.describe(rpc_timeout=_DESCRIBE_TIMEOUT)
        except RPCError:
            return False
        return found.status is not None and not is_open(found.status)


def _done(result: T) -> Future[T]:
    done: Future[T] = Future()
    done.set_result(result)
    return done


def _is_left(act: WorkflowActivation) -> bool:
    return any(job.HasField("remove_from_cache") for job in act.jobs)


def _is_last(job: WorkflowActivationJob) -> bool:
    """Whether a run is built by then: what it was built for, or that it is left."""
    return job.WhichOneof("variant") in {"query_workflow", "remove_from_cache"}


def _find_start(act: WorkflowActivation) -> str | None:
    for job in act.jobs:
        if job.HasField("initialize_workflow"):
            return job.initialize_workflow.workflow_id
    return None


def _build_refusal() -> WorkflowActivationCompletion:
    refused = WorkflowActivationCompletion()
    refused.failed.failure.message = TOO_MANY_LOOK
    return refused
