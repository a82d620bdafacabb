"""What a run hears of, and when: its replay hears the same, however tasks were divided."""

from math import inf

import pytest
from temporalio.bridge.proto.workflow_activation import (
    CancelWorkflow,
    DoUpdate,
    FireTimer,
    ResolveActivity,
    ResolveChildWorkflowExecution,
    ResolveSignalExternalWorkflow,
    SignalWorkflow,
    WorkflowActivationJob,
)
from temporalio.bridge.proto.workflow_commands import (
    CancelChildWorkflowExecution,
    CancelSignalWorkflow,
    CancelTimer,
    ScheduleActivity,
    ScheduleLocalActivity,
    WorkflowCommand,
)

from holdfast.event_order import SECONDS, WAKE, EventOrder, Task

BEGINS = {"signal 1": "L5", "A2": "L6 A7", "L3": "", "L4": "A9"}
"""What the workflow begins upon hearing of something: local activities, and others."""


class Heard:
    """Plays a workflow, in which *under_way* is under way already."""

    def __init__(self, under_way: str) -> None:
        self.order = EventOrder()
        self.heard: list[str] = []
        self.lengths: list[int] = []
        self._length = 0
        self._begin(under_way)

    def task(self, *names: str, buffered: bool = False, replaying: bool = False) -> "Heard":
        """Have something come, together; before the task was ordered, if the server kept it."""
        self._length += 10
        jobs = [job(name) for name in names]
        signals = [one.signal_workflow for one in jobs if one.HasField("signal_workflow")]
        for place, signal in enumerate(signals):
            signal.originating_event_id = self._length - len(signals) + place - buffered
        self.order.arrive(jobs, Task(self._length, self._length), replaying=replaying)
        for one in jobs:
            if one.HasField("do_update"):
                self.order.take_turn()
        for together in self.order.hear():
            self.heard += map(name_of, together)
            self.lengths += [self.order.length] * len(together)
            for one in together:
                self._begin(BEGINS.get(name_of(one), ""))
        return self

    def _begin(self, names: str) -> None:
        self.order.note([command(name) for name in names.split()])


def job(name: str) -> WorkflowActivationJob:
    """Build what tells a workflow of something: A is an activity's end, L a local one's."""
    kind, number = name[0], int(name[-1])
    match kind:
        case "A" | "L":
            ended = ResolveActivity(seq=number, is_local=kind == "L")
            return WorkflowActivationJob(resolve_activity=ended)
        case "t":
            return WorkflowActivationJob(fire_timer=FireTimer(seq=number))
        case "c":
            return WorkflowActivationJob(cancel_workflow=CancelWorkflow())
        case "u":
            return WorkflowActivationJob(do_update=DoUpdate(id=name))
        case _:
            return WorkflowActivationJob(signal_workflow=SignalWorkflow(signal_name=name))


def took(name: str, seconds: float) -> WorkflowActivationJob:
    """Build what tells that a local activity has completed."""
    ended = job(name)
    ended.resolve_activity.result.completed.result.metadata[SECONDS] = str(seconds).encode()
    return ended


def failed(name: str) -> WorkflowActivationJob:
    """Build what tells that a local activity has failed."""
    ended = job(name)
    ended.resolve_activity.result.failed.SetInParent()
    return ended


def name_of(one: WorkflowActivationJob) -> str:
    """Say what a job tells of."""
    if one == WAKE:
        return "wake"
    if one.HasField("signal_workflow"):
        return one.signal_workflow.signal_name
    if one.HasField("cancel_workflow"):
        return "cancel 1"
    if one.HasField("fire_timer"):
        return f"timer {one.fire_timer.seq}"
    ended = one.resolve_activity
    return f"{'L' if ended.is_local else 'A'}{ended.seq}"


def command(name: str) -> WorkflowCommand:
    """Build what begins an activity."""
    number = int(name[-1])
    if name[0] == "L":
        return WorkflowCommand(schedule_local_activity=ScheduleLocalActivity(seq=number))
    return WorkflowCommand(schedule_activity=ScheduleActivity(seq=number))


