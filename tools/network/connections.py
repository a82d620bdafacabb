"""
Connections on which an answer begins soon, and is taken at a pace that leaves others their turn.

Before its answer a server may say any number of times that one will come (100 Continue). The
libraries skip that without end, and each time their patience begins anew.
"""

import ssl
from collections.abc import Iterable, Mapping
from time import monotonic
from typing import Any, TypeAlias

import httpcore
import httpcore2

from holdfast.tools.network.pace import Pace, UnacceptableResponse, count_line_ends

MAX_HEAD_BYTES = 200_000
"""Bytes before an answer has begun: twice what the libraries take of headers, and one packet."""

HEAD_READ_BYTES = 1_024
"""Bytes of a head that are read between two turns of others: few heads are longer than two."""

Stream: TypeAlias = httpcore.AsyncNetworkStream | httpcore2.AsyncNetworkStream
Backend: TypeAlias = httpcore.AsyncNetworkBackend | httpcore2.AsyncNetworkBackend


class PacedStream(httpcore.AsyncNetworkStream, httpcore2.AsyncNetworkStream):
    """A connection that counts bytes and seconds from each request until its answer begins."""

    def __init__(self, stream: Stream) -> None:
        self.pace = Pace()
        self._stream = stream
        self._waits = False
        self._bytes = 0
        self._until: float | None = None

    def stop_counting(self) -> None:
        """Stop counting: the head of an answer is there."""
        self._waits = False

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 -- of the library
        if not self._waits:
            await self.pace.take(1)
            return await self._stream.read(max_bytes, timeout)
        size = min(max_bytes, HEAD_READ_BYTES)
        piece = await self._stream.read(size, self._remaining_timeout(timeout))
        self._bytes += len(piece)
        if self._bytes > MAX_HEAD_BYTES:
            raise UnacceptableResponse("an answer that never begins")
        await self.pace.take(1 + count_line_ends(piece) / 2)
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
    ) -> "PacedStream":
        return PacedStream(await self._stream.start_tls(ssl_context, server_hostname, timeout))

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


class PacedBackend(httpcore.AsyncNetworkBackend, httpcore2.AsyncNetworkBackend):
    """Connects by another network, so that each answer begins soon and is taken at its pace."""

    def __init__(self, network: Backend) -> None:
        self._network = network

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 -- of the library
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> PacedStream:
        return PacedStream(
            await self._network.connect_tcp(host, port, timeout, local_address, socket_options)
        )

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ASYNC109 -- of the library
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> PacedStream:
        return PacedStream(await self._network.connect_unix_socket(path, timeout, socket_options))

    async def sleep(self, seconds: float) -> None:
        await self._network.sleep(seconds)


def begin_body(extensions: Mapping[str, object]) -> Pace:
    """Note that a response has begun, by its *extensions*; returns the pace of its body."""
    line = extensions.get("network_stream")
    if not isinstance(line, PacedStream):
        return Pace()
    line.stop_counting()
    return line.pace


def pace_connections(ways: Iterable[object]) -> None:
    """Have all connections of a client, direct or by a proxy, be taken at their pace."""
    for way in ways:
        pool = getattr(way, "_pool", None)  # the HTTP libraries have no public way to a connection
        if isinstance(pool, httpcore.AsyncConnectionPool | httpcore2.AsyncConnectionPool):
            pool._network_backend = PacedBackend(pool._network_backend)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] -- as above
