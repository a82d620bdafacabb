"""What is asked of runs that are over, as the SDK's client of a server in memory."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar, cast

from pydantic import JsonValue
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.api.taskqueue.v1 import PollerInfo
from temporalio.api.workflowservice.v1 import (
    DescribeTaskQueueRequest,
    DescribeTaskQueueResponse,
    GetWorkflowExecutionHistoryRequest,
    GetWorkflowExecutionHistoryResponse,
    GetWorkflowExecutionHistoryReverseRequest,
    GetWorkflowExecutionHistoryReverseResponse,
)
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowQueryFailedError
from temporalio.converter import DataConverter
from temporalio.service import RPCError, RPCStatusCode

from holdfast.workflows.payloads import data_converter
from tests.memory.execution import Execution
from tests.memory.instances import said
from tests.memory.server import MemoryServer

Answer = TypeVar("Answer")


def build_client(server: MemoryServer) -> Client:
    """Build what asks a server in memory: as much of a client as earlier runs are asked by."""
    return cast("Client", _MemoryClient(server))


@dataclass(frozen=True)
class _Described:
    """What a server says of a run."""

    run_id: str
    status: WorkflowExecutionStatus
    workflow_type: str
    parent_id: str | None
    task_queue: str


@dataclass(frozen=True)
class _Handle:
    """A run by its id, or one of its executions."""

    server: MemoryServer
    workflow_id: str
    run_id: str

    async def describe(self) -> _Described:
        """Return what is known of the latest execution of the id."""
        found = _find(self.server, self.workflow_id, self.run_id)
        return _Described(
            run_id=found.run_id,
            status=_find_status(found),
            workflow_type=found.beginning.init.workflow_type,
            parent_id=found.parent[0].workflow_id if found.parent else None,
            task_queue=found.beginning.queue,
        )

    async def query(
        self,
        name: str,
        *arguments: JsonValue,
        result_type: type[Answer],
        rpc_timeout: timedelta,
    ) -> Answer:
        """Ask an execution something, open or over."""
        assert rpc_timeout > timedelta()
        given = await data_converter.encode(arguments) if arguments else []
        answer = await self.server.query(self.workflow_id, name, given, self.run_id)
        if answer.HasField("failed"):
            raise WorkflowQueryFailedError(answer.failed.message)
        [value] = await data_converter.decode([answer.succeeded.response], [result_type])
        assert isinstance(value, result_type)
        return value


class _MemoryClient:
    """A client of the SDK's, and its service too."""

    def __init__(self, server: MemoryServer) -> None:
        self._server = server
        self.namespace = "default"
        self.data_converter: DataConverter = data_converter
        self.workflow_service = self

    def get_workflow_handle(self, workflow_id: str, *, run_id: str = "") -> _Handle:
        """Return a run of this id, which there need not be."""
        return _Handle(self._server, workflow_id, run_id)

    async def describe_task_queue(
        self, request: DescribeTaskQueueRequest
    ) -> DescribeTaskQueueResponse:
        """Say whether a worker is there for a queue."""
        works = self._server.workers.find(request.task_queue.name) is not None
        return DescribeTaskQueueResponse(pollers=[PollerInfo()] if works else [])

    async def get_workflow_execution_history(
        self, request: GetWorkflowExecutionHistoryRequest
    ) -> GetWorkflowExecutionHistoryResponse:
        """Say how an execution began, and whether a worker took it: no more is asked for."""
        named = request.execution
        found = _find(self._server, named.workflow_id, named.run_id)
        began = HistoryEvent(event_type=EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED)
        before = found.beginning.init.continued_from_execution_run_id
        began.workflow_execution_started_event_attributes.continued_execution_run_id = before
        answer = GetWorkflowExecutionHistoryResponse()
        answer.history.events.append(began)
        if found.tasks.records:
            taken = HistoryEvent(event_type=EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED)
            answer.history.events.append(taken)
        return answer

    async def get_workflow_execution_history_reverse(
        self, request: GetWorkflowExecutionHistoryReverseRequest
    ) -> GetWorkflowExecutionHistoryReverseResponse:
        """Return the activities and parts that one asked for, the latest first, on one page."""
        named = request.execution
        found = _find(self._server, named.workflow_id, named.run_id)
        answer = GetWorkflowExecutionHistoryReverseResponse()
        answer.history.events.extend(reversed(list(_list_asked(found))))
        return answer


def _find(server: MemoryServer, workflow_id: str, run_id: str) -> Execution:
    known = server.executions.get(workflow_id, [])
    found = [one for one in known if run_id in {"", one.run_id}]
    if not found:
        raise RPCError("workflow not found", RPCStatusCode.NOT_FOUND, b"")
    return found[-1]


def _find_status(execution: Execution) -> WorkflowExecutionStatus:
    closed = execution.closed
    if closed is None:
        return WorkflowExecutionStatus.RUNNING
    if closed.is_continued:
        return WorkflowExecutionStatus.CONTINUED_AS_NEW
    if closed.result is not None:
        return WorkflowExecutionStatus.COMPLETED
    failed = closed.failure is not None
    return WorkflowExecutionStatus.FAILED if failed else WorkflowExecutionStatus.CANCELED


def _list_asked(execution: Execution) -> Iterator[HistoryEvent]:
    for command in said(execution.tasks.records):
        if command.HasField("schedule_activity"):
            event = HistoryEvent(event_type=EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED)
            told = event.activity_task_scheduled_event_attributes
            told.activity_type.name = command.schedule_activity.activity_type
            told.input.payloads.extend(command.schedule_activity.arguments)
            yield event
        elif command.HasField("start_child_workflow_execution"):
            begins = EventType.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED
            yield HistoryEvent(event_type=begins)
