"""Connections to addresses that were checked, so that no second look-up can change them."""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Protocol

import httpcore

_ANYIO: httpcore.AsyncNetworkBackend = httpcore.AnyIOBackend()  # pyright: ignore[reportAssignmentType] -- another class only where anyio is missing, which httpx brings


class Connector(Protocol):
    """Opens a connection to an address, never to a name."""

    async def __call__(
        self, address: str, port: int, seconds: float | None
    ) -> httpcore.AsyncNetworkStream: ...


async def connect_address(
    address: str, port: int, seconds: float | None
) -> httpcore.AsyncNetworkStream:
    """Connect to an address."""
    return await _ANYIO.connect_tcp(address, port, seconds)


class PinnedBackend(httpcore.AsyncNetworkBackend):
    """
    Connects to the addresses that were checked, whatever their name means by now.

    Until it is `connected` nothing of a request can have been sent.
    """

    def __init__(self, addresses: Sequence[str], connect: Connector) -> None:
        self._addresses = addresses
        self._connect = connect
        self.connected = False

    async def connect_tcp(
        self,
        host: str,  # noqa: ARG002 -- the name is never looked up again
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 -- of the library
        local_address: str | None = None,  # noqa: ARG002 -- as above
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,  # noqa: ARG002 -- as above
    ) -> httpcore.AsyncNetworkStream:
        stream = await self._first(port, timeout)
        self.connected = True
        return stream

    async def _first(self, port: int, seconds: float | None) -> httpcore.AsyncNetworkStream:
        *others, last = self._addresses
        for address in others:
            try:
                return await self._connect(address, port, seconds)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return await self._connect(last, port, seconds)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
