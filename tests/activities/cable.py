"""A connection to a server that a test can cut, freeze and mend."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter


class Cable:
    """Carries bytes between a client and a server, through a port of its own."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._flows = asyncio.Event()
        self._flows.set()
        self._is_cut = False
        self._ends: set[asyncio.StreamWriter] = set()

    def cut(self) -> None:
        """Break all connections, and let no new one come about."""
        self._is_cut = True
        for end in self._ends:
            end.close()

    def freeze(self) -> None:
        """Carry nothing; both ends believe that they are connected."""
        self._flows.clear()

    def mend(self) -> None:
        """Carry everything again, also what was sent meanwhile."""
        self._is_cut = False
        self._flows.set()

    async def connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry one connection until it ends."""
        if self._is_cut:
            writer.close()
            return
        far_reader, far_writer = await asyncio.open_connection(*self._target)
        self._ends |= {writer, far_writer}
        await asyncio.gather(self._carry(reader, far_writer), self._carry(far_reader, writer))

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while content := await reader.read(65536):
                await self._flows.wait()
                writer.write(content)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            self._ends.discard(writer)
            writer.close()


@asynccontextmanager
async def plugged(client: Client) -> AsyncGenerator[tuple[Cable, Client]]:
    """Give a second client of the same server, and the cable that it is connected by."""
    host, _, port = client.service_client.config.target_host.rpartition(":")
    cable = Cable(host.removeprefix("http://"), int(port))
    server = await asyncio.start_server(cable.connect, "127.0.0.1")
    address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield cable, await Client.connect(address, data_converter=pydantic_data_converter)
    finally:
        cable.mend()
        cable.cut()
        server.close()
