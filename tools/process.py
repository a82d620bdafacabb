"""A synchronous tool in a process of its own: the only kind of Python code that can be ended."""

import asyncio
import contextlib
import multiprocessing
import multiprocessing.connection
import os
import pickle
import signal
import socket
import struct
import sys
import threading
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from typing import NamedTuple, TypeAlias, cast

from pydantic import JsonValue

from holdfast.contracts.bounds import CLEARING_TIMEOUT, TOO_DEEP_JSON
from holdfast.contracts.calls import ToolInvocation
from holdfast.contracts.errors import ToolCrashed
from holdfast.event_log import log
from holdfast.tools.context import Admission, ToolContext
from holdfast.tools.fair_threads import FairThreads, submit
from holdfast.tools.large_json import has_readable_size
from holdfast.tools.limits import fail_after, time_limit
from holdfast.tools.sandbox.messages import ErrorReporter, Raised, Refused
from holdfast.tools.sharing.readiness import listen, wait_readable
from holdfast.tools.sharing.room import RESULT_ROOM, NoRoom
from holdfast.tools.sharing.safe_path import start_safely
from holdfast.tools.tool import Tool

# A server process with the app already imported forks a fresh child for each call in milliseconds,
# and has no threads that a fork could catch halfway.
_CONTEXT = multiprocessing.get_context("forkserver")

# Not the loop's threads: whoever else keeps these busy would keep a call from beginning until its
# time is over.
_STARTERS = ThreadPoolExecutor(max_workers=8, thread_name_prefix="start-tool")

_MAX_OUTPUT_BYTES = 131_072
"""Of one call, in the log."""

# All in a row, so that lines stay in their order.
_LOGGER = FairThreads(1, "log-output")

_LOG_PATIENCE = 2.0
"""Seconds that the end of a call waits for its lines; the others are logged behind it."""

_UNDER_WAY = set[asyncio.Task[None]]()
"""Lines that wait to be logged: the loop itself keeps no task."""

_STANDARD_STREAMS = (1, 2)
"""Output and errors, as numbers: what isn't Python writes there too."""

_BEGIN = b"!"
"""What a child hears when its call may begin."""

_LATE_SECONDS = 2.0
"""So long beyond its time a process ends by itself that its worker should have ended."""


class Job(NamedTuple):
    """What a child needs: the tool, sent as the name under which it is defined, and the call."""

    tool: Tool
    invocation: ToolInvocation
    secret: Callable[[str], str]


class _Progress(NamedTuple):
    value: JsonValue


class _Done(NamedTuple):
    """Its result has so many bytes, which come behind it."""

    size: int


_Message: TypeAlias = _Progress | _Done | Refused | Raised


def warm_up(modules: list[str]) -> None:
    """
    Start the process that all children are forked from, and have it import these once.

    And what we have imported of Holdfast: a child runs the main script again, under another name,
    and Python 3.11 leaves `__main__` out of what it preloads. A module in the place of Python's
    own that a tool wrote into the working directory is none of them.
    """
    if modules:
        ours = [name for name in sys.modules if name.startswith("holdfast.")]
        # First of all, it ends what start_safely() began.
        _CONTEXT.set_forkserver_preload([start_safely.__module__, "__main__", *ours, *modules])
        with _ignore_interrupts(), start_safely():
            forkserver.ensure_running()


