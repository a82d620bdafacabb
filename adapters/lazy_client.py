"""How an adapter comes to its one client."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

if TYPE_CHECKING:
    from httpx2 import AsyncClient

Client = TypeVar("Client")

Environment: TypeAlias = Callable[[str], str | None]
"""Looks up a variable of the worker's environment; only `holdfast/settings.py` reads it."""

OpenHttpClient: TypeAlias = "Callable[[type[AsyncClient]], AsyncClient]"
"""Opens an HTTP client of the kind that an SDK has, bounded by us (`adapters/http_client.py`)."""

IDLE_TIMEOUT = timedelta(minutes=5)
"""
How long a provider may say nothing, before its reply or within it.

The activity as a whole has twice as long.
"""


class LazyClient(Generic[Client]):
    """
    A client that is opened when it is first needed and then kept.

    Opening imports the provider's SDK, which takes a second. It happens in a thread, so that the
    worker's heartbeats go on; a worker that never asks this provider never pays for it.

    *open_client* is handed what opens an HTTP client of ours, which gives a server up that says
    nothing for as long as *idle*. An SDK's own closes itself when it is collected, by a task in
    whatever loop runs then, a workflow's too.
    """

    def __init__(self, open_client: Callable[[OpenHttpClient], Client], idle: timedelta) -> None:
        self._open_client = open_client
        self._idle = idle
        self._client: Client | None = None
        self._lock = asyncio.Lock()

    async def get(self) -> Client:
        """Return the client. What opening raises is raised here, and the next call tries again."""
        async with self._lock:
            if self._client is None:
                self._client = await asyncio.to_thread(self._open)
            return self._client

    def _open(self) -> Client:
        from holdfast.adapters import http_client

        return self._open_client(partial(http_client.open_client, idle=self._idle))
