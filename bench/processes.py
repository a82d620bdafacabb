"""The server of a measurement, and worker processes: started, read, frozen and killed."""

import asyncio
import ctypes
import os
import resource
import signal
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

from temporalio.client import Client

from bench.worker import AS_IS
from holdfast.dev_server import dev_server

_LIBC = ctypes.CDLL(None)
_NUMBERS = count(1)


class WorkerProcess:
    """One worker, alone on its task queue."""

    def __init__(self, process: Process, queue: str) -> None:
        self._process = process
        self.queue = queue

    def cpu_seconds(self) -> float:
        """
        Return the CPU time that the process has used so far: user and system, all threads.

        Its clock counts nanoseconds; the ticks of 10 ms in /proc are too coarse for short runs.
        """
        clock = ctypes.c_int()
        if error := _LIBC.clock_getcpuclockid(self._process.pid, ctypes.byref(clock)):
            raise OSError(error, "the worker's CPU clock can't be read")
        return time.clock_gettime(clock.value)

    def memory_bytes(self) -> int:
        """Return how much memory the process holds."""
        pages = Path(f"/proc/{self._process.pid}/statm").read_text(encoding="ascii").split()[1]
        return int(pages) * resource.getpagesize()

    def freeze(self) -> None:
        """Let the process take what it polled for, and do nothing with it."""
        self._process.send_signal(signal.SIGSTOP)

    async def kill(self) -> None:
        """Kill the process as `kill -9` does."""
        if self._process.returncode is None:
            self._process.kill()
            await self._process.wait()

    async def died(self) -> None:
        """Wait until the process ends by itself, which it never should."""
        code = await self._process.wait()
        raise SystemExit(f"bench: a worker ended with status {code}")


@asynccontextmanager
async def server() -> AsyncGenerator[Client]:
    """Have a server while the block lasts."""
    async with dev_server() as environment:
        yield environment.client
    # The SDK's threads let go of it a moment later; a process that ends meanwhile aborts
    # (temporalio/sdk-python issue 300).
    await asyncio.sleep(0.2)


@asynccontextmanager
async def worker_process(
    address: str,
    kind: str,
    *,
    variant: str = AS_IS,
    queue: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> AsyncGenerator[WorkerProcess]:
    """Have a worker while the block lasts, on a task queue of its own unless one is given."""
    queue = queue or f"bench-{next(_NUMBERS)}"
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bench.worker", kind),
        *("--address", address, "--queue", queue, "--variant", variant),
        stdin=PIPE,
        stdout=DEVNULL,
        env={**os.environ, **(environment or {})},  # noqa: TID251 -- to hand it on
    )
    worker = WorkerProcess(process, queue)
    try:
        yield worker
    finally:
        await worker.kill()
