"""How workflow code is run, and run again: for as long as it takes."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from itertools import chain
from types import TracebackType
from typing import cast

from temporalio.bridge import worker as bridge
from temporalio.bridge.proto.workflow_activation import WorkflowActivation, WorkflowActivationJob
from temporalio.bridge.proto.workflow_completion import WorkflowActivationCompletion
from temporalio.converter import (
    ActivitySerializationContext,
    DataConverter,
    SerializationContext,
    StorageDriverStoreContext,
    WorkflowSerializationContext,
)
from temporalio.worker import (
    PatchActivationInput,
    Replayer,
    UnsandboxedWorkflowRunner,
    Worker,
    WorkflowInstance,
    WorkflowInstanceDetails,
    WorkflowRunner,
)
from temporalio.worker._command_aware_visitor import CommandInfo
from temporalio.workflow import Info
from temporalio.workflow import _Definition as Definition

from holdfast.activations import copy_of, detach, drop_excess, unless_left
from holdfast.event_log import log
from holdfast.event_order import AT_ONCE, ENDS, EventOrder, Task, kind_of
from holdfast.workflows.execution.full_history import MARKS, PASSED_MARKS
from holdfast.workflows.inbound.inbox import DISPENSABLE, LOCAL_SECONDS, TAKE_TURN
from holdfast.workflows.options import HISTORY_LENGTH
from holdfast.workflows.payloads import data_converter

UPDATE_REFUSAL = "the run is deciding just now and has not taken this: send it again"

UNFOUNDED_END = "the run goes on: what it ended upon was the task of another worker, and is lost"


class OrderedRunner(WorkflowRunner):
    """
    Runs workflows as another runner does, and has them hear of events in their order.

    Where no converter *heeds contexts* the SDK is given none, of which it builds 27 a step. A
    worker that *evicts* an execution, by its id, builds it anew when it next hears of it.
    """

    def __init__(
        self,
        inner: WorkflowRunner,
        *,
        heeds_contexts: bool = True,
        evict: Callable[[str], None] | None = None,
    ) -> None:
        self._inner = inner
        self._heeds_contexts = heeds_contexts
        self._evict = evict

    def with_eviction(self, evict: Callable[[str], None]) -> "OrderedRunner":
        """Return what runs workflows of a worker that can evict them."""
        return OrderedRunner(self._inner, heeds_contexts=self._heeds_contexts, evict=evict)

    def prepare_workflow(self, defn: Definition) -> None:
        self._inner.prepare_workflow(defn)

    def create_instance(self, det: WorkflowInstanceDetails) -> WorkflowInstance:
        return _OrderedInstance(det, self._inner, self._evict, heeds_contexts=self._heeds_contexts)

    def set_worker_level_failure_exception_types(
        self, types: Sequence[type[BaseException]]
    ) -> None:
        self._inner.set_worker_level_failure_exception_types(types)


class _OrderedInstance(WorkflowInstance):
    """A workflow that is given the jobs of an activation in several, or later."""

    def __init__(
        self,
        det: WorkflowInstanceDetails,
        runner: WorkflowRunner,
        evict: Callable[[str], None] | None,
        *,
        heeds_contexts: bool,
    ) -> None:
        self._heeds_contexts = heeds_contexts
        self._evict = evict
        self._latest = 0
        self._has_ended = False
        self._order = EventOrder()
        self._passed, self._told = set[str](), set[str]()
        theirs = cast("Mapping[str, Callable[..., object]]", det.extern_functions)  # pyright: ignore[reportUnknownMemberType] -- of any functions
        functions = {
            **theirs,
            TAKE_TURN: self._order.take_turn,
            LOCAL_SECONDS: lambda: self._order.local_seconds,
            HISTORY_LENGTH: lambda: self._order.length,
            PASSED_MARKS: lambda: self._passed,
        }
        given = replace(
            detach(det), extern_functions=functions, patch_activation_callback=self._can_note
        )
        self._inner = runner.create_instance(given)

    def activate(self, act: WorkflowActivation) -> WorkflowActivationCompletion:
        drop_excess(act)
        jobs = list(act.jobs)
        kinds = set(map(kind_of, jobs))
        if "query_workflow" in kinds:
            self._order.note_query()
            return self._inner.activate(act)
        if "remove_from_cache" in kinds:
            return self._inner.activate(act)
        if self._has_ended and not all(job.resolve_activity.is_local for job in jobs):
            return _build_failure()
        if "initialize_workflow" in kinds:
            self._latest = act.timestamp.ToNanoseconds()
            self._order.begin(jobs, self._latest)
            begun = self._inner.activate(copy_of(act))
            self._order.note(begun.successful.commands)
            self._has_ended = _ends(begun)
            return begun
        return self._activate_in_order(act, jobs)

    def _can_note(self, patch: PatchActivationInput) -> bool:
        """Whether a run works by a patch from here on, which a replay must know in time, too."""
        return not (self._order.is_divided and patch.patch_id in DISPENSABLE)

    def _activate_in_order(
        self, act: WorkflowActivation, jobs: Sequence[WorkflowActivationJob]
    ) -> WorkflowActivationCompletion:
        parts = list[WorkflowActivationCompletion]()
        if self._order.must_refuse_updates():
            parts.append(_build_refusals(job for job in jobs if job.HasField("do_update")))
            jobs = [job for job in jobs if not job.HasField("do_update")]
        task = Task(act.history_length, act.timestamp.ToNanoseconds())
        if self._evict and not act.is_replaying and self._is_early(jobs, task):
            self._evict(act.run_id)
        self._latest = task.now
        self._note_marks(act)
        # Of patches only a replay is told: what else it brings is taken as it was without.
        brought = [job for job in jobs if not job.HasField("notify_has_patch")]
        self._order.arrive(brought, task, replaying=act.is_replaying)
        at_once = [job for job in jobs if kind_of(job) in AT_ONCE]
        bare: WorkflowActivation | None = None
        for heard in chain([at_once] if at_once else [], self._order.hear()):
            is_all = len(act.jobs) == len(heard) == 1 and heard[0] is jobs[0]
            if not (is_all and self._order.now == task.now) and bare is None:
                bare = _copy_without_jobs(act)
            given = act if bare is None else _build_activation(bare, heard, self._order.now)
            part = self._inner.activate(given)
            if part.HasField("failed"):
                return part
            for command in filter(self._order.is_late, list(part.successful.commands)):
                part.successful.commands.remove(command)
            self._order.note(part.successful.commands)
            parts.append(part)
            if _ends(part):
                self._has_ended = True
                break
        whole = parts[0] if parts else WorkflowActivationCompletion()
        whole.successful.SetInParent()
        for part in parts[1:]:
            whole.successful.MergeFrom(part.successful)
        return whole

    def _note_marks(self, act: WorkflowActivation) -> None:
        """
        Note beyond which marks history is by now: in a replay those of which it says so itself.

        Not while a local activity is under way: what comes then may divide a workflow task, whose
        beginning a replay takes for later than it was.
        """
        if act.is_replaying:
            patches = (one.notify_has_patch for one in act.jobs if kind_of(one) in AT_ONCE)
            self._told.update(one.patch_id for one in patches)
        else:
            size, events = act.history_size_bytes, act.history_length
            self._told |= {
                mark.patch for mark in MARKS if size > mark.size or events > mark.events
            }
        if not self._order.running:
            self._passed |= self._told

    def _is_early(self, jobs: Sequence[WorkflowActivationJob], task: Task) -> bool:
        """
        Whether this is news of a workflow task that hasn't begun, with whose start time goes on.

        A worker that is asked something about a run which it doesn't know is given all its
        history. It tells the run (SDK 1.35) of what came since the last task, too, and keeps what
        the run wants upon that for the next one: as if it had been heard of at the time of the
        last task, and without what comes until the next begins. A replay knows better.
        """
        return task.now == self._latest and any(map(_is_news, jobs))

    def get_serialization_context(
        self, command_info: CommandInfo | None
    ) -> SerializationContext | None:
        if not self._heeds_contexts:
            return None
        return self._inner.get_serialization_context(command_info)

    def get_external_store_context(
        self, command_info: CommandInfo | None
    ) -> StorageDriverStoreContext:
        return self._inner.get_external_store_context(command_info)

    def get_info(self) -> Info:
        return self._inner.get_info()

    def get_thread_id(self) -> int | None:
        return self._inner.get_thread_id()


def _ends(part: WorkflowActivationCompletion) -> bool:
    return any(command.WhichOneof("variant") in ENDS for command in part.successful.commands)


def _build_failure() -> WorkflowActivationCompletion:
    """
    Fail a workflow task, so that the run is built anew for the next one.

    A worker that is asked something about a run, while another one has its task, hears of that
    task as if it were its own (SDK 1.35). Where the run ended upon it, and the server refused that
    end because more had come, this worker's copy would end all the same, unheard.
    """
    failed = WorkflowActivationCompletion()
    failed.failed.failure.message = UNFOUNDED_END
    return failed


def _is_news(job: WorkflowActivationJob) -> bool:
    return not (job.resolve_activity.is_local or kind_of(job) in AT_ONCE)


def _copy_without_jobs(act: WorkflowActivation) -> WorkflowActivation:
    bare = WorkflowActivation()
    bare.CopyFrom(act)
    bare.ClearField("jobs")
    return bare


def _build_activation(
    bare: WorkflowActivation, jobs: Sequence[WorkflowActivationJob], now: int
) -> WorkflowActivation:
    """Build one like another, which has no jobs, with these, at a time in nanoseconds."""
    part = WorkflowActivation()
    part.CopyFrom(bare)
    part.jobs.extend(jobs)
    part.timestamp.FromNanoseconds(now)
    return part


def _build_refusals(jobs: Iterable[WorkflowActivationJob]) -> WorkflowActivationCompletion:
    refused = WorkflowActivationCompletion()
    refused.successful.SetInParent()
    for job in jobs:
        response = refused.successful.commands.add().update_response
        response.protocol_instance_id = job.do_update.protocol_instance_id
        response.rejected.message = UPDATE_REFUSAL
        response.rejected.application_failure_info.type = "Busy"
    return refused


RUNNER = OrderedRunner(UnsandboxedWorkflowRunner())
"""
No sandbox: it looks for non-determinism while runs work, at a quarter of the worker's CPU.

