"""How a worker runs workflow code: without a sandbox, and never broken off."""

from temporalio.worker import (
    UnsandboxedWorkflowRunner,
    WorkflowInstance,
    WorkflowInstanceDetails,
)


class Runner(UnsandboxedWorkflowRunner):
    """
    Runs workflow code that is ours alone, and whose slowness is no deadlock.

    No sandbox: it looks for non-determinism while runs work, at a quarter of the worker's CPU
    (docs/performance.md). The linter bans clocks, chance and I/O in this code, imports are
    checked, and the tests replay in the sandbox.

    Never broken off: a workflow task that thinks for two seconds fails and is tried again, as
    everywhere in Temporal. But the SDK also raises an error in its thread, which can leave an
    asyncio task behind that never ends, and then this worker never takes up the run again. Ten
    thousand messages on a busy processor do it. Here such a task thinks to its end.
    """

    def create_instance(self, det: WorkflowInstanceDetails) -> WorkflowInstance:
        """Create an instance that doesn't tell its thread, so that nothing is raised in it."""
        instance = super().create_instance(det)
        instance.get_thread_id = lambda: None
        return instance
