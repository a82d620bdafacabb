"""A time limit that says whose it was."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from contracts.errors import ToolTimeout


@asynccontextmanager
async def time_limit(name: str, seconds: float) -> AsyncIterator[None]:
    """Cancel the block after *seconds* and raise ToolTimeout; a time-out of the tool's own passes."""
    try:
        async with asyncio.timeout(seconds) as limit:
            yield
    except TimeoutError:
        if not limit.expired():
            raise
        raise ToolTimeout(f"{name} was ended at its time limit of {seconds:g} s") from None
