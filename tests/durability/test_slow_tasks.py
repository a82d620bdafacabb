"""A worker without time to think: its workflow tasks fail, and are done when there is time."""

import threading

from temporalio import workflow
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowHandle
from temporalio.worker import Worker

from holdfast.runner import Runner

FAILED_TASK = EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED

told = threading.Event()
"""That the first task took too long has been seen from outside."""

thoughts: list[str] = []


@workflow.defn
class Ponders:
    """Thinks for more than the two seconds that a workflow task may think, the first time."""

    @workflow.run
    async def run(self) -> str:
        """Think to the end."""
        while not told.is_set():
            told.wait(0.01)
        thoughts.append("to the end")
        return "thought"


async def test_a_task_that_is_too_slow_is_tried_again(client: Client) -> None:
    """It isn't broken off: what that may leave behind keeps a worker waiting for ever."""
    # T-16
    async with Worker(client, task_queue="slow", workflows=[Ponders], workflow_runner=Runner()):
        handle = await client.start_workflow(Ponders.run, id="slow", task_queue="slow")
        await failed_task(handle)
        told.set()

        assert await handle.result() == "thought"
    assert thoughts == ["to the end", "to the end"]


async def failed_task(handle: WorkflowHandle[Ponders, str]) -> None:
    """Return when a task of this workflow has failed."""
    async for event in handle.fetch_history_events(wait_new_event=True):
        if event.event_type == FAILED_TASK:
            return
