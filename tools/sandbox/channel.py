"""
What the worker and a sandbox talk through: a pipe for each direction, and no socket.

Over a socket the process inside could send its own connections along, which whoever receives them
closes; and to close one takes as long as that process wants it to linger. Of a pipe the worker
takes bytes, a little at a time, and no more than it asks for.
"""

import contextlib
import os
from collections.abc import Generator
from contextlib import contextmanager
from typing import NamedTuple

from holdfast.tools.network.pace import Pace
from holdfast.tools.sharing.readiness import wait_readable, wait_writable

_CHUNK = 65_536


class LineTooLong(Exception):
    """More than a line may have has come without an end."""


class Ends(NamedTuple):
    """One side's ends of both pipes."""

    reading: int
    writing: int


@contextmanager
def open_pipes() -> Generator[tuple[Ends, Ends]]:
    """Have both sides' ends while the block lasts, ours first; who has started takes its own."""
    its_reading, our_writing = os.pipe()
    try:
        our_reading, its_writing = os.pipe()
    except OSError:
        close(Ends(its_reading, our_writing))
        raise
    ours = Ends(our_reading, our_writing)
    for descriptor in ours:
        os.set_blocking(descriptor, False)
    try:
        yield ours, Ends(its_reading, its_writing)
    finally:
        close(ours)


def close(ends: Ends) -> None:
    """Close both."""
    for descriptor in ends:
        os.close(descriptor)


class Channel:
    """The worker's side of a conversation with what runs for the run *run_id*."""

    def __init__(self, ends: Ends, run_id: str) -> None:
        self.run_id = run_id
        self._ends = ends
        self._pace = Pace()
        self._come = bytearray()

    async def read_line(self, limit: int) -> bytes | None:
        """Return the next line; null where nobody says more. Raises LineTooLong."""
        searched = 0
        while (end := self._come.find(b"\n", searched)) < 0:
            if (searched := len(self._come)) > limit:
                raise LineTooLong
            if not (part := await self._read()):
                return None
            self._come += part
        if end > limit:
            raise LineTooLong
        with memoryview(self._come) as come:  # or there are two copies of a result
            line = bytes(come[: end + 1])
        del self._come[: end + 1]
        return line

    async def write(self, line: bytes) -> None:
        """Say a line; whoever hears nothing any more is found out by reading."""
        writing, rest = self._ends.writing, memoryview(line)
        with contextlib.suppress(BrokenPipeError):
            while rest:
                await wait_writable(writing)
                # Who is inside may have the other end, too, and fill or empty a pipe itself.
                with contextlib.suppress(BlockingIOError):
                    rest = rest[os.write(writing, rest[:_CHUNK]) :]

    async def _read(self) -> bytes:
        while True:
            await self._pace.take(1)
            await wait_readable(self._ends.reading)
            with contextlib.suppress(BlockingIOError):
                return os.read(self._ends.reading, _CHUNK)
