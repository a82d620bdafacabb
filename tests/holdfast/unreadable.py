"""
Runs that the server took, and that nobody can read.

A text in one is labelled as a time; another has a failure of 97 causes, as deep as it is written.
"""

from uuid import uuid4

from temporalio.api.common.v1 import Payload, SearchAttributes, WorkflowType
from temporalio.api.failure.v1 import Failure
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import StartWorkflowExecutionRequest
from temporalio.client import Client

_FALSE = Payload(metadata={"encoding": b"json/plain", "type": b"Datetime"}, data=b'"x"')


_CAUSES = 97


async def start_unreadable(client: Client, name: str, kind: str = "AgentRun") -> None:
    """Start it on a queue that nobody works for."""
    await client.workflow_service.start_workflow_execution(
        StartWorkflowExecutionRequest(
            namespace=client.namespace,
            workflow_id=name,
            workflow_type=WorkflowType(name=kind),
            task_queue=TaskQueue(name=f"{name}-nobody"),
            request_id=uuid4().hex,
            search_attributes=SearchAttributes(indexed_fields={"AgentStatus": _FALSE}),
        )
    )


async def start_too_deep(client: Client, name: str, kind: str, queue: str) -> None:
    """Start what no worker of a queue can read the beginning of."""
    failure = Failure(message="no")
    for _ in range(_CAUSES):
        failure = Failure(message="no", cause=failure)
    await client.workflow_service.start_workflow_execution(
        StartWorkflowExecutionRequest(
            namespace=client.namespace,
            workflow_id=name,
            workflow_type=WorkflowType(name=kind),
            task_queue=TaskQueue(name=queue),
            request_id=uuid4().hex,
            continued_failure=failure,
        )
    )
