"""Watching what no limit of the kernel counts: the memory of all processes, and the disk."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

from holdfast.tools.sandbox.bounds import Bounds

INTERVAL = 0.2
"""Seconds."""

MIN_FREE_INODES = 10_000
"""How many files the worker's disk must have room for."""


async def wait_for_excess(pid: int, workspace: Path, bounds: Bounds) -> str:
    """Return what a sandbox used too much of, as soon as it does; most never do."""
    while True:
        if memory(pid) > bounds.memory_together:
            return f"its processes hold more than {bounds.memory_together // 2**20} MB of memory"
        if is_nearly_full(workspace, bounds):
            return "the disk of the workspace is nearly full"
        await asyncio.sleep(INTERVAL)


def is_nearly_full(workspace: Path, bounds: Bounds) -> bool:
    """Whether the worker soon couldn't write either."""
    disk = os.statvfs(workspace)
    # Some file systems don't count files.
    few = disk.f_files > 0 and disk.f_favail < MIN_FREE_INODES
    return few or disk.f_bavail * disk.f_frsize < bounds.free_disk


def memory(pid: int) -> int:
    """Return the bytes that a process and all below it hold; what they share counts for each."""
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
    return sum(int(fields.get(name, "0 kB").split()[0]) for name in ("RssAnon", "RssShmem")) * 1024


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""  # it has ended
