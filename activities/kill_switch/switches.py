"""What is switched off, as every worker knows it: it follows the history of the switches."""

import asyncio
from collections.abc import Callable
from contextvars import Context
from time import monotonic
from types import TracebackType
from typing import Protocol, Self

from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from holdfast.activities.kill_switch.switch_history import POLL_TIMEOUT, SwitchHistory
from holdfast.contracts.errors import HoldfastError
from holdfast.contracts.switches import SWITCHES, Switch, SwitchState
from holdfast.event_log import log


class KillSwitch(Protocol):
    """Knows what is switched off now."""

    async def current(self) -> tuple[Switch, ...]:
        """Return everything that is switched off; waits rather than answer with what was."""
        ...


TIMEOUT_SECONDS = 5.0
"""Seconds that a decision waits for what is switched off; without it there is none."""


RECONNECT_SECONDS = 0.5
"""Seconds between attempts to reach a server that went away."""


MAX_AGE_SECONDS = POLL_TIMEOUT.total_seconds() + 2.0
"""
What was known counts for so long. The server says at least every five seconds what is new.

A process that stood still for longer, and wakes, knows nothing, though its connection is there.
"""

_MAX_READ_SECONDS = 60.0
"""So long a slow server may take to say all of it."""


_POLL_TIMEOUT_STATUSES = {RPCStatusCode.CANCELLED, RPCStatusCode.DEADLINE_EXCEEDED}


class TemporalKillSwitch:
    """
    What is switched off, without asking: this worker follows the history of the switches.

    It begins with the first question and ends with `close`. After a broken connection nothing is
    known until everything has been read again, nor where this process stood still.
    """

    def __init__(
        self, client: Client, name: str = SWITCHES, clock: Callable[[], float] = monotonic
    ) -> None:
        self._history = SwitchHistory(client, name)
        self._clock = clock
        self._heard_at = 0.0
        self._known: SwitchState | None = None
        self._news = asyncio.Event()
        self._trouble = "the server has not answered yet"
        self._following: asyncio.Task[None] | None = None
        self._closed = False

    async def current(self) -> tuple[Switch, ...]:
        """Return what is switched off. Raises HoldfastError when nobody can tell."""
        while (known := self._known) is None or self._is_older(self._heard_at, MAX_AGE_SECONDS):
            if known is not None:
                self._forget()
            await self._wait_for_update()
        return known.switches

    async def close(self) -> None:
        """Stop following, for good."""
        self._closed = True
        if self._following is not None:
            self._following.cancel()
            await asyncio.gather(self._following, return_exceptions=True)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def _wait_for_update(self) -> None:
        if self._closed:
            raise HoldfastError("this worker stops; whatever was to run may run on another")
        if self._following is not None and self._following.done():
            following, self._following = self._following, None
            await following  # raises what ended it; whoever asks next tries again
        if self._following is None:
            self._news.clear()
            # In a context of its own: whoever asks first is mostly an activity.
            self._following = asyncio.create_task(self._follow(), context=Context())
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                await self._news.wait()
        except TimeoutError:
            raise HoldfastError(
                f"nobody knows what is switched off, so nothing may run: {self._trouble}"
            ) from None

    async def _follow(self) -> None:
        try:
            while True:
                try:
                    await self._follow_execution()
                except RPCError as error:
                    await self._back_off(f"{error.message} ({error.status.name.lower()})")
                except HoldfastError as error:
                    await self._back_off(str(error))
        finally:
            self._known = None
            self._news.set()

    async def _follow_execution(self) -> None:
        """Follow one execution until it ends: somebody ended it, or it goes on in another."""
        asked_at, limit = self._clock(), _MAX_READ_SECONDS
        execution = await self._history.ensure_open()
        reading = await self._history.read_execution(execution.run_id)
        token = b""
        while not reading.has_ended and not self._is_older(asked_at, limit):
            self._known, self._heard_at = reading.state, self._clock()
            self._news.set()
            asked_at, limit = self._heard_at, MAX_AGE_SECONDS
            try:
                page = await self._history.page(execution.run_id, token, wait=True)
            except RPCError as error:
                if error.status in _POLL_TIMEOUT_STATUSES:
                    break  # perhaps nothing was to be told; that shows when it is read again
                raise
            reading = await self._history.after(reading, page.history.events)
            token = page.next_page_token
        self._forget()

    async def _back_off(self, trouble: str) -> None:
        if self._known is not None or trouble != self._trouble:
            log.warning("switches.lost", trouble=trouble, effect="nothing is decided meanwhile")
        self._trouble = trouble
        self._forget()
        await asyncio.sleep(RECONNECT_SECONDS)

    def _is_older(self, since: float, seconds: float) -> bool:
        return self._clock() - since > seconds

    def _forget(self) -> None:
        self._known = None
        self._news.clear()
