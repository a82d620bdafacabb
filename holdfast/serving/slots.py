"""The places in which a worker has workflow tasks: runs in its memory find some, and others do."""

import asyncio
from collections import Counter, deque
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Lock

from temporalio import activity
from temporalio.worker import (
    ActivityInboundInterceptor,
    CustomSlotSupplier,
    ExecuteActivityInput,
    FixedSizeSlotSupplier,
    Interceptor,
    SlotMarkUsedContext,
    SlotPermit,
    SlotReleaseContext,
    SlotReserveContext,
    WorkerTuner,
)

from holdfast.contracts.bounds import MAX_CALLS_PER_REPLY

MAX_TASKS = 100
"""Workflow tasks at once, as the SDK has it; and so many activities."""

MAX_LOCAL = MAX_TASKS * MAX_CALLS_PER_REPLY
"""
Local activities at once: all that so many workflow tasks may have under way.

A model may ask for two hundred quick reads in one reply. Were there as few places for these as
for workflow tasks, they would keep all other runs from being decided about while they last.
"""

MAX_OF_A_KIND = 80
"""Of these for runs that the worker has in memory, or for others: neither takes all of them."""

MAX_REBUILT = 30
"""
Of these for runs that wait for no local activity: they begin, or are built anew.

Who asks about a run that is over has it built anew, in a place of its own, each time and one
behind the other: of eighty at once each waits longer than the server waits for an answer.
"""


class _Permit(SlotPermit):
    """A place, for a run in memory (*is_known*) or another one."""

    def __init__(self, *, is_known: bool) -> None:
        self.is_known = is_known


@dataclass(frozen=True, eq=False)
class _Waiting:
    loop: asyncio.AbstractEventLoop
    permit: asyncio.Future[_Permit]


class WorkflowSlots(CustomSlotSupplier):
    """
    Places for workflow tasks: a hundred, of which those of runs in memory have a part.

    The SDK has one queue for all that its worker doesn't know: runs that begin, runs that another
    worker left, and whatever is asked about a run that is over. It says only which of the two
    queues a place is for. Places are taken and given back in threads of the SDK, too.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._taken = {True: 0, False: 0}
        self._waiting = {True: deque[_Waiting](), False: deque[_Waiting]()}
        self._local = Counter[str]()

    async def reserve_slot(self, ctx: SlotReserveContext) -> SlotPermit:
        loop = asyncio.get_running_loop()
        with self._lock:
            if self._is_free(is_known=ctx.is_sticky):
                return self._take(is_known=ctx.is_sticky)
            waiting = _Waiting(loop, loop.create_future())
            self._waiting[ctx.is_sticky].append(waiting)
        try:
            return await waiting.permit
        except asyncio.CancelledError:
            if not waiting.permit.cancelled():  # it was given just now
                self._give_back(waiting.permit.result())
            with self._lock, suppress(ValueError):
                self._waiting[ctx.is_sticky].remove(waiting)
            raise

    def try_reserve_slot(self, ctx: SlotReserveContext) -> SlotPermit | None:
        with self._lock:
            if self._is_free(is_known=ctx.is_sticky):
                return self._take(is_known=ctx.is_sticky)
        return None

    def mark_slot_used(self, ctx: SlotMarkUsedContext) -> None:
        """Do nothing: who waits for a task has a place already."""

    def release_slot(self, ctx: SlotReleaseContext) -> None:
        if isinstance(ctx.permit, _Permit):
            self._give_back(ctx.permit)

    @contextmanager
    def while_local(self, execution: str) -> Generator[None]:
        """Know that an execution waits for a local activity, or many: it builds nothing."""
        self._count_local(execution, 1)
        try:
            yield
        finally:
            self._count_local(execution, -1)

    def _count_local(self, execution: str, more: int) -> None:
        with self._lock:
            self._local[execution] += more
            if not self._local[execution]:
                del self._local[execution]
            self._serve()

    def _is_free(self, *, is_known: bool) -> bool:
        most = MAX_OF_A_KIND if is_known else min(MAX_OF_A_KIND, MAX_REBUILT + len(self._local))
        return self._taken[is_known] < most and sum(self._taken.values()) < MAX_TASKS

    def _take(self, *, is_known: bool) -> _Permit:
        self._taken[is_known] += 1
        return _Permit(is_known=is_known)

    def _give_back(self, permit: _Permit) -> None:
        with self._lock:
            self._taken[permit.is_known] -= 1
            self._serve()

    def _serve(self) -> None:
        """Give free places to those that wait: first to runs in memory."""
        for is_known, waiting in self._waiting.items():
            while waiting and self._is_free(is_known=is_known):
                first, permit = waiting.popleft(), self._take(is_known=is_known)
                first.loop.call_soon_threadsafe(self._give, first, permit)

    def _give(self, waiting: _Waiting, permit: _Permit) -> None:
        if waiting.permit.cancelled():
            self._give_back(permit)
        else:
            waiting.permit.set_result(permit)


class LocalActivityCounter(Interceptor):
    """Tells the places of a worker which executions wait for local activities."""

    def __init__(self, slots: WorkflowSlots) -> None:
        self._slots = slots

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        return _Counted(next, self._slots)


class _Counted(ActivityInboundInterceptor):
    def __init__(self, next: ActivityInboundInterceptor, slots: WorkflowSlots) -> None:
        super().__init__(next)
        self._slots = slots

    async def execute_activity(self, input: ExecuteActivityInput) -> object:
        if not activity.info().is_local:
            return await super().execute_activity(input)
        with self._slots.while_local(activity.info().workflow_run_id or ""):
            return await super().execute_activity(input)


def build_tuner(slots: WorkflowSlots) -> WorkerTuner:
    """Build what gives a worker its places, which are as many as the SDK has, but local ones."""
    others = FixedSizeSlotSupplier(MAX_TASKS)
    return WorkerTuner.create_composite(
        workflow_supplier=slots,
        activity_supplier=others,
        local_activity_supplier=FixedSizeSlotSupplier(MAX_LOCAL),
        nexus_supplier=others,
    )
