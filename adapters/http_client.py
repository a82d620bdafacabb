"""
The HTTP client under each SDK, imported when one is opened: where it goes, and what it takes.

A redirect would carry the conversation to whomever a server names, so none is followed. A packed
answer may unpack to four thousand times its size: none is asked for, and none is unpacked. What
is read is metered, from the request on. A cookie of one run's answer would go out with the
requests of all others, so none is kept.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator
from datetime import timedelta
from functools import cache
from http.cookiejar import CookieJar, DefaultCookiePolicy

from httpx2 import AsyncByteStream, AsyncClient, Response, Timeout, create_ssl_context

from holdfast.adapters.heads import HeadLimitStream, watch_heads
from holdfast.adapters.meter import METER, Meter, UnacceptableResponse

_PLAIN = "identity"

_CONNECT_SECONDS = 5.0
"""How long a connection to a provider may take to come about."""

_FLUSH_BYTES = 65_536
"""Bytes that are handed on though no line has ended."""

MAX_ERROR_BYTES = 50_000
"""Bytes of an error; an SDK reads all of it as JSON, and quotes that in a message."""

_PIECES_PER_PAUSE = 1_000
"""Pieces; they may all lie in one packet, and everybody else waits while they are taken."""

_PAUSE_SECONDS = 0.25
"""A server may send as fast as it is read: no model says 4,000 things a second."""


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
    watch_heads(client)
    return client


async def _prepare_response(response: Response) -> None:
    """Look at the head of an answer, before anything of its body is read."""
    if isinstance(line := response.extensions.get("network_stream"), HeadLimitStream):
        line.stop_counting()
    packed = response.headers.pop("Content-Encoding", "").strip().lower() not in ("", _PLAIN)
    if packed and response.is_success:
        raise UnacceptableResponse("packed, which nobody asked for")
    # A server may name any codec of Python's, of which some take quadratic time.
    response.encoding = "utf-8"
    if isinstance(response.stream, AsyncByteStream):
        meter = response.extensions[METER] = Meter()
        response.stream = _Metered(response.stream, meter)
        if not response.is_success:
            response.stream = _Beginning(response.stream)


class _Metered(AsyncByteStream):
    """
    A body of which every piece is metered as it comes, and handed on with the line that it ends.

    For each piece of an event an SDK may copy all that it has of it.
    """

    def __init__(self, stream: AsyncByteStream, meter: Meter) -> None:
        self._stream = stream
        self._meter = meter

    async def __aiter__(self) -> AsyncIterator[bytes]:
        held, pieces = bytearray(), 0
        async for piece in self._stream:
            self._meter.take(piece)
            held += piece
            if b"\n" in piece or b"\r" in piece or len(held) >= _FLUSH_BYTES:
                yield bytes(held)
                held.clear()
            pieces += 1
            if pieces % _PIECES_PER_PAUSE == 0:
                await asyncio.sleep(_PAUSE_SECONDS)
        yield bytes(held)

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
                return

    async def aclose(self) -> None:
        await self._stream.aclose()
