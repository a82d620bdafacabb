"""Running a tool so that it really ends at its time limit."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Protocol, cast

from holdfast.contracts.calls import ToolInvocation
from holdfast.contracts.errors import ToolDenied
from holdfast.tools.artifacts import ArtifactStore
from holdfast.tools.context import (
    Admission,
    Heartbeat,
    KeptSource,
    SecretSource,
    ToolContext,
    refuse_kept,
)
from holdfast.tools.limits import time_limit
from holdfast.tools.process import Job, run_in_process
from holdfast.tools.tool import Tool


class Executor(Protocol):
    """Where tools run."""

    async def run(
        self, tool: Tool, invocation: ToolInvocation, heartbeat: Heartbeat, admit: Admission
    ) -> bytes:
        """
        Run a tool once and return its result as JSON.

        Raises ToolDenied where this is no place for the call, whatever *admit* raises when all is
        ready, and whatever running it raises.
        """
        ...


class WorkerExecutor:
    """
    The worker itself, and processes forked from it: no place for what needs the sandbox.

    *own* are files and folders that the worker itself goes by: no path of a call leads there.
    """

    def __init__(
        self, secret: SecretSource, artifacts: ArtifactStore, own: Sequence[Path] = ()
    ) -> None:
        self._secret = secret
        self._artifacts = artifacts
        self._own = own

    async def run(
        self, tool: Tool, invocation: ToolInvocation, heartbeat: Heartbeat, admit: Admission
    ) -> bytes:
        if invocation.grant is not None or tool.contract.needs_sandbox:
            raise ToolDenied(
                f"{tool.contract.name} runs in the sandbox only, and this is none",
                ("use a tool that needs no sandbox", "tell the user what you would have done"),
            )
        _deny_outside_workspace(tool, invocation, self._own)
        kept = partial(self._artifacts.read, invocation)
        return await execute(tool, invocation, self._secret, heartbeat, admit, kept)


def _deny_outside_workspace(tool: Tool, invocation: ToolInvocation, own: Sequence[Path]) -> None:
    """
    Raise ToolDenied where a path leads through links out of the worker's working directory.

    That is the workspace of a tool that has no sandbox around it; the policy knows words alone.
    What is the worker's *own* is outside as well, wherever it lies.
    """
    scope = tool.contract.resource_scope
    if scope.kind != "workspace" or scope.argument is None:
        return
    workspace, named = Path.cwd().resolve(), tool.values(invocation.arguments).get(scope.argument)
    place = (workspace / str(named)).resolve()
    if not place.is_relative_to(workspace):
        raise ToolDenied(
            f"{scope.argument} {str(named)[:500]!r} leads out of the workspace",
            ("use a path without links",),
        )
    own_files = {_identify(path.resolve()) for path in own}
    if not own_files.isdisjoint(map(_identify, (place, *place.parents))):
        raise ToolDenied(
            f"{scope.argument} {str(named)[:500]!r} leads to what the worker itself goes by",
            ("use another path",),
        )


def _identify(path: Path) -> tuple[int, int] | Path:
    """Return what a resolved path means, by whatever name: some file systems know no capitals."""
    try:
        found = path.stat()
    except OSError:
        return path
    return found.st_dev, found.st_ino


async def execute(
    tool: Tool,
    invocation: ToolInvocation,
    secret: SecretSource,
    heartbeat: Heartbeat,
    admit: Admission,
    kept: KeptSource = refuse_kept,
) -> bytes:
    """
    Run a tool once and return its result as JSON.

    Raises what *admit* does before it begins, ToolTimeout at the tool's time limit, ToolError when
    the tool refuses, and whatever else the tool raises. A synchronous tool runs in a process of
    its own, which is killed at the limit and on cancellation, with everything that it started.
    """
    limit = invocation.limit_time(tool.contract.timeout)
    if not tool.is_async:
        return await run_in_process(Job(tool, invocation, secret), limit, heartbeat, admit)
    context = ToolContext.of(invocation, secret, heartbeat, kept=kept)
    values = tool.bind(invocation.arguments, context)
    function = cast(Callable[..., Awaitable[object]], tool.function)  # is_async says so
    await admit()
    async with time_limit(tool.contract.name, limit):
        returned = await function(**values)
    return tool.json(returned)