The figures are in docs/performance.md. The linter bans clocks, chance and I/O in this code,
imports are checked, and the tests replay in the sandbox.
"""


def build_runner(converter: DataConverter) -> WorkflowRunner:
    """Return what runs workflows, without a sandbox either, for a client with this converter."""
    contexts = (
        WorkflowSerializationContext(namespace="", workflow_id=""),
        ActivitySerializationContext(
            namespace="",
            workflow_id="",
            workflow_type="",
            activity_type="",
            activity_id="",
            activity_task_queue="",
            is_local=False,
        ),
    )
    heeds_contexts = any(converter.with_context(one) is not converter for one in contexts)
    return OrderedRunner(UnsandboxedWorkflowRunner(), heeds_contexts=heeds_contexts)


bridge.decode_activation = unless_left(bridge.decode_activation)
bridge.encode_completion = unless_left(bridge.encode_completion)


SHUTDOWN_TIMEOUT = timedelta(seconds=25)
"""Until a worker that was told to stop has; its activities are cancelled before."""


def build_workflow_threads() -> ThreadPoolExecutor:
    """
    Build the threads in which workflow code runs.

    They are few: a hundred that build runs anew at once, as the library has them, take the
    interpreter from the loop until no activity can say any more that it is alive.
    """
    return ThreadPoolExecutor(4, thread_name_prefix="workflow")


class _LeftThreads(ThreadPoolExecutor):
    """Threads that nobody waits for: what an app's own code does in one may never end."""

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002 -- as the library has it
        del wait
        super().shutdown(wait=False, cancel_futures=cancel_futures)


