"""Watching what no limit of the kernel counts: memory, sockets, scratch files and the disk."""

import asyncio
import os
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from time import monotonic, thread_time
from typing import NamedTuple

from holdfast.contracts.errors import ToolDenied
from holdfast.tools.fair_threads import FairThreads, submit
from holdfast.tools.network.pace import Rate
from holdfast.tools.sandbox import waits
from holdfast.tools.sandbox.bounds import Bounds

INTERVAL = 0.2
"""Seconds."""

MIN_FREE_INODES = 10_000
"""How many files the worker's disk must have room for."""

MILLISECONDS_PER_SECOND = 100
"""That all looks together take of the loop; one at 60 processes takes two or three."""

_PATIENT_LOOKS = 5
"""That a sandbox outlives in a row while its worker can connect to nothing."""

# Each run has its turn, and whoever gives up before it keeps none.
DISKS = FairThreads(4, "sandbox-disk")

_OF_ALL = Rate(MILLISECONDS_PER_SECOND, saved=1.0)

_HELD = (b"RssAnon:", b"RssShmem:", b"VmSwap:", b"VmPTE:")

_MAX_STATUS_BYTES = 16_384

_PAGES_OF_ALL = os.sysconf("SC_PHYS_PAGES")

SCRATCH = ("/tmp", "/dev/shm")  # noqa: S108 -- inside the sandbox


class Watched(NamedTuple):
    """A sandbox seen from outside: its first process here, its open /proc and scratch folders."""

    first: int
    processes: int
    scratch: tuple[int, ...]


@contextmanager
def look_into(pid: int) -> Generator[Watched]:
    """Look into a sandbox that has started. Raises ToolDenied where this worker may not."""
    with ExitStack() as stack:
        folders: list[int] = []
        try:
            first = children(pid)[0]
            inside = Path(f"/proc/{first}", "root")
            for folder, flags in (("/proc", os.O_RDONLY), *((one, os.O_PATH) for one in SCRATCH)):
                folders.append(os.open(f"{inside}{folder}", flags | os.O_DIRECTORY))
                stack.callback(os.close, folders[-1])
        except (OSError, IndexError):
            raise ToolDenied(
                "nobody can watch over the sandbox here", ("ask a person to look at the sandbox",)
            ) from None
        processes, *scratch = folders
        yield Watched(first, processes, tuple(scratch))


async def wait_for_excess(
    watched: Watched, workspace: Path, bounds: Bounds, has_none_left: Callable[[], bool]
) -> str:
    """Return what a sandbox used too much of, as soon as it does; most never do."""
    disk = asyncio.create_task(_wait_for_full_disk(workspace, bounds))
    try:
        return await _look_around(watched, bounds, has_none_left, disk)
    finally:
        disk.cancel()


async def _wait_for_full_disk(workspace: Path, bounds: Bounds) -> None:
    """Wait beside all other looks: a disk over a network may hang."""
    look = partial(is_nearly_full, workspace, bounds)
    while True:
        if await DISKS.run(workspace.name, look):
            return
        await asyncio.sleep(INTERVAL)


async def _look_around(
    watched: Watched,
    bounds: Bounds,
    has_none_left: Callable[[], bool],
    full_disk: asyncio.Task[None],
) -> str:
    without_waits = 0
    while True:
        began = thread_time()
        if (excess := _find_excess(watched, bounds)) is not None:
            return excess
        if full_disk.done():
            full_disk.result()
            return "the disk of the workspace is nearly full"
        without_waits = without_waits + 1 if has_none_left() else 0
        if without_waits:
            count = partial(waits.are_more_than, bounds.waits, watched.first)
            with suppress(OSError):  # no thread is left to count in
                if await submit(waits.COUNTERS, count):
                    return f"it waits for more than {bounds.waits:,} files with epoll"
            # Who hides what it waits for, in messages that nobody reads, ends with all others.
            if without_waits > _PATIENT_LOOKS:
                return "nobody here can wait for anything with epoll any more"
        await asyncio.sleep(pause(thread_time() - began, monotonic()))


