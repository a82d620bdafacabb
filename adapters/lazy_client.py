"""How an adapter comes to its one client."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Generic, TypeVar

Client = TypeVar("Client")

IDLE_TIMEOUT = timedelta(minutes=5)
"""
How long a provider may say nothing, before its reply or within it.

The activity as a whole has twice as long.
"""

CONNECT_SECONDS = 5.0
"""How long a connection to a provider may take to come about."""


class LazyClient(Generic[Client]):
    """
    A client that is opened when it is first needed and then kept.

    Opening imports the provider's SDK, which takes a second. It happens in a thread, so that the
    worker's heartbeats go on; a worker that never asks this provider never pays for it.

    *open_client* gives the SDK an HTTP client of ours (`adapters/http_client.py`). The SDK's own
    closes itself when it is collected, by a task in whatever loop runs then, a workflow's too.
    """

    def __init__(self, open_client: Callable[[], Client]) -> None:
        self._open = open_client
        self._client: Client | None = None
        self._lock = asyncio.Lock()

    async def get(self) -> Client:
        """Return the client. What opening raises is raised here, and the next call tries again."""
        async with self._lock:
            if self._client is None:
                self._client = await asyncio.to_thread(self._open)
            return self._client
