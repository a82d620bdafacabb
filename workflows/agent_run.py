"""The workflow of a run: from its goal to its result."""

from pydantic import JsonValue
from temporalio import workflow

from holdfast.contracts.errors import HoldfastError
from holdfast.contracts.run import WORKFLOW_TYPE, RunResult
from holdfast.run import turns
from holdfast.workflows.execution.handlers import RunHandlers
from holdfast.workflows.log import log_event
from holdfast.workflows.opening import open_run


@workflow.defn(name=WORKFLOW_TYPE, failure_exception_types=[HoldfastError])
class AgentRun(RunHandlers):
    """One run of one agent."""

    @workflow.run
    async def run(self, *arguments: JsonValue) -> RunResult:
        """Take steps until the run is over."""
        await open_run(self._run, arguments)
        await self._loop.run()
        result = turns.build_result(self._run.state, has_parent=_has_parent())
        reason = None if result.stop is None or result.stop.quotes else result.stop.reason
        log_event("run.ended", self._run.state, status=result.status, reason=reason)
        return result


def _has_parent() -> bool:
    """Whether another run started this one, and wants to know all that it used."""
    return workflow.info().parent is not None
