"""A server of runs in memory: which executions there are, and who works for them."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import timedelta
from random import Random
from uuid import UUID

from temporalio.api.common.v1 import Payload
from temporalio.api.enums.v1 import RetryState
from temporalio.api.failure.v1 import Failure
from temporalio.bridge.proto.workflow_activation import (
    InitializeWorkflow,
    QueryWorkflow,
    WorkflowActivationJob,
)
from temporalio.bridge.proto.workflow_commands import (
    ContinueAsNewWorkflowExecution,
    QueryResult,
    StartChildWorkflowExecution,
    UpdateResponse,
)
from temporalio.service import RPCError, RPCStatusCode

from holdfast.contracts.run import WORKFLOW_TYPE
from tests.memory.clock import SkippingLoop
from tests.memory.execution import Closed, Execution
from tests.memory.instances import NAMESPACE, Beginning
from tests.memory.tasks import Habits, to_timestamp
from tests.memory.working import MemoryWorker

TASK_TIMEOUT = timedelta(seconds=10)


class Roster:
    """Who works for which queue, and who waits for that."""

    def __init__(self, loop: SkippingLoop) -> None:
        self._loop = loop
        self._workers: dict[str, MemoryWorker] = {}
        self._waiting: dict[str, list[Callable[[], None]]] = {}

    def find(self, queue: str) -> MemoryWorker | None:
        return self._workers.get(queue)

    def call_when_working(self, queue: str, then: Callable[[], None]) -> None:
        waiting = self._waiting.setdefault(queue, [])
        if then not in waiting:
            waiting.append(then)

    def enter(self, worker: MemoryWorker) -> None:
        """Have a worker take what waits for one."""
        self._workers[worker.queue] = worker
        for then in self._waiting.pop(worker.queue, []):
            self._loop.call_soon(then)

    def leave(self, queue: str) -> None:
        """Have nobody work for a queue any more."""
        del self._workers[queue]


class MemoryServer:
    """All executions of all runs. It lives in the loop whose clock it goes by."""

    def __init__(self, loop: SkippingLoop, habits: Habits) -> None:
        self.loop = loop
        self.workers = Roster(loop)
        self.habits = habits
        self.executions: dict[str, list[Execution]] = {}
        self._chance = Random(0)
        self._fault: asyncio.Future[None] = loop.create_future()
        loop.set_exception_handler(self._take_fault)

    def start(
        self,
        workflow_id: str,
        queue: str,
        arguments: Sequence[Payload],
        workflow_type: str = WORKFLOW_TYPE,
    ) -> Execution:
        """Start a run, or a session."""
        init = InitializeWorkflow(workflow_id=workflow_id, arguments=arguments)
        init.workflow_type = workflow_type
        init.workflow_task_timeout.FromTimedelta(TASK_TIMEOUT)
        return self._begin(init, queue, None)

    def forget(self, workflow_id: str) -> None:
        """Free all that is kept of a run."""
        for execution in self.executions.pop(workflow_id):
            execution.tasks.close()
            execution.tasks.forget()

    async def wait_closed(self, workflow_id: str) -> Closed:
        """Return how a run ended in the end; whatever goes wrong here is raised."""
        while True:
            newest = self.newest(workflow_id)
            await self._wait_end(newest)
            if newest.closed is not None and not newest.closed.is_continued:
                return newest.closed

    async def _wait_end(self, execution: Execution) -> None:
        end = asyncio.ensure_future(execution.end.wait())
        await asyncio.wait([end, self._fault], return_when=asyncio.FIRST_COMPLETED)
        end.cancel()
        self.raise_fault()

    def raise_fault(self) -> None:
        """Raise what went wrong in this loop, if anything did."""
        if self._fault.done():
            self._fault.result()

    async def query(
        self, workflow_id: str, kind: str, payloads: Sequence[Payload], run_id: str = ""
    ) -> QueryResult:
        """Ask a run something. Raises RPCError where there is none."""
        asked = QueryWorkflow(query_id="1", query_type=kind, arguments=payloads)
        known = self.executions.get(workflow_id)
        if not known:
            raise RPCError("workflow not found", RPCStatusCode.NOT_FOUND, b"")
        found = next((one for one in known if one.run_id == run_id), known[-1])
        return await found.tasks.query(asked)

    def signal(self, workflow_id: str, name: str, payloads: Sequence[Payload]) -> None:
        """Tell a run something. Raises RPCError where it has ended."""
        self._require(workflow_id).signal(name, payloads)

    async def update(
        self, workflow_id: str, name: str, payloads: Sequence[Payload]
    ) -> UpdateResponse:
        """Tell a run something, and wait for its answer. Raises RPCError where it has ended."""
        try:
            return await self._require(workflow_id).update(name, payloads)
        except asyncio.CancelledError:
            self._require(workflow_id)
            raise

    def cancel(self, workflow_id: str) -> None:
        """Ask a run to end. Raises RPCError where it has."""
        self._require(workflow_id).cancel()

    def newest(self, workflow_id: str) -> Execution:
        """Return the latest execution of a run."""
        return self.executions[workflow_id][-1]

    def open_executions(self, queue: str) -> list[Execution]:
        """Return the executions that have not ended, of the runs of a queue."""
        every = (one for known in self.executions.values() for one in known)
        return [one for one in every if one.closed is None and one.beginning.queue == queue]

    def find(self, workflow_id: str, run_id: str = "") -> Execution | None:
        known = self.executions.get(workflow_id)
        if not known or known[-1].closed or run_id not in {"", known[-1].run_id}:
            return None
        return known[-1]

    def start_child(
        self, parent: Execution, asked: StartChildWorkflowExecution
    ) -> Execution | None:
        if self.find(asked.workflow_id) is not None:
            return None
        init = InitializeWorkflow(workflow_id=asked.workflow_id, arguments=asked.input)
        limit = asked.workflow_task_timeout.ToTimedelta() or TASK_TIMEOUT
        init.workflow_task_timeout.FromTimedelta(limit)
        for name, payload in asked.memo.items():
            init.memo.fields[name].CopyFrom(payload)
        init.parent_workflow_info.namespace = NAMESPACE
        init.parent_workflow_info.workflow_id = parent.workflow_id
        init.parent_workflow_info.run_id = parent.run_id
        return self._begin(init, asked.task_queue, (parent, asked.seq))

    def continue_as_new(
        self, before: Execution, asked: ContinueAsNewWorkflowExecution
    ) -> Execution:
        init = InitializeWorkflow()
        init.CopyFrom(before.beginning.init)
        init.ClearField("arguments")
        init.arguments.extend(asked.arguments)
        init.continued_from_execution_run_id = before.run_id
        init.search_attributes.CopyFrom(before.search_attributes)
        init.memo.CopyFrom(before.memo)
        return self._begin(init, before.beginning.queue, before.parent)

    def tell_parent(self, ended: Execution, closed: Closed) -> None:
        if ended.parent is None:
            return
        parent, seq = ended.parent
        job = WorkflowActivationJob()
        told = job.resolve_child_workflow_execution
        told.seq = seq
        if closed.result is not None:
            told.result.completed.result.CopyFrom(closed.result)
        elif closed.failure is not None:
            cause, failure = closed.failure, told.result.failed.failure
            _describe_child(failure, cause, "Child Workflow execution failed", ended)
        else:
            cause = Failure(message="Workflow execution cancelled")
            cause.canceled_failure_info.SetInParent()
            failure = told.result.cancelled.failure
            _describe_child(failure, cause, "Child Workflow execution cancelled", ended)
        parent.tasks.tell(job)

    def _begin(
        self, init: InitializeWorkflow, queue: str, parent: tuple[Execution, int] | None
    ) -> Execution:
        run_id = str(UUID(int=self._chance.getrandbits(128), version=4))
        init.workflow_type = init.workflow_type or WORKFLOW_TYPE
        init.attempt = 1
        init.first_execution_run_id = init.first_execution_run_id or run_id
        init.original_execution_run_id = run_id
        init.randomness_seed = self._chance.getrandbits(63)
        beginning = Beginning(init, run_id, queue, to_timestamp(self.loop.now()))
        execution = Execution(self, beginning, parent)
        self.executions.setdefault(init.workflow_id, []).append(execution)
        return execution

    def _require(self, workflow_id: str) -> Execution:
        self.raise_fault()
        found = self.find(workflow_id)
        if found is None:
            raise RPCError("workflow execution already completed", RPCStatusCode.NOT_FOUND, b"")
        return found

    def _take_fault(self, _: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        error = context.get("exception")
        if not isinstance(error, Exception):
            error = AssertionError(str(context))
        if not self._fault.done():
            self._fault.set_exception(error)


def _describe_child(failure: Failure, cause: Failure, words: str, child: Execution) -> None:
    failure.message = words
    failure.cause.CopyFrom(cause)
    told = failure.child_workflow_execution_failure_info
    told.namespace = NAMESPACE
    told.workflow_execution.workflow_id = child.workflow_id
    told.workflow_execution.run_id = child.run_id
    told.workflow_type.name = WORKFLOW_TYPE
    told.initiated_event_id = told.started_event_id = 1
    told.retry_state = RetryState.RETRY_STATE_RETRY_POLICY_NOT_SET
