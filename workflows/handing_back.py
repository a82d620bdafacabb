"""
Leaving to another worker what this one has no code for: while a deployment rolls, that is usual.

An activity of its own is tried again on whatever worker takes it. What is decided within a
workflow task stays with the worker that has the run in its cache. So the run waits until some
worker says that it can go on, and that one has the server offer the next task to all. Whoever
takes it tries; where that is again a worker without the code, it is looked for once more. No task
is failed for it: what a worker has said may be in history by then, and each replay would fail.
"""

from collections.abc import Awaitable, Callable, Generator
from datetime import timedelta
from typing import NamedTuple, TypeVar

from temporalio import workflow
from temporalio.common import RawValue
from temporalio.exceptions import FailureError

from holdfast.contracts.delegation.workers import FindWorker
from holdfast.workflows import failures, options
from holdfast.workflows.run_context import RunContext, is_cancellation

Answer = TypeVar("Answer")


class Search(NamedTuple):
    """For how long a worker is looked for: while it is wanted, and within the seconds left."""

    is_wanted: Callable[[], bool]
    seconds_left: Callable[[], float | None]


UNTIL_FOUND = Search(lambda: True, lambda: None)
"""As long as a deployment may roll: what is wanted doesn't depend on where the run stands."""


def while_under_way(run: RunContext) -> Search:
    """Look for a worker until the run is over, or its time."""
    return Search(lambda: not run.state.is_over, run.seconds_left)


async def on_capable_worker(
    wanted: FindWorker, attempt: Callable[[], Awaitable[Answer]], search: Search
) -> Answer:
    """
    Return what a local activity comes to on a worker that has what is wanted.

    Each *attempt* is begun at another time, and builds what it gives away by that. Raises the
    failure by which a worker hands back, where no other was found.
    """
    pauses = _pauses()
    while True:
        try:
            return await attempt()
        except FailureError as error:
            if not failures.is_handed_back(error):
                raise
            if pause := next(pauses):
                await workflow.sleep(pause, summary="another worker may take the run meanwhile")
            if not await find_worker(wanted, search):
                raise


async def once_there_is_room(attempt: Callable[[], Awaitable[Answer]]) -> Answer:
    """Return what a local activity comes to that is handed back for want of a place, later."""
    pause = options.INITIAL_DECISION_DELAY
    while True:
        try:
            return await attempt()
        except FailureError as error:
            if not failures.is_handed_back(error):
                raise
        await workflow.sleep(pause, summary="others of its tenant are there before it")
        pause = min(2 * pause, options.MAX_RETRY_INTERVAL)


async def find_worker(wanted: FindWorker, search: Search) -> bool:
    """Wait until some worker says that it has what is wanted; false where none does in time."""
    if not search.is_wanted():
        return False
    began, left = workflow.now(), search.seconds_left()
    bounded = left is not None and left < options.HAND_BACK_TIMEOUT.total_seconds()
    limit = timedelta(seconds=left or 0.0) if bounded else options.HAND_BACK_TIMEOUT
    # Nobody reads what it came to: anybody may have said that, or that it failed.
    looking = workflow.start_activity(
        "find_worker",
        wanted,
        result_type=RawValue,
        **options.find_worker(f"a worker that has {wanted}", limit),
    )
    await workflow.wait_condition(lambda: looking.done() or not search.is_wanted())
    if not looking.done():
        looking.cancel()
    try:
        await looking
    except FailureError as error:
        if is_cancellation(error):
            raise
        if bounded and search.is_wanted():
            # The server gives up where no other attempt fits in; the time isn't over before this.
            rest = began + limit - workflow.now()
            await workflow.sleep(options.at_least(rest), summary="what is left of its time")
        return False
    return True


def _pauses() -> Generator[timedelta]:
    """Yield how long to wait before a worker is looked for: at first not at all."""
    pause = timedelta(0)
    while True:
        yield pause
        pause = min(max(2 * pause, options.INITIAL_HAND_BACK_PAUSE), options.MAX_HAND_BACK_PAUSE)
