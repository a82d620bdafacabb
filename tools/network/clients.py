"""The HTTP client for all that a worker asks itself: webhooks, keys and health checks."""

import ssl
from collections.abc import AsyncIterator
from functools import cache

import httpx

from holdfast.tools.network.connections import begin_body, pace_connections
from holdfast.tools.network.pace import Pieces


@cache
def _build_ssl_context(*, trust_env: bool) -> ssl.SSLContext:
    """Verify servers by the usual authorities, which are read once: that takes 25 ms."""
    return httpx.create_ssl_context(trust_env=trust_env)


def open_client(seconds: float, *, trust_env: bool) -> httpx.AsyncClient:
    """
    Open a client that waits so many *seconds* for each thing, and follows no redirect.

    What it reads is taken in turns with everybody else. It raises httpx.HTTPError, and
    UnacceptableResponse for an answer that never begins, or that has too many pieces.
    """
    client = httpx.AsyncClient(
        timeout=seconds,
        follow_redirects=False,
        trust_env=trust_env,
        verify=_build_ssl_context(trust_env=trust_env),
        event_hooks={"response": [_pace_body]},
    )
    pace_connections((client._transport, *client._mounts.values()))  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] -- the library has no public way to a connection
    return client


async def _pace_body(response: httpx.Response) -> None:
    pieces = Pieces(begin_body(response.extensions))
    if isinstance(response.stream, httpx.AsyncByteStream):
        response.stream = _Paced(response.stream, pieces)


class _Paced(httpx.AsyncByteStream):
    """A body of which every piece is taken at its pace."""

    def __init__(self, stream: httpx.AsyncByteStream, pieces: Pieces) -> None:
        self._stream = stream
        self._pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._stream:
            await self._pieces.take(piece)
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()
