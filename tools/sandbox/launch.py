"""Starting bubblewrap, and ending it with everything that ever ran in it."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from holdfast.tools.fair_threads import FairThreads
from holdfast.tools.sandbox.bounds import Bounds
from holdfast.tools.sandbox.channel import Ends
from holdfast.tools.sandbox.jail import Jail, libraries_of_python
from holdfast.tools.sandbox.syscalls import syscall_filter
from holdfast.tools.sandbox.watch import children
from holdfast.tools.sharing.readiness import wait_readable

MAX_STDERR_BYTES = 4_000
KILL_TIMEOUT_SECONDS = 10.0
"""Seconds that the kernel has to end what was killed."""

# An alarm outlives the change to another program, and nothing inside can reach it: the kernel ends
# the process outside, and with it all below, though its worker stands still. When memory runs out
# all of it goes first, and the worker stays: what says so is handed down, and can't be written
# inside, where /proc is read-only.
_END_BY_ITSELF = """
import os, signal, sys
try:
    with open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")
except OSError:  # a worker in a container whose own /proc is read-only
    pass
for number in (signal.SIGALRM, signal.SIGPIPE, signal.SIGXFSZ):
    signal.signal(number, signal.SIG_DFL)
signal.pthread_sigmask(signal.SIG_SETMASK, ())
signal.alarm(int(sys.argv[1]))
os.execve(sys.argv[2], sys.argv[2:], {})
"""

# Not the threads of the loop: who keeps those busy would keep the results of calls from runs.
_REAPERS = FairThreads(8, "end-sandbox")


class RunningSandbox:
    """A sandbox that runs. Its process ends with the worker, however that ends."""

    def __init__(self, process: subprocess.Popen[bytes], complaints: int) -> None:
        self._process = process
        self._complaints = complaints
        self.complaint = ""

    @property
    def pid(self) -> int:
        """The process outside; all others are below it."""
        return self._process.pid

    def kill(self) -> None:
        """Kill all that is in the sandbox: it ends with its first process."""
        if self._process.returncode is None:
            # That one dies with the one outside anyway, but for a moment when it is new: then it
            # is in the same group.
            for process in (*children(self.pid), -self.pid, self.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)

    async def end(self) -> None:
        """Kill it, and return when nothing of it is left."""
        self.kill()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(KILL_TIMEOUT_SECONDS):
                await self._drain_stderr()
        await _REAPERS.run("", self._process.wait)
        os.close(self._complaints)

    async def _drain_stderr(self) -> None:
        """Read what bubblewrap complained of; the end comes when all who could write are dead."""
        said = b""
        try:
            while True:
                await wait_readable(self._complaints)
                try:
                    part = os.read(self._complaints, MAX_STDERR_BYTES)
                except BlockingIOError:
                    continue
                if not part:
                    return
                said = (said + part)[:MAX_STDERR_BYTES]
        finally:
            self.complaint = said.decode(errors="replace").strip()


def launch(bubblewrap: Path, jail: Jail, channel: Ends, seconds: int) -> RunningSandbox:
    """
    Start a sandbox whose process speaks through *channel*.

    Beyond so many *seconds* it ends by itself. The thread that starts it must live as long as it:
    the kernel ends it with that thread.
    """
    setup = {
        "user": jail.user,
        "limits": _limits(jail.bounds),
        "libraries": libraries_of_python(),
    }
    complaints, writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    os.set_blocking(writer, True)
    with (
        contextlib.ExitStack() as unless_started,
        open(writer, "wb"),  # noqa: PTH123 -- a descriptor
        _descriptors(jail) as (arguments, passed),
    ):
        unless_started.callback(os.close, complaints)
        process = subprocess.Popen(
            [
                *(sys.executable, "-I", "-S", "-c", _END_BY_ITSELF, str(seconds)),
                *(str(bubblewrap), "--args", str(arguments), "--"),
                *(*jail.command(), *map(str, channel), json.dumps(setup)),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=writer,
            pass_fds=[*passed, *channel],
            # The kernel shows it to the inside, whatever bubblewrap clears.
            env={},
            cwd="/",
            start_new_session=True,
        )
        unless_started.pop_all()
    return RunningSandbox(process, complaints)


@contextmanager
def _descriptors(jail: Jail) -> Generator[tuple[int, list[int]]]:
    """Hand over by memory what isn't for the command line, where the inside could read it."""
    with contextlib.ExitStack() as stack:

        def memory(content: bytes) -> int:
            descriptor = os.memfd_create("sandbox")
            stack.callback(os.close, descriptor)
            os.write(descriptor, content)
            os.lseek(descriptor, 0, os.SEEK_SET)
            return descriptor

        files = {path: memory(content.encode()) for path, content in jail.files().items()}
        filtered = memory(syscall_filter())
        words = jail.arguments(files, filtered)
        arguments = memory("\0".join([*words, ""]).encode())
        yield arguments, [arguments, filtered, *files.values()]


def _limits(bounds: Bounds) -> dict[str, int]:
    return {
        "AS": bounds.memory,
        "NPROC": bounds.processes,
        "FSIZE": bounds.file,
        "MEMLOCK": bounds.locked,
        "NOFILE": bounds.open_files,
        "CORE": 0,
    }
