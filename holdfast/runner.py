"""How workflow code is run, and run again: for as long as it takes."""

from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.worker import Replayer, UnsandboxedWorkflowRunner, Worker, WorkflowRunner

from holdfast.event_order import OrderedRunner

RUNNER = OrderedRunner(UnsandboxedWorkflowRunner())
"""
No sandbox: it looks for non-determinism while runs work, at a quarter of the worker's CPU.

The figures are in docs/performance.md. The linter bans clocks, chance and I/O in this code,
imports are checked, and the tests replay in the sandbox.
"""


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


def build_replayer(*workflows: type, inner: WorkflowRunner | None = None) -> Replayer:
    """Return what replays histories of these workflows, without a limit of time either."""
    return Replayer(
        workflows=workflows,
        workflow_runner=RUNNER if inner is None else OrderedRunner(inner),
        data_converter=pydantic_data_converter,
        debug_mode=True,
    )
