"""What a worker has the code for, and the activity `find_worker` that only such a worker ends."""

from collections.abc import Set as AbstractSet
from contextlib import suppress
from typing import NamedTuple

from temporalio import activity
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import ResetStickyTaskQueueRequest
from temporalio.service import RPCError

from holdfast.activities.callers import build_hand_back, require_app, require_run_caller
from holdfast.contracts.delegation.workers import FindWorker


class Capabilities(NamedTuple):
    """The names of all that an app brings, and its own."""

    app: str
    agents: AbstractSet[str]
    tools: AbstractSet[str]
    guardrails: AbstractSet[str]


class CapabilityActivities:
    """Knows what this worker has the code for."""

    def __init__(self, here: Capabilities) -> None:
        self._here = here

    @activity.defn
    async def find_worker(self, wanted: FindWorker) -> None:
        """End on a worker that has all that is wanted; any other hands it back."""
        require_run_caller(wanted.run_id)
        here = self._here
        if wanted.app is not None:
            require_app(wanted.app, here.app)
        lacking = [] if wanted.agent in {None, *here.agents} else [f"agent {wanted.agent!r}"]
        lacking += [f"tool {name!r}" for name in wanted.tools if name not in here.tools]
        lacking += [
            f"guardrail {name!r}" for name in wanted.guardrails if name not in here.guardrails
        ]
        if lacking:
            raise build_hand_back(f"this worker has no {', '.join(lacking)}")
        await _offer_to_all()


async def _offer_to_all() -> None:
    """
    Have the server offer the run's next workflow task to all workers.

    Otherwise it would go to the one that has the run in its cache: the one that handed it back. A
    server that doesn't take this from a worker leaves the run there, where it is looked for again.
    """
    asked = activity.info()
    with suppress(RPCError, RuntimeError):
        client = activity.client()
        await client.workflow_service.reset_sticky_task_queue(
            ResetStickyTaskQueueRequest(
                namespace=client.namespace,
                execution=WorkflowExecution(
                    workflow_id=asked.workflow_id or "", run_id=asked.workflow_run_id or ""
                ),
            )
        )