@contextlib.contextmanager
def _ignore_interrupts() -> Generator[None]:
    """Have what is started in the block ignore Ctrl-C, while it still imports too: it is ours."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


async def run_in_process(
    job: Job, seconds: float, heartbeat: Callable[[JsonValue], None], admit: Admission
) -> bytes:
    """
    Run a job in a child, for at most *seconds*, once it is there and admitted.

    Raises ToolTimeout, ToolError, ToolCrashed, NoRoom once it is done, or what *admit* does.
    However this ends, also by cancellation, the child is killed with everything that it started,
    save what it moved to a session of its own.
    """
    ours, its = socket.socketpair()
    channel, sender = _Channel(ours), Connection(its.detach())
    output = _Output(job.tool.contract.name, job.invocation.run_id)
    child = _CONTEXT.Process(target=_serve, args=(sender, output.writer, job))
    starting = submit(_STARTERS, child.start)
    try:
        await asyncio.shield(starting)
        sender.close()
        await output.listen()
        await admit()
        channel.let_begin()
        async with time_limit(job.tool.contract.name, seconds):
            size = await _outcome(channel, heartbeat)
        return await _take_result(channel, job.invocation, size)
    finally:
        # Shielded: a second cancellation must not save the child.
        await asyncio.shield(asyncio.ensure_future(_end(child, starting, channel, output)))


async def _take_result(channel: "_Channel", invocation: ToolInvocation, size: int) -> bytes:
    """Take what a call returned that is done, when there is room; until then its child has it."""
    async with fail_after(CLEARING_TIMEOUT.total_seconds(), NoRoom()):
        await RESULT_ROOM.take(invocation, size, is_here=False)
        try:
            return await channel.receive()
        except ToolCrashed:
            raise NoRoom from None


async def _end(
    child: ForkServerProcess,
    starting: asyncio.Future[None],
    channel: "_Channel",
    output: "_Output",
) -> None:
    await starting
    _kill_with_children(child.pid)
    await wait_readable(child.sentinel)
    child.join()
    channel.close()
    await output.close()


class _Output:
    """
    What a tool's process writes on its standard streams: lines of the log, as a library's are.

    Whoever writes there knows of no secret and no terminal: warnings, threads that fail, programs.
    To clear their lines of secrets takes long, so it is done beside the loop.
    """

    def __init__(self, tool: str, run_id: str) -> None:
        self._reader, self.writer = _CONTEXT.Pipe(duplex=False)
        self._tool, self._run_id = tool, run_id
        self._logging: list[asyncio.Task[None]] = []
        self._begun = b""
        self._room = _MAX_OUTPUT_BYTES
        os.set_blocking(self._reader.fileno(), False)

    async def listen(self) -> None:
        """Log each line when it has ended, from now on: the process has its end of the pipe."""
        self.writer.close()
        await listen(self._reader.fileno(), self._read)

    async def close(self) -> None:
        """Log what is left, also a line that never ended; what else lives on writes to nobody."""
        self.writer.close()
        self._read()
        self._log(self._begun)
        asyncio.get_running_loop().remove_reader(self._reader.fileno())
        self._reader.close()
        if self._logging:
            await asyncio.wait(self._logging, timeout=_LOG_PATIENCE)

    def _read(self) -> None:
        try:
            piece = os.read(self._reader.fileno(), _MAX_OUTPUT_BYTES)
        except BlockingIOError:
            return
        if not piece:
            asyncio.get_running_loop().remove_reader(self._reader.fileno())
        elif self._room >= 0:
            self._take(self._begun + piece)

    def _take(self, text: bytes) -> None:
        """Log the lines that have ended; none is ever cut, or half of a secret would remain."""
        if len(text) > self._room:
            self._begun, self._room = b"", -1
            log.warning("tool.wrote_more", tool=self._tool, effect="it is left out")
            return
        lines, _, self._begun = text.rpartition(b"\n")
        self._room -= len(lines)
        self._log(lines)

    def _log(self, lines: bytes) -> None:
        if lines.strip():
            said = lines.decode(errors="replace")
            tell = partial(log.warning, "tool.wrote", tool=self._tool, stack=said)
            telling = asyncio.create_task(_LOGGER.run(self._run_id, tell))
            self._logging.append(telling)
            _UNDER_WAY.add(telling)
            telling.add_done_callback(_UNDER_WAY.discard)


class _Channel:
    """The worker's end of what a child says: none of it is waited for on the loop."""

    def __init__(self, ours: socket.socket) -> None:
        ours.settimeout(0)
        self._socket = ours
        self.close = ours.close

    def let_begin(self) -> None:
        """Let the call begin."""
        with contextlib.suppress(BrokenPipeError):  # it has died, as what it has to tell will say
            self._socket.send(_BEGIN)

    async def receive(self) -> bytes:
        """Return what comes next, as a connection frames it; raises ToolCrashed at its end."""
        (size,) = struct.unpack("!i", await self._read(4))
        return await self._read(size)

    async def _read(self, size: int) -> bytes:
        read = bytearray(size)
        rest = memoryview(read)
        while rest:
            try:
                count = self._socket.recv_into(rest)
            except BlockingIOError:
                await wait_readable(self._socket.fileno())
                continue
            except OSError:
                count = 0
            if not count:
                raise ToolCrashed("ProcessDied", "the tool's process ended without a result")
            rest = rest[count:]
            await asyncio.sleep(0)  # there may be more at once, and others have their turn
        return bytes(read)


