"""Asking a run whether a call may begin that waited in its queue, and deciding anew about it."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Protocol, TypeAlias

from temporalio import activity
from temporalio.client import WorkflowQueryFailedError, WorkflowQueryRejectedError
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError

from holdfast.contracts.calls import ToolInvocation
from holdfast.contracts.decisions import AuthorizeCalls, Decided, Rulings
from holdfast.contracts.errors import HoldfastError
from holdfast.contracts.state.late_calls import LateCall, Whole, digest_terms, prove_call
from holdfast.run.tool_calls import MAX_RULING_AGE

ANSWER_TIMEOUT = timedelta(seconds=15)
"""So long a call that is late waits for its run; where nobody answers it doesn't begin."""

ASK_TIMEOUT = timedelta(seconds=5)
"""
So long one question waits: the server may have given it to a worker that stands still.

Another goes to another worker, once that has none left that it could take.
"""

PAUSE = timedelta(seconds=0.2)
"""Until a run is asked again that has yet to hear what it was told."""

NO_ANSWER = "waited in its queue, and nobody says whether it may still begin"

_UNANSWERED = (RPCError, WorkflowQueryFailedError, WorkflowQueryRejectedError, TimeoutError)

Ruler: TypeAlias = Callable[[AuthorizeCalls], Awaitable[Rulings]]


class LateCallReader(Protocol):
    """Asks the run that asked for this activity about a call of it, which leaves no history."""

    async def read_late_call(
        self, about: str | Whole, now: datetime, heard: int | None
    ) -> LateCall:
        """Return what the run says, or the one that it works for, that has *heard* so many."""
        ...


class LateCalls:
    """
    What is asked before a call begins that waited: whether what it was sent by holds still.

    The run says it, by a query, and not this worker alone: it knows what people have said since,
    and so do those that it works for. Its answer is decided about here, as when the call was
    decided first: that needs no place for an activity, and all of them may be taken by calls that
    ask.
    """

    def __init__(
        self,
        runs: LateCallReader,
        rule: Ruler,
        *,
        patience: timedelta = ANSWER_TIMEOUT,
        one: timedelta = ASK_TIMEOUT,
        pause: timedelta = PAUSE,
    ) -> None:
        self._runs = runs
        self._rule = rule
        self._patience = patience
        self._one = one
        self._pause = pause

    async def find_objection(self, invocation: ToolInvocation, waited: float) -> str | None:
        """
        Say why a call may not begin that has *waited* so many seconds here; null if it may.

        Who finds out what became of another may: that has begun, whatever is said by now.
        """
        info = activity.info()
        now = info.started_time + timedelta(seconds=waited)
        in_time = info.is_local or now - info.scheduled_time <= MAX_RULING_AGE
        if in_time or invocation.purpose == "reconcile":
            return None
        try:
            async with asyncio.timeout(self._patience.total_seconds()):
                return await self._ask(invocation, now)
        except TimeoutError:
            return NO_ANSWER
        except (ApplicationError, HoldfastError):  # as where nobody knows what is switched off
            return "waited in its queue, and nothing can be decided about it now"

    async def _ask(self, invocation: ToolInvocation, now: datetime) -> str | None:
        said = last = await self._read(prove_call(invocation), now)
        while last.whole is not None and not last.reason:
            last = await self._read(last.whole, now)
        if last.reason:
            return f"waited in its queue, and {last.reason} by now"
        if said.asked is None:
            return None
        answer = await self._rule(said.asked.with_(now=now))
        ruling = answer.rulings[0] if answer.rulings else None
        if isinstance(ruling, Decided) and digest_terms(ruling) == said.terms:
            return (
                "waited in its queue, and a review of it counts no more" if answer.lapsed else None
            )
        return "waited in its queue, and is decided otherwise by now"

    async def _read(self, about: str | Whole, now: datetime) -> LateCall:
        """Ask the run until it answers: it may be busy, or without a worker for a moment."""
        heard: int | None = None
        while True:
            with suppress(*_UNANSWERED):
                async with asyncio.timeout(self._one.total_seconds()):
                    said = await self._runs.read_late_call(about, now, heard)
                if (heard := said.heard) is None:
                    return said
            await asyncio.sleep(self._pause.total_seconds())
