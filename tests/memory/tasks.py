"""The workflow tasks of one execution: each hears what came, and ends when nothing local runs."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from itertools import zip_longest

from google.protobuf.timestamp_pb2 import Timestamp
from temporalio.bridge.proto.activity_result import ActivityResolution
from temporalio.bridge.proto.workflow_activation import (
    QueryWorkflow,
    WorkflowActivation,
    WorkflowActivationJob,
)
from temporalio.bridge.proto.workflow_commands import QueryResult, WorkflowCommand
from temporalio.worker import WorkflowInstance

from holdfast.event_order import ENDS
from tests.memory.activities import ActivityTask, Order, Workers
from tests.memory.clock import SkippingLoop
from tests.memory.instances import (
    Beginning,
    TaskRecord,
    activate,
    build_instance,
    evict,
    replay,
    said,
)

HEARTBEAT_SHARE = 0.8
"""Of the time of a workflow task: when so much is over, local activities go on in the next one."""


class ReplayDiffers(AssertionError):
    """A replay of a run wants something else done than the run did."""

    def __init__(self, before: list[str], again: list[str]) -> None:
        both = zip_longest(before, again, fillvalue="nothing")
        place, (was, is_) = next((at, two) for at, two in enumerate(both) if two[0] != two[1])
        super().__init__(f"command {place} was {was}, and in a replay it is {is_}")


@dataclass(frozen=True)
class Habits:
    """
    How this server and its workers behave.

    They have runs `divides`: a task ends whenever something comes, whatever local activities are
    under way. After each `renews_after` tasks a run is built anew from what it heard.
    """

    divides: bool = False
    renews_after: int | None = None


@dataclass
class _Open:
    """The task under way."""

    record: TaskRecord = field(default_factory=TaskRecord)
    held: list[WorkflowCommand] = field(default_factory=list[WorkflowCommand])
    heartbeat: asyncio.TimerHandle | None = None


class Tasks:
    """Has a run hear things, and gives on what it wants done when a task is complete."""

    def __init__(
        self,
        loop: SkippingLoop,
        workers: Workers,
        beginning: Beginning,
        habits: Habits,
        apply: Callable[[Sequence[WorkflowCommand]], None],
    ) -> None:
        self.records: list[TaskRecord] = []
        self.length = 0
        self.is_closed = False
        self._loop = loop
        self._workers = workers
        self._beginning = beginning
        self._habits = habits
        self._apply = apply
        self._size = 0
        self._instance: WorkflowInstance | None = None
        self._waiting: list[WorkflowActivationJob] = []
        self._task: _Open | None = None
        self._locals: dict[int, ActivityTask] = {}
        self._asked: dict[int, WorkflowCommand] = {}
        self._ended: list[WorkflowActivationJob] = []
        self._is_scheduled = False
        self._news = asyncio.Event()

    def tell(self, job: WorkflowActivationJob, events: int = 1) -> None:
        """Have the run hear of something, which is so many events of its history."""
        if self.is_closed:
            return
        self.length += events
        self._size += job.ByteSize()
        self._waiting.append(job)
        self._schedule()

    @property
    def is_at_rest(self) -> bool:
        """Whether nothing is to be heard, and nothing local is under way."""
        return self._task is None and not self._waiting

    async def query(self, asked: QueryWorkflow) -> QueryResult:
        """Return an answer of the run, as soon as it has heard all that came."""
        while not self._can_answer():
            self._workers.call_when_working(self._beginning.queue, self._tell_news)
            await self._news.wait()
        if self._instance is None:
            self._take_over()
        act = self._build_activation([WorkflowActivationJob(query_workflow=asked)])
        act.timestamp.CopyFrom(self._last_heard().timestamp)
        assert self._instance is not None
        [answer] = activate(self._instance, act)
        return answer.respond_to_query

    def close(self) -> None:
        """Hear nothing any more; questions are still answered."""
        self.is_closed = True
        self._waiting.clear()
        for local in self._locals.values():
            local.abandon()
            local.shut_down()
        self._locals.clear()
        self._tell_news()

    def forget(self) -> None:
        """Have the worker forget the run; what was under way locally begins again elsewhere."""
        if self._task is not None:
            self._lose()
        elif self._instance is not None:
            evict(self._instance, self._beginning.run_id)
            self._instance = None
        self._schedule()

    def check_replay(self) -> None:
        """Build the run anew from all that it heard: it must want the same done."""
        evict(self._replay(), self._beginning.run_id)

    def _can_answer(self) -> bool:
        if self._workers.find(self._beginning.queue) is None or not self.records:
            return False
        if self._habits.divides and self._task is not None and not self._ended:
            self._divide()
            return not self._waiting
        return self.is_at_rest

    def _tell_news(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    def _schedule(self) -> None:
        if self._task is not None and self._habits.divides:
            self._loop.call_soon(self._divide_for_news)
        if not (self._is_scheduled or self._task is not None or self.is_closed):
            self._is_scheduled = True
            self._loop.call_soon(self._begin)

    def _begin(self) -> None:
        self._is_scheduled = False
        if self.is_closed or self._task is not None or not (self._waiting or self._asked):
            return
        if self._workers.find(self._beginning.queue) is None:
            self._workers.call_when_working(self._beginning.queue, self._schedule)
            return
        self._task = task = _Open()
        if self._instance is None:
            self._take_over()
        self.length += 2
        jobs, self._waiting = self._waiting, []
        if jobs:
            self._hear(jobs)
        for seq, command in self._asked.items():
            if seq not in self._locals:
                self._start_local(command)
        self._complete_if_done()
        if self._task is task:
            limit = self._beginning.init.workflow_task_timeout.ToTimedelta().total_seconds()
            task.heartbeat = self._loop.call_later(limit * HEARTBEAT_SHARE, self._divide)

    def _take_over(self) -> None:
        """Build the run anew from what it heard, as a worker does that doesn't know it."""
        self._instance = self._replay()

    def _replay(self) -> WorkflowInstance:
        instance = build_instance(self._beginning)
        again, before = list(replay(instance, self.records)), list(said(self.records))
        if again != before:
            evict(instance, self._beginning.run_id)
            raise ReplayDiffers(*(list(map(_name, each)) for each in (before, again)))
        return instance

    def _hear(self, jobs: Sequence[WorkflowActivationJob]) -> None:
        assert self._instance is not None
        assert self._task is not None
        act = self._build_activation(jobs)
        commands = activate(self._instance, act)
        self._task.record.heard.append((act, commands))
        for command in commands:
            if command.HasField("schedule_local_activity"):
                self._asked[command.schedule_local_activity.seq] = command
                self._start_local(command)
            elif command.HasField("request_cancel_local_activity"):
                self._locals[command.request_cancel_local_activity.seq].cancel()
            else:
                self._task.held.append(command)

    def _build_activation(self, jobs: Sequence[WorkflowActivationJob]) -> WorkflowActivation:
        return WorkflowActivation(
            run_id=self._beginning.run_id,
            timestamp=to_timestamp(self._loop.now()),
            history_length=self.length,
            history_size_bytes=self._size,
            jobs=jobs,
        )

    def _last_heard(self) -> WorkflowActivation:
        records = [*self.records, *([self._task.record] if self._task else [])]
        return next(act for record in reversed(records) for act, _ in reversed(record.heard))

    def _start_local(self, command: WorkflowCommand) -> None:
        asked = command.schedule_local_activity
        first = asked.HasField("original_schedule_time")
        order = Order(
            asked,
            self._beginning.queue,
            self._beginning.init.workflow_id,
            self._beginning.run_id,
            self._beginning.init.workflow_type,
            asked.original_schedule_time.ToDatetime(UTC) if first else self._loop.now(),
        )
        local = ActivityTask(self._loop, self._workers, order, partial(self._end_local, asked.seq))
        self._locals[asked.seq] = local
        local.start()

    def _end_local(self, seq: int, resolution: ActivityResolution) -> None:
        job = WorkflowActivationJob()
        job.resolve_activity.seq = seq
        job.resolve_activity.is_local = True
        job.resolve_activity.result.CopyFrom(resolution)
        if not self._ended:
            self._loop.call_soon(self._hear_locals)
        self._ended.append(job)

    def _hear_locals(self) -> None:
        ended, self._ended = self._ended, []
        if self._task is None or self.is_closed:
            return
        for job in ended:
            seq = job.resolve_activity.seq
            del self._locals[seq]
            self._size += job.ByteSize()
            self._task.held.append(self._asked.pop(seq))
        self._hear(ended)
        self._complete_if_done()

    def _complete_if_done(self) -> None:
        assert self._task is not None
        if self._is_ending() or not self._locals:
            self._complete()

    def _is_ending(self) -> bool:
        held = self._task.held if self._task else []
        return any(command.WhichOneof("variant") in ENDS for command in held)

    def _divide(self) -> None:
        """End the task, though something local is under way, if there is anything to hear."""
        if self._task is not None and not self._ended:
            self._complete()
            self._begin()

    def _divide_for_news(self) -> None:
        if self._waiting:
            self._divide()

    def _complete(self) -> None:
        task = self._task
        assert task is not None
        if self._is_ending() and self._waiting:
            # The server refuses an end that comes without knowledge of what came meanwhile.
            self._lose()
            self._schedule()
            return
        if task.heartbeat is not None:
            task.heartbeat.cancel()
        self._task = None
        self.records.append(task.record)
        self.length += 1
        self._size += sum(command.ByteSize() for command in task.held)
        self._apply(task.held)
        self._renew_if_due()
        self._tell_news()
        if self._waiting:
            self._schedule()

    def _renew_if_due(self) -> None:
        after = self._habits.renews_after
        if after and not self._locals and not self.is_closed and len(self.records) % after == 0:
            self.forget()

    def _lose(self) -> None:
        """Have it be as if the task under way had never begun."""
        assert self._task is not None
        if self._task.heartbeat is not None:
            self._task.heartbeat.cancel()
        heard = [job for act, _ in self._task.record.heard for job in act.jobs]
        self._waiting = [job for job in heard if not job.resolve_activity.is_local] + self._waiting
        for local in self._locals.values():
            local.abandon()
            local.lose()
        self._task = None
        self._ended.clear()
        self._locals.clear()
        self._asked = _find_unanswered(self.records)
        if self._instance is not None:
            evict(self._instance, self._beginning.run_id)
            self._instance = None


def _name(command: WorkflowCommand) -> str:
    """Say on one line what is wanted."""
    return " ".join(str(command).split())


def _find_unanswered(records: Sequence[TaskRecord]) -> dict[int, WorkflowCommand]:
    """Return the local activities that were asked for, and of which nothing has been heard."""
    asked = {
        command.schedule_local_activity.seq: command
        for command in said(records)
        if command.HasField("schedule_local_activity")
    }
    for record in records:
        for act, _ in record.heard:
            for job in act.jobs:
                if job.resolve_activity.is_local:
                    asked.pop(job.resolve_activity.seq, None)
    return asked


def to_timestamp(at: datetime) -> Timestamp:
    """Return a time as a server says it."""
    stamp = Timestamp()
    stamp.FromDatetime(at)
    return stamp