async def _outcome(channel: _Channel, heartbeat: Callable[[JsonValue], None]) -> int:
    """Return how large the result is that comes next."""
    while True:
        message = cast(_Message, pickle.loads(await channel.receive()))  # noqa: S301 -- our own code says it
        match message:
            case _Progress(value):
                heartbeat(value)
            case _Done(size):
                return size
            case Refused():
                raise message.error()
            case Raised():
                raise ToolCrashed(message.error, message.message, message.stack)


def _kill_with_children(pid: int | None) -> None:
    if pid is None:
        return
    # The child leads a process group of its own as soon as it runs; before, it has no children.
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError):
            kill(pid, signal.SIGKILL)


class _Worker:
    """The child's end; what several threads of a tool say at once is said in turn."""

    def __init__(self, sender: Connection) -> None:
        self._sender = sender
        self._lock = threading.Lock()

    def wait_to_begin(self) -> None:
        """Return when the call may begin; raises EOFError where nobody is left to say so."""
        if os.read(self._sender.fileno(), len(_BEGIN)) != _BEGIN:
            raise EOFError

    def send(self, message: _Message, content: bytes | None = None) -> None:
        """Say something, and what belongs to it."""
        with self._lock:
            self._sender.send(message)
            if content is not None:
                self._sender.send_bytes(content)


def _serve(sender: Connection, output: Connection, job: Job) -> None:
    """Run in the child: one call, one outcome."""
    os.setpgrp()
    for stream in _STANDARD_STREAMS:
        os.dup2(output.fileno(), stream)
    output.close()
    threading.Thread(target=_die_with_parent, daemon=True).start()
    worker = _Worker(sender)
    context = ToolContext.of(
        job.invocation, job.secret, lambda value: worker.send(_Progress(value))
    )
    # What can't be told is printed nowhere either: the worker learns that there is no result.
    with contextlib.suppress(BaseException):
        worker.wait_to_begin()
        late = _end_in_time(job.invocation.limit_time(job.tool.contract.timeout))
        with ErrorReporter(worker.send):
            values = job.tool.bind(job.invocation.arguments, context)
            content = job.tool.json(job.tool.function(**values))
            content = content if has_readable_size(content) else TOO_DEEP_JSON
            late.cancel()
            _end_in_time(CLEARING_TIMEOUT.total_seconds())
            worker.send(_Done(len(content)), content)


def _end_in_time(seconds: float) -> threading.Timer:
    """
    End by itself, with all that it started, whatever becomes of who waits for it.

    A worker that stands still ends nobody at their limit, and the run believes that it did. Where
    a library keeps the interpreter, no thread has a turn: the kernel ends this process then.
    """
    late = threading.Timer(seconds + _LATE_SECONDS, os.killpg, (0, signal.SIGKILL))
    late.daemon = True
    late.start()
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds + _LATE_SECONDS + 1)
    return late


def _die_with_parent() -> None:
    """End with the worker: one that is killed can't end its children."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        multiprocessing.connection.wait([parent.sentinel])
        os.killpg(0, signal.SIGKILL)
