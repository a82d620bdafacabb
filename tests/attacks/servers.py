"""A server of one's own in a model's place: it answers as a test wants, or never ends."""

import asyncio
import traceback
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager

from holdfast.adapters.base import ProviderAdapter
from holdfast.contracts.errors import ModelError
from tests.adapters import conversations as say
from tests.adapters.dialects import Dialect
from tests.attacks.net import Serve

STREAM = "text/event-stream"
JSON = "application/json"

Reach = Callable[[str], None]
"""Point the SDKs at an address."""


@asynccontextmanager
async def serving(serve: Serve, heard: list[bytes] | None = None) -> AsyncGenerator[str]:
    """Answer every request as a server of one's own, and keep what was heard."""

    async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            if heard is not None:
                heard.append(head)
            await serve(head, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the other side has had enough
        finally:
            writer.close()

    server = await asyncio.start_server(served, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def flooding(pieces: Iterator[bytes], kind: str, status: str = "200 OK") -> Serve:
    """Send pieces for as long as anybody listens."""

    async def serve(_: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\n\r\n".encode())
        for piece in pieces:
            writer.write(piece)
            await writer.drain()

    return serve


async def failure(adapter: ProviderAdapter, dialect: Dialect) -> ModelError:
    """Ask, and return what that raises: one line, without the key."""
    error = await say.failure(adapter, dialect.samples.MODEL)
    assert len(str(error).splitlines()) == 1
    assert say.KEY not in "".join(traceback.format_exception(error))
    return error
