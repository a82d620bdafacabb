"""Watching what no limit of the kernel counts: memory, sockets, scratch files and the disk."""

import asyncio
import os
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from holdfast.contracts.errors import ToolDenied
from holdfast.tools.sandbox.bounds import Bounds

INTERVAL = 0.2
"""Seconds."""

MIN_FREE_INODES = 10_000
"""How many files the worker's disk must have room for."""

_HELD = ("RssAnon", "RssShmem", "VmSwap", "VmPTE")

SCRATCH = ("/tmp", "/dev/shm")  # noqa: S108 -- inside the sandbox


class Watched(NamedTuple):
    """A sandbox seen from outside: its process here, its first one, its open scratch folders."""

    pid: int
    first: int
    scratch: tuple[int, ...]


@contextmanager
def look_into(pid: int) -> Generator[Watched]:
    """Look into a sandbox that has started. Raises ToolDenied where this worker may not."""
    with ExitStack() as stack:
        folders: list[int] = []
        try:
            first = children(pid)[0]
            inside = Path(f"/proc/{first}", "root")
            for folder in SCRATCH:
                folders.append(os.open(f"{inside}{folder}", os.O_PATH))
                stack.callback(os.close, folders[-1])
        except (OSError, IndexError):
            raise ToolDenied(
                "nobody can watch over the sandbox here", ("ask a person to look at the sandbox",)
            ) from None
        yield Watched(pid, first, tuple(folders))


async def wait_for_excess(watched: Watched, workspace: Path, bounds: Bounds) -> str:
    """Return what a sandbox used too much of, as soon as it does; most never do."""
    while True:
        if (excess := _find_excess(watched, workspace, bounds)) is not None:
            return excess
        await asyncio.sleep(INTERVAL)


def _find_excess(watched: Watched, workspace: Path, bounds: Bounds) -> str | None:
    if memory(watched.pid) > bounds.memory_together:
        return f"its processes hold more than {bounds.memory_together // 2**20} MB of memory"
    for name, folder in zip(SCRATCH, watched.scratch, strict=True):
        if _count_files(folder) > bounds.scratch_files:
            return f"there are more than {bounds.scratch_files:,} files in {name}"
    if _count_sockets(watched.first) > bounds.sockets:
        return f"it has more than {bounds.sockets:,} sockets"
    if is_nearly_full(workspace, bounds):
        return "the disk of the workspace is nearly full"
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


def memory(pid: int) -> int:
    """
    Return the bytes that a process and all below it hold; what they share counts for each.

    Page tables count, too: of pages that lie far apart they are larger than the pages.
    """
    return sum(map(_read_memory, _process_tree(pid)))


def children(pid: int) -> list[int]:
    """Return the processes that a process has started."""
    lists = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(number) for found in lists for number in _read(found).split()]


def lists_children() -> bool:
    """Whether this kernel says which processes a process has started."""
    pid = os.getpid()
    return Path(f"/proc/{pid}/task/{pid}/children").exists()


def _process_tree(pid: int) -> Iterator[int]:
    waiting = [pid]
    while waiting:
        parent = waiting.pop()
        yield parent
        waiting += children(parent)


def _read_memory(pid: int) -> int:
    fields = dict(line.split(":", 1) for line in _read(Path(f"/proc/{pid}/status")).splitlines())
    return sum(int(fields.get(name, "0 kB").split()[0]) for name in _HELD) * 1024


def _count_files(folder: int) -> int:
    """Count what lies in a scratch folder; its file system counts names and attributes alike."""
    found = os.statvfs(folder)
    return found.f_files - found.f_ffree


def _count_sockets(pid: int) -> int:
    """Count the sockets of a process's network, those that nobody has accepted included."""
    said = _read(Path(f"/proc/{pid}/net/sockstat")).split(maxsplit=3)
    return int(said[2]) if said else 0


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""  # it has ended
