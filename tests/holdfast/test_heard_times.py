"""At what time a run hears of something: one that its replay knows, too."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, cast
from uuid import uuid4

import pytest
from temporalio import activity, workflow
from temporalio.api.common.v1 import Payload, Payloads
from temporalio.api.enums.v1 import EventType
from temporalio.bridge.proto.workflow_activation import (
    InitializeWorkflow,
    QueryWorkflow,
    WorkflowActivation,
    WorkflowActivationJob,
)
from temporalio.bridge.proto.workflow_commands import ScheduleLocalActivity
from temporalio.bridge.proto.workflow_completion import WorkflowActivationCompletion
from temporalio.worker import (
    PatchActivationInput,
    Worker,
    WorkflowInstance,
    WorkflowInstanceDetails,
    WorkflowRunner,
)
from temporalio.workflow import Info

from holdfast.event_order import ENDED, LocalSecondsInterceptor
from holdfast.runner import RUNNER, OrderedRunner, build_replayer
from tests.holdfast.test_event_order import job, name_of
from tests.running import Runs

SECOND = 10**9

Heard = list[tuple[str, float]]


@dataclass
class Noting(WorkflowRunner):
    """Runs a workflow that begins local activities at once, and notes when it hears of what."""

    begins: Sequence[int] = ()
    heard: Heard = field(default_factory=list[tuple[str, float]])
    knows: Callable[[PatchActivationInput], bool] | None = None

    def prepare_workflow(self, defn: object) -> None:
        """There is nothing to prepare."""

    def create_instance(self, det: WorkflowInstanceDetails) -> WorkflowInstance:
        self.knows = det.patch_activation_callback
        return cast("WorkflowInstance", self)

    def set_worker_level_failure_exception_types(
        self, types: Sequence[type[BaseException]]
    ) -> None:
        """There are none."""

    def activate(self, act: WorkflowActivation) -> WorkflowActivationCompletion:
        done = WorkflowActivationCompletion()
        done.successful.SetInParent()
        if act.jobs[0].HasField("initialize_workflow"):
            for seq in self.begins:
                begun = done.successful.commands.add().schedule_local_activity
                begun.CopyFrom(ScheduleLocalActivity(seq=seq))
            return done
        if not act.jobs[0].HasField("query_workflow"):
            now = act.timestamp.ToNanoseconds() / SECOND
            self.heard += [(name_of(one), now) for one in act.jobs]
        return done


@dataclass
class Played:
    """A run that is told of things as the SDK tells it."""

    noting: Noting
    evict: Callable[[str], None] | None = None
    begins: float = 0

    def __post_init__(self) -> None:
        details = cast("Any", _Details())
        runner = OrderedRunner(self.noting, evict=self.evict)
        self._instance = runner.create_instance(details)
        self.task(self.begins, WorkflowActivationJob(initialize_workflow=InitializeWorkflow()))

    def task(
        self, second: float, *jobs: WorkflowActivationJob, replaying: bool = False
    ) -> "Played":
        """Tell it of something at a time."""
        self.hear(second, *jobs, replaying=replaying)
        return self

    def hear(
        self, second: float, *jobs: WorkflowActivationJob, replaying: bool = False
    ) -> WorkflowActivationCompletion:
        """Tell it of something at a time, and return what it wants done."""
        act = WorkflowActivation(run_id="r", is_replaying=replaying, history_length=9, jobs=jobs)
        act.timestamp.FromNanoseconds(round(second * SECOND))
        return self._instance.activate(act)

    def ask(self, second: float) -> "Played":
        """Ask it something."""
        asked = WorkflowActivationJob(query_workflow=QueryWorkflow(query_type="status"))
        return self.task(second, asked, replaying=True)


@dataclass
class _Beside:
    """What came beside a start: nothing."""

    headers: dict[str, Payload] = field(default_factory=dict[str, Payload])
    raw_memo: dict[str, Payload] = field(default_factory=dict[str, Payload])


@dataclass
class _Details:
    """As much of how the SDK describes a workflow as an order needs."""

    extern_functions: dict[str, Callable[..., object]] = field(
        default_factory=dict[str, Callable[..., object]]
    )
    info: _Beside = field(default_factory=_Beside)
    last_completion_result: Payloads = field(default_factory=Payloads)
    last_failure: None = None
    patch_activation_callback: Callable[[PatchActivationInput], bool] | None = None


def ended(name: str, second: float) -> WorkflowActivationJob:
    """Build what tells that a local activity has ended then."""
    one = job(name)
    told = str(round(second * SECOND)).encode()
    one.resolve_activity.result.completed.result.metadata[ENDED] = told
    return one


def test_a_replay_hears_of_the_end_of_a_local_activity_at_the_same_time() -> None:
    """
    A query has its task completed before the run hears of that end; that is told with the next.

    A replay is told of it in the task in which it was, and hears at the time that history tells.
    """
    now, again = Noting([3]), Noting([3])
    Played(now).ask(1).task(60, job("signal 1"), ended("L3", 2))
    Played(again).task(2.1, ended("L3", 2), replaying=True).task(
        60, job("signal 1"), replaying=True
    )

    assert now.heard == again.heard == [("L3", 2), ("signal 1", 60)]


@pytest.mark.parametrize("together", [False, True], ids=["a task", "a worker that hung"])
def test_what_came_meanwhile_is_heard_at_the_time_of_that_end(together: bool) -> None:
    """When the task began that brought it, a replay isn't told."""
    now, again = Noting([3]), Noting([3])
    if together:
        Played(now).task(9.1, job("A1"), ended("L3", 9))
    else:
        Played(now).task(8, job("A1")).task(9.1, ended("L3", 9))
    Played(again).task(9.1, job("A1"), ended("L3", 9), replaying=True)

    assert now.heard == again.heard == [("L3", 9), ("A1", 9)]


