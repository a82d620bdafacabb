"""Tools that do whatever a test wants; at the top of a module, for a sandbox to import."""

from pydantic import JsonValue

from holdfast.contracts.tools import Risk
from holdfast.tools.context import ToolContext
from holdfast.tools.tool import tool

CHANNEL = """
import fcntl, os
names = {int(name): os.readlink(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd")
         if os.path.lexists(f"/proc/self/fd/{name}")}
channel = [number for number, name in names.items() if name.startswith(("pipe:", "socket:"))
           and fcntl.fcntl(number, fcntl.F_GETFL) & (os.O_WRONLY | os.O_RDWR)]
"""
"""Finds what a process talks to the worker through."""


@tool(risk=Risk.COMPUTE_ONLY, sandboxed=True, timeout=60)
def run(code: str, ctx: ToolContext) -> JsonValue:
    """Run code in the process that serves the call, and return what it calls `result`."""
    return _executed(code, ctx)


@tool(risk=Risk.COMPUTE_ONLY, sandboxed=True, timeout=1)
def run_briefly(code: str, ctx: ToolContext) -> JsonValue:
    """Do as run does, for a second at most."""
    return _executed(code, ctx)


@tool(risk=Risk.COMPUTE_ONLY, sandboxed=True, timeout=60)
async def run_async(code: str, ctx: ToolContext) -> JsonValue:
    """Do as run does, in an event loop."""
    return _executed(code, ctx)


@tool(risk=Risk.COMPUTE_ONLY, sandboxed=True, timeout=60)
def count(code: str, ctx: ToolContext) -> int:
    """Do as run does, and promise a number."""
    _executed(code, ctx)
    return 1


@tool(risk=Risk.WRITE_INTERNAL, sandboxed=True, timeout=60)
def change(code: str, ctx: ToolContext) -> JsonValue:
    """Do as run does, and change something of others."""
    return _executed(code, ctx)


@tool(risk=Risk.PROCESS_EXECUTION, timeout=60)
def run_code(code: str, ctx: ToolContext) -> JsonValue:
    """Do as run does, as a tool that runs programs."""
    return _executed(code, ctx)


@tool(risk=Risk.WRITE_LOCAL, sandboxed=True, timeout=60)
def render(code: str, ctx: ToolContext) -> JsonValue:
    """Do as run does, as a tool that writes into the workspace."""
    return _executed(code, ctx)


def _executed(code: str, ctx: ToolContext) -> JsonValue:
    names: dict[str, object] = {"result": None, "ctx": ctx}
    exec(code, names)  # noqa: S102 -- that is what it is for
    return names["result"]  # pyright: ignore[reportReturnType] -- JSON, or the test fails
