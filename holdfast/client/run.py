"""One run, as those who work with it see it: whatever is refused becomes one line."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Literal, TypeVar

from pydantic import BaseModel
from temporalio.client import (
    Client,
    WorkflowExecutionDescription,
    WorkflowFailureError,
    WorkflowHistory,
    WorkflowUpdateFailedError,
    WorkflowUpdateRPCTimeoutOrCancelledError,
)
from temporalio.common import RawValue
from temporalio.service import RPCError

from holdfast import histories
from holdfast.activities.statuses import PAUSED, is_open
from holdfast.client.events import RunEvent
from holdfast.client.live import LIVE_SECONDS
from holdfast.client.messages import build, is_name, name_request
from holdfast.client.rpc_errors import (
    RPC_TIMEOUT,
    START_A_WORKER,
    ask,
    describe_end,
    describe_pause,
    read_answer,
    translate_error,
    unreadable,
)
from holdfast.client.stream import open_stream
from holdfast.contracts.approvals import Approvable, Escalation, PendingPage, Question, Request
from holdfast.contracts.base import Inbound, JsonObject
from holdfast.contracts.budget import Budget, UsageReport
from holdfast.contracts.errors import HoldfastError, MessageRefused, NoWorker
from holdfast.contracts.run import WORKFLOW_TYPE, RunResult, StatusReport
from holdfast.contracts.sessions.messages import SESSION_WORKFLOW_TYPE
from holdfast.contracts.signals import (
    AnswerSignal,
    ApprovalSignal,
    MessageOutcome,
    ResolutionSignal,
    SignedSignal,
    SteerSignal,
    StopSignal,
    SuspensionSignal,
)

Answer = TypeVar("Answer", bound=BaseModel)


_MAX_PAGES = 1_000  # whoever answers in a run's place may have no end

_POLL_SECONDS = 0.1


class Run:
    """
    One run, which need not exist until it is asked something.

    Every method raises HoldfastError where there is no such run, or another workflow has its id,
    and NoWorker, which is one, where nobody who works at it answers. Messages also raise
    HoldfastError where the run is over, or what they say can't be sent. What the server itself
    can't do raises RPCError. An id that no run can have raises HoldfastError at once.
    """

    def __init__(self, client: Client, run_id: str, execution: str | None = None) -> None:
        if not is_name(run_id):
            raise HoldfastError(f"{run_id!r} can't be the id of a run")
        self.id = run_id
        self._client = client
        self._execution = execution

    @property
    def first_execution(self) -> str | None:
        """What the server called it when it was started here; null for any other run."""
        return self._execution

    async def status(self) -> StatusReport:
        """Return where the run stands. One that is over is asked for its `result` instead."""
        return await self.query("status", StatusReport)

    async def usage(self) -> UsageReport:
        """Return what was used, beside what may be."""
        return await self.query("usage", UsageReport)

    async def pending(self) -> tuple[Request, ...]:
        """Return what waits for people, whole."""
        found: tuple[Request, ...] = ()
        for _ in range(_MAX_PAGES):
            page = await self.query("pending", PendingPage, {"offset": len(found)})
            found += page.items
            if page.next_offset is None:
                return found
        raise unreadable(self.id)

    async def result(self) -> RunResult:
        """
        Wait for the end of the run, however long that is, and return what it came to.

        Raises HoldfastError for a run without a result: cancelled, terminated, or begun with an
        input that can't be used; and for a session, whose messages have results.
        """
        if (await self.describe()).workflow_type == SESSION_WORKFLOW_TYPE:
            raise HoldfastError(
                f"{self.id!r} is a session, of which each message has a result: its 'outcome'"
            )
        handle = self._client.get_workflow_handle(
            self.id, run_id=self._execution, result_type=RawValue
        )
        try:
            return read_answer(self.id, await handle.result(), RunResult)
        except WorkflowFailureError as error:
            raise HoldfastError(f"run {self.id!r} has no result: {error.cause}") from None
        except RPCError as error:
            raise translate_error(error, self._client, self.id) from None

    async def approve(
        self,
        request: str | Approvable,
        *,
        approver: str,
        reason: str | None = None,
        token: str | None = None,
    ) -> None:
        """
        Approve a call or a review; raises MessageRefused where the run doesn't take it.

        A request as `pending` returned it is approved as it was then, and refused if it has
        changed since; by its id alone it is approved as it is now. A *token* proves who approves,
        where the policy wants that.
        """
        await self._decide("approve", request, approver, reason, token)

    async def reject(
        self,
        request: str | Approvable,
        *,
        approver: str,
        reason: str | None = None,
        token: str | None = None,
    ) -> None:
        """Reject a call, whose agent reads the *reason* and goes on without it, or a review."""
        await self._decide("reject", request, approver, reason, token)

    async def answer(self, request: str | Question, text: str, *, by: str | None = None) -> bool:
        """
        Answer a question; raises MessageRefused where the answer doesn't fit.

        Returns whether the run took it; false while no worker has looked at it yet.
        """
        message = build(AnswerSignal, **name_request(request), text=text, by=by)
        return await self.send("answer", message)

    async def resolve(
        self,
        request: str | Escalation,
        action: Literal["resume", "abort", "extend"],
        *,
        guidance: str | None = None,
        budget: Budget | None = None,
        by: str | None = None,
    ) -> bool:
        """
        Say how an escalated run goes on, with words for the model and, to extend, higher limits.

        Returns whether the run took it, as `answer` does, and raises what that raises.
        """
        message = build(
            ResolutionSignal,
            **name_request(request),
            action=action,
            guidance=guidance,
            budget=budget,
            by=by,
        )
        return await self.send("resolution", message)

    async def steer(self, text: str, *, by: str | None = None, now: bool = False) -> None:
        """Say something to the model, before its next turn, which begins at once with *now*."""
        await self.signal("steer", build(SteerSignal, text=text, by=by, now=now or None))

    async def suspend(self, *, by: str | None = None) -> None:
        """Hold the run before its next step, when what is in flight has ended."""
        await self.signal("suspend", build(SuspensionSignal, by=by))

    async def resume(self, *, by: str | None = None) -> None:
        """Let a suspended run go on."""
        await self.signal("resume", build(SuspensionSignal, by=by))

    async def stop(self, reason: str, *, by: str | None = None) -> None:
        """
        End the run with a result that says why.

        What changes nothing is broken off, a write comes to its end, nothing is undone.
        """
        await self.signal("stop", build(StopSignal, reason=reason, by=by))

    async def cancel(self, *, reason: str = "", by: str | None = None) -> None:
        """Cancel the run: tools are told to end, nothing new begins. No codec reaches a reason."""
        if reason and self._client.data_converter.payload_codec is not None:
            raise HoldfastError("no codec reaches why a run is cancelled: leave the reason out")
        said = ": ".join(filter(None, (f"asked for by {by}" if by else "", reason)))
        await self.describe_open()
        try:
            await self._client.get_workflow_handle(self.id).cancel(reason=said)
        except RPCError as error:
            raise translate_error(error, self._client, self.id) from None

    async def describe(self) -> WorkflowExecutionDescription:
        """
        Return what the server knows of the run.

        Raises NoWorker when nobody can read it: the server takes search attributes that are
        labelled as another type, and no worker begins a run with them.
        """
        try:
            description = await self._client.get_workflow_handle(self.id).describe()
        except ValueError as error:
            raise NoWorker(
                f"run {self.id!r} was started with search attributes that can't be read "
                f"({error}), so no worker begins it or hears a cancellation; "
                "'temporal workflow terminate' ends it"
            ) from None
        except RPCError as error:
            raise translate_error(error, self._client, self.id) from None
        self._require_run(description.workflow_type)
        for activity in description.raw_description.pending_activities:
            await histories.decode_failure(self._client, activity.last_failure)
        return description

    def _require_run(self, kind: str) -> None:
        if kind not in {WORKFLOW_TYPE, SESSION_WORKFLOW_TYPE}:
            raise HoldfastError(f"{self.id!r} is no run of an agent but a {kind!r}")

    async def describe_open(self) -> WorkflowExecutionDescription:
        """Return what the server knows of a run that goes on; HoldfastError when it is over."""
        description = await self.describe()
        if not is_open(description.status):
            raise HoldfastError(describe_end(description))
        return description

    async def events(
        self, after: str | None = None, *, live_seconds: float | None = LIVE_SECONDS
    ) -> AsyncGenerator[RunEvent]:
        """
        Yield what happened and happens in the run and in its parts, until it is over.

        *after* is the id of the event that was seen last. What passes, as words while they come,
        is looked for every *live_seconds*, once for all who watch the run in this process; null
        leaves it out. Raises HoldfastError for one of no event of this run that the server keeps.
        """
        found = await self.describe()
        try:
            stream = await open_stream(self._client, found, after, live_seconds)
            async with aclosing(stream.events()) as events:
                async for event in events:
                    yield event
        except RPCError as error:
            raise translate_error(error, self._client, self.id) from None

    def find_asking(self, request: Request) -> "Run":
        """Return the run that asks: this one, or one that works for it."""
        return Run(self._client, request.run_id) if request.run_id else self

    async def history(self, execution: str | None = None) -> tuple[WorkflowHistory, ...]:
        """Return the histories of its executions up to one, or of all, the oldest first."""
        try:
            found = await histories.fetch(self._client, self.id, execution)
        except RPCError as error:
            raise translate_error(error, self._client, self.id) from None
        begun = found[0].events[0].workflow_execution_started_event_attributes
        self._require_run(begun.workflow_type.name)
        return found

    async def query(self, name: str, type: type[Answer], *arguments: JsonObject) -> Answer:
        """Ask the run by one of its queries (docs/plain_client.md)."""
        try:
            return await ask(self._client, (self.id, None), name, type, *arguments)
        except NoWorker:
            await self.describe()
            raise

    async def signal(self, name: str, message: Inbound) -> None:
        """Send a signal; what it comes to shows `status`."""
        await self.describe_open()
        try:
            await self._client.get_workflow_handle(self.id).signal(
                name, message.model_dump(mode="json", exclude_unset=True)
            )
        except RPCError as error:
            raise translate_error(error, self._client, self.id) from None

    async def wants_signature(self, name: SignedSignal) -> bool:
        """Whether the run takes this signal only with a token; false where nobody answers."""
        try:
            return name in (await self.status()).signed
        except NoWorker:
            return False

    async def decide(self, message: ApprovalSignal) -> MessageOutcome:
        """Send the update `decide` and return what became of it."""
        return await self.update("decide", message)

    async def update(self, name: str, message: Inbound) -> MessageOutcome:
        """Send a message as an update, and return what became of it."""
        if (await self.describe_open()).status == PAUSED:
            raise NoWorker(f"{describe_pause(self.id)}: only then it takes {name!r}")
        handle = self._client.get_workflow_handle(self.id)
        try:
            answer: RawValue = await handle.execute_update(  # pyright: ignore[reportUnknownMemberType] -- an overload of the SDK leaves a type open
                name,
                message.model_dump(mode="json", exclude_none=True),
                result_type=RawValue,
                rpc_timeout=RPC_TIMEOUT * 3,
            )
            return read_answer(self.id, answer, MessageOutcome)
        except WorkflowUpdateRPCTimeoutOrCancelledError:
            raise NoWorker(
                f"no worker has taken {name!r} for run {self.id!r}, which may "
                f"still take effect: {START_A_WORKER}, then look at the run again"
            ) from None
        except WorkflowUpdateFailedError as error:
            raise HoldfastError(f"run {self.id!r} took no {name!r}: {error.cause}") from None
        except RPCError as error:
            raise translate_error(error, self._client, self.id) from None

    async def send(
        self, name: Literal["answer", "resolution"], message: AnswerSignal | ResolutionSignal
    ) -> bool:
        """Send a signal and return whether the run took it: it judges that itself, a bit later."""
        try:
            before, waiting = await self.status(), await self._list_waiting()
        except NoWorker:
            before, waiting = None, set[str]()
        await self.signal(name, message)
        if before is None:
            return False
        waited = message.request_id in waiting
        try:
            return await self._wait_for_acceptance(name, message.request_id, before, waited=waited)
        except NoWorker:
            return False

    async def _list_waiting(self) -> set[str]:
        return {request.request_id for request in await self.pending()}

    async def _wait_for_acceptance(
        self, name: str, request_id: str, before: StatusReport, *, waited: bool
    ) -> bool:
        """
        Wait until a request waits no more, or this message is refused, whichever is seen first.

        Only a request that waited once is closed by what was sent: that another doesn't wait says
        nothing, because the run may not have judged the message yet.
        """
        patience = time.monotonic() + RPC_TIMEOUT.total_seconds()
        while time.monotonic() < patience:
            # Refusals are asked for last: what closed the request may have refused this message.
            waits = request_id in await self._list_waiting()
            status = await self.status()
            known = max(0, len(status.refused) - (status.refused_total - before.refused_total))
            for refused in status.refused[known:]:
                if (refused.signal, refused.request_id) == (name, request_id):
                    raise MessageRefused(refused.reason, refused.code)
            if waited and not waits:
                return True
            waited = waits
            await asyncio.sleep(_POLL_SECONDS)
        return False

    async def _decide(
        self,
        decision: Literal["approve", "reject"],
        request: str | Approvable,
        approver: str,
        reason: str | None,
        token: str | None,
    ) -> None:
        message = build(
            ApprovalSignal,
            **name_request(request),
            decision=decision,
            approver=approver,
            reason=reason,
            token=token,
        )
        outcome = await self.decide(message)
        if not outcome.accepted:
            raise MessageRefused(outcome.reason, outcome.code)
