"""The server's side of an activity: its attempts, its time-outs, and what its run hears of it."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Protocol, TypeAlias

from google.protobuf.duration_pb2 import Duration
from temporalio import activity
from temporalio.api.common.v1 import Payload
from temporalio.api.enums.v1 import RetryState, TimeoutType
from temporalio.api.failure.v1 import Failure
from temporalio.bridge.proto.activity_result import ActivityExecutionResult, ActivityResolution
from temporalio.bridge.proto.workflow_commands import (
    ActivityCancellationType,
    ScheduleActivity,
    ScheduleLocalActivity,
)
from temporalio.common import RetryPolicy
from temporalio.testing import ActivityEnvironment

from tests.memory.clock import SkippingLoop
from tests.memory.ending import (
    build_activity_failure,
    build_cancelled_activity,
    build_timeout,
    plan_retry,
)
from tests.memory.working import Attempt, MemoryWorker

LOCAL_RETRY_THRESHOLD = timedelta(minutes=1)
"""A local activity that waits longer for its next attempt has its run wait, by a timer."""

Asked: TypeAlias = ScheduleActivity | ScheduleLocalActivity
Hear: TypeAlias = Callable[[ActivityResolution], None]


@dataclass(frozen=True)
class Order:
    """An activity as a run asks for it."""

    asked: Asked
    queue: str
    workflow_id: str
    run_id: str
    workflow_type: str
    scheduled_at: datetime

    @property
    def is_local(self) -> bool:
        return isinstance(self.asked, ScheduleLocalActivity)

    @property
    def policy(self) -> RetryPolicy:
        """How it is tried again; one that says nothing of that is tried for ever."""
        if self.asked.HasField("retry_policy"):
            return RetryPolicy.from_proto(self.asked.retry_policy)
        return RetryPolicy()

    def limit(self, name: str) -> timedelta | None:
        """Return one of the activity's time-outs, if it has that."""
        if name == "heartbeat_timeout" and self.is_local:
            return None
        given: Duration = getattr(self.asked, name)
        return given.ToTimedelta() or None


class Workers(Protocol):
    """Knows who takes tasks."""

    def find(self, queue: str) -> MemoryWorker | None:
        """Return the worker of a queue, if there is one."""
        ...

    def call_when_working(self, queue: str, then: Callable[[], None]) -> None:
        """Call this once there is a worker."""
        ...


@dataclass
class _Timers:
    """What ends an attempt, or all of them, if nothing else does."""

    whole: list[asyncio.TimerHandle] = field(default_factory=list[asyncio.TimerHandle])
    attempt: list[asyncio.TimerHandle] = field(default_factory=list[asyncio.TimerHandle])
    heartbeat: asyncio.TimerHandle | None = None

    def cancel_attempt(self) -> None:
        for timer in (*self.attempt, *([self.heartbeat] if self.heartbeat else [])):
            timer.cancel()
        self.attempt.clear()

    def cancel(self) -> None:
        self.cancel_attempt()
        for timer in self.whole:
            timer.cancel()


