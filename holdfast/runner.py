"""How workflow code is run, and run again: for as long as it takes."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from functools import partial
from types import TracebackType

from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.worker import Replayer, UnsandboxedWorkflowRunner, Worker, WorkflowRunner

from holdfast.event_log import log
from holdfast.event_order import OrderedRunner

RUNNER = OrderedRunner(UnsandboxedWorkflowRunner())
"""
No sandbox: it looks for non-determinism while runs work, at a quarter of the worker's CPU.

The figures are in docs/performance.md. The linter bans clocks, chance and I/O in this code,
imports are checked, and the tests replay in the sandbox.
"""


SHUTDOWN_TIMEOUT = timedelta(seconds=25)
"""Until a worker that was told to stop has; its activities are cancelled before."""


def disable_deadlock_detection(worker: Worker) -> Worker:
    """
    Let workflow code that is ours alone think to its end: its slowness is no deadlock.

    The SDK (1.35) fails a workflow task, or a query, whose code hasn't yielded within two seconds.
    On a busy machine that says nothing: a thread may wait for its turn as long, and ten thousand
    messages take longer. Nor does the SDK wait for that thread before it evicts the run in
    another, which leaves asyncio tasks behind that never end; then this worker never takes up the
    run again. The public way around it, `debug_mode`, runs workflows in the loop that sends the
    heartbeats of activities. A task is still bounded by the server, a query by whoever asks.
    """
    workflows = worker._workflow_worker  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] -- no other way
    if workflows is not None:
        workflows._deadlock_timeout_seconds = None  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] -- the same
    return worker


@asynccontextmanager
async def run_worker(worker: Worker) -> AsyncGenerator[None]:
    """Have a worker work while the block lasts; raises what ends it earlier."""
    async with AsyncExitStack() as stack:
        await disable_deadlock_detection(worker).__aenter__()
        stack.push_async_exit(partial(_shut_down, worker))
        yield


async def _shut_down(
    worker: Worker,
    kind: type[BaseException] | None,
    error: BaseException | None,
    traceback: TracebackType | None,
) -> None:
    """
    Wait until a worker has ended; one that can't is left as it is.

    Who asks a worker about a run with which another has gone on can make the SDK (1.35) lose a
    workflow task, for which it then waits for ever: so would whoever stops the process.
    """
    try:
        async with asyncio.timeout(SHUTDOWN_TIMEOUT.total_seconds()):
            await worker.__aexit__(kind, error, traceback)
    except TimeoutError:
        log.warning("worker.left", queue=worker.task_queue, waited=str(SHUTDOWN_TIMEOUT))


def build_replayer(*workflows: type, inner: WorkflowRunner | None = None) -> Replayer:
    """Return what replays histories of these workflows, without a limit of time either."""
    return Replayer(
        workflows=workflows,
        workflow_runner=RUNNER if inner is None else OrderedRunner(inner),
        data_converter=pydantic_data_converter,
        debug_mode=True,
    )
