"""Workflow code, built and asked to act as the SDK's worker does it."""

import asyncio
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC

from google.protobuf.timestamp_pb2 import Timestamp
from temporalio import workflow
from temporalio.bridge.proto.workflow_activation import (
    InitializeWorkflow,
    NotifyHasPatch,
    WorkflowActivation,
    WorkflowActivationJob,
)
from temporalio.bridge.proto.workflow_commands import WorkflowCommand
from temporalio.bridge.proto.workflow_completion import WorkflowActivationCompletion
from temporalio.common import MetricMeter, Priority, RetryPolicy
from temporalio.converter import (
    decode_search_attributes,
    decode_typed_search_attributes,
)
from temporalio.worker import WorkflowInstance, WorkflowInstanceDetails, WorkflowRunner
from temporalio.workflow import Info, ParentInfo
from temporalio.workflow import _Definition as Definition

from holdfast.contracts.sessions.messages import SESSION_WORKFLOW_TYPE
from holdfast.event_order import ENDS
from holdfast.runner import RUNNER
from holdfast.workflows.agent_run import AgentRun
from holdfast.workflows.agent_session import AgentSession
from holdfast.workflows.payloads import data_converter

NAMESPACE = "default"

Functions = dict[str, Callable[..., object]]


@dataclass(frozen=True)
class Beginning:
    """What an execution begins with."""

    init: InitializeWorkflow
    run_id: str
    queue: str
    at: Timestamp


@dataclass
class TaskRecord:
    """A workflow task: what the workflow heard in it, and what it wanted done upon each."""

    heard: list[tuple[WorkflowActivation, Sequence[WorkflowCommand]]] = field(
        default_factory=list[tuple[WorkflowActivation, Sequence[WorkflowCommand]]]
    )


class WorkflowTaskFailed(AssertionError):
    """A workflow task failed: on a server it would be tried again for ever."""


def build_instance(beginning: Beginning, runner: WorkflowRunner = RUNNER) -> WorkflowInstance:
    """Build a run, or a session, that has heard nothing yet."""
    is_session = beginning.init.workflow_type == SESSION_WORKFLOW_TYPE
    definition = Definition.must_from_class(AgentSession if is_session else AgentRun)
    functions: Functions = {
        "__temporal_get_metric_meter": lambda: MetricMeter.noop,
        "__temporal_assert_local_activity_valid": _accept,
    }
    return runner.create_instance(
        WorkflowInstanceDetails(
            payload_converter_factory=data_converter.payload_converter_class,
            failure_converter_class=data_converter.failure_converter_class,
            interceptor_classes=[],
            defn=definition,
            info=_build_info(beginning),
            randomness_seed=beginning.init.randomness_seed,
            extern_functions=functions,
            disable_eager_activity_execution=False,
            worker_level_failure_exception_types=[],
            patch_activation_callback=None,
            last_completion_result=beginning.init.last_completion_result,
            last_failure=None,
        )
    )


def _accept(_: str) -> None:
    """Let any local activity be asked for: a worker finds out which it has when one begins."""


def _build_info(beginning: Beginning) -> Info:
    init, began = beginning.init, beginning.at.ToDatetime(UTC)
    above = init.parent_workflow_info
    return Info(
        attempt=init.attempt,
        continued_run_id=init.continued_from_execution_run_id or None,
        cron_schedule=None,
        execution_timeout=None,
        first_execution_run_id=init.first_execution_run_id,
        headers=dict(init.headers),
        namespace=NAMESPACE,
        original_execution_run_id=init.original_execution_run_id or beginning.run_id,
        parent=ParentInfo(
            namespace=above.namespace, run_id=above.run_id, workflow_id=above.workflow_id
        )
        if init.HasField("parent_workflow_info")
        else None,
        root=None,
        raw_memo=dict(init.memo.fields),
        retry_policy=RetryPolicy.from_proto(init.retry_policy)
        if init.HasField("retry_policy")
        else None,
        run_id=beginning.run_id,
        run_timeout=None,
        search_attributes=decode_search_attributes(init.search_attributes),
        start_time=began,
        workflow_start_time=began,
        task_queue=beginning.queue,
        task_timeout=init.workflow_task_timeout.ToTimedelta(),
        typed_search_attributes=decode_typed_search_attributes(init.search_attributes),
        workflow_id=init.workflow_id,
        workflow_type=init.workflow_type,
        priority=Priority.default,
    )


