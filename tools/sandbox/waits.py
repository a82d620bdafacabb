"""
What is waited for with epoll, of which the kernel gives each user so much and no more.

Where the worker isn't root its sandboxes are the same user to the kernel, whatever number they
see: when code in one has used all of it up, no worker of that user connects to anything.
"""

import errno
import os
import select
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

_PIECE, _WAIT = 65_536, b"tfd:"

COUNTERS = ThreadPoolExecutor(max_workers=1, thread_name_prefix="count-waits")
"""To count takes a moment where it is much, and is asked for when hardly anything else works."""


def has_none_left() -> bool:
    """Whether the kernel lets this user wait for nothing more."""
    event = os.eventfd(0)
    try:
        with select.epoll() as waiting:
            waiting.register(event, select.EPOLLIN)
    except OSError as error:
        return error.errno == errno.ENOSPC
    finally:
        os.close(event)
    return False


def are_more_than(most: int, first: int) -> bool:
    """Whether more is waited for by all processes of the sandbox whose first one this is."""
    count = 0
    for listed in _list_waits(Path(f"/proc/{first}", "root", "proc")):
        try:
            count += count_waits(listed, most - count)
        except FileNotFoundError:
            continue  # it has ended
        except OSError:
            return True  # the kernel has no memory for such a list
        if count > most:
            return True
    return False


def count_waits(listed: Path, most: int) -> int:
    """Count what a list names, which may have hundreds of megabytes: no more than is too much."""
    count, end = 0, b""
    with listed.open("rb", buffering=0) as file:
        while count <= most and (piece := file.read(_PIECE)):
            count += (end + piece).count(_WAIT)
            end = (end + piece)[1 - len(_WAIT) :]
    return count


def _list_waits(processes: Path) -> Iterator[Path]:
    for process in _names(processes):
        for number in _names(processes / process / "fd"):
            target = ""
            with suppress(OSError):
                target = str((processes / process / "fd" / number).readlink())
            if target == "anon_inode:[eventpoll]":
                yield processes / process / "fdinfo" / number


def _names(folder: Path) -> list[str]:
    names: list[str] = []
    with suppress(OSError):
        names = [path.name for path in folder.iterdir()]
    return [name for name in names if name.isdigit()]
