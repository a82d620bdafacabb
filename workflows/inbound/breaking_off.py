"""Breaking off what changes nothing, where a person has stopped the run, or can't wait."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from temporalio import workflow
from temporalio.exceptions import FailureError

from holdfast.workflows.inbound.signals import hear_what_waits
from holdfast.workflows.run_context import RunContext, is_cancellation, raise_on_cancellation

Answer = TypeVar("Answer")


async def unless_broken_off(
    run: RunContext, task: asyncio.Task[Answer], is_moot: Callable[[], bool] | None = None
) -> Answer | None:
    """
    Return what a task comes to, or null where it was broken off; either way it has ended.

    It is where it *is moot*: by itself, where the run is stopped or hurried from now on.

    Raises what the task raises, and CancelledError where the run is cancelled.
    """
    since = run.hurried
    watching = asyncio.create_task(
        _break_off(run, task, is_moot or (lambda: run.is_broken_off(since)))
    )
    try:
        return await task
    except (asyncio.CancelledError, FailureError) as error:
        raise_on_cancellation()
        if not watching.done() or is_cancellation(error):
            raise
        return None
    finally:
        watching.cancel()


async def _break_off(
    run: RunContext, task: asyncio.Task[Answer], is_moot: Callable[[], bool]
) -> None:
    await workflow.wait_condition(is_moot)
    # A cancellation that follows a marker in one workflow task can't always be replayed.
    await hear_what_waits(run.state.run_id)
    task.cancel()
