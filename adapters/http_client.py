"""
The HTTP client under each SDK, imported when one is opened: where it goes, and what it takes.

A redirect would carry the conversation to whomever a server names, so none is followed. A packed
answer may unpack to four thousand times its size: none is asked for, and none is unpacked. What
is read is metered, from the request on. A cookie of one run's answer would go out with the
requests of all others, so none is kept.
"""

import ssl
from collections.abc import AsyncIterator, Iterable
from datetime import timedelta
from functools import cache
from http.cookiejar import CookieJar, DefaultCookiePolicy

from httpx2 import (
    AsyncByteStream,
    AsyncClient,
    Response,
    Timeout,
    create_ssl_context,
)

from holdfast.adapters.meter import LARGE_VALUES, METER, Meter
from holdfast.tools.network.connections import begin_body, pace_connections
from holdfast.tools.network.pace import TURNS, Pace, UnacceptableResponse, count_line_ends

_PLAIN = "identity"

_CONNECT_SECONDS = 5.0
"""How long a connection to a provider may take to come about."""

_FLUSH_BYTES = 65_536
"""Bytes that are handed on though no line has ended."""

MAX_ERROR_BYTES = 50_000
"""Bytes of an error; an SDK reads all of it as JSON, and quotes that in a message."""

_MAX_LINES, _PART_BYTES = 50, 1_024
"""A piece of a stream with more lines is handed on in parts: one packet may have 6,000 events."""


@cache
def _build_ssl_context() -> ssl.SSLContext:
    """Verify servers by the usual authorities, which are read once: that takes 25 ms."""
    return create_ssl_context()


def open_client(kind: type[AsyncClient], idle: timedelta) -> AsyncClient:
    """
    Open a client of the *kind* that an SDK has, with its own limits.

    A server that says nothing for as long as *idle* is given up.
    """
    client = kind(
        timeout=Timeout(idle.total_seconds(), connect=_CONNECT_SECONDS),
        follow_redirects=False,
        headers={"Accept-Encoding": _PLAIN},
        verify=_build_ssl_context(),
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
        event_hooks={"response": [_prepare_response]},
    )
    pace_connections((client._transport, *client._mounts.values()))  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] -- the library has no public way to a connection
    return client


async def _prepare_response(response: Response) -> None:
    """Look at the head of an answer, before anything of its body is read."""
    pace = begin_body(response.extensions)
    packed = response.headers.pop("Content-Encoding", "").strip().lower() not in ("", _PLAIN)
    if packed and response.is_success:
        raise UnacceptableResponse("packed, which nobody asked for")
    # A server may name any codec of Python's, of which some take quadratic time.
    response.encoding = "utf-8"
    if isinstance(response.stream, AsyncByteStream):
        meter = response.extensions[METER] = Meter()
        response.stream = _Metered(response.stream, meter, pace)
        if not response.is_success:
            response.stream = _Beginning(response.stream)


class _Metered(AsyncByteStream):
    """
    A body of which every piece is metered as it comes, and handed on with the line that it ends.

    For each piece of an event an SDK may copy all that it has of it.
    """

    def __init__(self, stream: AsyncByteStream, meter: Meter, pace: Pace) -> None:
        self._stream = stream
        self._meter = meter
        self._pace = pace
        self._handed_on = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        held = bytearray()
        async for piece in self._stream:
            for part in self._divide(piece):
                self._meter.take(part)
                await self._pace.take(1 + self._count_lines(part) / 2)
                held += part
                if b"\n" in part or b"\r" in part or len(held) >= _FLUSH_BYTES:
                    await self._take_turn()
                    yield bytes(held)
                    held.clear()
        await self._take_turn()
        yield bytes(held)

    async def _take_turn(self) -> None:
        """Wait where a line ends behind which an SDK may read much in one piece, on the loop."""
        values = self._meter.total_values
        if self._meter.counts_events and (
            self._meter.is_large or values - self._handed_on > LARGE_VALUES
        ):
            self._handed_on = values
            await TURNS.take()

    def _divide(self, piece: bytes) -> Iterable[bytes]:
        """Divide a piece of many lines, so that others have their turn between them."""
        if self._count_lines(piece) <= _MAX_LINES:
            return (piece,)
        return (piece[at : at + _PART_BYTES] for at in range(0, len(piece), _PART_BYTES))

    def _count_lines(self, piece: bytes) -> int:
        """Count the lines that somebody will look at: those of a stream."""
        return count_line_ends(piece) if self._meter.counts_events else 0

    async def aclose(self) -> None:
        await self._stream.aclose()


class _Beginning(AsyncByteStream):
    """What an error begins with: what it says stands there, and its status tells the rest."""

    def __init__(self, stream: AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = MAX_ERROR_BYTES
        async for piece in self._stream:
            yield piece[:left]
            left -= len(piece)
            if left <= 0:
                break
        await TURNS.take()  # an SDK reads it in one piece, on the loop

    async def aclose(self) -> None:
        await self._stream.aclose()
