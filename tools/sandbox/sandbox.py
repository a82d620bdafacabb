"""The sandbox of a worker: whether there is one, and running calls in it."""

import asyncio
import contextlib
import shutil
import sys
from collections.abc import AsyncGenerator, Callable, Generator, Iterable
from contextlib import AbstractContextManager, asynccontextmanager
from functools import partial
from math import ceil
from pathlib import Path
from typing import NoReturn

from pydantic_core import from_json

from holdfast.contracts.bounds import CLEARING_TIMEOUT
from holdfast.contracts.calls import SANDBOX_SPARE, ToolInvocation
from holdfast.contracts.errors import HoldfastError, NotNow, ToolCrashed, ToolDenied, ToolError
from holdfast.tools.context import Admission, Heartbeat
from holdfast.tools.egress.exchange import HttpRequest
from holdfast.tools.large_json import look_through
from holdfast.tools.limits import fail_after, time_limit
from holdfast.tools.sandbox import probe, talk
from holdfast.tools.sandbox.bounds import BOUNDS, Bounds
from holdfast.tools.sandbox.channel import Channel, close, open_pipes
from holdfast.tools.sandbox.identity import derive_uid
from holdfast.tools.sandbox.jail import Jail, find_system_folders
from holdfast.tools.sandbox.launch import RunningSandbox, launch
from holdfast.tools.sandbox.messages import Job, encode_line
from holdfast.tools.sandbox.sources import OURS, OURS_ALONE, copy_code, list_loaded_modules
from holdfast.tools.sandbox.syscalls import has_filter
from holdfast.tools.sandbox.talk import Broker
from holdfast.tools.sandbox.waits import has_none_left
from holdfast.tools.sandbox.watch import (
    DISKS,
    is_nearly_full,
    lists_children,
    look_into,
    wait_for_excess,
)
from holdfast.tools.sharing.own_paths import resolve
from holdfast.tools.sharing.room import RESULT_ROOM, NoRoom
from holdfast.tools.tool import Tool
from holdfast.tools.workspaces import Workspaces

START_TIMEOUT_SECONDS = 30.0
"""Seconds until a process is ready; it takes a third of one."""

_PAGE = "docs/sandbox.md"


class Sandbox:
    """
    Runs each call in a fresh bubblewrap, and keeps a workspace for each run below *home*.

    Of that, and of what else is *hidden*, no call sees anything. The other parameters are for
    tests.
    """

    def __init__(
        self,
        home: Path,
        bounds: Bounds = BOUNDS,
        are_waits_exhausted: Callable[[], bool] = has_none_left,
        patience: float = 10.0,
        hidden: Iterable[Path] = (),
    ) -> None:
        self._home = home.absolute()
        self._hidden = (self._home, *hidden)
        self._bounds = bounds
        self._are_waits_exhausted = are_waits_exhausted
        self._patience = patience
        self._workspaces = Workspaces(home)
        self._copies: dict[bool, asyncio.Future[Path]] = {}

    async def flaw(self) -> str | None:
        """Say in one line why there is no sandbox here; nothing when there is one that holds."""
        if (missing := _find_missing_requirement()) is not None:
            return missing
        try:
            said = await self.run(
                probe.look_around, _PROBE, lambda _: None, _refuse_egress, _admit_probe
            )
        except HoldfastError as error:
            return f"bubblewrap can't make a sandbox here: {error} ({_PAGE})"
        found = "; ".join(map(str, from_json(said)))
        return f"the sandbox that bubblewrap makes here doesn't hold: {found}" if found else None

    async def run(
        self,
        tool: Tool,
        invocation: ToolInvocation,
        heartbeat: Heartbeat,
        broker: Broker,
        admit: Admission,
    ) -> bytes:
        """
        Run a tool once and return its result as JSON. What it may ask goes through *broker*.

        Raises ToolTimeout, ToolError or ToolCrashed, NoRoom once it is done, and ToolDenied when
        it never began: *admit* is asked when the sandbox stands, which takes a while on a busy
        machine. However this ends, also by cancellation, nothing that the call started is left.
        """
        content = await self._talk(tool, invocation, heartbeat, broker, admit)
        async with fail_after(CLEARING_TIMEOUT.total_seconds(), NoRoom()):
            await RESULT_ROOM.take(invocation, len(content), is_here=True)
            await look_through(invocation.run_id, content, partial(_require_valid_result, tool))
        return content

    async def _talk(
        self,
        tool: Tool,
        invocation: ToolInvocation,
        heartbeat: Heartbeat,
        broker: Broker,
        admit: Admission,
    ) -> bytes:
        """Make a call, and return what it says that its result is."""
        denying = partial(_denying, tool, invocation)
        with denying():
            jail = await self._jail(tool, invocation)
        name, limit = tool.contract.name, invocation.limit_time(tool.contract.timeout)
        job = Job(module=tool.module, qualname=tool.qualname, invocation=invocation)
        async with (
            self._start(jail, invocation.run_id, limit, denying) as (launched, channel),
            self._watch_over(launched, jail) as watch,
        ):
            await admit()
            try:
                async with time_limit(name, limit):
                    await channel.write(encode_line(job))
                    return await talk.outcome(channel, heartbeat, broker)
            except ToolCrashed:
                if watch.done():
                    raise _describe_end(tool, watch.result()) from None
                raise

    @asynccontextmanager
    async def _start(
        self,
        jail: Jail,
        run_id: str,
        limit: float,
        denying: Callable[[], AbstractContextManager[None]],
    ) -> AsyncGenerator[tuple[RunningSandbox, Channel]]:
        """Have a sandbox while the block lasts, ready for its call."""
        with contextlib.ExitStack() as stack:
            with denying():
                ours, its = stack.enter_context(open_pipes())
                try:
                    most = ceil(SANDBOX_SPARE.total_seconds() + limit)
                    launched = launch(_bubblewrap(), jail, its, most)
                finally:
                    close(its)
            channel = Channel(ours, run_id)
            try:
                if ready := await _is_ready(channel):
                    yield launched, channel
            finally:
                # Shielded: a second cancellation must not save it.
                await asyncio.shield(asyncio.ensure_future(launched.end()))
        if not ready:
            complaint = launched.complaint.splitlines()[-1:] or ["its process didn't start"]
            raise ToolDenied(complaint[0], ("ask a person to look at the sandbox",))

    @asynccontextmanager
    async def _watch_over(
        self, launched: RunningSandbox, jail: Jail
    ) -> AsyncGenerator[asyncio.Task[str]]:
        """Kill a sandbox as soon as it uses too much, while the block lasts."""
        with look_into(launched.pid) as watched:
            watch = asyncio.create_task(
                wait_for_excess(watched, jail.workspace, jail.bounds, self._are_waits_exhausted)
            )
            watch.add_done_callback(lambda _: launched.kill())
            try:
                yield watch
            finally:
                watch.cancel()

    async def prepare(self, tools: Iterable[Tool]) -> None:
        """Copy the code of tools before it changes. Raises AppError where there is too much."""
        for tool in tools:
            await self._code(tool)

    async def _jail(self, tool: Tool, invocation: ToolInvocation) -> Jail:
        """Make ready what a sandbox needs. Nobody else waits for a disk that hangs."""
        code = await self._code(tool)
        late = ToolDenied("the disk of the workspace doesn't answer", ("ask for it again later",))
        build = partial(self._build_jail, code, invocation.first_execution_run_id)
        async with fail_after(self._patience, late):
            return await DISKS.run(invocation.run_id, build)

    def _build_jail(self, code: Path, run: str) -> Jail:
        workspace = self._workspaces.ensure(run)
        if is_nearly_full(workspace, self._bounds):
            raise ToolDenied(
                "the disk of the workspace is nearly full", ("ask a person to make room",)
            )
        hidden = tuple(map(resolve, self._hidden))
        return Jail(code, workspace, derive_uid(run), self._bounds, hidden)

    async def _code(self, tool: Tool) -> Path:
        """Return the copy of what a tool needs: ours is enough for ours."""
        is_ours = tool.module.split(".")[0] == OURS
        known = self._copies.get(is_ours)
        if known is None or (known.done() and known.exception() is not None):
            names = OURS_ALONE if is_ours else {OURS, *list_loaded_modules(find_system_folders())}
            copying = asyncio.to_thread(copy_code, names, self._home / "sandbox")
            self._copies[is_ours] = asyncio.ensure_future(copying)
        return await asyncio.shield(self._copies[is_ours])


