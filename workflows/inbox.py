"""What people say to a run, judged in batches: a flood costs few events and locks nobody out."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias

from temporalio import workflow
from temporalio.common import RawValue

from contracts.approvals import Disposition

MOST_AT_ONCE = 500
"""Messages; reading so many takes less than the second or two that a workflow may think."""

TOLERATED = 20
"""Refused messages within WINDOW. Beyond, what arrives is gathered before it is judged."""

MOST_OF_AN_EXECUTION = 2_000
"""Messages; the server takes 10,000 signals in one execution, and then no approval any more."""

WINDOW = timedelta(minutes=1)
GATHERING = timedelta(seconds=1)


@dataclass(eq=False)
class Letter:
    """One message on its way, unread; in the end what became of it."""

    signal: str
    payloads: Sequence[RawValue]
    disposition: Disposition | None = None


Judge: TypeAlias = Callable[[Sequence[Letter]], Awaitable[None]]


class Inbox:
    """
    Judges messages in the order of their arrival.

    The first that comes judges for all that come meanwhile; nothing else is done when one arrives,
    because ten thousand may arrive in one workflow task. Each is judged: a limit that dropped some
    would let a flood of bad approvals keep the good one out.
    """

    def __init__(self, judge: Judge) -> None:
        self.taken = 0
        self.refused = 0
        self._judge = judge
        self._opened = asyncio.Event()
        self._waiting: deque[Letter] = deque()
        self._judged = asyncio.Event()
        self._judging = False
        self._hurrying = False
        self._lately: deque[datetime] = deque(maxlen=TOLERATED)

    def is_full(self, *, history_is_long: bool) -> bool:
        """Whether messages filled this execution: of any kind, or such as changed nothing."""
        return self.taken >= MOST_OF_AN_EXECUTION or (history_is_long and self.refused > 0)

    def open(self) -> None:
        """Begin to judge; what came before is judged first."""
        self._opened.set()

    def hurry(self) -> None:
        """Gather no more: the run wants to go on in a new execution as soon as nothing waits."""
        self._hurrying = True

    async def deliver(self, letter: Letter) -> None:
        """Take a message. It has been judged on return only if nobody else was judging."""
        self.taken += 1
        self._waiting.append(letter)
        if not self._judging:
            await self._judge_all()

    async def answered(self, letter: Letter) -> Disposition:
        """Deliver a message and return what became of it."""
        await self.deliver(letter)
        while letter.disposition is None:
            await self._judged.wait()
        return letter.disposition

    async def _judge_all(self) -> None:
        self._judging = True
        try:
            await self._opened.wait()
            while self._waiting:
                if self._is_flooded():
                    await workflow.sleep(GATHERING, summary="gathering messages: most are refused")
                some = min(len(self._waiting), MOST_AT_ONCE)
                batch = [self._waiting.popleft() for _ in range(some)]
                await self._judge(batch)
                self._count(batch)
        finally:
            self._judging = False

    def _is_flooded(self) -> bool:
        if self._hurrying or len(self._lately) < TOLERATED:
            return False
        return workflow.now() - self._lately[0] < WINDOW

    def _count(self, batch: Sequence[Letter]) -> None:
        self._judged.set()
        self._judged = asyncio.Event()
        refused = sum(not (one.disposition and one.disposition.accepted) for one in batch)
        self.refused += refused
        self._lately.extend([workflow.now()] * min(refused, TOLERATED))
