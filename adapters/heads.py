"""
Connections on which an answer begins soon.

Before its answer a server may say any number of times that one will come (100 Continue). The
library skips that without end, and each time its patience begins anew.
"""

import ssl
from collections.abc import Iterable
from time import monotonic
from typing import Any

from httpcore2 import SOCKET_OPTION, AsyncNetworkBackend, AsyncNetworkStream
from httpx2 import AsyncClient, AsyncHTTPTransport

from holdfast.adapters.meter import UnacceptableResponse

MAX_HEAD_BYTES = 200_000
"""Bytes before an answer has begun: twice what the library takes of headers, and one packet."""


def watch_heads(client: AsyncClient) -> None:
    """Have each connection of a client, direct or by a proxy, begin its answers soon."""
    ways = (client._transport, *client._mounts.values())  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] -- the library has no public way to a connection
    for way in ways:
        if isinstance(way, AsyncHTTPTransport):
            pool = way._pool  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] -- as above
            pool._network_backend = _HeadLimitBackend(pool._network_backend)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] -- as above


class HeadLimitStream(AsyncNetworkStream):
    """A connection that counts bytes and seconds from each request until its answer begins."""

    def __init__(self, stream: AsyncNetworkStream) -> None:
        self._stream = stream
        self._waits = False
        self._bytes = 0
        self._until: float | None = None

    def stop_counting(self) -> None:
        """Stop counting: the head of an answer is there."""
        self._waits = False

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 -- of the library
        if not self._waits:
            return await self._stream.read(max_bytes, timeout)
        piece = await self._stream.read(max_bytes, self._remaining_timeout(timeout))
        self._bytes += len(piece)
        if self._bytes > MAX_HEAD_BYTES:
            raise UnacceptableResponse("an answer that never begins")
        return piece

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109 -- of the library
        self._waits, self._bytes, self._until = True, 0, None
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 -- of the library
    ) -> AsyncNetworkStream:
        return HeadLimitStream(await self._stream.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:  # noqa: ANN401 -- as the library says it
        return self._stream.get_extra_info(info)

    def _remaining_timeout(self, timeout: float | None) -> float | None:
        """Return what is left of the patience for one read, which is for the whole head."""
        if timeout is None:
            return None
        now = monotonic()
        if self._until is None:
            self._until = now + timeout
        return max(self._until - now, 0.0)


class _HeadLimitBackend(AsyncNetworkBackend):
    """Connects by another network."""

    def __init__(self, network: AsyncNetworkBackend) -> None:
        self._network = network

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 -- of the library
        local_address: str | None = None,
        socket_options: Iterable[SOCKET_OPTION] | None = None,
    ) -> AsyncNetworkStream:
        return HeadLimitStream(
            await self._network.connect_tcp(host, port, timeout, local_address, socket_options)
        )

    async def sleep(self, seconds: float) -> None:
        await self._network.sleep(seconds)
