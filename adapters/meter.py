"""How much of an answer a worker takes, which has to hold it all."""

from collections.abc import Callable

from pydantic import JsonValue

from holdfast.contracts.base import JsonObject
from holdfast.contracts.bounds import MAX_REPLY_BYTES
from holdfast.tools.network.pace import (
    UnacceptableResponse,
    count_line_ends,
    require_ordinary_pieces,
)

METER = "holdfast.meter"
"""Where an HTTP response has its meter, among its extensions."""

MAX_STREAM_BYTES = 100_000_000
"""Bytes; the longest replies of today take half of it."""

MAX_EVENT_BYTES = 4_000_000
"""
Bytes that may come before an event is complete, or all of an answer that isn't streamed.

The last event of some streams repeats the whole reply, and tells what it was asked with.
"""

MAX_EVENTS = 500_000
"""The longest replies of today have a third of it; each event takes a kilobyte of memory."""

MAX_VALUES = 5_000_000
"""Of JSON in all events together: the shortest one takes a hundred bytes of memory."""

MAX_OTHER_VALUES = 500_000
"""Of JSON beyond 30 of each event: some streams say each text of a reply four times."""

MAX_VALUES_PER_EVENT = 100_000
"""
Of JSON in an event, or in all of an answer: it is read in one piece, by an SDK on the loop.

They are counted by marks before them, in texts too. The longest replies of today have as many
tokens, and no more than one mark for two of them.
"""

LARGE_BYTES, LARGE_VALUES = 200_000, 2_000
"""Of an event that takes some milliseconds to read: of many at once each has a turn of its own."""

MAX_LINES_PER_EVENT = 500
"""Of one event: for each of its lines an SDK copies all that it has of it."""

MAX_SHORT_LINES = 20_000
"""Lines beyond one of ten bytes: the shortest events of a model have two of twenty."""

_BYTES_OF_A_LINE = 10

_VALUES_OF_AN_EVENT = 30

_MAX_SEPARATOR_BYTES = 4


_BEFORE_VALUES = (b"{", b"[", b",")


class Meter:
    """
    Counts what came of an answer; raises UnacceptableResponse for more than a reply has.

    `on_growth` hears of each piece how many bytes there are by now.
    """

    def __init__(self) -> None:
        self._bytes = self._unfinished = self._unfinished_values = self._pieces = 0
        self._events = self._values = self._lines = self._all_lines = 0
        self._end: bytes | None = None
        self.on_growth: Callable[[int], None] | None = None

    @property
    def total_bytes(self) -> int:
        """How many bytes came so far."""
        return self._bytes

    @property
    def total_values(self) -> int:
        """How many values of JSON came so far, in texts too; not those of JSON within a text."""
        return self._values

    @property
    def is_large(self) -> bool:
        """Whether what came of an event so far takes an SDK long to read, which is at its end."""
        return self._unfinished > LARGE_BYTES or self._unfinished_values > LARGE_VALUES

    @property
    def counts_events(self) -> bool:
        """Whether what comes is a stream, of which somebody reads each line."""
        return self._end is not None

    def take(self, piece: bytes) -> None:
        """Count a piece, before anything is made of it."""
        self._bytes += len(piece)
        self._unfinished += len(piece)
        values = sum(map(piece.count, _BEFORE_VALUES))
        self._values += values
        self._unfinished_values += values
        if (
            self._bytes > MAX_STREAM_BYTES
            or self._unfinished > MAX_EVENT_BYTES
            or self._values > min(MAX_VALUES, self._fair_values)
            or self._unfinished_values > MAX_VALUES_PER_EVENT
        ):
            raise UnacceptableResponse("larger than any reply")
        if self.on_growth is not None:
            self.on_growth(self._bytes)
        self._pieces += 1
        require_ordinary_pieces(self._pieces, self._bytes, self._events)
        if self._end is not None:
            self._all_lines += count_line_ends(piece)
            if self._all_lines > MAX_SHORT_LINES + self._bytes // _BYTES_OF_A_LINE:
                raise UnacceptableResponse("in shorter lines than any reply")
            self._take_lines(self._end + piece)

    @property
    def _fair_values(self) -> int:
        return MAX_OTHER_VALUES + _VALUES_OF_AN_EVENT * self._events

    def expect_events(self) -> None:
        """Count lines too from here on: what comes is a stream."""
        self._end = b""

    def end_event(self) -> None:
        """Count an event; bytes that never become one don't go on for ever."""
        self._unfinished = self._unfinished_values = self._lines = 0
        self._events += 1
        if self._events > MAX_EVENTS:
            raise UnacceptableResponse("longer than any reply")

    def _take_lines(self, piece: bytes) -> None:
        """Count the lines of each event in a piece, and in the end of the one before it."""
        parts = piece.replace(b"\r\n\r\n", b"\n\n").split(b"\n\n")
        first, *others = (part.count(b"\n") + part.count(b"\r") for part in parts)
        if max(self._lines + first, *others, 0) > MAX_LINES_PER_EVENT:
            raise UnacceptableResponse("an event of more lines than any has")
        self._lines = others[-1] if others else self._lines + first
        self._end = piece[1 - _MAX_SEPARATOR_BYTES :]


def check_text(text: str) -> None:
    """Raise UnacceptableResponse for JSON within JSON that is larger than any reply."""
    if len(text) > MAX_REPLY_BYTES or _count_marks(text) > MAX_VALUES_PER_EVENT:
        raise UnacceptableResponse("larger than any reply")


def check_whole(response: JsonObject) -> None:
    """
    Raise UnacceptableResponse for a response that is larger than any, put together or unescaped.

    What its texts may hold is counted too: arguments of calls are JSON once more.
    """
    chars = values = 0
    waiting: list[JsonValue] = [response]
    while waiting:
        value = waiting.pop()
        values += 1
        if isinstance(value, str):
            chars += len(value)
            values += _count_marks(value)
        elif isinstance(value, dict):
            waiting += value.keys()
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
        if chars > MAX_EVENT_BYTES or values > 2 * MAX_VALUES_PER_EVENT:
            raise UnacceptableResponse("larger than any reply")


def _count_marks(text: str) -> int:
    return sum(map(text.count, "{[,"))
