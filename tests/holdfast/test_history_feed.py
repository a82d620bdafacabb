"""One reading of a history serves all who follow it in a process."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest
from temporalio.api.history.v1 import HistoryEvent

from holdfast.client.history_feed import HistoryFeed
from holdfast.histories import Recorded


class Source:
    """A history that grows as a test says, and knows how often it was read."""

    def __init__(self) -> None:
        self.begun = self.left = 0
        self._events: asyncio.Queue[Recorded | Exception | None] = asyncio.Queue()

    def happen(self, *numbers: int) -> None:
        for number in numbers:
            self._events.put_nowait(Recorded("e", HistoryEvent(event_id=number)))

    def end(self, error: Exception | None = None) -> None:
        self._events.put_nowait(error)

    async def read(self) -> AsyncGenerator[Recorded]:
        self.begun += 1
        try:
            while isinstance(event := await self._events.get(), Recorded):
                yield event
            if event is not None:
                raise event
        finally:
            self.left += 1


async def numbers(feed: HistoryFeed, stop: int | None = None) -> list[int]:
    found: list[int] = []
    async with aclosing(feed.follow()) as events:
        async for recorded in events:
            found.append(recorded.event.event_id)
            if recorded.event.event_id == stop:
                break
    return found


async def test_all_who_follow_read_the_whole_of_it_once() -> None:
    """Who comes later is told what the others were told before, and all read on together."""
    source = Source()
    feed = HistoryFeed(source.read)
    first = asyncio.create_task(numbers(feed))
    source.happen(1, 2)
    early = await numbers(feed, stop=2)
    late = asyncio.create_task(numbers(feed))
    source.happen(3)
    source.end()

    assert (early, await first, await late) == ([1, 2], [1, 2, 3], [1, 2, 3])
    assert (source.begun, source.left) == (1, 1)


async def test_nobody_reads_when_all_have_left() -> None:
    """The last one who leaves ends the reading; the feed then serves nobody."""
    source = Source()
    feed = HistoryFeed(source.read)
    source.happen(1)
    assert await numbers(feed, stop=1) == [1]

    assert (source.begun, source.left, feed.is_open) == (1, 1, False)


async def test_what_keeps_it_from_being_read_is_told_to_all() -> None:
    """No one waits for ever for events that nobody reads, and whoever comes next begins anew."""
    source = Source()
    feed = HistoryFeed(source.read)
    both = [asyncio.create_task(numbers(feed)) for _ in "12"]
    source.happen(1)
    source.end(ConnectionError("gone"))

    for one in both:
        with pytest.raises(ConnectionError, match="gone"):
            await one
    assert not feed.is_open
