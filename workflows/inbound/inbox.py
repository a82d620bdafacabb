"""What people say to a run, judged in batches: a flood costs few events and locks nobody out."""

import asyncio
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Protocol, cast

from temporalio import workflow
from temporalio.api.common.v1 import Payload
from temporalio.common import RawValue

from holdfast.contracts.bounds import MAX_JUDGE_BATCH_BYTES, MAX_MESSAGE_BYTES
from holdfast.contracts.sessions.messages import MessageReceipt
from holdfast.contracts.signals import (
    MessageOutcome,
)
from holdfast.contracts.state.unheard import (
    UnheardMessage,
    fits_beside_state,
    measure,
)
from holdfast.workflows import options

MAX_BATCH_MESSAGES = 200
"""Messages; reading so many takes less than the second or two that a workflow may think."""

MAX_REFUSALS_PER_WINDOW = 20
"""Refused messages within REFUSAL_WINDOW. Beyond, what arrives is gathered before it is judged."""

MAX_MESSAGES_PER_EXECUTION = 2_000
"""Messages; the server takes 10,000 signals in one execution, and then no approval any more."""

TAKE_TURN = "holdfast_take_turn"
LOCAL_SECONDS = "holdfast_local_seconds"

LONG_SECONDS = 1.0
"""Behind local activities that took as long nothing begins until what came meanwhile is heard."""

HEARD_FIRST = "heard-first"
"""The patch by which a run hears what came, and holds what waits, within a step as between two."""

GATHERED_ENOUGH = "gathered-enough"
"""The patch by which nothing is gathered where a whole batch waits, nor where a run is over."""

DISPENSABLE = {GATHERED_ENOUGH}
"""
Patches without which a run goes on as well, where a replay would be told of them too late.

It is told of a marker with the task in which that stands (SDK 1.35), and of the local activity
upon which it was set with the one before, where a query divided them.
"""

CARRIED_UNHEARD = "carried-unheard"
"""The patch by which a run that goes on anew leaves to its next execution what waits."""

REFUSAL_WINDOW = timedelta(minutes=1)
THROTTLE_DELAY = timedelta(seconds=1)


@dataclass(eq=False)
class InboundMessage:
    """
    One message on its way, unread; in the end what became of it.

    One with a `forward_id` came through the run that this one works for, which is told. One that
    was sent on to a part of this run has a `verdict` when that has said what became of it.
    """

    signal: str
    payloads: Sequence[RawValue]
    disposition: MessageOutcome | MessageReceipt | None = None
    forward_id: str = ""
    verdict: asyncio.Event | None = None
    forwarding: "asyncio.Task[object] | None" = None

    @classmethod
    def from_unheard(cls, carried: UnheardMessage) -> "InboundMessage":
        """Return a signal that came to the execution before this one."""
        json = {"encoding": b"json/plain"}
        payloads = (Payload(metadata=json, data=one) for one in carried.content)
        return cls(carried.signal, tuple(map(RawValue, payloads)))

    def to_unheard(self) -> UnheardMessage:
        """Return the signal as it came, for the execution after this one."""
        content = (one.payload.data for one in self.payloads)
        return UnheardMessage.from_bytes(self.signal, content)

    @cached_property
    def carried_size(self) -> int:
        """How much of a payload it takes there."""
        return measure(self.signal, (len(one.payload.data) for one in self.payloads))

    @property
    def size(self) -> int:
        """How much of a payload it takes to have it judged: what is too large isn't read."""
        whole = sum(len(one.payload.data) for one in self.payloads)
        return whole if whole <= MAX_MESSAGE_BYTES else 0


class Judge(Protocol):
    """Judges messages, and ends the workflow task where *more* of them wait."""

    async def __call__(
        self, batch: Sequence[InboundMessage], *, may_record: bool, more: bool
    ) -> None:
        """Judge some; a line about those that are refused may be left where there is time."""
        ...


