"""Attacks by whoever answers in a model's place: nothing that they send fills or wedges a run."""

import asyncio
import codecs
import gzip
import json
import tracemalloc
import zlib
from functools import cache, partial
from itertools import repeat
from typing import Any

import pytest
from httpcore2 import AsyncNetworkStream

from holdfast import Agent, App
from holdfast.adapters import failures, http_client, meter
from holdfast.adapters.anthropic import AnthropicAdapter
from holdfast.adapters.base import ProviderAdapter
from holdfast.adapters.openai_chat import OpenAIChatAdapter
from holdfast.contracts.approvals import Escalation
from holdfast.contracts.base import JsonObject
from holdfast.contracts.errors import ModelUnavailable
from holdfast.contracts.stops import StopReason
from holdfast.contracts.transcript import AssistantTurn, Part, PartKind
from holdfast.tools.network import connections
from tests.adapters import conversations as say
from tests.adapters.dialects import Dialect
from tests.adapters.provider_server import ProviderServer
from tests.attacks.net import answering
from tests.attacks.servers import JSON, STREAM, Reach, failure, flooding, serving
from tests.counting import count_calls
from tests.running import Runs
from tests.sample import IMPATIENT

pytestmark = pytest.mark.usefixtures("waits")

MEGABYTE = 1_000_000


@cache
def packed(encoding: str) -> bytes:
    """Sixty megabytes, packed into less than one."""
    plain = b'{"a": "' + b"0" * 60 * MEGABYTE + b'"}'
    match encoding:
        case "gzip":
            return gzip.compress(plain, 1)
        case "deflate":
            return zlib.compress(plain, 1)
        case _:
            return gzip.compress(gzip.compress(plain, 1), 1)


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
@pytest.mark.parametrize("encoding", ["gzip", "deflate", "gzip, gzip"])
@pytest.mark.parametrize("status", ["200 OK", "500 Internal Server Error"])
async def test_nothing_unpacks(
    dialect: Dialect, adapter: ProviderAdapter, reach: Reach, encoding: str, kind: str, status: str
) -> None:
    """Packed answers are neither asked for nor unpacked, errors neither."""
    heard: list[bytes] = []
    serve = answering(status, packed(encoding), content_type=kind, content_encoding=encoding)
    async with serving(serve, heard) as address:
        reach(address)
        await failure(adapter, dialect)  # which imports the SDK, so that this isn't measured
        tracemalloc.start()
        try:
            error = await failure(adapter, dialect)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()

    assert b"accept-encoding: identity" in heard[0].lower()
    assert error.kind == ("unreadable" if status.startswith("200") else "unavailable")
    assert ("packed" in str(error)) is status.startswith("200")
    assert peak < 60 * MEGABYTE


@pytest.mark.parametrize("status", ["301 x", "302 x", "303 x", "307 x", "308 x"])
async def test_no_redirect_is_followed(
    dialect: Dialect, adapter: ProviderAdapter, reach: Reach, status: str
) -> None:
    """The conversation goes to no other server than the one that was configured."""
    stolen: list[bytes] = []
    async with (
        serving(answering("200 OK", b"{}"), stolen) as thief,
        serving(answering(status, b"", location=f"{thief}/v1")) as address,
    ):
        reach(address)
        error = await failure(adapter, dialect)

    assert stolen == []
    assert error.kind == "not_found"
    assert "no redirect is followed" in str(error)
    assert dialect.address_variable in str(error)


PING = b'event: ping\ndata: {"type": "ping"}\n\n' * 1000
FLOODS = {
    "pings": (PING, STREAM),
    "comments": (b": still here\n\n" * 1000, STREAM),
    "line breaks": (b"\n" * 60_000, STREAM),
    "a line without end": (b"data: " + b"x" * 60_000, STREAM),
    "an event without end": (b"data: x\n" * 6000, STREAM),
    "events of nothing": (b"event: x\ndata: {}\n\n" * 1000, STREAM),
    "values of nothing": (b"data: [" + b"{}," * 20_000 + b"{}]\n\n", STREAM),
    "JSON without end": (b'{"a":' * 10_000, JSON),
    "blanks instead of JSON": (b" " * 60_000, JSON),
    "a page": (b"<p>" * 20_000, "text/html"),
}


