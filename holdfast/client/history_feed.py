"""The history of an execution while it grows, read once for all who follow it in this process."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from functools import partial
from weakref import WeakKeyDictionary

from temporalio.client import Client

from holdfast import histories
from holdfast.client.news import News
from holdfast.histories import Recorded


class HistoryFeed:
    """
    One execution, read from its first event on, as long as anybody follows it.

    What was read is kept until the last one leaves: a run goes on in a new execution before its
    history is large, and whoever follows it has a trace of about that size.
    """

    def __init__(self, read: Callable[[], AsyncGenerator[Recorded]]) -> None:
        self._read = read
        self._events: list[Recorded] = []
        self._followers = 0
        self._news = News()
        self._reading: asyncio.Task[None] | None = None

    @property
    def is_open(self) -> bool:
        """Whether it serves whoever comes now: it is followed, and its reading hasn't failed."""
        if not self._followers or self._reading is None:
            return False
        return not self._reading.done() or self._reading.exception() is None

    async def follow(self) -> AsyncGenerator[Recorded]:
        """Yield all events, until the execution is over; raises what its reading raises."""
        self._followers += 1
        reading = self._reading = self._reading or asyncio.create_task(self._read_on())
        told = 0
        try:
            while True:
                while told < len(self._events):
                    yield self._events[told]
                    told += 1
                if reading.done():
                    reading.result()
                    return
                await self._news.wait()
        finally:
            self._followers -= 1
            if not self._followers:
                reading.cancel()
                await asyncio.gather(reading, return_exceptions=True)

    async def _read_on(self) -> None:
        try:
            async with aclosing(self._read()) as source:
                async for recorded in source:
                    self._events.append(recorded)
                    self._news.tell()
        finally:
            self._news.tell()


_FEEDS: WeakKeyDictionary[Client, dict[str, HistoryFeed]] = WeakKeyDictionary()
"""One for each execution that somebody in this process follows."""


async def follow(client: Client, run_id: str, execution: str) -> AsyncGenerator[Recorded]:
    """Yield the events of one execution as they come, until it is over, as others here do."""
    feeds = _FEEDS.setdefault(client, {})
    feed = feeds.get(execution)
    if feed is None or not feed.is_open:
        read = partial(histories.follow, client, run_id, execution)
        feed = feeds[execution] = HistoryFeed(read)
    try:
        async with aclosing(feed.follow()) as events:
            async for recorded in events:
                yield recorded
    finally:
        if not feed.is_open and feeds.get(execution) is feed:
            del feeds[execution]
