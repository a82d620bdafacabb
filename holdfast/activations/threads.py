"""The threads in which workflow code runs: who only looks at what is over keeps nobody waiting."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar, cast

from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import DescribeWorkflowExecutionRequest
from temporalio.bridge.proto.workflow_activation import WorkflowActivation, WorkflowActivationJob
from temporalio.bridge.proto.workflow_completion import WorkflowActivationCompletion
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.service import RPCError

from holdfast.activations.looks import Looks
from holdfast.activities.runs import TOO_MANY_LOOK
from holdfast.activities.statuses import is_open

P = ParamSpec("P")
T = TypeVar("T")

_DESCRIBE_SECONDS = 0.5
"""Behind them whoever is asked about is built: what goes on waits for no server."""


class WorkflowThreads(ThreadPoolExecutor):
    """
    A few threads, and two in which executions are built anew.

    A hundred that build at once, as the library has them, take the interpreter from the loop until
    no activity can say any more that it is alive. And a query of a run that is over builds it
    anew, each time and out of its whole history, and whoever may ask may ask a hundred times at
    once. So who goes on doesn't wait behind that, and beyond some of them such a query is refused
    before it begins: they would take all places that a worker has for workflow tasks.
    """

    def __init__(self, client: Client, looks: Looks) -> None:
        super().__init__(4, thread_name_prefix="workflow")
        self._client = client
        self._builders = ThreadPoolExecutor(2, thread_name_prefix="rebuild")
        self._looks = looks
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
            self._looks.end(act.run_id)
            return super().submit(work)
        workflow_id = _find_start(act)
        if workflow_id is None:
            return self._build(work, act.run_id)
        begun = self._begin(work, workflow_id, act.run_id)
        return asyncio.run_coroutine_threadsafe(begun, asyncio.get_running_loop())

    async def _begin(self, work: Callable[[], T], workflow_id: str, execution: str) -> T:
        if await self._is_over(workflow_id, execution) and not await self._looks.begin(execution):
            self._refused.add(execution)
            return cast("T", _build_refusal())
        return await asyncio.wrap_future(self._build(work, execution))

    def _build(self, work: Callable[[], T], execution: str) -> Future[T]:
        def build() -> T:
            began = time.thread_time()
            try:
                return work()
            finally:
                self._looks.spend(execution, time.thread_time() - began)

        return self._builders.submit(build)

    async def _is_over(self, workflow_id: str, execution: str) -> bool:
        """Whether nothing is left of an execution but to be looked at: it has no other tasks."""
        request = DescribeWorkflowExecutionRequest(
            namespace=self._client.namespace,
            execution=WorkflowExecution(workflow_id=workflow_id, run_id=execution),
        )
        try:
            async with asyncio.timeout(_DESCRIBE_SECONDS):
                found = await self._client.workflow_service.describe_workflow_execution(request)
        except (RPCError, TimeoutError):
            return False
        status = found.workflow_execution_info.status
        return not is_open(WorkflowExecutionStatus(status))


def _done(result: T) -> Future[T]:
    done: Future[T] = Future()
    done.set_result(result)
    return done


def _is_left(act: WorkflowActivation) -> bool:
    return any(job.HasField("remove_from_cache") for job in act.jobs)


def _is_last(job: WorkflowActivationJob) -> bool:
    """Whether an execution is built by then: what it was built for, or that it is left."""
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
