"""
Heartbeats and attempts: what tells a failure from the death of a worker.

Whoever works sends heartbeats, so that a killed worker is noticed within seconds. They also carry
how many attempts have failed by themselves: only those count towards the limit of an activity. An
attempt that was lost with its worker is repeated by the server, as if it had never been.
"""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from time import monotonic
from types import TracebackType
from typing import Self

from pydantic import JsonValue
from temporalio import activity
from temporalio.exceptions import ApplicationError

from holdfast.activities.callers import is_hand_back
from holdfast.contracts.errors import safe_str
from holdfast.contracts.usage import MAX_LOST_ATTEMPTS, Attempts, CallUsage
from holdfast.tools.limits import fail_after

INTERVAL = 1.0
"""Seconds; the SDK sends at most one for each 80 % of the heartbeat time-out."""


class Heartbeater:
    """
    The heartbeat of one activity while the block lasts, and what it carries.

    Whatever is raised through the block leaves the activity, and counts as an attempt that failed:
    what is no failure is caught within.
    """

    def __init__(self) -> None:
        before = Attempts.from_details(activity.info().heartbeat_details)
        self.attempts = before.with_(progress=None)
        self._untold: Callable[[], JsonValue] | None = None
        self._next_report = 0.0

    def report(self, tell: Callable[[], JsonValue]) -> None:
        """
        Have a heartbeat tell what a tool reports: one that goes out now, or else the next.

        Of reports that come quicker only the latest is told: to clear one of secrets takes the
        time of all who share the loop.
        """
        self._untold = tell
        if monotonic() >= self._next_report:
            self._send()

    def spend(self, usage: CallUsage | None) -> None:
        """Keep what this attempt used up without a reply; it is sent when the attempt counts."""
        if usage is not None:
            known = self.attempts.usage
            total = usage if known is None else known + usage
            self.attempts = self.attempts.with_(usage=total)

    async def __aenter__(self) -> Self:
        self._beating = asyncio.create_task(self._beat())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        _: TracebackType | None,
    ) -> None:
        """Count a failed attempt; the last one that there may be is final."""
        self._beating.cancel()
        limit = _limit()
        if limit is None or not isinstance(error, Exception):
            return
        if isinstance(error, ApplicationError) and (error.non_retryable or is_hand_back(error)):
            return
        self.attempts = self.attempts.with_(failed=self.attempts.failed + 1)
        self._send()
        if self.attempts.failed >= limit:
            fault = error.__cause__ if isinstance(error, ApplicationError) else error
            raise _build_final_failure(error, self.attempts) from fault

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(INTERVAL)
            self._send()

    def _send(self) -> None:
        """Send a heartbeat; a local activity has none, its workflow task is its heartbeat."""
        if self._untold is not None:
            tell, self._untold = self._untold, None
            self._next_report = monotonic() + INTERVAL
            self.attempts = self.attempts.with_(progress=tell())
        if not activity.info().is_local:
            carried = self.attempts.model_dump(mode="json")
            activity.heartbeat(*([carried] if carried else []))


def time_limit(late: Exception) -> AbstractAsyncContextManager[None]:
    """
    Bound an attempt by the time that it has, so that it counts as one that failed with *late*.

    The server would end it one heartbeat time-out later, and couldn't tell why it took so long.
    """
    info = activity.info()
    if info.heartbeat_timeout is None or info.start_to_close_timeout is None:
        return fail_after(None, late)
    seconds = (info.start_to_close_timeout - info.heartbeat_timeout).total_seconds()
    return fail_after(seconds, late)


def _limit() -> int | None:
    """Return how many attempts may fail; null where the server alone counts them."""
    policy = activity.info().retry_policy
    if policy is None or policy.maximum_attempts <= MAX_LOST_ATTEMPTS:
        return None
    return policy.maximum_attempts - MAX_LOST_ATTEMPTS


def _build_final_failure(error: Exception, attempts: Attempts) -> ApplicationError:
    """Return a failure that the server doesn't repeat."""
    told = attempts.with_(used_up=True, progress=None)
    known = isinstance(error, ApplicationError)
    return ApplicationError(
        error.message if known else safe_str(error),
        told,
        type=error.type if known else type(error).__name__,
        non_retryable=True,
    )
