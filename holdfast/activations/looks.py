"""How much of a worker is for those who only look at what is over."""

import asyncio
from collections import deque
from collections.abc import Callable

MAX_AT_ONCE = 4
"""Executions that are built anew at once before the next one that is over waits."""

MAX_WAITING = 16
"""So many wait, as each keeps one of a worker's places for workflow tasks meanwhile."""

PATIENCE_SECONDS = 10.0

MAX_SECONDS = 6.0
"""
Of a processor, spent on what is over, of which half a second is forgiven in each second: behind so
many none that is over is built, until half of them are.
"""


class Looks:
    """Which executions that are over are being built anew, and whether one more may be."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._under_way: set[str] = set()
        self._room = asyncio.Semaphore(MAX_AT_ONCE)
        self._waiting = 0
        self._used = deque[float]()  # from other threads
        self._spent = 0.0
        self._counted = now()
        self._rests = False

    async def begin(self, execution: str) -> bool:
        """Whether one may be built: whoever may waits until few are, but neither long nor many."""
        if self._must_rest() or self._waiting >= MAX_WAITING:
            return False
        self._waiting += 1
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await self._room.acquire()
        except TimeoutError:
            return False
        finally:
            self._waiting -= 1
        self._under_way.add(execution)
        return True

    def spend(self, execution: str, seconds: float) -> None:
        """Count what it took to build one a bit further; of what goes on nothing counts."""
        if execution in self._under_way:
            self._used.append(seconds)

    def end(self, execution: str) -> None:
        """Give its room to the next one, if it had any."""
        if execution in self._under_way:
            self._under_way.discard(execution)
            self._room.release()

    def _must_rest(self) -> bool:
        passed = self._now() - self._counted
        self._counted += passed
        self._spent = max(self._spent - passed / 2, 0.0)
        while self._used:
            self._spent = min(self._spent + self._used.popleft(), MAX_SECONDS)
        self._rests = self._spent >= (MAX_SECONDS / 2 if self._rests else MAX_SECONDS)
        return self._rests
