"""Breaking off what changes nothing, where a person has stopped the run that waits for it."""

import asyncio
from typing import TypeVar

from temporalio import workflow
from temporalio.exceptions import FailureError

from holdfast.workflows.inbound.inbox import is_behind_local_activity
from holdfast.workflows.inbound.signals import end_workflow_task
from holdfast.workflows.run_context import RunContext, is_cancellation, raise_on_cancellation

Answer = TypeVar("Answer")


async def unless_broken_off(run: RunContext, task: asyncio.Task[Answer]) -> Answer | None:
    """
    Return what a task comes to, or null where it was broken off; either way it has ended.

    Raises what the task raises, and CancelledError where the run is cancelled.
    """
    watching = asyncio.create_task(_break_off(run, task))
    try:
        return await task
    except (asyncio.CancelledError, FailureError) as error:
        raise_on_cancellation()
        if not watching.done() or is_cancellation(error):
            raise
        return None
    finally:
        watching.cancel()


async def _break_off(run: RunContext, task: asyncio.Task[Answer]) -> None:
    await workflow.wait_condition(lambda: run.state.stopping is not None)
    if is_behind_local_activity():
        # A cancellation that follows a marker in one workflow task can't always be replayed.
        await end_workflow_task(run.state.run_id)
    task.cancel()
