"""
Heartbeats and attempts: what tells a failure from the death of a worker.

Whoever works sends heartbeats, so that a killed worker is noticed within seconds. They also carry
how many attempts have failed by themselves: only those count towards the limit of an activity. An
attempt that was lost with its worker is repeated by the server, as if it had never been; but what
a model may have used for it counts.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from itertools import repeat
from time import monotonic, thread_time
from types import TracebackType
from typing import Self

from pydantic import JsonValue
from temporalio import activity
from temporalio.client import AsyncActivityCancelledError, AsyncActivityHandle
from temporalio.converter import ActivitySerializationContext
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError

from holdfast.activities.callers import is_hand_back
from holdfast.contracts.bounds import MAX_LIVE_TEXT_BYTES
from holdfast.contracts.errors import safe_str
from holdfast.contracts.model import TextListener
from holdfast.contracts.texts import select_end
from holdfast.contracts.usage import MAX_LOST_ATTEMPTS, Attempts, CallUsage, LiveText
from holdfast.tools.fair_threads import FairThreads
from holdfast.tools.limits import fail_after
from holdfast.tools.network.pace import Rate
from holdfast.tools.redaction import GrowingText

INTERVAL = 1.0
"""Seconds; the SDK sends at most one for each 80 % of the heartbeat time-out."""

LIVE_INTERVAL = 0.25
"""Seconds between two heartbeats with what a model says."""

REPORT_MILLISECONDS_PER_SECOND = 100
"""That all reports together take of the loop; to clear one of secrets takes up to fifteen."""

_LIVE_TIMEOUT = timedelta(seconds=2)

_OF_ALL = Rate(REPORT_MILLISECONDS_PER_SECOND, saved=1.0)

# Of its own, and one: models that talk at once, in whatever words, keep nobody else waiting.
_TELLER = FairThreads(1, "tell-live")


@contextmanager
def each_second(beat: Callable[[], None]) -> Generator[None]:
    """Send a heartbeat each second, as long as the block lasts."""
    loop = asyncio.get_running_loop()

    def go_on() -> None:
        nonlocal timer
        timer = loop.call_later(INTERVAL, go_on)
        beat()

    # A timer and no task: most activities are over before the first beat.
    timer = loop.call_later(INTERVAL, go_on)
    try:
        yield
    finally:
        timer.cancel()


class Heartbeater:
    """
    The heartbeat of one activity while the block lasts, and what it carries.

    Whatever is raised through the block leaves the activity, and counts as an attempt that failed:
    what is no failure is caught within. *Pace* is for tests: reports of all activities share one.
    """

    def __init__(self, pace: Rate = _OF_ALL) -> None:
        before = Attempts.from_details(activity.info().heartbeat_details)
        self.attempts = before.with_(progress=None, live=None)
        self._untold: Callable[[], JsonValue] | None = None
        self._next_report = 0.0
        self._pace = pace
        self._beating = each_second(self._send)

    def report(self, tell: Callable[[], JsonValue]) -> None:
        """
        Have a heartbeat tell what a tool reports: one that goes out now, or else the next.

        Of reports that come quicker only the latest is told: to clear one of secrets takes the
        time of all who share the loop. Where all take too much of it, a later heartbeat tells one.
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

    def charge_lost(self, reserved: CallUsage) -> None:
        """
        Count what is *reserved* for each attempt before this one that was lost with its worker.

        Nobody says what such a one used. They are those that neither failed nor were left to
        another worker; whoever makes up what a heartbeat carried hides some of them at most.
        """
        known = self.attempts
        before = known.failed + known.left + known.lost
        more = min(activity.info().attempt - 1 - before, MAX_LOST_ATTEMPTS)
        if more <= 0:
            return
        self.spend(sum(repeat(reserved, more), start=CallUsage()))
        self.attempts = self.attempts.with_(lost=known.lost + more)
        self._send()

    async def is_given_up(self) -> bool:
        """
        Whether the server has given this attempt up; it is asked where by the clock it may have.

        A process that stood still may be handed it, or come to it, when others have done it. Where
        nobody answers it may be so, too.
        """
        info = activity.info()
        late = info.heartbeat_timeout
        if info.is_local or late is None or datetime.now(UTC) - info.started_time <= late:
            return False
        carried = self.attempts.model_dump(mode="json")
        try:
            await _find_handle().heartbeat(*filter(None, [carried]), rpc_timeout=_LIVE_TIMEOUT)
        except (AsyncActivityCancelledError, RPCError):
            return True
        except RuntimeError:  # no worker runs it
            return False
        return False

    @asynccontextmanager
    async def tell_live(self, text: GrowingText, turn: int) -> AsyncGenerator[TextListener]:
        """
        Have a text told while it grows, as long as the block lasts; yields what adds to it.

        It goes out in heartbeats of its own, which don't wait for 80 % of the time-out. Nothing of
        it stays with the activity, whatever becomes of that.
        """
        handle, ended = _find_handle(), asyncio.Event()
        telling = asyncio.create_task(self._tell(handle, text, turn, ended))
        try:
            yield text.add
        finally:
            ended.set()
            await telling  # behind the heartbeat that counts a failure none of these may come
            self.attempts = self.attempts.with_(live=None)

    async def _tell(
        self, handle: AsyncActivityHandle, text: GrowingText, turn: int, ended: asyncio.Event
    ) -> None:
        live = LiveText(turn=turn, attempt=activity.info().attempt, seq=0, offset=0, text="")
        while not ended.is_set():
            if more := await _take_beside(text, ended):
                live = _append(live, more)
                self.attempts = self.attempts.with_(live=live)
                # Whoever watches misses words then, until the next one; the call doesn't wait. A
                # codec of an app raises whatever its libraries do.
                with suppress(Exception):
                    carried = self.attempts.model_dump(mode="json")
                    await handle.heartbeat(carried, rpc_timeout=_LIVE_TIMEOUT)
            with suppress(TimeoutError):
                await asyncio.wait_for(ended.wait(), LIVE_INTERVAL)

    async def __aenter__(self) -> Self:
        self._beating.__enter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        _: TracebackType | None,
    ) -> None:
        """Count a failed attempt; the last one that there may be is final."""
        self._beating.__exit__(None, None, None)
        limit = _limit()
        if limit is None or not isinstance(error, Exception):
            return
        if is_hand_back(error):
            self.attempts = self.attempts.with_(left=self.attempts.left + 1)
            self._send()
            return
        if isinstance(error, ApplicationError) and error.non_retryable:
            return
        self.attempts = self.attempts.with_(failed=self.attempts.failed + 1)
        self._send()
        if self.attempts.failed >= limit:
            fault = error.__cause__ if isinstance(error, ApplicationError) else error
            raise _build_final_failure(error, self.attempts) from fault

    def _send(self) -> None:
        """Send a heartbeat; a local activity has none, its workflow task is its heartbeat."""
        began, now = thread_time(), monotonic()
        if (tell := self._untold) is not None:
            self._next_report = now + INTERVAL
            if self._pace.missing(0, now) > 0:
                tell = None
        if tell is not None:
            self._untold = None
            self.attempts = self.attempts.with_(progress=tell())
        if not activity.info().is_local:
            carried = self.attempts.model_dump(mode="json")
            # Its live words are cleared of secrets already.
            told = self.attempts if self.attempts.live else carried
            activity.heartbeat(*([told] if carried else []))
        if tell is not None:
            self._pace.take(1_000 * (thread_time() - began), now)


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


