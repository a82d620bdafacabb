"""A run that the server took, and that nobody can read: a text in it is labelled as a time."""

from uuid import uuid4

from temporalio.api.common.v1 import Payload, SearchAttributes, WorkflowType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import StartWorkflowExecutionRequest
from temporalio.client import Client

_FALSE = Payload(metadata={"encoding": b"json/plain", "type": b"Datetime"}, data=b'"x"')


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
