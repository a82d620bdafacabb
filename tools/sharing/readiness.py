"""
Waiting for descriptors on the loop that all runs share.

The kernel lets each user wait for so much with epoll and no more, and code in a sandbox may be the
same user: until it is found and ended whoever comes has to wait, and nothing fails by it.
"""

import asyncio
import errno
from collections.abc import Callable

_PAUSE_SECONDS = 0.05

Watch = Callable[[int, Callable[[], None]], None]


async def wait_readable(descriptor: int) -> None:
    """Return when there is something to read, or nothing will ever be."""
    loop = asyncio.get_running_loop()
    await _wait(descriptor, loop.add_reader, loop.remove_reader)


async def wait_writable(descriptor: int) -> None:
    """Return when there is room for something, or nobody will ever read it."""
    loop = asyncio.get_running_loop()
    await _wait(descriptor, loop.add_writer, loop.remove_writer)


async def listen(descriptor: int, hear: Callable[[], None]) -> None:
    """Have somebody hear whenever there is something to read, from now on."""
    await _watch(descriptor, hear, asyncio.get_running_loop().add_reader)


async def _wait(descriptor: int, add: Watch, remove: Callable[[int], bool]) -> None:
    ready = asyncio.Event()
    await _watch(descriptor, ready.set, add)
    try:
        await ready.wait()
    finally:
        remove(descriptor)


async def _watch(descriptor: int, hear: Callable[[], None], add: Watch) -> None:
    while True:
        try:
            return add(descriptor, hear)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
        await asyncio.sleep(_PAUSE_SECONDS)