@pytest.mark.parametrize(
    ("executed", "replayed"),
    [
        pytest.param([["A1"], ["L3"]], [["L3"], ["A1"]], id="its end was known when A1 came"),
        pytest.param([["A1"], ["L3"]], [["A1", "L3"]], id="it ended in the task of A1"),
        pytest.param(
            [["signal 2", "A1"], ["L3"]], [["L3"], ["signal 2", "A1"]], id="a signal came too"
        ),
        pytest.param(
            [["A1"], ["signal 2"], ["L3"]], [["A1"], ["signal 2", "L3"]], id="in two tasks"
        ),
        pytest.param(
            [["signal 1", "A1"], ["L3"], ["timer 8"], ["L5"]],
            [["L3"], ["signal 1", "A1"], ["L5"], ["timer 8"]],
            id="another began meanwhile",
        ),
        pytest.param(
            [["A2", "A1"], ["L3"], ["signal 2"], ["L6"]],
            [["L3"], ["A2", "A1"], ["L6"], ["signal 2"]],
            id="the first of two begins another",
        ),
    ],
)
def test_a_replay_hears_of_things_in_the_same_order(
    executed: list[list[str]], replayed: list[list[str]]
) -> None:
    """As the SDK tells of them while a run goes on, and as it does from a history."""
    now, again = Heard("A9 L3"), Heard("A9 L3")
    for names in executed:
        now.task(*names)
    for names in replayed:
        again.task(*names)

    assert (now.heard, now.lengths) == (again.heard, again.lengths)
    assert sorted(now.heard) == sorted(name for names in executed for name in names)


def test_nothing_is_heard_while_a_local_activity_is_under_way() -> None:
    """Whatever comes waits for it, and what waits waits for the next one too."""
    run = Heard("L3")

    assert run.task("A2", "A1").heard == []
    assert run.task("L3").heard == ["L3", "A2"]
    assert run.task("timer 8").heard == ["L3", "A2"]
    assert run.task("L6").heard == ["L3", "A2", "L6", "A1", "timer 8"]


def test_who_cancels_is_heard_before_what_else_came() -> None:
    """Behind that a run may end, or go on in a new execution, which hears of none of it."""
    assert Heard("A9").task("A1", "cancel 1", "signal 2").heard == ["cancel 1", "signal 2", "A1"]


def test_a_run_knows_that_more_may_have_come() -> None:
    """
    Behind local activities, and how long they took: until it has heard something else.

    What waited for them is behind them, too; a replay may hear both in the task before.
    """
    run = Heard("L3 L4")
    behind = [run.order.local_seconds]
    run.order.arrive([job("A1")], Task(10, 0))
    run.order.arrive([took("L4", 0.5), took("L3", 8)], Task(10, 0))
    behind += [run.order.local_seconds for _ in run.order.hear()]
    run.order.arrive([job("A2")], Task(20, 0))
    behind += [run.order.local_seconds for _ in run.order.hear()]

    assert behind == [None, 8.5, 0.0, None]


def test_local_activities_one_after_the_other_take_their_sum() -> None:
    """A short one behind a long one makes that no shorter; one that failed may be any length."""
    run = Heard("L3").order
    behind: list[float | None] = []
    for seq, ended in enumerate([took("L3", 8), took("L4", 0.5), failed("L5")], start=4):
        run.arrive([ended], Task(10, 0))
        behind += [run.local_seconds for _ in run.hear()]
        run.note([command(f"L{seq}")])

    assert behind == [8, 8.5, inf]


def test_local_activities_that_began_together_end_together() -> None:
    """Which of them ended first depends on the machine."""
    assert Heard("L3 L4").task("L4").task("L3").heard == ["L3", "L4"]


def test_tasks_that_wrote_nothing_are_one() -> None:
    """A replay takes them for one and so has the signals first, whichever came before."""
    run = Heard("L3")
    run.task("timer 7").task("timer 8").task("A1").task("signal 2")

    assert run.task("L3").heard == ["L3", "timer 7", "signal 2", "timer 8", "A1"]