def pause(took: float, now: float) -> float:
    """Return the seconds until the next look: the more all of them take, the rarer they are."""
    wait = _OF_ALL.missing(1_000 * took, now)
    _OF_ALL.take(1_000 * took, now)
    return max(INTERVAL, wait)


def _find_excess(watched: Watched, bounds: Bounds) -> str | None:
    if memory(watched.processes) > bounds.memory_together:
        return f"its processes hold more than {bounds.memory_together // 2**20} MB of memory"
    for name, folder in zip(SCRATCH, watched.scratch, strict=True):
        if _count_files(folder) > bounds.scratch_files:
            return f"there are more than {bounds.scratch_files:,} files in {name}"
    sockets = _count_sockets(watched.first)
    if sockets.used > bounds.sockets:
        return f"it has more than {bounds.sockets:,} sockets"
    if sockets.tcp > bounds.tcp_sockets and sockets.tcp_memory > bounds.tcp_memory:
        return f"TCP has no memory left for more than {bounds.tcp_sockets:,} sockets of a call"
    return None


def is_nearly_full(workspace: Path, bounds: Bounds) -> bool:
    """
    Whether the worker soon couldn't write either.

    The workspace itself may be about to be another one, and is nowhere for a moment.
    """
    disk = os.statvfs(workspace.parent)
    # Some file systems don't count files.
    few = disk.f_files > 0 and disk.f_favail < MIN_FREE_INODES
    return few or disk.f_bavail * disk.f_frsize < bounds.free_disk


def memory(processes: int) -> int:
    """
    Return the bytes that all processes of an open /proc hold; what they share counts for each.

    Page tables count, too: of pages that lie far apart they are larger than the pages.
    """
    names: list[str] = []
    with suppress(OSError):  # all have ended
        names = os.listdir(processes)
    return sum(_read_memory(processes, name) for name in names if name.isdigit())


def children(pid: int) -> list[int]:
    """Return the processes that a process has started."""
    lists = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(number) for found in lists for number in _read(found).split()]


def lists_children() -> bool:
    """Whether this kernel says which processes a process has started."""
    pid = os.getpid()
    return Path(f"/proc/{pid}/task/{pid}/children").exists()


def _read_memory(processes: int, pid: str) -> int:
    said = b""
    with suppress(OSError):  # it has ended
        status = os.open(f"{pid}/status", os.O_RDONLY, dir_fd=processes)
        try:
            said = os.read(status, _MAX_STATUS_BYTES)
        finally:
            os.close(status)
    return 1024 * sum(int(line.split()[1]) for line in said.split(b"\n") if line.startswith(_HELD))


def _count_files(folder: int) -> int:
    """Count what lies in a scratch folder; its file system counts names and attributes alike."""
    found = os.statvfs(folder)
    return found.f_files - found.f_ffree


class _Sockets(NamedTuple):
    """Sockets of a network, and the share of a machine's memory that TCP holds in all networks."""

    used: int
    tcp: int
    tcp_memory: float


def _count_sockets(pid: int) -> _Sockets:
    """Count the sockets of a process's network, those that nobody has accepted included."""
    said = "".join(_read(Path(f"/proc/{pid}/net", name)) for name in ("sockstat", "sockstat6"))
    counts = {
        (kind, name): int(count)
        for kind, _, rest in (line.partition(": ") for line in said.splitlines())
        for name, count in zip(*[iter(rest.split())] * 2, strict=False)
    }
    tcp = counts.get(("TCP", "inuse"), 0) + counts.get(("TCP6", "inuse"), 0)
    pages = counts.get(("TCP", "mem"), 0)
    return _Sockets(counts.get(("sockets", "used"), 0), tcp, pages / _PAGES_OF_ALL)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""  # it has ended