class ActivityTask:
    """An activity from the command that asks for it to its end."""

    def __init__(self, loop: SkippingLoop, workers: Workers, order: Order, hear: Hear) -> None:
        self.order = order
        self._loop = loop
        self._workers = workers
        self._hear = hear
        self._number = max(getattr(order.asked, "attempt", 1), 1)
        self._timers = _Timers()
        self._attempt: Attempt | None = None
        self._work: asyncio.Task[None] | None = None
        self._heartbeat: Sequence[Payload] = ()
        self._last_failure: Failure | None = None
        self._asked_to_cancel = False
        self._began = False
        self._over = False
        self._next_at = loop.now()

    def start(self) -> None:
        """Have it begun as soon as there is a worker."""
        if (whole := self.order.limit("schedule_to_close_timeout")) is not None:
            left = whole - (self._loop.now() - self.order.scheduled_at)
            self._timers.whole.append(
                self._after(left, self._time_out, TimeoutType.TIMEOUT_TYPE_SCHEDULE_TO_CLOSE)
            )
        if (wait := self.order.limit("schedule_to_start_timeout")) is not None:
            self._timers.attempt.append(
                self._after(wait, self._time_out, TimeoutType.TIMEOUT_TYPE_SCHEDULE_TO_START)
            )
        self._begin()

    def cancel(self) -> None:
        """
        Ask it to end.

        A worker hears of that with the answer to its next heartbeat; of a local activity at once.
        """
        if self._over or self._asked_to_cancel:
            return
        self._asked_to_cancel = True
        kind = self.order.asked.cancellation_type
        running = self._attempt is not None
        if not running or kind != ActivityCancellationType.WAIT_CANCELLATION_COMPLETED:
            self._end(self._cancelled())
        if self._attempt is not None and self.order.is_local:
            self._attempt.cancel()

    def abandon(self) -> None:
        """Tell nobody any more: its run is over."""
        self._over = True
        self._timers.cancel()

    def lose(self) -> None:
        """Have its worker gone, without a word."""
        self._attempt = None
        if self._work is not None:
            self._work.cancel()

    async def rest(self) -> None:
        """Wait until no attempt of it is under way."""
        if self._work is not None:
            await asyncio.wait([self._work])

    def shut_down(self) -> None:
        """Have its worker end what is under way, which then fails or comes to something."""
        if self._attempt is not None:
            self._attempt.cancel()

    def _after(
        self,
        delay: timedelta,
        then: Callable[[TimeoutType.ValueType], None],
        kind: TimeoutType.ValueType,
    ) -> asyncio.TimerHandle:
        return self._loop.call_later(max(delay.total_seconds(), 0), then, kind)

    def _begin(self) -> None:
        if self._over or self._attempt is not None:
            return
        worker = self._workers.find(self.order.queue)
        if worker is None:
            self._workers.call_when_working(self.order.queue, self._begin)
            return
        self._timers.cancel_attempt()
        self._began = True
        attempt: Attempt | None = None

        def hear(details: Sequence[Payload]) -> None:
            self._take_heartbeat(attempt, details)

        attempt = self._attempt = Attempt(worker, self._build_info(worker), hear)
        if (limit := self.order.limit("start_to_close_timeout")) is not None:
            self._timers.attempt.append(
                self._after(limit, self._time_out, TimeoutType.TIMEOUT_TYPE_START_TO_CLOSE)
            )
        self._await_heartbeat()
        self._work = self._loop.create_task(self._perform(worker, attempt))

    async def _perform(self, worker: MemoryWorker, attempt: Attempt) -> None:
        if self._heartbeat:
            before = await worker.converter.decode(self._heartbeat)
            attempt.inform(before)
        ended = await attempt.perform(self.order.asked.arguments)
        if attempt is self._attempt:
            self._attempt = None
            self._take_end(ended)

    def _take_heartbeat(self, attempt: Attempt | None, details: Sequence[Payload]) -> None:
        if attempt is None or attempt is not self._attempt or self._over or self._asked_to_cancel:
            if attempt is not None:
                attempt.cancel()
            return
        self._heartbeat = details
        self._await_heartbeat()

    def _await_heartbeat(self) -> None:
        if self._timers.heartbeat is not None:
            self._timers.heartbeat.cancel()
        if (limit := self.order.limit("heartbeat_timeout")) is not None:
            self._timers.heartbeat = self._after(
                limit, self._time_out, TimeoutType.TIMEOUT_TYPE_HEARTBEAT
            )

    def _time_out(self, kind: TimeoutType.ValueType) -> None:
        if self._over:
            return
        attempt, self._attempt = self._attempt, None
        if attempt is not None and self.order.is_local:
            attempt.cancel()
        ends_all = kind == TimeoutType.TIMEOUT_TYPE_SCHEDULE_TO_CLOSE
        before = self._last_failure if ends_all else None
        self._fail(build_timeout(kind, self._heartbeat, before))

    def _take_end(self, ended: ActivityExecutionResult) -> None:
        if self._over:
            return
        if ended.HasField("completed"):
            resolution = ActivityResolution()
            resolution.completed.result.CopyFrom(ended.completed.result)
            self._end(resolution)
        elif ended.HasField("cancelled") and self._asked_to_cancel:
            self._end(self._cancelled())
        else:
            failed = ended.HasField("failed")
            self._fail(ended.failed.failure if failed else ended.cancelled.failure)

    def _fail(self, failure: Failure) -> None:
        self._timers.cancel_attempt()
        self._last_failure = failure
        retry = plan_retry(failure, self.order.policy, self._number, self._left())
        if self._asked_to_cancel or retry.pause is None:
            asked = RetryState.RETRY_STATE_CANCEL_REQUESTED
            state = asked if self._asked_to_cancel else retry.state
            self._end(
                build_activity_failure(
                    failure,
                    self.order.asked.activity_type,
                    self.order.asked.activity_id,
                    state,
                    began=self._began,
                )
            )
            return
        self._number += 1
        if self._is_long(retry.pause):
            self._end(self._build_backoff(retry.pause))
            return
        self._next_at = self._loop.now() + retry.pause
        self._timers.attempt.append(
            self._loop.call_later(retry.pause.total_seconds(), self._begin)
        )

    def _is_long(self, pause: timedelta) -> bool:
        asked = self.order.asked
        if not isinstance(asked, ScheduleLocalActivity):
            return False
        return pause > (asked.local_retry_threshold.ToTimedelta() or LOCAL_RETRY_THRESHOLD)

    def _build_backoff(self, pause: timedelta) -> ActivityResolution:
        resolution = ActivityResolution()
        resolution.backoff.attempt = self._number
        resolution.backoff.backoff_duration.FromTimedelta(pause)
        resolution.backoff.original_schedule_time.FromDatetime(self.order.scheduled_at)
        return resolution

    def _left(self) -> timedelta | None:
        whole = self.order.limit("schedule_to_close_timeout")
        return whole and whole - (self._loop.now() - self.order.scheduled_at)

    def _cancelled(self) -> ActivityResolution:
        asked = self.order.asked
        return build_cancelled_activity(asked.activity_type, asked.activity_id, began=self._began)

    def _end(self, resolution: ActivityResolution) -> None:
        self._over = True
        self._timers.cancel()
        self._hear(resolution)

    def _build_info(self, worker: MemoryWorker) -> activity.Info:
        asked, whole = self.order.asked, self.order.limit("schedule_to_close_timeout")
        return replace(
            ActivityEnvironment.default_info(),
            activity_id=asked.activity_id,
            activity_type=asked.activity_type,
            attempt=self._number,
            current_attempt_scheduled_time=self._next_at,
            heartbeat_timeout=self.order.limit("heartbeat_timeout"),
            is_local=self.order.is_local,
            schedule_to_close_timeout=whole,
            scheduled_time=self.order.scheduled_at,
            start_to_close_timeout=self.order.limit("start_to_close_timeout") or whole,
            started_time=self._loop.now(),
            task_queue=worker.queue,
            workflow_id=self.order.workflow_id,
            workflow_run_id=self.order.run_id,
            workflow_type=self.order.workflow_type,
            retry_policy=self.order.policy,
        )