class Inbox:
    """
    Judges messages in the order of their arrival.

    The first that comes judges for all that come meanwhile; nothing else is done when one arrives,
    because ten thousand may arrive in one workflow task. Each is judged: a limit that dropped some
    would let a flood of bad approvals keep the good one out.
    """

    def __init__(self, judge: Judge) -> None:
        self.taken = 0
        self.heard = 0
        self._judge = judge
        self._opened = asyncio.Event()
        self._waiting: deque[InboundMessage] = deque()
        self._waiting_size = 0
        self._judged = asyncio.Event()
        self._judging = False
        self._hurrying = False
        self._leaving = self._paused = False
        self._last = sys.maxsize
        self._resumed: asyncio.Task[None] | None = None
        self._asking: list[InboundMessage] = []
        self._owed: tuple[InboundMessage, ...] = ()
        self._lately: deque[datetime] = deque(maxlen=MAX_REFUSALS_PER_WINDOW)

    def is_full(self, *, history_is_long: bool) -> bool:
        """Whether messages filled this execution: by their number, or by their size."""
        return self.taken >= MAX_MESSAGES_PER_EXECUTION or (history_is_long and self.taken > 0)

    @property
    def unheard(self) -> tuple[InboundMessage, ...]:
        """What has come, and nobody has read yet."""
        return tuple(self._waiting)

    def find_open_questions(self) -> tuple[InboundMessage, ...]:
        """Return the same, with what is asked and has yet to have its turn."""
        return *self._waiting, *(one for one in self._asking if one.disposition is None)

    @property
    def backlog(self) -> tuple[UnheardMessage, ...]:
        """The same, as the execution after this one is given it."""
        return tuple(map(InboundMessage.to_unheard, self._waiting))

    async def open(self, backlog: Sequence[UnheardMessage] = ()) -> None:
        """
        Begin to judge, first of all the *backlog* of the execution before.

        A stop or a suspension that came before has taken effect on return.
        """
        earlier = [*map(InboundMessage.from_unheard, backlog)]
        self._waiting.extendleft(reversed(earlier))
        self._waiting_size += sum(message.carried_size for message in earlier)
        self.taken += len(backlog)
        while self.heard < len(backlog):
            await self._judge_batch()
        self._opened.set()
        if self._waiting:
            await workflow.wait_condition(lambda: True)  # everybody else had a turn by then

    def keeps_from_ending(self) -> bool:
        """Whether a run that is over would wait for what has come, and for what is gathered."""
        waits = bool(self._waiting) or not self._is_silent()
        return waits and workflow.patched(GATHERED_ENOUGH)

    async def end(self) -> None:
        """Hear what has come to a run that is over, and nobody who comes later."""
        self._last, self._owed = self.taken, tuple(self._asking)
        if not self._judging:
            await self._judge_all()  # what came behind an end before this one
        await workflow.wait_condition(lambda: self._is_silent() or self._is_over())

    def _is_silent(self) -> bool:
        """Whether nothing is judged, and nobody waits for an answer."""
        return workflow.all_handlers_finished() and not self._judging

    def _is_over(self) -> bool:
        """Whether nobody is heard any more: all have been who had come, and have their answers."""
        answered = all(one.disposition is not None for one in self._owed)
        return self.heard >= self._last and answered

    async def leave_backlog(self) -> None:
        """
        Gather no more, and wait until nothing is under way: what waits then a new execution hears.

        As long as that has no room there, or an update waits for its answer, it is heard here.
        """
        self._hurrying = self._leaving = True
        await workflow.wait_condition(lambda: self._is_silent() or self._is_still())

    def _is_still(self) -> bool:
        return self._paused and self._can_leave_backlog()

    def resume(self) -> None:
        """Hear what waits here: there is no new execution, or the run isn't over after all."""
        self._hurrying = self._leaving = False
        self._last, self._owed = sys.maxsize, ()
        if self._waiting and not self._judging:
            self._resumed = asyncio.create_task(self._judge_all())

    def _can_leave_backlog(self) -> bool:
        """
        Whether what waits may wait for a new execution.

        Not behind a local activity: what came meanwhile nobody would have.
        """
        if not self._leaving or self._asking or is_behind_local_activity():
            return False
        return fits_beside_state(len(self._waiting), self._waiting_size)

    def set_draining(self, *, on: bool = True) -> None:
        """Gather no more: the run ends as soon as nothing waits."""
        self._hurrying = on

    async def submit(self, message: InboundMessage) -> None:
        """Take a message. It has been judged on return only if nobody else was judging."""
        self.taken += 1
        self._waiting.append(message)
        self._waiting_size += message.carried_size
        if not self._judging:
            await self._judge_all()

    async def submit_and_wait(self, message: InboundMessage) -> MessageOutcome | MessageReceipt:
        """Deliver a message when all is heard that came before; return what became of it."""
        self._asking.append(message)
        await take_turn()
        await asyncio.sleep(0)  # signals of the same task stand before it in history
        await self.submit(message)
        while message.disposition is None:
            await (message.verdict or self._judged).wait()
        self._asking.remove(message)
        return message.disposition

    async def _judge_all(self) -> None:
        self._judging = True
        try:
            await self._opened.wait()
            while self._waiting and not self._is_over():
                if self._is_over_refusal_rate() and not self._has_whole_batch():
                    await self._throttle()
                if self._can_leave_backlog() and workflow.patched(CARRIED_UNHEARD):
                    await self._pause()
                else:
                    await self._judge_batch()
        finally:
            self._judging = False

    async def _judge_batch(self) -> None:
        batch = self._take_batch()
        more = bool(self._waiting)
        await self._judge(batch, may_record=not self._hurrying, more=more)
        self._count(batch)

    async def _pause(self) -> None:
        self._paused = True
        await workflow.wait_condition(lambda: not self._can_leave_backlog())
        self._paused = False

    async def _throttle(self) -> None:
        with suppress(TimeoutError):
            await workflow.wait_condition(
                lambda: self._hurrying,
                timeout=THROTTLE_DELAY,
                timeout_summary="gathering messages: most are refused",
            )

    def _take_batch(self) -> list[InboundMessage]:
        """Take the oldest messages, as many as can be judged together; one at least."""
        batch, left = list[InboundMessage](), MAX_JUDGE_BATCH_BYTES
        while self._waiting and len(batch) < MAX_BATCH_MESSAGES:
            left -= self._waiting[0].size
            if batch and left < 0:
                break
            batch.append(self._waiting.popleft())
        self._waiting_size -= sum(message.carried_size for message in batch)
        return batch

    def _has_whole_batch(self) -> bool:
        """Whether so much waits that to gather more would save nothing."""
        full = len(self._waiting) >= MAX_BATCH_MESSAGES
        return full and workflow.patched(GATHERED_ENOUGH)

    def _is_over_refusal_rate(self) -> bool:
        if self._hurrying or len(self._lately) < MAX_REFUSALS_PER_WINDOW:
            return False
        return workflow.now() - self._lately[0] < REFUSAL_WINDOW

    def _count(self, batch: Sequence[InboundMessage]) -> None:
        self.heard += len(batch)
        self._judged.set()
        self._judged = asyncio.Event()
        refused = sum(_counts_as_refusal(one.disposition) for one in batch)
        self._lately.extend([workflow.now()] * min(refused, MAX_REFUSALS_PER_WINDOW))


