"""A time limit that says whose it was."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from contracts.errors import ToolTimeout


@asynccontextmanager
async def time_limit(name: str, seconds: float) -> AsyncGenerator[None]:
    """Cancel the block after *seconds*: ToolTimeout. A time-out of the tool's own passes."""
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            yield
    except TimeoutError:
        if not limit.expired():
            raise
        raise ToolTimeout(f"{name} was ended at its time limit of {seconds:g} s") from None