@pytest.mark.parametrize(("piece", "kind"), FLOODS.values(), ids=list(FLOODS))
async def test_no_stream_is_endless(
    dialect: Dialect,
    adapter: ProviderAdapter,
    reach: Reach,
    monkeypatch: pytest.MonkeyPatch,
    piece: bytes,
    kind: str,
) -> None:
    """Whatever comes without end or content is given up, long before it fills a worker."""
    monkeypatch.setattr(meter, "MAX_EVENT_BYTES", MEGABYTE)
    monkeypatch.setattr(meter, "MAX_EVENTS", 10_000)
    monkeypatch.setattr(meter, "MAX_VALUES", 100_000)
    async with serving(flooding(repeat(piece), kind)) as address:
        reach(address)
        error = await failure(adapter, dialect)

    assert error.kind == "unreadable"


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The bytes of each text that somebody reads as JSON."""
    lengths: list[int] = []
    loads = json.loads

    def watched(text: str | bytes, *arguments: Any, **named: Any) -> object:  # noqa: ANN401 -- as the library says it
        lengths.append(len(text))
        return loads(text, *arguments, **named)

    monkeypatch.setattr(json, "loads", watched)
    return lengths


async def test_no_error_is_endless(
    dialect: Dialect, adapter: ProviderAdapter, reach: Reach, read: list[int]
) -> None:
    """What a server says of its failure is read to some length, and its status tells the rest."""
    async with serving(flooding(repeat(b'{"error":' * 1000), JSON, "500 x")) as address:
        reach(address)
        error = await failure(adapter, dialect)

    assert error.kind == "unavailable"
    assert max(read) <= http_client.MAX_ERROR_BYTES


async def test_no_event_has_millions_of_values(
    dialect: Dialect, adapter: ProviderAdapter, reach: Reach, read: list[int]
) -> None:
    """An SDK reads each in one piece, in which no heartbeat is sent."""
    event = b'event: message_start\ndata: {"a": [' + b"[]," * 300_000 + b"0]}\n\n"
    async with serving(answering("200 OK", event, content_type=STREAM)) as address:
        reach(address)
        error = await failure(adapter, dialect)

    assert error.kind == "unreadable"
    assert "larger than any" in str(error)
    assert read == []


async def test_no_answer_has_millions_of_values(
    dialect: Dialect, adapter: ProviderAdapter, reach: Reach
) -> None:
    """Nor has one that isn't streamed."""
    body = b'{"a": [' + b"[]," * 300_000 + b"0]}"
    async with serving(answering("200 OK", body, content_type=JSON)) as address:
        reach(address)
        error = await failure(adapter, dialect)

    assert error.kind == "unreadable"
    assert "larger than any" in str(error)


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param(b"x: " + b"y" * MEGABYTE, id="a long one"),
        pytest.param(b"x: y\r\n" * 200_000, id="many"),
        pytest.param(b"content-length: " + b"9" * 5000 + b"\r\n\r\n", id="a length without end"),
        pytest.param(b"content-length: -1\r\n\r\n", id="a negative length"),
    ],
)
async def test_headers_are_bounded(
    dialect: Dialect, adapter: ProviderAdapter, reach: Reach, headers: bytes
) -> None:
    """Headers larger than any, or that make no sense, are a broken connection."""

    async def serve(_: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n" + headers)
        await writer.drain()

    async with serving(serve) as address:
        reach(address)
        error = await failure(adapter, dialect)

    assert error.kind == "unavailable"


async def test_no_answer_leaves_a_cookie(
    dialect: Dialect, adapter: ProviderAdapter, reach: Reach
) -> None:
    """What one run is sent never goes out with the requests of another."""
    heard: list[bytes] = []
    serve = answering("400 Bad Request", b"{}", content_type=JSON, set_cookie="it=me; Path=/")
    async with serving(serve, heard) as address:
        reach(address)
        for _ in range(2):
            await failure(adapter, dialect)

    assert len(heard) == 2
    assert b"cookie" not in heard[1].lower()


async def test_an_answer_begins(dialect: Dialect, adapter: ProviderAdapter, reach: Reach) -> None:
    """Nobody is told without end that an answer will come."""
    soon = b"HTTP/1.1 100 Continue\r\n\r\n" * 1000

    async def serve(_: bytes, writer: asyncio.StreamWriter) -> None:
        while True:
            writer.write(soon)
            await writer.drain()

    async with serving(serve) as address:
        reach(address)
        error = await failure(adapter, dialect)

    assert error.kind == "unreadable"
    assert "never begins" in str(error)


class Dripping(AsyncNetworkStream):
    """A connection on which something comes a minute after it was waited for."""

    def __init__(self) -> None:
        self.now = 0.0
        self.waited: list[float | None] = []

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 -- of the library
        self.waited.append(timeout)
        self.now += 60.0
        return b"HTTP/1.1 100 Continue\r\n\r\n"

    async def write(self, buffer: bytes, timeout: float | None = None) -> None: ...  # noqa: ASYNC109 -- of the library


async def test_one_patience_is_for_a_whole_head(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who says each minute that an answer will come is as silent as who says nothing."""
    dripping = Dripping()
    monkeypatch.setattr(connections, "monotonic", lambda: dripping.now)
    line = connections.PacedStream(dripping)
    for _ in range(2):
        await line.write(b"GET / HTTP/1.1\r\n\r\n")
        for _ in range(3):
            await line.read(65_536, 150.0)
        line.stop_counting()
        await line.read(65_536, 150.0)

    assert dripping.waited == [150.0, 90.0, 30.0, 150.0] * 2


async def test_no_server_chooses_a_codec(
    dialect: Dialect, adapter: ProviderAdapter, reach: Reach
) -> None:
    """Some of Python's take quadratic time: none is looked up by a name of a server's."""
    looked_up: list[str] = []
    search = looked_up.append
    codecs.register(search)
    kind = f"{JSON}; charset=endless"
    try:
        async with serving(answering("400 x", b"-aaa", content_type=kind)) as address:
            reach(address)
            error = await failure(adapter, dialect)
    finally:
        codecs.unregister(search)

    assert error.kind == "invalid_request"
    assert "endless" not in looked_up


DEEP = b'{"error":' * 50_000 + b"1" + b"}" * 50_000


@pytest.mark.parametrize("status", ["200 OK", "400 Bad Request", "500 x"])
@pytest.mark.parametrize("body", [DEEP, b"[" * 100_000, b'{"error": {"code": 1' + b"0" * 5000])
async def test_nothing_is_too_deep_to_be_refused(
    dialect: Dialect, adapter: ProviderAdapter, reach: Reach, status: str, body: bytes
) -> None:
    """JSON that no parser takes is no reply, and an error with it is told by its status."""
    async with serving(answering(status, body, content_type=JSON)) as address:
        reach(address)
        error = await failure(adapter, dialect)

    told = {"200": {"unreadable"}, "400": {"invalid_request", "unreadable"}}
    assert error.kind in told.get(status[:3], {"unavailable", "unreadable"})


async def test_no_error_in_a_stream_is_too_deep(
    dialect: Dialect, adapter: ProviderAdapter, reach: Reach
) -> None:
    """What an SDK reads and we don't is a failure of the model's server all the same."""
    event = b'event: error\ndata: {"type": "error", "error": ' + b"[" * 300 + b"]" * 300 + b"}\n\n"
    async with serving(answering("200 OK", event, content_type=STREAM)) as address:
        reach(address)
        error = await failure(adapter, dialect)

    assert error.kind in {"unavailable", "unreadable"}


@pytest.mark.parametrize(
    "models", [["openai:gpt-5.2"], ["openai:gpt-5.2", "anthropic:claude-sonnet-5"]]
)
async def test_no_server_parks_a_run(
    runs: Runs, provider: ProviderServer, models: list[str]
) -> None:
    """Who asks to be left alone for a year has failed, and somebody is asked how it goes on."""
    for _ in models:
        provider.answer({"error": {"message": "busy"}}, 429, {"retry-after": "30000000"})
    agent = Agent(
        name="it", instructions="Be brief.", models=models, settings=IMPATIENT, escalates=True
    )
    async with runs.working(App(agents=[agent])), asyncio.timeout(30):
        run = await runs.start("it")
        (request,) = await run.asked()
        await run.signal("resolution", {"request_id": request.request_id, "action": "abort"})
        await run.result()

    assert isinstance(request, Escalation)
    assert request.reason == StopReason.FALLBACKS_EXHAUSTED.words
    asked = "it asks to wait 30,000,000 s; nobody waits longer than 600 s"
    assert asked in request.attempts[-1].error
    assert len(provider.requests) == len(models)


def test_no_words_of_a_failure_take_long() -> None:
    """Of what an event of four megabytes says the beginning is looked at: a line of it is told."""

    def fail(times: int) -> None:
        with pytest.raises(ModelUnavailable), failures.redact_key("it"):
            raise ModelUnavailable("sk-a " * times)

    fail(1)
    few, many = (count_calls(partial(fail, times)) for times in (1_000, 10_000))

    assert many < 2 * few


def test_words_in_pieces_are_joined_at_once() -> None:
    """None of them is copied again for each that comes behind it."""
    message: JsonObject = {"content": [*["x"] * 1_000, {"type": "text", "text": "y", "z": 1}]}
    raw: JsonObject = {"choices": [{"message": message, "finish_reason": "stop"}]}
    read = OpenAIChatAdapter().parse_response

    assert read(raw).text == "x" * 1_000 + "y"
    assert count_calls(lambda: read(raw), "with_") == 1  # the piece that goes on with the words


@pytest.mark.parametrize("kind", ["hosted_call", "reasoning", "other"])
def test_a_reply_of_many_blocks_is_sent_again_in_linear_work(kind: PartKind) -> None:
    """Whatever they are: each of the next requests of its run has all of them."""

    def render(count: int) -> None:
        parts = tuple(
            Part(kind=kind, native={"id": str(at), "tool_use_id": str(at)}) for at in range(count)
        )
        said = AssistantTurn(model="anthropic:claude-sonnet-5", parts=parts)
        AnthropicAdapter().build_request(say.request("claude-sonnet-5", say.GOAL, said))

    render(1)
    few, many = (count_calls(partial(render, count)) for count in (100, 400))

    assert many < 5 * few
