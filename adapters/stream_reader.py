"""One exchange with a provider: a stream is read to its end before anything of it counts."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial
from typing import Protocol, TypeVar

from pydantic import TypeAdapter

from holdfast.adapters import wire
from holdfast.adapters.meter import METER, Meter
from holdfast.contracts.base import JsonObject
from holdfast.contracts.model import ModelReply, TextListener

MAX_INLINE_BYTES = 100_000
"""Of a stream; to put a reply of so many together takes some milliseconds."""

Made = TypeVar("Made")

_EVENT: TypeAdapter[JsonObject] = TypeAdapter(JsonObject)
_STREAMED = "text/event-stream"
_UNTYPED = frozenset({"", "text/plain", "application/octet-stream"})


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

    Whatever ends it early, `events` are what had come until then: they tell what it cost.
    *on_text* hears the words while they come, which *find_text* finds in an event.
    """

    def __init__(
        self, on_text: TextListener | None = None, find_text: Callable[[JsonObject], str] = str
    ) -> None:
        self._on_text, self._find_text = on_text, find_text
        self.events: list[JsonObject] = []
        self._meter: Meter | None = None
        self._began = time.perf_counter()
        self._first: float | None = None

    async def read(
        self,
        stream: EventStream,
        begins: Callable[[JsonObject], bool],
        fails: Callable[[JsonObject], bool] = lambda _: False,
    ) -> JsonObject | None:
        """
        Read the stream into `events`; *begins* says which event brings the first token.

        An event that *fails* is an error, and nothing that comes behind it is waited for.
        Returns the whole response instead where the server doesn't stream. Raises what the SDK
        raises, and ValueError for what is no JSON object. The connection is closed in any case.
        """
        meter = stream.response.extensions.get(METER)
        self._meter = meter if isinstance(meter, Meter) else None
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
                self.events.append(event)
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
        if not self.events and kind != _STREAMED:
            raise ValueError("neither a stream nor JSON")
        return None

    async def reduce(self, make: Callable[[list[JsonObject]], Made]) -> Made:
        """Make something of the events that came."""
        return await self.work(partial(make, self.events))

    async def work(self, make: Callable[[], Made]) -> Made:
        """
        Do what takes the longer the more came.

        In a thread if that was much: it takes seconds, in which this worker's heartbeats go on.
        For a short reply the thread would take more time than that.
        """
        if self._meter is not None and self._meter.total_bytes <= MAX_INLINE_BYTES:
            return make()
        return await asyncio.to_thread(make)

    def with_latency(self, reply: ModelReply) -> ModelReply:
        """Return the reply with the time that it took."""
        now = time.perf_counter()
        return reply.with_(
            latency_ms=_milliseconds(now - self._began),
            first_token_ms=_milliseconds((self._first or now) - self._began),
        )


def _milliseconds(seconds: float) -> int:
    return max(round(seconds * 1000), 1)
