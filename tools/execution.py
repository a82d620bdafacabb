"""Running a tool so that it really ends at its time limit."""

from collections.abc import Awaitable, Callable
from typing import cast

from pydantic import JsonValue

from contracts.tools import ToolInvocation
from tools.context import ToolContext
from tools.limits import time_limit
from tools.process import Job, run_in_process
from tools.tool import Tool

SecretSource = Callable[[str], str]
Heartbeat = Callable[[JsonValue], None]


async def execute(
    tool: Tool, invocation: ToolInvocation, secret: SecretSource, heartbeat: Heartbeat
) -> bytes:
    """
    Run a tool once and return its result as JSON.

    Raises ToolTimeout at the tool's time limit, ToolError when the tool refuses, and whatever
    else the tool raises. A synchronous tool runs in a process of its own, which is killed at the
    limit and on cancellation, with everything that it started.
    """
    limit = tool.contract.timeout
    if not tool.is_async:
        return await run_in_process(Job(tool, invocation, secret), limit, heartbeat)
    values = tool.bound(invocation.arguments, ToolContext.of(invocation, secret, heartbeat))
    function = cast(Callable[..., Awaitable[object]], tool.function)  # is_async says so
    async with time_limit(tool.contract.name, limit):
        returned = await function(**values)
    return tool.json(returned)
