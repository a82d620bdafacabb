"""One dynamic activity runs every tool, so that each shows in history under its own name."""

from collections.abc import Sequence

from temporalio import activity
from temporalio.common import RawValue
from temporalio.exceptions import ApplicationError

from activities.heartbeats import heartbeating
from contracts.errors import ToolCrashed, ToolError, ToolTimeout
from contracts.tools import ToolInvocation, ToolResult
from tools.artifacts import ArtifactStore
from tools.execution import SecretSource, execute
from tools.registry import ToolRegistry
from tools.results import failure, success


class ToolActivities:
    """Runs the tools of an app."""

    def __init__(
        self, registry: ToolRegistry, secret: SecretSource, artifacts: ArtifactStore
    ) -> None:
        self._registry = registry
        self._secret = secret
        self._artifacts = artifacts

    @activity.defn(dynamic=True)
    async def run_tool(self, payloads: Sequence[RawValue]) -> ToolResult:
        """
        Run the tool whose name is the activity's type.

        What the tool refuses is a result. What it raises is a failure of the activity, which
        Temporal repeats if the tool changes nothing. A time-out is a failure that isn't repeated.
        """
        name = activity.info().activity_type
        converter = activity.payload_converter()
        invocation = converter.from_payload(payloads[0].payload, ToolInvocation)
        tool = self._registry.get(name)
        if tool is None:
            gone = ToolError("unknown_tool", f"this worker has no tool {name!r} any more")
            return failure(invocation, name, gone)
        try:
            async with heartbeating() as pulse:
                content = await execute(tool, invocation, self._secret, pulse.report)
        except ToolError as error:
            return failure(invocation, name, error)
        except ToolTimeout as error:
            raise ApplicationError(str(error), type="ToolTimeout", non_retryable=True) from None
        except ToolCrashed as crash:
            raise ApplicationError(str(crash), type=crash.kind) from None
        return success(invocation, name, content, tool.contract.max_result_chars, self._artifacts)