def test_a_task_that_was_divided_ends_no_sooner_for_a_replay() -> None:
    """To a replay it begins at its last part, behind what history tells of the end."""
    noting = Noting([3])
    Played(noting, begins=7).task(7, ended("L3", 6.9), replaying=True)

    assert noting.heard == [("L3", 6.9)]


@pytest.mark.parametrize(
    ("asks", "patch", "works"),
    [
        (True, "gathered-enough", False),
        (True, "undone-since", True),
        (False, "gathered-enough", True),
    ],
)
def test_no_marker_that_can_be_spared_stands_too_late_for_a_replay(
    asks: bool, patch: str, works: bool
) -> None:
    """Behind a local activity in whose task a query came; with the next task it may stand."""
    noting = Noting([3])
    played = Played(noting)
    asked = PatchActivationInput(cast("Info", None), patch)
    (played.ask(1) if asks else played).task(2, ended("L3", 2))

    assert noting.knows is not None
    assert noting.knows(asked) is works
    played.task(3, job("signal 1"))
    assert noting.knows(asked)


def test_a_time_that_history_does_not_tell_is_that_of_the_task() -> None:
    """As of a local activity that failed, or in a history of before."""
    noting = Noting([3])
    Played(noting).task(9.5, job("L3")).task(12, job("A1"))

    assert noting.heard == [("L3", 9.5), ("A1", 12)]


@pytest.mark.parametrize(
    ("second", "jobs", "replaying", "forgotten"),
    [
        pytest.param(5, ["timer 8"], False, ["r"], id="a task that hasn't begun"),
        pytest.param(6, ["timer 8"], False, [], id="one that has"),
        pytest.param(5, ["timer 8"], True, [], id="a replay"),
        pytest.param(5, ["L3"], False, [], id="the end of a local activity"),
    ],
)
def test_who_heard_of_a_task_before_it_began_is_built_anew(
    second: float, jobs: list[str], replaying: bool, forgotten: list[str]
) -> None:
    """A worker tells a run that it builds for a query of what came since the last task, too."""
    evicted = list[str]()
    played = Played(Noting([3]), evicted.append).task(5, job("L3"), replaying=True)

    played.task(second, *map(job, jobs), replaying=replaying)

    assert evicted == forgotten


def test_a_question_has_nothing_built_anew() -> None:
    """It is asked at the time of the last task, whoever asks."""
    evicted = list[str]()

    Played(Noting(), evicted.append).task(5, job("A1")).ask(5)

    assert evicted == []


@workflow.defn
class Clocked:
    """Says what time it is behind a local activity."""

    @workflow.run
    async def run(self) -> int:
        await workflow.execute_local_activity("tick", start_to_close_timeout=timedelta(seconds=9))
        return workflow.time_ns()


@activity.defn(name="tick")
async def tick() -> None:
    """Take no time."""


async def test_history_tells_when_a_local_activity_ended(runs: Runs) -> None:
    """However short it was; the run has that time, and so has its replay."""
    worker = Worker(
        runs.client,
        task_queue=runs.queue,
        activities=[tick],
        workflows=[Clocked],
        workflow_runner=RUNNER,
        interceptors=[LocalSecondsInterceptor()],
    )
    async with worker:
        handle = await runs.client.start_workflow(
            Clocked.run, id=f"clocked-{uuid4().hex[:8]}", task_queue=runs.queue
        )
        now = await handle.result()
    history = await handle.fetch_history()
    await build_replayer(Clocked).replay_workflow(history)
    (marker,) = (
        event.marker_recorded_event_attributes
        for event in history.events
        if event.event_type == EventType.EVENT_TYPE_MARKER_RECORDED
    )
    (result,) = marker.details["result"].payloads

    assert int(result.metadata[ENDED]) == now


@dataclass
class Ending(Noting):
    """A workflow that is over upon the first that it hears."""

    def activate(self, act: WorkflowActivation) -> WorkflowActivationCompletion:
        done = super().activate(act)
        if act.jobs[0].HasField("signal_workflow"):
            done.successful.commands.add().complete_workflow_execution.SetInParent()
        return done


def test_what_ended_upon_the_task_of_another_worker_is_built_anew() -> None:
    """
    Who answers a query hears of that task as of its own; the server may refuse the end upon it.

    Then more had come, of which this copy would never hear. What was local there has an end, too.
    """
    ending = Ending()
    played = Played(ending)
    played.task(1, job("signal 1")).ask(1)

    assert played.hear(2, job("L3")).HasField("successful")
    assert "another worker" in played.hear(3, job("signal 2")).failed.failure.message
    assert ending.heard == [("signal 1", 1), ("L3", 2)]
