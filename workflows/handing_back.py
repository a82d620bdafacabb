"""
Leaving to another worker what this one has no code for: while a deployment rolls, that is usual.

An activity of its own is tried again on whatever worker takes it. What is decided within a
workflow task stays with the worker that has the run in its cache. So the run waits until some
worker says that it can go on, which has the server offer the run to all of them. Where it comes to
one without the code again, and again, this one's task is given up: nothing was decided in it.
"""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from temporalio import workflow
from temporalio.common import RawValue
from temporalio.exceptions import FailureError

from holdfast.contracts.run import FindWorker
from holdfast.workflows import failures, options
from holdfast.workflows.run_context import is_cancellation

Answer = TypeVar("Answer")


MAX_OFFERS = 10
"""So often a run is offered to all workers anew; to give up a task costs its time-out."""


class HandBack(Exception):
    """Fails the workflow task, and not the run: another worker is to take it."""


async def on_capable_worker(
    wanted: FindWorker, attempt: Callable[[], Awaitable[Answer]]
) -> Answer:
    """
    Return what a local activity comes to on a worker that has what is wanted.

    Raises the failure by which one without it hands back, where none was found in time.
    """
    offers = 0
    while True:
        try:
            return await attempt()
        except FailureError as error:
            if not failures.is_handed_back(error):
                raise
            if offers >= MAX_OFFERS:
                raise HandBack(failures.message(error)) from None
            if not await find_worker(wanted):
                raise
            offers += 1


async def find_worker(wanted: FindWorker) -> bool:
    """Wait until some worker says that it has what is wanted; false where none does in time."""
    summary = f"a worker that has {wanted}"
    try:
        # Nobody reads what it came to: anybody may have said that, or that it failed.
        await workflow.execute_activity(
            "find_worker", wanted, result_type=RawValue, **options.find_worker(summary)
        )
    except FailureError as error:
        if is_cancellation(error):
            raise
        return False
    return True
