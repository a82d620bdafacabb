"""A heartbeat while an activity works, so that a killed worker is noticed within seconds."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from pydantic import JsonValue
from temporalio import activity

INTERVAL = 1.0
"""Seconds; the SDK sends at most one for each 80 % of the heartbeat time-out."""


class Pulse:
    """The heartbeat of one activity; what a tool last reported goes with it."""

    def __init__(self) -> None:
        self._progress: JsonValue = None

    def report(self, progress: JsonValue) -> None:
        """Keep what a tool reports for this heartbeat and the ones after it."""
        self._progress = progress
        self.beat()

    def beat(self) -> None:
        """Send a heartbeat; a local activity has none, its workflow task is its heartbeat."""
        if not activity.info().is_local:
            activity.heartbeat(*([] if self._progress is None else [self._progress]))


@asynccontextmanager
async def heartbeating() -> AsyncGenerator[Pulse]:
    """Send heartbeats until the block ends."""
    pulse = Pulse()
    beating = asyncio.create_task(_beat(pulse))
    try:
        yield pulse
    finally:
        beating.cancel()


async def _beat(pulse: Pulse) -> None:
    while True:
        await asyncio.sleep(INTERVAL)
        pulse.beat()
