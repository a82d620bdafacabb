"""One exchange with a provider: a stream is read to its end before anything of it counts."""

import marshal
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from functools import partial
from typing import Protocol, Self, TypeVar

from pydantic import TypeAdapter

from holdfast.adapters import wire
from holdfast.adapters.base import RenderedRequest
from holdfast.adapters.meter import METER, Meter
from holdfast.adapters.room import ROOM, Share
from holdfast.contracts.base import JsonObject
from holdfast.contracts.model import ModelReply, TextListener
from holdfast.tools.fair_threads import FairThreads
from holdfast.tools.large_json import MAX_INLINE_BYTES
from holdfast.tools.network.pace import UnacceptableResponse

MAX_INLINE_VALUES = 1_000
"""Of JSON in a reply; to put so many together takes some milliseconds, and a few bytes of each."""

MAX_SHORT_BYTES = 1_000_000
"""Of a stream; some hundred thousand tokens have more, and take seconds."""

# Of their own: an archive that is away may keep those of the loop. Few replies are long.
_SHORT = FairThreads(2, "put-together")
_LONG = FairThreads(2, "put-together-long")

SMALL_EVENT_BYTES = 1_000
"""Most events of a model have some hundred, and one token."""

MAX_LARGE_BYTES = 12_000_000
"""
Bytes of a stream beyond those of small events.

Some streams say each text of a reply four times, and three times what it was asked with.
"""

Made = TypeVar("Made")

_EVENT: TypeAdapter[JsonObject] = TypeAdapter(JsonObject)
_STREAMED = "text/event-stream"
_UNTYPED = frozenset({"", "text/plain", "application/octet-stream"})


async def write_request(
    run_id: str, render: Callable[[], RenderedRequest]
) -> tuple[bytes, tuple[str, ...]]:
    """
    Render a request and write it as JSON, beside the loop; returns its notes too.

    All that was said goes into it again, and may be twice as long when it is written.
    """

    def write() -> tuple[bytes, tuple[str, ...]]:
        rendered = render()
        return wire.json_text(rendered.body).encode(), rendered.notes

    return await _SHORT.run(run_id, write)


class HttpResponse(Protocol):
    """The part of an SDK's response that is used here."""

    @property
    def headers(self) -> Mapping[str, str]: ...

    @property
    def extensions(self) -> Mapping[str, object]: ...

    async def aread(self) -> bytes: ...


class EventStream(Protocol):
    """What a provider's SDK returns for a streamed request."""

    @property
    def response(self) -> HttpResponse: ...

    def __aiter__(self) -> AsyncIterator[object]: ...

    async def close(self) -> None: ...


class StreamReader:
    """
    What came of one request so far, and when.

    Whatever ends it early, what had come until then is there to `reduce`: it tells what it cost.
    It is held until the reader is left as a context.
    *on_text* hears the words while they come, which *find_text* finds in an event.
    """

    def __init__(
        self,
        run_id: str,
        on_text: TextListener | None = None,
        find_text: Callable[[JsonObject], str] = str,
    ) -> None:
        self._run_id = run_id
        self._on_text, self._find_text = on_text, find_text
        # As bytes: objects would take four times as much, and ten times for small values.
        self._events: list[bytes] = []
        self._large_bytes = 0
        self._share = Share(ROOM)
        self._meter: Meter | None = None
        self._began = time.perf_counter()
        self._first: float | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._events.clear()
        self._share.release()

    @property
    def has_begun(self) -> bool:
        """Whether any event came."""
        return bool(self._events)

    async def read(
        self,
        stream: EventStream,
        begins: Callable[[JsonObject], bool],
        fails: Callable[[JsonObject], bool] = lambda _: False,
    ) -> JsonObject | None:
        """
        Read the stream to its end; *begins* says which event brings the first token.

        An event that *fails* is an error, and nothing that comes behind it is waited for.
        Returns the whole response instead where the server doesn't stream. Raises what the SDK
        raises, and ValueError for what is no JSON object. The connection is closed in any case.
        """
        meter = stream.response.extensions.get(METER)
        if isinstance(meter, Meter):
            self._meter = meter
            meter.on_growth = self._share.hold
        async with self._share.receive():
            return await self._read(stream, begins, fails)

    async def _read(
        self,
        stream: EventStream,
        begins: Callable[[JsonObject], bool],
        fails: Callable[[JsonObject], bool],
    ) -> JsonObject | None:
        kind = stream.response.headers.get("content-type", "").partition(";")[0].strip().lower()
        try:
            # Some servers stream without saying so; nobody sends a page or JSON as something else.
            if kind != _STREAMED and kind not in _UNTYPED:
                return await self.work(partial(wire.json_object, await stream.response.aread()))
            if self._meter is not None:
                self._meter.expect_events()
            async for sent in stream:
                event = _EVENT.validate_python(sent)
                if self._first is None and begins(event):
                    self._first = time.perf_counter()
                self._keep(event)
                if self._on_text is not None and (text := self._find_text(event)):
                    self._on_text(text)
                if fails(event):
                    break
                if self._meter is not None:
                    self._meter.end_event()
        except RecursionError:
            raise ValueError("nested too deeply") from None
        finally:
            # The SDKs close it when they have read it, or when the garbage collector comes by.
            await stream.close()
        if not self._events and kind != _STREAMED:
            raise ValueError("neither a stream nor JSON")
        return None

    def _keep(self, event: JsonObject) -> None:
        held = marshal.dumps(event)
        self._large_bytes += max(len(held) - SMALL_EVENT_BYTES, 0)
        if self._large_bytes > MAX_LARGE_BYTES:
            raise UnacceptableResponse("larger than any reply")
        self._events.append(held)

    async def reduce(self, make: Callable[[Iterable[JsonObject]], Made]) -> Made:
        """Make something of the events that came."""
        return await self.work(lambda: make(map(_unpack, self._events)))

    async def work(self, make: Callable[[], Made]) -> Made:
        """
        Do what takes the longer the more came.

        In a thread if that was much: it takes seconds, in which this worker's heartbeats go on,
        and shorter replies of others are put together. For a few words the thread would take more
        time than that.
        """
        if self._meter is not None and self._is_tiny(self._meter):
            return make()
        short = self._meter is not None and self._meter.total_bytes <= MAX_SHORT_BYTES
        return await (_SHORT if short else _LONG).run(self._run_id, make)

    def _is_tiny(self, meter: Meter) -> bool:
        """Whether others can wait for that: replies of a hundred runs may end at once."""
        return meter.total_bytes <= MAX_INLINE_BYTES and meter.total_values <= MAX_INLINE_VALUES

    def with_latency(self, reply: ModelReply) -> ModelReply:
        """Return the reply with the time that it took."""
        now = time.perf_counter()
        return reply.with_(
            latency_ms=_milliseconds(now - self._began),
            first_token_ms=_milliseconds((self._first or now) - self._began),
        )


def _unpack(held: bytes) -> JsonObject:
    return marshal.loads(held)  # noqa: S302 -- written by this process


def _milliseconds(seconds: float) -> int:
    return max(round(seconds * 1000), 1)
