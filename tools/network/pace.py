"""
How fast answers are taken on the loop that all runs of a worker share.

Work is counted in units of what a piece of a body takes the loop, some 30 microseconds; so do two
lines that somebody reads, which may be an event. Whoever reads takes units before the work.
"""

from asyncio import AbstractEventLoop, Lock, get_running_loop, sleep
from time import monotonic
from weakref import WeakKeyDictionary

PER_SECOND = 700
"""Units that each connection is given: 200 events a second, one in a packet, take 600."""

MORE_PER_SECOND = 2_000
"""Units beyond those, which all connections of a process share."""

MAX_SMALL_PIECES = 20_000
"""Pieces beyond one of 500 bytes."""

_BYTES_OF_A_PIECE = 500
_UNITS_PER_TURN = 50
_SAVED_SECONDS = 6.0
_SAVED_SECONDS_OF_ALL = 1.0


class UnacceptableResponse(ValueError):
    """What a server sends can't be taken; the message says what it is."""


class Rate:
    """So many units a second; those that nobody took are kept for some seconds."""

    def __init__(self, per_second: float, saved: float) -> None:
        self._per_second = per_second
        self._saved = saved
        self._used_until = 0.0

    def missing(self, units: float, now: float) -> float:
        """Return the seconds until so many are there."""
        return self._next(units, now) - now

    def take(self, units: float, now: float) -> None:
        """Take so many, be they there or not."""
        self._used_until = self._next(units, now)

    def _next(self, units: float, now: float) -> float:
        return max(self._used_until, now - self._saved) + units / self._per_second


OF_ALL = Rate(MORE_PER_SECOND, _SAVED_SECONDS_OF_ALL)


class Pace:
    """What a connection takes of the loop: a little at a time, and no more than its share."""

    def __init__(self) -> None:
        self._own = Rate(PER_SECOND, _SAVED_SECONDS)
        self._units = 0.0

    async def take(self, units: float) -> None:
        """Take so many units, now and then behind a turn of all others."""
        self._units += units
        if self._units < _UNITS_PER_TURN:
            return
        units, self._units = self._units, 0.0
        now = monotonic()
        rate = self._own if self._own.missing(units, now) <= 0 else OF_ALL
        wait = rate.missing(units, now)
        rate.take(units, now)
        await sleep(max(wait, 0.0))


class Turns:
    """Has those go on one by one that take long at once, each behind a turn of all others."""

    def __init__(self) -> None:
        self._locks = WeakKeyDictionary[AbstractEventLoop, Lock]()

    async def take(self) -> None:
        """Wait until nobody else is before, and then until all others had their turn."""
        async with self._locks.setdefault(get_running_loop(), Lock()):
            await sleep(0)


TURNS = Turns()
"""Those of this process: whoever answers many at the same moment keeps no worker still."""


class Pieces:
    """Counts the pieces of a body, and takes each at its pace."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._pieces = self._bytes = 0

    async def take(self, piece: bytes) -> None:
        """Take a piece. Raises UnacceptableResponse for more small ones than any answer has."""
        self._pieces += 1
        self._bytes += len(piece)
        require_ordinary_pieces(self._pieces, self._bytes)
        await self._pace.take(1)


def require_ordinary_pieces(pieces: int, total_bytes: int, events: int = 0) -> None:
    """Raise UnacceptableResponse for more than two an event, and small ones without end."""
    if pieces > MAX_SMALL_PIECES + 2 * events + total_bytes // _BYTES_OF_A_PIECE:
        raise UnacceptableResponse("in smaller pieces than any answer")


def count_line_ends(piece: bytes) -> int:
    """Count what ends a line, or a part of one: whoever reads lines looks at each."""
    return piece.count(b"\n") + piece.count(b"\r") - piece.count(b"\r\n")
