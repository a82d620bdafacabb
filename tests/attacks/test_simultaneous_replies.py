"""Servers in a model's place that end at one moment what many ask, and what takes long to read."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import partial

import pytest

from holdfast.adapters import openai_sdk
from holdfast.adapters.anthropic import AnthropicAdapter
from holdfast.adapters.base import ProviderAdapter
from holdfast.adapters.http_client import open_client
from holdfast.adapters.lazy_client import IDLE_TIMEOUT
from holdfast.adapters.meter import LARGE_VALUES
from holdfast.adapters.openai import OpenAIAdapter, connection
from holdfast.adapters.openai_chat import OpenAIChatAdapter
from holdfast.contracts.errors import ModelError
from holdfast.tools.network.pace import Turns
from tests.adapters import conversations as say
from tests.attacks.servers import JSON, STREAM, Reach, serving

pytestmark = pytest.mark.usefixtures("waits")

ASKING = 12


class Loop:
    """A loop that counts its turns, in which others could send a heartbeat."""

    def __init__(self) -> None:
        self.turns = 0
        self.noted: list[int] = []

    def note(self, _: object = None) -> None:
        """Note in which of them something was read."""
        self.noted.append(self.turns)

    @asynccontextmanager
    async def counting(self) -> AsyncGenerator[None]:
        async def others() -> None:
            while True:
                self.turns += 1
                await asyncio.sleep(0)

        waiting = asyncio.create_task(others())
        try:
            yield
        finally:
            waiting.cancel()


class Together:
    """Begins each answer, and ends all of them once so many have begun."""

    def __init__(self, head: bytes, begin: bytes, end: bytes) -> None:
        self._head, self._begin, self._end = head, begin, end
        self._begun = asyncio.Barrier(ASKING)

    async def serve(self, _head: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 " + self._head + b"\r\n\r\n" + self._begin)
        await writer.drain()
        await self._begun.wait()
        for _turn in range(100):  # as many turns as it takes to read what came
            await asyncio.sleep(0)
        writer.write(self._end)
        await writer.drain()


VALUES = b"[" + b",".join([b"0"] * (2 * LARGE_VALUES)) + b"]"


@pytest.mark.parametrize("end", [b"\n", b"\n\n"], ids=["of the event", "of its line"])
async def test_large_events_that_end_at_once_are_read_one_by_one(reach: Reach, end: bytes) -> None:
    """However many there are, others have their turn between two of them."""
    said = b'data: {"choices":[{"index":0,"delta":{"content":"x"}}],"pad":' + VALUES + b"}\n\n"
    together = Together(b"200 OK\r\ncontent-type: " + STREAM.encode(), said.removesuffix(end), end)
    loop, adapter = Loop(), OpenAIChatAdapter()

    async def ask() -> None:
        with suppress(ModelError):
            await adapter.respond(replace(say.request("m"), on_text=loop.note))

    async with serving(together.serve) as address, loop.counting():
        reach(address)
        await asyncio.gather(*(ask() for _ in range(ASKING)))

    assert len(loop.noted) == ASKING
    assert len(set(loop.noted)) == ASKING


@pytest.mark.parametrize("kind", [AnthropicAdapter, OpenAIAdapter, OpenAIChatAdapter])
async def test_errors_that_end_at_once_are_sorted_one_by_one(
    reach: Reach, kind: type[ProviderAdapter]
) -> None:
    """So it is with them: all that each says is read."""
    said = b'{"error":{"message":"no","details":' + VALUES + b"}}"
    head = b"500 No\r\ncontent-length: %d\r\ncontent-type: %s" % (len(said), JSON.encode())
    together = Together(head, said[:-1], said[-1:])
    loop, adapter = Loop(), kind()

    async def ask() -> None:
        with pytest.raises(ModelError):
            await adapter.respond(say.request("m"))
        loop.note()

    async with serving(together.serve) as address, loop.counting():
        reach(address)
        await asyncio.gather(*(ask() for _ in range(ASKING)))

    assert len(set(loop.noted)) == ASKING


async def test_what_is_kept_of_conversations_is_read_one_by_one(reach: Reach) -> None:
    """A conversation is begun before a run asks in it, and what comes of that is read whole."""
    said = b'{"id":"conv_1","pad":' + VALUES + b"}"
    head = b"200 OK\r\ncontent-length: %d\r\ncontent-type: %s" % (len(said), JSON.encode())
    together = Together(head, said[:-1], said[-1:])
    loop = Loop()

    async with serving(together.serve) as address, loop.counting():
        reach(address)
        client = openai_sdk.build_client(partial(open_client, idle=IDLE_TIMEOUT))

        async def ask() -> None:
            await connection.create(client, "/conversations")
            loop.note()

        await asyncio.gather(*(ask() for _ in range(ASKING)))

    assert len(set(loop.noted)) == ASKING


async def test_who_gives_up_keeps_no_other_from_their_turn() -> None:
    """Whoever is cut off while it waits has no turn, and whoever is behind has theirs."""
    turns = Turns()
    asking = [asyncio.create_task(turns.take()) for _ in range(3)]
    await asyncio.sleep(0)
    asking[1].cancel()
    await asyncio.wait(asking)

    assert [one.cancelled() for one in asking] == [False, True, False]
