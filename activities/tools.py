"""One dynamic activity runs every tool, so that each shows in history under its own name."""

from collections.abc import Sequence

from temporalio import activity
from temporalio.common import RawValue

from activities.callers import check_run
from activities.discretion import Discretion
from activities.heartbeats import heartbeating
from activities.switchboard import Switchboard
from contracts.errors import HoldfastError, ToolDenied, ToolError
from contracts.tools import Risk, ToolInvocation, ToolResult
from policy.switches import refusal, switched_off
from tools.artifacts import ArtifactStore
from tools.execution import Place
from tools.redaction import Redactor
from tools.registry import ToolRegistry
from tools.results import failure, success
from tools.tool import Tool


class ToolActivities:
    """Runs the tools of an app in one place: the worker, or its sandbox."""

    def __init__(
        self,
        registry: ToolRegistry,
        place: Place,
        artifacts: ArtifactStore,
        switchboard: Switchboard,
        redactor: Redactor,
    ) -> None:
        self._registry = registry
        self._place = place
        self._artifacts = artifacts
        self._switchboard = switchboard
        self._redactor = redactor

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
        check_run(invocation.run_id)
        tool = self._registry.get(name)
        if tool is None:
            gone = ToolError("unknown_tool", f"this worker has no tool {name!r} any more")
            return failure(invocation, name, gone)
        discretion = self._discretion(tool, invocation)
        try:
            with discretion:
                async with heartbeating() as pulse:
                    if denial := await self._denial(name, invocation):
                        ours = discretion.refusal(denial, by_tool=False)
                        return failure(invocation, name, ours)
                    content = await self._place.run(
                        tool,
                        invocation,
                        lambda progress: pulse.report(discretion.report(progress)),
                    )
                    content = await discretion.cleared(content)
        except ToolError as error:
            return failure(invocation, name, discretion.refusal(error))
        return discretion.summarized(
            success(invocation, name, content, tool.contract.max_result_chars, self._artifacts)
        )

    async def _denial(self, name: str, invocation: ToolInvocation) -> ToolDenied | None:
        """
        Let nothing begin that is switched off; to find out what has happened harms nobody.

        What a tool did that has been switched off since can be taken back: its undo is a tool with
        a switch of its own. An undo that is switched off itself, or whose agent is, doesn't run.
        """
        if invocation.purpose == "reconcile":
            return None
        try:
            switches = await self._switchboard.current()
        except HoldfastError as error:
            # Nothing has begun: the model may ask again, and nobody need wonder what happened.
            return ToolDenied(str(error), ("ask for it again later", "go on without it"))
        switch = switched_off(switches, name, invocation.agent, invocation.tenant)
        if switch is None:
            return None
        return ToolDenied(
            refusal(switch), ("go on without it", "tell the user what you would have done")
        )

    def _discretion(self, tool: Tool, invocation: ToolInvocation) -> Discretion:
        name = tool.contract.name
        makes_secrets = tool.contract.risk is Risk.IDENTITY_ACCESS or (
            invocation.purpose in {"reconcile", "undo"}
            and any(
                name in {other.reconcile, other.undo} and other.risk is Risk.IDENTITY_ACCESS
                for other in self._registry.contracts()
            )
        )
        return Discretion(name, self._redactor, withholds=makes_secrets)
