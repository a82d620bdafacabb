"""The one dynamic activity of a worker: tools under their names, guardrails under theirs."""

from collections.abc import Sequence

from temporalio import activity
from temporalio.common import RawValue

from holdfast.activities.guardrails import GuardrailActivities
from holdfast.activities.tools import ToolActivities
from holdfast.contracts.calls import ToolResult
from holdfast.contracts.guardrails import ACTIVITY_PREFIX, GuardrailVerdicts, RunGuardrails


class NamedActivities:
    """Hands each activity to those who know its name; a worker has one dynamic activity only."""

    def __init__(self, tools: ToolActivities, guardrails: GuardrailActivities) -> None:
        self._tools = tools
        self._guardrails = guardrails

    @activity.defn(dynamic=True)
    async def run(self, payloads: Sequence[RawValue]) -> ToolResult | GuardrailVerdicts:
        """Run the tool, or the guardrails, that the activity's type names."""
        if not activity.info().activity_type.startswith(ACTIVITY_PREFIX):
            return await self._tools.run_tool(payloads)
        converter = activity.payload_converter()
        return await self._guardrails.run(
            converter.from_payload(payloads[0].payload, RunGuardrails)
        )
