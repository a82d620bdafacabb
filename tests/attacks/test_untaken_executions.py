"""A run that is ended just when it goes on in a new execution, which no worker has taken."""

import asyncio
from uuid import uuid4

from temporalio import workflow
from temporalio.client import Client
from temporalio.worker import Worker

from holdfast.activities.callers import Execution
from holdfast.activities.runs import find_taken_execution
from holdfast.runner import RUNNER


@workflow.defn
class GoesOn:
    """Goes on at once, on a queue that nobody works for."""

    @workflow.run
    async def run(self) -> None:
        """End, and begin again where no worker is."""
        workflow.continue_as_new(task_queue="nobody works here")


async def test_what_no_worker_took_is_asked_of_the_execution_before_it(client: Client) -> None:
    """It could be tried again by nobody: the one that was asked had never heard anything."""
    # NR-06
    queue = f"queue-{uuid4().hex[:8]}"
    async with Worker(client, task_queue=queue, workflows=[GoesOn], workflow_runner=RUNNER):
        started = await client.start_workflow(GoesOn.run, id=f"run-{queue}", task_queue=queue)
        latest = client.get_workflow_handle(started.id)
        while (found := await latest.describe()).run_id == started.first_execution_run_id:  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.02)
    await latest.terminate()
    first = Execution(started.id, started.first_execution_run_id or "")

    assert await find_taken_execution(client, Execution(started.id, found.run_id)) == first
    assert await find_taken_execution(client, first) == first
