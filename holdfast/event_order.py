"""
The order in which a run hears of events: one that a replay of its history has too.

While a local activity is under way the SDK (1.35) goes on telling a workflow of other events. As a
rule there are none, since the local activity ends within the workflow task in which it began. But
a query that waits at the server, or eight seconds, divide that task: then what happened meanwhile
is heard *before* what the local activity came to, and in a replay, where that is known from the
start, *after* it. A run that schedules something upon either has other commands there, and fails
with `[TMPRL1100]` for ever.

So nothing else is heard while a local activity is under way: what comes waits, in its order, until
none is. It is heard piece by piece, because each may begin another local activity. An update can't
wait, the server would refuse it: it is accepted at once and heard in its place (`TAKE_TURN`). Nor
does a run go on in a new execution, or do anything after a long time, as long as something may
wait (`LOCAL_SECONDS`). How long local activities took, and when they ended, stands in history
with what they came to (`LocalSecondsInterceptor`): by the SDK's time a replay would know it
otherwise. So it would of how many events a history has, which are counted here (`HISTORY_LENGTH`).
"""

import asyncio
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import inf
from typing import NamedTuple, TypeAlias

from temporalio import activity, workflow
from temporalio.api.common.v1 import Payload
from temporalio.bridge.proto.workflow_activation import FireTimer, WorkflowActivationJob
from temporalio.bridge.proto.workflow_commands import WorkflowCommand
from temporalio.common import RawValue
from temporalio.worker import (
    ActivityInboundInterceptor,
    ExecuteActivityInput,
    Interceptor,
    StartLocalActivityInput,
    WorkflowInboundInterceptor,
    WorkflowInterceptorClassInput,
    WorkflowOutboundInterceptor,
)
from temporalio.workflow import ActivityHandle

AT_ONCE = {"notify_has_patch", "update_random_seed", "do_update"}

MESSAGES = {"signal_workflow", "cancel_workflow"}

ENDS = {
    "complete_workflow_execution",
    "fail_workflow_execution",
    "cancel_workflow_execution",
    "continue_as_new_workflow_execution",
}

WAKE = WorkflowActivationJob(fire_timer=FireTimer(seq=0))
"""Has a workflow go on that was given its turn: of a timer that isn't there it hears nothing."""

SECONDS = "holdfast-seconds"
"""In a result's metadata: how long a local activity took, waiting and attempts included."""

TOLD_SECONDS = 0.1
"""What took less isn't told, and counts as nothing."""

Begun: TypeAlias = dict[str, tuple[float, bool]]
"""When local activities were asked for, by the loop's clock, and whether for the first time."""

MAX_BEGUN = 1_000

BEGAN = "holdfast-began"
"""In a local activity's headers: the workflow's time as it was asked for, in nanoseconds."""

ENDED = "holdfast-ended"
"""In a result's metadata: that time and what it took since, in nanoseconds."""


class Task(NamedTuple):
    """The event with which a workflow task began, and the SDK's time by now, in nanoseconds."""

    event_id: int
    now: int


@dataclass
class _Arrivals:
    """
    What came together: signals and a cancellation are heard first, the rest one by one.

    What came by a task that a local activity didn't keep waiting is heard `now`, when that began.

    Who takes a turn has it behind signals and before a cancellation. In a task of its own (SDK
    1.35) a worker that takes a run over hears of both with signals of the task before, if that
    wrote nothing; a replay hears those first, as that task did.
    """

    messages: list[WorkflowActivationJob]
    others: deque[WorkflowActivationJob]
    now: int | None
    turns: list[asyncio.Future[None]] = field(default_factory=list[asyncio.Future[None]])
    opened: bool = False
    parts: deque[Sequence[WorkflowActivationJob]] = field(
        default_factory=deque[Sequence[WorkflowActivationJob]]
    )

    def open(self) -> None:
        """Divide it into what is heard together."""
        self.opened = True
        signals = [job for job in self.messages if job.HasField("signal_workflow")]
        cancels = [job for job in self.messages if not job.HasField("signal_workflow")]
        first = [signals, [WAKE], cancels] if self.turns else [self.messages]
        self.parts.extend(filter(None, first))
        self.parts.extend([job] for job in self.others)

    def find_unheard(self) -> Iterator[WorkflowActivationJob]:
        """Find what has yet to be heard, signals and a cancellation aside."""
        return chain.from_iterable(self.parts) if self.opened else iter(self.others)

    def hear(self) -> Sequence[WorkflowActivationJob]:
        """Return what is heard next."""
        heard = self.parts.popleft()
        if heard[0] is WAKE:
            for turn in self.turns:
                turn.set_result(None)
        return heard


