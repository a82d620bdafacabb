"""A small net: names, public addresses, and local servers that stand behind them."""

import asyncio
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpcore

from holdfast.tools.egress.client import Egress, Timeouts, build_ssl_context
from holdfast.tools.egress.pinned import connect_address

PUBLIC = "93.184.216.34"
ELSEWHERE = "93.184.216.35"

Serve = Callable[[bytes, asyncio.StreamWriter], Awaitable[None]]

# Short, for the tests in which nobody ever answers.
BRIEF = Timeouts(total=0.5, connect=0.3)
LONG = Timeouts(total=30.0, connect=30.0)


@dataclass
class Net:
    """
    Names with their addresses, one list for each look-up, and servers behind addresses.

    It keeps what was looked up, whom was connected to, and what servers were asked.
    """

    names: dict[str, list[Sequence[str]]] = field(default_factory=dict[str, list[Sequence[str]]])
    servers: dict[tuple[str, int], int] = field(default_factory=dict[tuple[str, int], int])
    looked_up: list[str] = field(default_factory=list[str])
    connected: list[str] = field(default_factory=list[str])
    asked: list[str] = field(default_factory=list[str])

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        self.looked_up.append(host)
        answers = self.names.get(host, [[host]])
        return answers.pop(0) if len(answers) > 1 else answers[0]

    async def connect(
        self, address: str, port: int, seconds: float | None
    ) -> httpcore.AsyncNetworkStream:
        self.connected.append(address)
        if (address, port) not in self.servers:
            raise httpcore.ConnectError("All connection attempts failed")
        return await connect_address("127.0.0.1", self.servers[address, port], seconds)

    def egress(
        self, patience: Timeouts = LONG, trust: Callable[[], ssl.SSLContext] = build_ssl_context
    ) -> Egress:
        """The product's way out, in this net."""
        return Egress(self.resolve, self.connect, patience, trust)

    @asynccontextmanager
    async def serving(
        self,
        serve: Serve,
        address: str = PUBLIC,
        port: int = 80,
        secure: ssl.SSLContext | None = None,
    ) -> AsyncGenerator[None]:
        """Have a server behind an address while the block lasts."""
        serving: set[asyncio.Task[None] | None] = set()

        async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            serving.add(asyncio.current_task())
            try:
                asked = await reader.readuntil(b"\r\n\r\n")
                self.asked.append(asked.decode())
                await serve(asked, writer)
            except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                pass  # the other side, or the test, has had enough
            finally:
                writer.close()

        server = await asyncio.start_server(served, "127.0.0.1", 0, ssl=secure)
        self.servers[address, port] = server.sockets[0].getsockname()[1]
        try:
            async with server:
                yield
        finally:
            for task in filter(None, serving):
                task.cancel()
            await asyncio.gather(*filter(None, serving), return_exceptions=True)


def answering(
    status: str = "200 OK", body: bytes = b"hello", **headers: str
) -> Callable[[bytes, asyncio.StreamWriter], Awaitable[None]]:
    """A server that always says the same."""
    head = f"HTTP/1.1 {status}\r\ncontent-length: {len(body)}\r\n"
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())

    async def serve(_: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(f"{head}{lines}\r\n".encode() + body)
        await writer.drain()

    return serve


async def cut(_: bytes, writer: asyncio.StreamWriter) -> None:
    """A server that does what it is asked, and hangs up."""
    writer.close()


async def halved(_: bytes, writer: asyncio.StreamWriter) -> None:
    """A server that hangs up in the middle of its answer."""
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf")
    await writer.drain()


def redirecting(location: str, status: str = "302 Found") -> Serve:
    """A server that sends everybody elsewhere."""
    return answering(status, b"", location=location)
