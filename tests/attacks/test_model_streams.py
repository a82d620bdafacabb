"""Attacks by streams that take long to put together, though they are no longer than others."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from importlib import import_module
from itertools import repeat
from threading import Event, get_ident
from typing import Any

import pytest
from httpx2 import AsyncByteStream, AsyncClient, MockTransport, Response
from pydantic import JsonValue

from holdfast.adapters import meter, room, wire
from holdfast.adapters.anthropic import AnthropicAdapter
from holdfast.adapters.base import ProviderAdapter
from holdfast.adapters.http_client import open_client
from holdfast.adapters.lazy_client import IDLE_TIMEOUT
from holdfast.adapters.openai_chat import OpenAIChatAdapter
from holdfast.contracts.base import JsonObject
from holdfast.contracts.errors import ModelError
from holdfast.tools.network import pace
from tests.adapters import conversations as say
from tests.adapters.dialects import Dialect
from tests.adapters.provider_server import ProviderServer
from tests.attacks.net import answering
from tests.attacks.servers import STREAM, Reach, failure, flooding, serving

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("waits")]

Assemble = Callable[[list[JsonObject]], JsonObject]


def sse(*chunks: JsonObject) -> bytes:
    return b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks)


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n", b"\n\r\nx\n"])
async def test_no_event_has_many_lines(
    dialect: Dialect, adapter: ProviderAdapter, reach: Reach, end: bytes
) -> None:
    """For each line of an event the SDKs copy all that came of it."""
    async with serving(flooding(repeat((b": x" + end) * 10_000, 50), STREAM)) as address:
        reach(address)
        error = await failure(adapter, dialect)

    assert error.kind == "unreadable"
    assert "lines" in str(error)


async def test_no_event_has_many_pieces(
    dialect: Dialect, adapter: ProviderAdapter, reach: Reach, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For each piece of an event an SDK copies all that came of it: it gets few."""
    handed_on: list[int] = []
    raw = Response.aiter_raw

    async def counted(response: Response) -> AsyncIterator[bytes]:
        async for piece in raw(response):
            handed_on.append(len(piece))
            yield piece

    monkeypatch.setattr(Response, "aiter_raw", counted)
    whole = b"data: " + b"y" * 1_000_000
    chunks = b"%x\r\n%s\r\n" % (len(whole), whole) + b"1\r\ny\r\n" * 20_000

    async def serve(_: bytes, writer: asyncio.StreamWriter) -> None:
        head = f"HTTP/1.1 200 OK\r\ncontent-type: {STREAM}\r\ntransfer-encoding: chunked\r\n\r\n"
        writer.write(head.encode() + chunks + b"2\r\n\n\n\r\n0\r\n\r\n")
        await writer.drain()

    async with serving(serve) as address:
        reach(address)
        await failure(adapter, dialect)

    assert sum(handed_on) == len(whole) + 20_002
    assert len(handed_on) < 50


@pytest.mark.parametrize("crumb", [b":", b":\n\n", b"\n"])
async def test_no_reply_comes_in_crumbs(
    dialect: Dialect,
    adapter: ProviderAdapter,
    reach: Reach,
    monkeypatch: pytest.MonkeyPatch,
    crumb: bytes,
) -> None:
    """Each of them takes the loop's time, though there is nothing in it."""
    monkeypatch.setattr(pace, "MAX_SMALL_PIECES", 2_000)
    chunks = b"%x\r\n%s\r\n" % (len(crumb), crumb) * 1_000

    async def serve(_: bytes, writer: asyncio.StreamWriter) -> None:
        head = f"HTTP/1.1 200 OK\r\ncontent-type: {STREAM}\r\ntransfer-encoding: chunked\r\n\r\n"
        writer.write(head.encode())
        while True:
            writer.write(chunks)
            await writer.drain()

    async with serving(serve) as address:
        reach(address)
        error = await failure(adapter, dialect)

    assert error.kind == "unreadable"
    assert "smaller pieces" in str(error)


@pytest.mark.parametrize("event", [b"data: {}\n\n", b":\n\n", b"\r\n"])
async def test_no_reply_comes_in_dense_events(
    dialect: Dialect,
    adapter: ProviderAdapter,
    reach: Reach,
    monkeypatch: pytest.MonkeyPatch,
    event: bytes,
) -> None:
    """One packet may have thousands: others have their turn between few, and there is an end."""
    turns = 0
    taken: dict[int, int] = {}
    raw = Response.aiter_raw

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def counted(response: Response) -> AsyncIterator[bytes]:
        async for piece in raw(response):
            taken[turns] = taken.get(turns, 0) + piece.count(b"\n")
            yield piece

    monkeypatch.setattr(Response, "aiter_raw", counted)
    monkeypatch.setattr(meter, "MAX_SHORT_LINES", 5_000)
    waiting = asyncio.create_task(others())
    async with serving(flooding(repeat(event * 6_500), STREAM)) as address:
        reach(address)
        error = await failure(adapter, dialect)
    waiting.cancel()

    assert error.kind == "unreadable"
    assert "shorter lines" in str(error)
    assert max(taken.values()) < 2_500