class EventOrder:
    """
    Says what a run hears next, from what its history has of jobs and commands alone.

    `local_seconds` is how long the local activities took whose end was heard last; none at all if
    something was that waited for one, and null if something else was. One that failed took for
    ever, since nobody knows. `length` is how many
    events history had when the task began that is heard of; those by which a task was divided, or
    tried again, aren't counted. `now` is the time at which it is heard, in nanoseconds: when the
    task began, or the local activity ended behind which it waited. Local ones are `running`.
    It `is_divided` where a query came before its end: a replay hears of that a task earlier.
    """

    def __init__(self) -> None:
        self.running = set[int]()
        self._resolved: list[WorkflowActivationJob] = []
        self._resolved_at = 0
        self._waiting = deque[_Arrivals]()
        self._wrote = self._wrote_before = True
        self._was_asked = self._told_late = self.is_divided = False
        self.local_seconds: float | None = None
        self.length = 0
        self.now = 0
        self._events = 0

    def begin(self, jobs: Sequence[WorkflowActivationJob], now: int) -> None:
        """Take the first task, with the workflow's own start among what it brings."""
        self.now, self._wrote = now, False
        self._count_task(sum(map(_count_events, jobs)))

    def take_turn(self) -> asyncio.Future[None]:
        """Return what is done when all is heard that came before the update that asks."""
        turn = asyncio.get_running_loop().create_future()
        if self._waiting and not self._waiting[-1].opened:
            self._waiting[-1].turns.append(turn)
        else:
            turn.set_result(None)
        return turn

    def note_query(self) -> None:
        """Note that a query was answered."""
        self._was_asked = True

    def must_refuse_updates(self) -> bool:
        """
        Whether what an update does might stand elsewhere in a replay.

        After a query it isn't known whether the local activity under way has ended in the task
        before. If so, a replay hears of that first, and the update can't wait for it.
        """
        return self._was_asked and bool(self.running)

    def arrive(
        self, jobs: Sequence[WorkflowActivationJob], task: Task, *, replaying: bool = False
    ) -> None:
        """Take what a workflow task brings."""
        ended = [job for job in jobs if job.resolve_activity.is_local]
        held = bool(self.running)
        self.is_divided = bool(ended) and self._was_asked and not replaying
        self._resolved += ended
        self._resolved_at = task.now if ended else self._resolved_at
        self.running -= {job.resolve_activity.seq for job in ended}
        if len(ended) == len(jobs):
            return
        # Of what ended in the task before, and was written there, it is told late where that task
        # was completed for a query. A replay is told of it in that task.
        late = self.is_divided
        kinds = [(job, kind_of(job)) for job in jobs if not job.resolve_activity.is_local]
        messages = [job for job, kind in kinds if kind in MESSAGES]
        others = [job for job, kind in kinds if kind not in AT_ONCE | MESSAGES]
        last = self._waiting[-1] if self._waiting else None
        wrote = self._wrote or self._wrote_before or late
        apart = wrote or _precede_schedule(messages, task.event_id)
        if last and not (last.opened or apart):
            # A replay takes two tasks for one where neither the first nor the one before it wrote,
            # and nothing came between the end of the first and the order for the second.
            last.messages += messages
            last.others += others
        else:
            now = None if held and not late else task.now
            self._waiting.append(_Arrivals(messages, deque(others), now))
        self._was_asked = False
        self._told_late = late
        if not late:
            self._begin_task()

    def _begin_task(self) -> None:
        self._wrote_before, self._wrote = self._wrote, False

    def hear(self) -> Iterator[Sequence[WorkflowActivationJob]]:
        """Yield what is heard next, for as long as no local activity is under way."""
        while not self.running:
            if self._resolved:
                self._wrote = True
                self._events += len(self._resolved)
                took = sum(map(_seconds_of, self._resolved))
                self.local_seconds = (self.local_seconds or 0.0) + took
                together = sorted(self._resolved, key=lambda job: job.resolve_activity.seq)
                self._resolved = []
                self.now = max(_end_of(job, self._resolved_at) for job in together)
                yield together
                if self._told_late:
                    self._told_late = False
                    self._begin_task()
            elif not self._waiting:
                return
            elif not (first := self._waiting[0]).opened:
                first.open()
                self.now = max(self.now, first.now or 0)
                self.local_seconds = 0.0 if first.now is None else None
                self._count_task(sum(map(_count_events, (*first.messages, *first.others))))
            elif first.parts:
                self.local_seconds = 0.0 if first.now is None else None
                yield first.hear()
            else:
                self._waiting.popleft()
        for unopened in self._waiting:
            unopened.now = None

    def note(self, commands: Sequence[WorkflowCommand]) -> None:
        """Take note of what the workflow wants done."""
        for command in commands:
            if command.HasField("schedule_local_activity"):
                self.running.add(command.schedule_local_activity.seq)
            else:
                self._wrote = True
                self._events += not command.HasField("update_response")

    def is_late(self, command: WorkflowCommand) -> bool:
        """
        Whether it would end a part, or a message to one, whose end the run has yet to hear of.

        Core (1.35) knows of that end. It ignores such a command, but not for a part that was
        terminated or a message that failed: there it fails the task, and each attempt at it.
        """
        ended = _find_end(command)
        if ended is None:
            return False
        unheard = chain.from_iterable(map(_Arrivals.find_unheard, self._waiting))
        return any(_tell_end(job) == ended for job in unheard)

    def _count_task(self, brought: int) -> None:
        """Count the events of a task: what it brings, that it was ordered, begun and ended."""
        self.length = self._events + brought + 2
        self._events = self.length + 1