def _counts_as_refusal(outcome: MessageOutcome | MessageReceipt | None) -> bool:
    match outcome:
        case None:
            return True
        case MessageReceipt(state=state):
            return state == "refused"
        case MessageOutcome(accepted=accepted):
            return not accepted


async def take_turn() -> None:
    """Wait until all is heard that came before the update which this is called for."""
    ours = cast("Mapping[str, Callable[[], Awaitable[None]]]", workflow.extern_functions())  # pyright: ignore[reportUnknownMemberType] -- of any functions
    if TAKE_TURN in ours:
        await ours[TAKE_TURN]()


def is_behind_local_activity(seconds: float = 0.0) -> bool:
    """
    Whether what was heard last is the end of local activities that took so long, or longer.

    Or, where no time is named, what waited for one: to a replay both may be in the task before.

    More may have come meanwhile, of which the run hears only when this workflow task has ended.
    """
    ours = cast("Mapping[str, Callable[[], float | None]]", workflow.extern_functions())  # pyright: ignore[reportUnknownMemberType] -- as above
    took = ours[LOCAL_SECONDS]() if LOCAL_SECONDS in ours else None
    return took is not None and took >= seconds


async def hear_what_came() -> None:
    """
    End the workflow task behind local activities that took long: what came meanwhile is heard.

    By a timer, which waits for no free worker while what was decided grows old.
    """
    if is_behind_local_activity(LONG_SECONDS):
        await workflow.sleep(options.YIELD_DELAY, summary="what came meanwhile is heard")


async def hear_before_more() -> bool:
    """Hear it within a step, before that begins more; say whether it took long enough for that."""
    heard = is_behind_local_activity(LONG_SECONDS) and workflow.patched(HEARD_FIRST)
    if heard:
        await hear_what_came()
    return heard