class Crumbs(AsyncByteStream):
    """A body of many pieces that all came in one packet."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for _ in range(20_000):
            yield b"y"


class Served(AsyncClient):
    """A client with a server at hand."""

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401 -- as the library says it
        super().__init__(transport=MockTransport(_crumbs), **settings)


def _crumbs(_: object) -> Response:
    return Response(200, stream=Crumbs())


async def test_others_have_their_turn_between_pieces() -> None:
    """Heartbeats are sent while a packet of crumbs is taken."""
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    waiting = asyncio.create_task(others())
    async with open_client(Served, IDLE_TIMEOUT) as client:
        answer = await client.get("http://model.test")
    waiting.cancel()

    assert answer.content == b"y" * 20_000
    assert turns >= 20


async def test_lines_are_counted_by_event(reach: Reach) -> None:
    """A long reply has many events of few lines, however they are cut into pieces."""
    events = [said({"content": "a"}) for _ in range(5_000)] + [said({}, "stop")]
    text = sse(*events).replace(b"data: ", b": x\nevent: y\ndata: ") + b": still here\n\n" * 2_000
    for length in (7, 64, 65_536):
        pieces = iter([text[at : at + length] for at in range(0, len(text), length)])
        async with serving(flooding(pieces, STREAM)) as address:
            reach(address)
            reply = await OpenAIChatAdapter().respond(say.request("m"))
        assert reply.text == "a" * 5_000


def said(delta: JsonObject, end: str | None = None) -> JsonObject:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": end}]}


def piece(number: int, **function: str) -> JsonObject:
    return {"index": number, "id": f"c{number}", "function": {"name": "look", **function}}


def streams(count: int) -> dict[str, list[JsonObject]]:
    """Streams of so many events whose assembly was quadratic, each in a way of its own."""
    text: JsonObject = {"type": "text", "text": "x" * 100}
    first: JsonObject = {"reasoning_details": {f"f{number}": 0 for number in range(count)}}
    return {
        "calls": [said({"tool_calls": [piece(number)]}) for number in range(count)],
        "calls that are all the first": [
            said({"tool_calls": [piece(number) | {"index": 0}]}) for number in range(count)
        ],
        "braces": [
            said({"tool_calls": [piece(0, arguments='{"a": "' if at == 0 else "{}" * 50)]})
            for at in range(count)
        ],
        "words": [said({"content": "x" * 100})] * count,
        "pieces of words": [said({"content": [text]})] * count,
        "thoughts": [said({"reasoning": "x" * 100})] * count,
        "entries": [said({"reasoning_details": [{"index": n}]}) for n in range(count)],
        "fields": [said(first), *[said({"reasoning_details": {"f0": 1}})] * count],
    }


@pytest.mark.parametrize("shape", list(streams(1)))
def test_a_stream_is_put_together_in_linear_work(shape: str) -> None:
    """Twice as many pieces are twice the work, and no more."""
    assemble = OpenAIChatAdapter().assemble
    few, many = (_spent(assemble, streams(count)[shape]) for count in (1_000, 8_000))

    assert many < 30 * max(few, 0.002)  # quadratic work would be 64 times as much


def cited(count: int) -> list[JsonObject]:
    """A stream with so many citations of one text."""
    delta: JsonObject = {"type": "citations_delta", "citation": {"a": 1}}
    grown: JsonObject = {"type": "content_block_delta", "index": 0, "delta": delta}
    return [
        {"type": "message_start", "message": {"usage": {}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text"}},
        *[grown] * count,
        {"type": "content_block_stop", "index": 0},
        {"type": "message_stop"},
    ]


def test_citations_are_collected_in_linear_work() -> None:
    """Each of them is kept once."""
    assemble = AnthropicAdapter().assemble
    few, many = (_spent(assemble, cited(count)) for count in (8_000, 64_000))
    (block,) = wire.as_list(assemble(cited(8_000))["content"])

    assert many < 30 * max(few, 0.002)
    assert len(wire.as_list(wire.as_object(block)["citations"])) == 8_000


def _spent(assemble: Assemble, events: list[JsonObject]) -> float:
    """Return the least processor time of this thread that the stream takes, of three times."""
    return min(_once(assemble, events) for _ in range(3))


def _once(assemble: Assemble, events: list[JsonObject]) -> float:
    began = time.thread_time()
    with suppress(ModelError):
        assemble(events)
    return time.thread_time() - began


async def test_calls_beyond_all_are_refused_and_paid_for(reach: Reach) -> None:
    """No more of them are kept than anybody makes; what they used counts."""
    calls = [said({"tool_calls": [piece(number)]}) for number in range(20_000)]
    used: JsonObject = {"prompt_tokens": 3, "completion_tokens": 4}
    stream = sse(*calls, said({}, "tool_calls"), {"choices": [], "usage": used})
    async with serving(answering("200 OK", stream, content_type=STREAM)) as address:
        reach(address)
        with pytest.raises(ModelError, match="more than 200 calls") as raised:
            await OpenAIChatAdapter().respond(say.request("m"))

    assert raised.value.kind == "unreadable"
    assert raised.value.usage is not None
    assert raised.value.usage.total_tokens == 7


@pytest.mark.parametrize(
    "step", [("request", "render"), ("stream", "assemble"), ("response", "reply")]
)
@pytest.mark.parametrize(
    "padding",
    [
        pytest.param(["y" * 11_000], id="long"),
        pytest.param([0] * 1_100, id="many values"),
        pytest.param(["y" * 100], id="short"),
    ],
)
async def test_the_worker_goes_on_while_a_reply_is_put_together(
    dialect: Dialect,
    adapter: ProviderAdapter,
    provider: ProviderServer,
    monkeypatch: pytest.MonkeyPatch,
    padding: list[JsonValue],
    step: tuple[str, str],
) -> None:
    """Its loop is free, so that heartbeats are sent; nor is a request written in its thread."""
    threads: list[int] = []
    module = import_module(f"{type(adapter).__module__}.{step[0]}")
    done = getattr(module, step[1])

    def watched(*arguments: object, **named: object) -> object:
        threads.append(get_ident())
        return done(*arguments, **named)

    monkeypatch.setattr(module, step[1], watched)
    provider.answer({**dialect.samples.WORDS, "padding": padding})
    await adapter.respond(say.request(dialect.samples.MODEL))

    assert len(threads) == 1
    is_tiny = padding == ["y" * 100] and step[0] != "request"
    assert (get_ident() in threads) is is_tiny


async def test_a_reply_waits_for_nobody_who_keeps_the_threads_of_the_loop(
    dialect: Dialect, adapter: ProviderAdapter, provider: ProviderServer
) -> None:
    """An archive that is away may have them all, for as long as it is."""
    for _ in range(2):
        provider.answer({**dialect.samples.WORDS, "padding": ["y" * 11_000]})
    await adapter.respond(say.request(dialect.samples.MODEL))  # and its client is there
    over, loop = Event(), asyncio.get_running_loop()
    others = [loop.run_in_executor(None, over.wait) for _ in range(40)]  # it has 32 at most
    asking = asyncio.create_task(adapter.respond(say.request(dialect.samples.MODEL)))
    replied, _ = await asyncio.wait({asking}, timeout=30)
    over.set()
    await asyncio.wait({asking, *others})

    assert replied


@pytest.mark.parametrize(
    "values", [pytest.param("[],", id="plain"), pytest.param(r"\u005b\u005d\u002c", id="escaped")]
)
async def test_no_call_has_millions_of_values(reach: Reach, values: str) -> None:
    """They are counted in what its arguments are, however these were written."""
    pieces = ['{\\"a\\":[', *[values * 10_000] * 40, "0]}"]
    head = 'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":'
    events = [f'{head}{{"name":"look","arguments":"{text}"}}}}]}}}}]}}\n\n' for text in pieces]
    stream = "".join(events).encode() + sse(said({}, "tool_calls"))
    async with serving(answering("200 OK", stream, content_type=STREAM)) as address:
        reach(address)
        with pytest.raises(ModelError, match="larger than any reply") as raised:
            await OpenAIChatAdapter().respond(say.request("m"))

    assert raised.value.kind == "unreadable"


async def test_no_more_is_held_of_a_stream_than_can_count(reach: Reach) -> None:
    """Small events are as many as a long reply has; large ones say it all a few times."""
    large = sse(said({"content": "x" * 90_000}))
    small = [sse(said({"content": "y" * 600})) * 2_000, sse(said({}, "stop"))]
    async with serving(flooding(repeat(large), STREAM)) as address:
        reach(address)
        with pytest.raises(ModelError, match="larger than any reply") as raised:
            await OpenAIChatAdapter().respond(say.request("m"))
    async with serving(flooding(iter(small), STREAM)) as address:
        reach(address)
        reply = await OpenAIChatAdapter().respond(say.request("m"))

    assert raised.value.kind == "unreadable"
    assert reply.text == "y" * 1_200_000


async def test_who_fills_a_worker_makes_room_for_others(
    dialect: Dialect,
    adapter: ProviderAdapter,
    reach: Reach,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of all replies under way the largest is given up, silent as it is; a small one goes on."""
    monkeypatch.setattr(room, "MAX_HELD_BYTES", 300_000)
    filled = asyncio.Event()

    async def hoard(_: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(f"HTTP/1.1 200 OK\r\ncontent-type: {STREAM}\r\n\r\n".encode())
        writer.write(sse(said({"content": "x" * 200_000})))
        await writer.drain()
        await filled.wait()

    async with serving(hoard) as address:
        reach(address)
        hoarders = [asyncio.create_task(failure(adapter, dialect)) for _ in range(2)]
        gone, still = await asyncio.wait(hoarders, return_when=asyncio.FIRST_COMPLETED)
        (error,) = (task.result() for task in gone)
        assert error.kind == "unreadable"
        assert "beside others" in str(error)
        assert len(still) == 1
        filled.set()
        await asyncio.wait(still)
    assert room.ROOM.total == 0
