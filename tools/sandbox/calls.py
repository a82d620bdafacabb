"""Calls that run in the sandbox, each with nothing but what is granted to it."""

from functools import partial

from holdfast.contracts.calls import Grant, ToolInvocation
from holdfast.contracts.errors import ToolDenied
from holdfast.tools.context import Admission, Heartbeat
from holdfast.tools.egress.allowlists import matches_command, matches_host, parse_origin
from holdfast.tools.egress.client import Egress
from holdfast.tools.execution import read_arguments
from holdfast.tools.registry import is_found_in_sandbox
from holdfast.tools.sandbox.sandbox import Sandbox
from holdfast.tools.tool import Tool


class SandboxExecutor:
    """The sandbox as a place for calls; with a *flaw* there is none, and all are denied."""

    def __init__(self, sandbox: Sandbox, egress: Egress, flaw: str | None) -> None:
        self._sandbox = sandbox
        self._egress = egress
        self._flaw = flaw

    async def run(
        self, tool: Tool, invocation: ToolInvocation, heartbeat: Heartbeat, admit: Admission
    ) -> bytes:
        """Run a call as its grant says, whatever was checked before it came here."""
        if self._flaw is not None:
            raise ToolDenied(self._flaw, ("use a tool that needs no sandbox",))
        if not is_found_in_sandbox(tool):  # a rule may send any tool here
            raise ToolDenied(
                f"the sandbox lacks {tool.contract.name}: define it at the top of a module",
                ("use another tool", "ask a person to look at the app"),
            )
        if (grant := invocation.grant) is None:
            raise ToolDenied("nothing was granted to this call", ("use another tool",))
        await read_arguments(invocation, partial(_check, tool, invocation, grant))
        broker = partial(self._egress.ask, hosts=grant.hosts)
        return await self._sandbox.run(tool, invocation, heartbeat, broker, admit)


def _check(tool: Tool, invocation: ToolInvocation, grant: Grant) -> None:
    scope = tool.contract.resource_scope
    if scope.argument is None or scope.kind not in {"command", "host"}:
        return
    named = tool.values(invocation.arguments).get(scope.argument)
    if scope.kind == "command":
        listed = isinstance(named, list) and matches_command(list(map(str, named)), grant.commands)
        entries = grant.commands
    else:
        origin = parse_origin(named) if isinstance(named, str) else None
        listed = origin is not None and matches_host(origin, grant.hosts)
        entries = grant.hosts
    if not listed:
        known = ", ".join(entries) or "none"
        raise ToolDenied(
            f"{scope.argument} {str(named)[:500]!r} isn't on the list (listed: {known})",
            ("use what is listed", "ask a person to list it in the policy"),
        )
