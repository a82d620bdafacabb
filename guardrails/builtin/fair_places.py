"""Places for work that somebody else does: each run, or tenant, has its turn."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager


class FairPlaces:
    """
    A few places, beside which nobody works.

    Of those who wait each has its turn, however much one of them asks for.
    """

    def __init__(self, places: int) -> None:
        self._free = places
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    @asynccontextmanager
    async def take(self, owner: str) -> AsyncGenerator[None]:
        """Have a place while the block lasts."""
        if self._free:
            self._free -= 1
        else:
            await self._wait(owner)
        try:
            yield
        finally:
            self._give()

    async def _wait(self, owner: str) -> None:
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(owner, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # it was given the place, and takes it no more
                self._give()
            raise

    def _give(self) -> None:
        """Give a place to who has waited longest for a turn, or keep it free."""
        while self._waiting:
            owner = next(iter(self._waiting))
            turns = self._waiting.pop(owner)
            turn = turns.popleft()
            if turns:
                self._waiting[owner] = turns  # behind all others
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1