def _find_handle() -> AsyncActivityHandle:
    """Return what sends heartbeats of this activity at once, in the same words as the worker."""
    info = activity.info()
    handle = activity.client().get_async_activity_handle(task_token=info.task_token)
    return handle.with_context(
        ActivitySerializationContext(
            namespace=info.namespace,
            workflow_id=info.workflow_id,
            workflow_type=info.workflow_type,
            activity_type=info.activity_type,
            activity_id=info.activity_id,
            activity_task_queue=info.task_queue,
            is_local=info.is_local,
        )
    )


async def _take_beside(text: GrowingText, ended: asyncio.Event) -> str:
    """
    Look through what was said, beside the loop that all runs share; nothing once that has *ended*.

    Words can be such that it takes twenty milliseconds, four times a second for each reply.
    """
    looking = asyncio.ensure_future(_TELLER.run(activity.info().workflow_id or "", text.take))
    over = asyncio.ensure_future(ended.wait())
    try:
        await asyncio.wait({looking, over}, return_when=asyncio.FIRST_COMPLETED)
        return looking.result() if looking.done() else ""
    finally:
        looking.cancel()
        over.cancel()


def _append(live: LiveText, more: str) -> LiveText:
    """Return a text with more of it, of which a heartbeat has the end."""
    whole = live.text + more
    end = select_end(whole, MAX_LIVE_TEXT_BYTES)
    return LiveText(
        turn=live.turn,
        attempt=live.attempt,
        seq=live.seq + 1,
        offset=live.offset + len(whole) - len(end),
        text=end,
    )


def _limit() -> int | None:
    """Return how many attempts may fail; null where the server alone counts them."""
    policy = activity.info().retry_policy
    if policy is None or policy.maximum_attempts <= MAX_LOST_ATTEMPTS:
        return None
    return policy.maximum_attempts - MAX_LOST_ATTEMPTS


def _build_final_failure(error: Exception, attempts: Attempts) -> ApplicationError:
    """Return a failure that the server doesn't repeat."""
    told = attempts.with_(used_up=True, progress=None, live=None)
    known = isinstance(error, ApplicationError)
    return ApplicationError(
        error.message if known else safe_str(error),
        told,
        type=error.type if known else type(error).__name__,
        non_retryable=True,
    )
