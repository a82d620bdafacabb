"""
What all replies that are under way hold of a worker's memory.

Where that is more than there is room for, the largest of them is given up: whoever fills a worker
takes the place of no small reply.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from holdfast.tools.network.pace import UnacceptableResponse

MAX_HELD_BYTES = 250_000_000
"""Of all replies together; the longest ones of today have 50 MB, most some kilobytes."""


class Room:
    """Knows what each reply holds."""

    def __init__(self) -> None:
        self._shares: dict[Share, int] = {}

    @property
    def total(self) -> int:
        """How many bytes all of them hold together."""
        return sum(self._shares.values())

    def hold(self, share: "Share", held: int) -> None:
        """Say what a reply holds by now."""
        self._shares[share] = held
        while self.total > MAX_HELD_BYTES:
            growing = [known for known in self._shares if known.grows]
            if not growing:
                return
            largest = max(growing, key=self._shares.__getitem__)
            self.release(largest)
            largest.give_up()

    def release(self, share: "Share") -> None:
        """Count a reply no more."""
        self._shares.pop(share, None)


class Share:
    """What one reply holds of the room, from its first byte until it has been read."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self._guard: asyncio.Timeout | None = None

    @property
    def grows(self) -> bool:
        """Whether it is still being received, and can be given up."""
        return self._guard is not None

    @asynccontextmanager
    async def receive(self) -> AsyncGenerator[None]:
        """Receive it. Raises UnacceptableResponse where it has to make room for others."""
        guard: asyncio.Timeout | None = None
        try:
            async with asyncio.timeout(None) as guard:
                self._guard = guard
                yield
        except TimeoutError:
            if guard is None or not guard.expired():
                raise
            raise UnacceptableResponse("larger than what a worker holds beside others") from None
        finally:
            self._guard = None

    def hold(self, held: int) -> None:
        """Say what it holds by now; what was given up holds nothing."""
        if self._guard is not None:
            self._room.hold(self, held)

    def release(self) -> None:
        """Hold nothing any more."""
        self._room.release(self)

    def give_up(self) -> None:
        """Break off what receives it."""
        if self._guard is not None:
            self._guard.reschedule(asyncio.get_running_loop().time())
            self._guard = None


ROOM = Room()
"""That of this process."""
