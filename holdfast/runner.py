"""How a worker runs workflow code: without a sandbox, one task at a time, to its end."""

from threading import Lock

from temporalio.bridge.proto.workflow_activation import WorkflowActivation
from temporalio.bridge.proto.workflow_completion import WorkflowActivationCompletion
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

    To its end: a workflow task that thinks for two seconds fails and is tried again, as everywhere
    in Temporal. But the SDK (1.35) then raises an error in its thread, and doesn't wait for that
    thread before it evicts the run in another. Either can leave asyncio tasks behind that never
    end, and then this worker never takes up the run again. Ten thousand messages on a busy
    processor do it. Here such a task thinks to its end, and the eviction comes after it.
    """

    def create_instance(self, det: WorkflowInstanceDetails) -> WorkflowInstance:
        """Create an instance that doesn't tell its thread, and is in one at a time."""
        instance, entered = super().create_instance(det), Lock()
        activate = instance.activate

        def alone(act: WorkflowActivation) -> WorkflowActivationCompletion:
            with entered:
                return activate(act)

        instance.activate = alone
        instance.get_thread_id = lambda: None
        return instance