def activate(instance: WorkflowInstance, act: WorkflowActivation) -> Sequence[WorkflowCommand]:
    """
    Have a workflow hear something; return what it wants done. Raises WorkflowTaskFailed.

    It is a loop of its own while it acts, and afterwards this thread has its own again.
    """
    loop = asyncio.get_running_loop()
    try:
        completion: WorkflowActivationCompletion = instance.activate(act)
    finally:
        asyncio._set_running_loop(loop)  # noqa: SLF001 -- as the SDK's worker does when it debugs
    if completion.HasField("failed"):
        raise WorkflowTaskFailed(completion.failed.failure)
    return tuple(completion.successful.commands)


def evict(instance: WorkflowInstance, run_id: str) -> None:
    """End a workflow's code, which may go on elsewhere."""
    act = WorkflowActivation(run_id=run_id)
    act.jobs.add().remove_from_cache.message = "gone"
    activate(instance, act)


def replay(instance: WorkflowInstance, tasks: Sequence[TaskRecord]) -> Iterator[WorkflowCommand]:
    """
    Have a workflow hear again what it heard, as a worker that takes it over; yield its commands.

    What a local activity came to is known from the start of the task in which it ended: it is
    heard as soon as it is asked for, or with what that task brings. So are its patches.
    So it may end before what came last, and of that it hears nothing, as it did before.
    """
    latest, under_way = Timestamp(), set[int]()
    for task in tasks:
        known = {
            job.resolve_activity.seq: (act, job)
            for act, _ in task.heard
            for job in act.jobs
            if job.resolve_activity.is_local
        }
        found = [known[seq] for seq in sorted(under_way & known.keys())]
        under_way -= known.keys()
        patches = _find_patches(task)
        for act, _ in task.heard:
            jobs = [job for job in act.jobs if not job.resolve_activity.is_local]
            while jobs or found:
                act = max((each for each, _ in found), key=_time, default=act)  # noqa: PLW2901 -- it is heard after the first
                jobs += [job for _, job in found]
                latest = max(latest, act.timestamp, key=Timestamp.ToNanoseconds)
                commands = activate(instance, _again(act, [*patches, *jobs], latest))
                patches = []
                yield from commands
                if any(one.WhichOneof("variant") in ENDS for one in commands):
                    return
                asked, jobs = _local_seqs(commands), []
                found = [known[seq] for seq in asked if seq in known]
                under_way |= set(asked) - known.keys()


@contextmanager
def without_patches() -> Generator[None]:
    """Have runs go, while the block lasts, as in a release that knew no patch."""

    def know_none(id: str) -> bool:
        return False

    known = workflow.patched
    workflow.patched = know_none
    try:
        yield
    finally:
        workflow.patched = known


def _find_patches(task: TaskRecord) -> list[WorkflowActivationJob]:
    """Find the patches that were noted in a task: a replay is told of them before all else."""
    return [
        WorkflowActivationJob(
            notify_has_patch=NotifyHasPatch(patch_id=one.set_patch_marker.patch_id)
        )
        for one in said([task])
        if one.HasField("set_patch_marker")
    ]


def _again(
    act: WorkflowActivation, jobs: Sequence[WorkflowActivationJob], at: Timestamp
) -> WorkflowActivation:
    """Return what is heard again: never at an earlier time than what was heard before."""
    again = WorkflowActivation()
    again.CopyFrom(act)
    again.timestamp.CopyFrom(at)
    again.is_replaying = True
    again.ClearField("jobs")
    again.jobs.extend(jobs)
    return again


def _local_seqs(commands: Sequence[WorkflowCommand]) -> list[int]:
    return [
        one.schedule_local_activity.seq
        for one in commands
        if one.HasField("schedule_local_activity")
    ]


def _time(act: WorkflowActivation) -> int:
    return act.timestamp.ToNanoseconds()


def said(tasks: Sequence[TaskRecord]) -> Iterator[WorkflowCommand]:
    """Yield all that a workflow wanted done, in order."""
    for task in tasks:
        for _, commands in task.heard:
            yield from commands
