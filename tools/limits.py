"""Time limits that say whose they were."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from holdfast.contracts.errors import ToolTimeout


def time_limit(name: str, seconds: float) -> AbstractAsyncContextManager[None]:
    """Cancel the block after *seconds*: ToolTimeout. A time-out of the tool's own passes."""
    return fail_after(seconds, ToolTimeout(f"{name} was ended at its time limit of {seconds:g} s"))


@asynccontextmanager
async def fail_after(seconds: float | None, late: Exception) -> AsyncGenerator[None]:
    """Cancel the block after *seconds*, and raise *late*. A time-out of its own passes."""
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            yield
    except TimeoutError:
        if not limit.expired():
            raise
        raise late from None
