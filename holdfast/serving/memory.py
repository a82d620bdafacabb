"""The memory of a worker's process: cycles are sought seldom, and what is free goes back."""

import asyncio
import ctypes
import gc
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import cast

# Objects between two looks for cycles: looking after every 700, as Python does, takes half of the
# time when thousands of messages arrive in one workflow task.
GC_THRESHOLDS = (20_000, 10, 10)

LARGE_BYTES = 384 * 1024
"""
What is as large lies by itself, and goes back to the system when it is freed.

Left alone, glibc raises that bound up to 32 MB when the first such thing is freed; then states and
histories of half a megabyte lie among small things, and what they leave is used by nothing else.
Below it stays what the SDK (1.35) takes to compress each message: 372 KB, six times a step.
"""

SECONDS_BETWEEN = 10.0
"""Seconds at least; a busy session goes on in a new execution more than once meanwhile."""

MOST_OF_THE_TIME = 0.01
"""The share of its time that a worker spends on this: with thousands of runs a look takes long."""

_MMAP_THRESHOLD = -3  # in glibc's malloc.h


def settle() -> None:
    """Have this process keep what it has loaded, and little of what it has freed."""
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
    if (set_option := _find("mallopt")) is not None:
        set_option(_MMAP_THRESHOLD, LARGE_BYTES)


def give_back() -> None:
    """
    Give the system what nobody needs any more, also what is free between other things.

    An execution that is over is one cycle with the SDK's objects (1.35): its transcript stays
    until somebody looks for old cycles, and Python does so seldom.
    """
    gc.collect()
    if (trim := _find("malloc_trim")) is not None:
        trim(0)


@asynccontextmanager
async def giving_back() -> AsyncGenerator[None]:
    """Give free memory back every now and then while the block lasts."""

    async def repeat() -> None:
        pause = SECONDS_BETWEEN
        while True:
            await asyncio.sleep(pause)
            began = time.perf_counter()
            give_back()
            pause = max(SECONDS_BETWEEN, (time.perf_counter() - began) / MOST_OF_THE_TIME)

    task = asyncio.create_task(repeat())
    try:
        yield
    finally:
        task.cancel()


def _find(name: str) -> Callable[..., int] | None:
    """Return a function of the C library; null where it has no such one."""
    return cast("Callable[..., int] | None", getattr(ctypes.CDLL(None), name, None))
