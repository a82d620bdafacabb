"""That there is something new, told to any number of tasks of a process."""

import asyncio


class News:
    """Wakes all who wait when it is told; whoever comes later waits for the next time."""

    def __init__(self) -> None:
        self._next = asyncio.Event()

    async def wait(self) -> None:
        """Wait until it is told the next time."""
        await self._next.wait()

    def tell(self) -> None:
        """Wake all who wait now."""
        told, self._next = self._next, asyncio.Event()
        told.set()