def test_what_came_while_a_task_was_under_way_is_heard_behind_it() -> None:
    """The server writes it between the two tasks, and a replay takes them for two."""
    run = Heard("L3")
    run.task("timer 7").task("timer 8").task("A1").task("signal 2", "signal 4", buffered=True)

    heard = ["L3", "timer 7", "timer 8", "A1", "signal 2", "signal 4"]
    assert run.task("L3").heard == heard


def test_a_local_activity_that_is_told_of_late_was_written_by_the_task_before() -> None:
    """A query had that task completed; a replay is told of it there, and what follows apart."""
    now, again = Heard("L3").task("A1"), Heard("L3").task("A1", replaying=True)
    now.task("timer 7").order.note_query()
    now.task("signal 2", "L3")
    again.task("timer 7", "L3", replaying=True).task("signal 2", replaying=True)

    assert now.heard == again.heard == ["L3", "A1", "timer 7", "signal 2"]


async def test_an_update_is_heard_in_its_place() -> None:
    """It is accepted at once, and has its turn when all is heard that came before."""
    run = Heard("A9 L3")
    run.task("A2")
    run.task("update 1")
    turn = run.order.take_turn()

    run.task("L3")
    assert (run.heard, turn.done()) == (["L3", "A2"], False)
    run.task("L6")
    assert (run.heard, turn.done()) == (["L3", "A2", "L6", "wake"], True)
    assert run.order.take_turn().done()


async def test_an_update_is_heard_behind_signals_and_before_a_cancellation() -> None:
    """A worker that takes a run over may hear of two tasks as one, and its replay of two."""
    together, apart = Heard("A9"), Heard("A9")
    together.task("signal 2", "update 1", "cancel 1")
    apart.task("signal 2").task("update 1", "cancel 1")

    assert together.heard == apart.heard == ["signal 2", "wake", "cancel 1"]


def test_an_update_is_refused_where_its_place_isnt_known() -> None:
    """After a query divided a task, the local activity under way may have ended in it."""
    run = Heard("L3")
    assert not run.order.must_refuse_updates()

    run.order.note_query()
    assert run.order.must_refuse_updates()

    run.task("L3")
    assert not run.order.must_refuse_updates()


def test_a_query_of_a_task_before_refuses_no_update() -> None:
    """What has come since shows that no end of a local activity was left to tell."""
    run = Heard("L3")
    run.order.note_query()
    run.task("A1")

    assert not run.order.must_refuse_updates()


@pytest.mark.parametrize(
    ("cancel", "is_late"),
    [
        (CancelChildWorkflowExecution(child_workflow_seq=1), True),
        (CancelChildWorkflowExecution(child_workflow_seq=2), False),
        (CancelSignalWorkflow(seq=2), True),
        (CancelSignalWorkflow(seq=1), False),
        (CancelTimer(seq=1), False),
    ],
    ids=["its part", "another part", "its message", "another message", "a timer"],
)
def test_what_has_ended_unheard_is_ended_by_nobody(
    cancel: CancelChildWorkflowExecution | CancelSignalWorkflow | CancelTimer, is_late: bool
) -> None:
    """A part has ended and a message failed; the run hears of a cancellation first."""
    order = EventOrder()
    told = [
        WorkflowActivationJob(
            resolve_child_workflow_execution=ResolveChildWorkflowExecution(seq=1)
        ),
        WorkflowActivationJob(
            resolve_signal_external_workflow=ResolveSignalExternalWorkflow(seq=2)
        ),
    ]
    match cancel:
        case CancelChildWorkflowExecution():
            command = WorkflowCommand(cancel_child_workflow_execution=cancel)
        case CancelSignalWorkflow():
            command = WorkflowCommand(cancel_signal_workflow=cancel)
        case _:
            command = WorkflowCommand(cancel_timer=cancel)
    order.arrive([*told, job("cancel 1")], Task(10, 0))
    hearing = order.hear()

    next(hearing)

    assert order.is_late(command) is is_late
    assert list(hearing)
    assert not order.is_late(command)