class LocalSecondsInterceptor(Interceptor):
    """
    Has history tell how long a local activity took, and when it ended.

    Outermost, it sees the whole.
    """

    def __init__(self) -> None:
        self._begun: Begun = {}

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        return _LocalSeconds(next, self._begun)

    def workflow_interceptor_class(
        self,
        input: WorkflowInterceptorClassInput,  # noqa: ARG002 -- as the SDK calls it
    ) -> type[WorkflowInboundInterceptor]:
        return _Inbound


class _Inbound(WorkflowInboundInterceptor):
    def init(self, outbound: WorkflowOutboundInterceptor) -> None:
        super().init(_Outbound(outbound))


class _Outbound(WorkflowOutboundInterceptor):
    def start_local_activity(self, input: StartLocalActivityInput) -> ActivityHandle[object]:
        began = Payload(data=str(workflow.time_ns()).encode())
        input.headers = {**input.headers, BEGAN: began}
        return super().start_local_activity(input)


class _LocalSeconds(ActivityInboundInterceptor):
    def __init__(self, next: ActivityInboundInterceptor, begun: Begun) -> None:
        super().__init__(next)
        self._begun = begun

    async def execute_activity(self, input: ExecuteActivityInput) -> object:
        clock, info = asyncio.get_running_loop().time, activity.info()
        if not info.is_local:
            return await super().execute_activity(input)
        name = f"{info.workflow_run_id}/{info.activity_id}"
        waited = (info.started_time - info.scheduled_time).total_seconds()
        # A clock that was set back meanwhile tells nobody how long it took.
        began = -inf if waited < -TOLD_SECONDS else clock() - max(waited, 0.0)
        self._begun.setdefault(name, (began, info.attempt == 1))
        if len(self._begun) > MAX_BEGUN:
            self._begun.pop(next(iter(self._begun)))
        result: object = await super().execute_activity(input)
        # Behind a wait of the server's it is asked for anew, with the headers of the first time.
        began, is_first = self._begun.pop(name, (-inf, False))
        told = dict(_tell(clock() - began, input.headers.get(BEGAN) if is_first else None))
        if not told:
            return result
        [payload] = activity.payload_converter().to_payloads([result])
        payload.metadata.update(told)
        return RawValue(payload)


def _tell(took: float, began: Payload | None) -> Iterator[tuple[str, bytes]]:
    if took >= TOLD_SECONDS:
        yield SECONDS, f"{took:.1f}".encode()
    if took < inf and began is not None:
        yield ENDED, str(int(began.data) + round(took * 1e9)).encode()


def kind_of(job: WorkflowActivationJob) -> str:
    """Return what a job tells of, by the SDK's name; empty for one that this SDK doesn't know."""
    return job.WhichOneof("variant") or ""


def _find_end(command: WorkflowCommand) -> tuple[str, int] | None:
    """Return what tells of the end of what a command would end, if it would, and its number."""
    match command.WhichOneof("variant"):
        case "cancel_child_workflow_execution":
            child = command.cancel_child_workflow_execution.child_workflow_seq
            return "resolve_child_workflow_execution", child
        case "cancel_signal_workflow":
            return "resolve_signal_external_workflow", command.cancel_signal_workflow.seq
        case _:
            return None


def _tell_end(job: WorkflowActivationJob) -> tuple[str, int] | None:
    """Return the same of what a job tells."""
    match kind_of(job):
        case "resolve_child_workflow_execution" as kind:
            return kind, job.resolve_child_workflow_execution.seq
        case "resolve_signal_external_workflow" as kind:
            return kind, job.resolve_signal_external_workflow.seq
        case _:
            return None


def _count_events(job: WorkflowActivationJob) -> int:
    """Return how many events tell of this: an activity has begun, too, before it ended."""
    match kind_of(job):
        case "resolve_activity":
            return 2
        case kind if kind in AT_ONCE:
            return 0
        case _:
            return 1


def _precede_schedule(messages: Sequence[WorkflowActivationJob], started_event_id: int) -> bool:
    """
    Whether signals came while the task before was under way, as far as their places tell.

    The server writes those behind its end, before it orders the next task. What came later stands
    between that order and the start.
    """
    signals = [job.signal_workflow for job in messages if job.HasField("signal_workflow")]
    return bool(signals) and started_event_id - signals[0].originating_event_id != len(signals)


def _end_of(job: WorkflowActivationJob, now: int) -> int:
    """Return when a local activity ended; where history doesn't say, it has just ended."""
    told = job.resolve_activity.result.completed.result.metadata.get(ENDED)
    return now if told is None else int(told)


def _seconds_of(job: WorkflowActivationJob) -> float:
    ended = job.resolve_activity.result
    if not ended.HasField("completed"):
        return inf
    return float(ended.completed.result.metadata.get(SECONDS, b"0"))