@contextlib.contextmanager
def _denying(tool: Tool, invocation: ToolInvocation) -> Generator[None]:
    """
    Say that a call didn't begin for which the system has no room, processes or files.

    A read, or who finds out, fails: it is tried again.
    """
    try:
        yield
    except OSError as error:
        if tool.contract.allows_retries(invocation.purpose):
            raise
        why = error.strerror or type(error).__name__
        raise NotNow(f"no sandbox can be started now: {why}") from error


def _describe_end(tool: Tool, why: str) -> ToolError | ToolCrashed:
    """Build what a call that was ended comes to: only a read is known to have done nothing."""
    said = f"{tool.contract.name} was ended: {why}"
    if tool.contract.risk.changes_nothing:
        return ToolError("internal_error", said, ("do it in smaller parts",))
    return ToolCrashed("OutOfBounds", said)


async def _is_ready(channel: Channel) -> bool:
    with contextlib.suppress(TimeoutError, ToolCrashed):
        async with asyncio.timeout(START_TIMEOUT_SECONDS):
            return await talk.is_ready(channel)
    return False


def _require_valid_result(tool: Tool, content: bytes) -> None:
    """Raise ToolCrashed unless a result is what was promised; what is inside sends anything."""
    try:
        objections = tool.result_objections(from_json(content))
    except ValueError as error:
        if "recursion limit" in str(error):
            return  # nothing of it goes on, either
        objections = ("it is no JSON",)
    if objections:
        raise ToolCrashed("ResultUnfit", f"the result isn't what was promised: {objections[0]}")


def _find_missing_requirement() -> str | None:
    if sys.platform != "linux":
        return f"the sandbox needs Linux, and this is {sys.platform}"
    if not has_filter():
        return "the sandbox knows the system calls of x86-64 and ARM64 only"
    if shutil.which("bwrap") is None:
        return "bubblewrap is missing: install it (Debian: apt-get install bubblewrap)"
    if not lists_children():
        return "this kernel doesn't list child processes (CONFIG_PROC_CHILDREN)"
    return None


def _bubblewrap() -> Path:
    found = shutil.which("bwrap")
    if found is None:
        raise ToolDenied("bubblewrap is missing", ("ask a person to install bubblewrap",))
    return Path(found)


async def _refuse_egress(_: HttpRequest) -> NoReturn:
    raise ToolDenied("the probe asks nobody")


async def _admit_probe() -> None: ...


_PROBE = ToolInvocation(
    run_id="probe",
    first_execution_run_id="probe",
    execution="probe",
    call_id="probe",
    agent="",
    tenant="",
    actor="",
    arguments={},
)