def leave_threads(loop: asyncio.AbstractEventLoop) -> None:
    """Have a loop end whatever hangs in its threads: Python waits for these for ever."""
    loop.set_default_executor(_LeftThreads(thread_name_prefix="asyncio"))


def disable_deadlock_detection(worker: Worker) -> Worker:
    """
    Let workflow code that is ours alone think to its end: its slowness is no deadlock.

    The SDK (1.35) fails a workflow task, or a query, whose code hasn't yielded within two seconds.
    On a busy machine that says nothing: a thread may wait for its turn as long, and ten thousand
    messages take longer. Nor does the SDK wait for that thread before it evicts the run in
    another, which leaves asyncio tasks behind that never end; then this worker never takes up the
    run again. The public way around it, `debug_mode`, runs workflows in the loop that sends the
    heartbeats of activities. A task is still bounded by the server, a query by whoever asks.
    """
    workflows = worker._workflow_worker  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] -- no other way
    if workflows is not None:
        workflows._deadlock_timeout_seconds = None  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] -- the same
    return worker


def _bind_eviction(worker: Worker) -> None:
    """Let its workflows say that this worker must not go on with them as they are."""
    workflows = worker._workflow_worker  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] -- as above
    if workflows is None:
        return
    ours = workflows._workflow_runner  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] -- as above
    if isinstance(ours, OrderedRunner):
        evict = worker._bridge_worker.request_workflow_eviction  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] -- as above
        workflows._workflow_runner = ours.with_eviction(evict)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] -- as above


@asynccontextmanager
async def run_worker(worker: Worker) -> AsyncGenerator[None]:
    """Have a worker work while the block lasts; raises what ends it earlier."""
    async with AsyncExitStack() as stack:
        _bind_eviction(worker)
        await disable_deadlock_detection(worker).__aenter__()
        stack.push_async_exit(partial(_shut_down, worker))
        yield


async def _shut_down(
    worker: Worker,
    kind: type[BaseException] | None,
    error: BaseException | None,
    traceback: TracebackType | None,
) -> None:
    """
    Wait until a worker has ended; one that can't is left as it is.

    Who asks a worker about a run with which another has gone on can make the SDK (1.35) lose a
    workflow task, for which it then waits for ever: so would whoever stops the process.
    """
    try:
        async with asyncio.timeout(SHUTDOWN_TIMEOUT.total_seconds()):
            await worker.__aexit__(kind, error, traceback)
    except TimeoutError:
        log.warning("worker.left", queue=worker.task_queue, waited=str(SHUTDOWN_TIMEOUT))


def build_replayer(*workflows: type, inner: WorkflowRunner | None = None) -> Replayer:
    """Return what replays histories of these workflows: read as by workers, and without limit."""
    return Replayer(
        workflows=workflows,
        workflow_runner=RUNNER if inner is None else OrderedRunner(inner),
        data_converter=data_converter,
        debug_mode=True,
    )
