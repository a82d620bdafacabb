"""The workflow that keeps the switches, seen from outside: its history says what is off."""

import asyncio
from collections.abc import Iterable, Sequence
from datetime import UTC, timedelta
from typing import NamedTuple

from pydantic import JsonValue
from pydantic_core import from_json
from temporalio.api.common.v1 import Payload, WorkflowExecution
from temporalio.api.enums.v1 import ContinueAsNewInitiator, EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.api.workflowservice.v1 import (
    DescribeWorkflowExecutionRequest,
    GetWorkflowExecutionHistoryRequest,
    GetWorkflowExecutionHistoryResponse,
)
from temporalio.client import Client
from temporalio.common import RawValue, WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.service import RPCError, RPCStatusCode

from holdfast.activities.statuses import list_executions
from holdfast.contracts.errors import HoldfastError
from holdfast.contracts.switches import (
    SWITCHES,
    SWITCHES_WORKFLOW_TYPE,
    Switch,
    SwitchSignal,
    SwitchState,
)
from holdfast.event_log import log
from holdfast.policy.switches import Switchboard, parse_state

POLL_TIMEOUT = timedelta(seconds=5)
"""
How long one look for news may take. The server answers sooner, if only to say that there are none.

So it is also how long a worker that the server can't reach may still act on what it knew.
"""

TASK_TIMEOUT = timedelta(seconds=2)
"""
How long a worker may hold a workflow task of the switches.

A signal that comes meanwhile is recorded when the task ends: after milliseconds, or after this
time if the worker dies with it.
"""

_LIST_SECONDS = 0.2
"""Seconds between looks at a list that doesn't show what was started yet."""

_CLOSE_EVENTS = {
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED,
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED,
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW,
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED,
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED,
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT,
}


class Execution(NamedTuple):
    """The latest execution of the switches' workflow, when the server was asked."""

    run_id: str
    is_open: bool


class Reading(NamedTuple):
    """What an execution's history says up to an event, and whether it ended with that."""

    state: SwitchState = SwitchState()
    event_id: int = 0
    has_ended: bool = False


class SwitchHistory:
    """The workflow that keeps the switches of a namespace, seen from outside; *name* for tests."""

    def __init__(self, client: Client, name: str = SWITCHES) -> None:
        self._client = client
        self._id = name

    async def latest(self) -> Execution | None:
        """
        Return the latest execution, if there is one. Raises RPCError or HoldfastError.

        Whatever else had the id, and is over, takes nothing from what was off before it.
        """
        request = DescribeWorkflowExecutionRequest(
            namespace=self._client.namespace, execution=WorkflowExecution(workflow_id=self._id)
        )
        try:
            answer = await self._client.workflow_service.describe_workflow_execution(
                request, timeout=POLL_TIMEOUT
            )
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return None
            raise
        found = answer.workflow_execution_info
        is_open = not found.HasField("close_time")
        if found.type.name == SWITCHES_WORKFLOW_TYPE:
            return Execution(found.execution.run_id, is_open)
        if is_open:
            raise HoldfastError(
                f"workflow {self._id!r} is a {found.type.name!r}: end it, its id belongs to the "
                f"kill switch ({SWITCHES_WORKFLOW_TYPE})"
            )
        listed = await self._list_executions()
        return Execution(listed[-1], is_open=False) if listed else None

    async def page(
        self, run_id: str, token: bytes, *, wait: bool
    ) -> GetWorkflowExecutionHistoryResponse:
        """Return the next events; with *wait* a page may also say that there are no new ones."""
        request = GetWorkflowExecutionHistoryRequest(
            namespace=self._client.namespace,
            execution=WorkflowExecution(workflow_id=self._id, run_id=run_id),
            next_page_token=token,
            wait_new_event=wait,
        )
        # Without the SDK's own retries: they would hide for how long nothing was heard.
        return await self._client.workflow_service.get_workflow_execution_history(
            request, timeout=POLL_TIMEOUT
        )

    async def after(self, reading: Reading, events: Iterable[HistoryEvent]) -> Reading:
        """Read on; events that were read before change nothing. Raises InvalidInput."""
        fresh = [event for event in events if event.event_id > reading.event_id]
        if not fresh:
            return reading
        board = Switchboard(reading.state)
        for event in fresh:
            board = await self._after(board, event)
        last = fresh[-1]
        return Reading(board.state, last.event_id, last.event_type in _CLOSE_EVENTS)

    async def read_execution(self, run_id: str) -> Reading:
        """
        Read all that there is of an execution. Raises RPCError or HoldfastError.

        One that the server began again, by a retry policy or a schedule, knows what the one before
        knew: nobody switched anything on.
        """
        chain = [run_id]
        pages = [await self.page(run_id, b"", wait=False)]
        while before := _knows_of(pages[-1].history.events):
            chain.append(before)
            pages.append(await self.page(before, b"", wait=False))
        reading = Reading()
        while chain:
            reading = await self._rest(chain.pop(), pages.pop(), reading.state)
        return reading

    async def _rest(
        self, run_id: str, page: GetWorkflowExecutionHistoryResponse, state: SwitchState
    ) -> Reading:
        """Read an execution from its first page on, which begins with a state."""
        reading = await self.after(Reading(state), page.history.events)
        while page.next_page_token:
            page = await self.page(run_id, page.next_page_token, wait=False)
            reading = await self.after(reading, page.history.events)
        if not reading.event_id:
            raise HoldfastError(f"the server shows no history of workflow {self._id!r}")
        return reading

    async def read(self) -> SwitchState:
        """Return what is switched off now. Raises RPCError or HoldfastError."""
        execution = await self.latest()
        return (
            SwitchState()
            if execution is None
            else (await self.read_execution(execution.run_id)).state
        )

    async def ensure_open(self) -> Execution:
        """Return the open execution; one is started if there is none. Raises as `read`."""
        execution = await self.latest()
        while execution is None or not execution.is_open:
            await self.start(execution)
            execution = await self.latest()
        return execution

    async def send(self, name: str, signal: SwitchSignal) -> None:
        """Send `off` or `on`, if need be with the start of the workflow. Raises as `read`."""
        execution = await self.latest()
        while execution is not None and execution.is_open:
            handle = self._client.get_workflow_handle(self._id, run_id=execution.run_id)
            try:
                await handle.signal(name, signal)
            except RPCError as error:
                if error.status is not RPCStatusCode.NOT_FOUND:
                    raise
                execution = await self.latest()  # it ended, or went on in another execution
            else:
                return
        await self.start(execution, name, signal)

    async def start(
        self, before: Execution | None, name: str = "", signal: SwitchSignal | None = None
    ) -> None:
        """
        Start the workflow with what the execution *before* knew, and with a signal, if any.

        An execution that somebody ended switches nothing on. If one is open by now, it stays. What
        another knew that came and went since *before* was looked at is switched off again.
        """
        state = (
            SwitchState() if before is None else (await self.read_execution(before.run_id)).state
        )
        opened = await self._client.start_workflow(
            SWITCHES_WORKFLOW_TYPE,
            state,
            id=self._id,
            task_queue=self._id,
            task_timeout=TASK_TIMEOUT,
            id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
            start_signal=name or None,
            start_signal_args=() if signal is None else (signal,),
            static_summary="What is switched off for all runs",
        )
        last = await self._find_before(opened.result_run_id or "")
        if last and (before is None or last != before.run_id):
            lifted = signal if name == "on" else None
            await self._switch_off_again(last, opened.result_run_id or "", lifted)

    async def _find_before(self, run_id: str) -> str:
        """Return the execution before this one, by the server's list; empty if there is none."""
        try:
            async with asyncio.timeout(POLL_TIMEOUT.total_seconds()):
                while run_id not in (listed := await self._list_executions()):  # noqa: ASYNC110 -- it is elsewhere
                    await asyncio.sleep(_LIST_SECONDS)  # the list comes behind
        except TimeoutError:
            log.warning("switches.not_listed", effect="another start of theirs may go unseen")
            return ""
        return ("", *listed)[listed.index(run_id)]

    async def _list_executions(self) -> list[str]:
        """Return all executions in the order of their starts. Raises RPCError."""
        query = f"WorkflowId = '{self._id}' AND WorkflowType = '{SWITCHES_WORKFLOW_TYPE}'"
        found = [one async for one in list_executions(self._client, query)]
        return [one.run_id for one in sorted(found, key=lambda one: one.start_time)]

    async def _switch_off_again(self, last: str, run_id: str, lifted: SwitchSignal | None) -> None:
        """Switch off what one execution knew and a later one doesn't, but what was *lifted*."""
        known = {
            (one.kind, one.name) for one in (await self.read_execution(run_id)).state.switches
        }
        if lifted is not None:
            known.add((lifted.kind, lifted.name))
        for one in await self._read_switches(last):
            if (one.kind, one.name) not in known:
                off = SwitchSignal(kind=one.kind, name=one.name, by=one.by, reason=one.reason)
                await self.send("off", off)

    async def _read_switches(self, run_id: str) -> tuple[Switch, ...]:
        """Return what an execution knew; nothing if it was deleted. Raises as `read`."""
        try:
            return (await self.read_execution(run_id)).state.switches
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return ()
            raise

    async def _after(self, board: Switchboard, event: HistoryEvent) -> Switchboard:
        if event.HasField("workflow_execution_started_event_attributes"):
            started = event.workflow_execution_started_event_attributes
            if _knows_of([event]):
                return board
            return Switchboard(parse_state(await self._value(started.input.payloads)))
        if event.HasField("workflow_execution_signaled_event_attributes"):
            signal = event.workflow_execution_signaled_event_attributes
            content = await self._content(signal.input.payloads)
            at = event.event_time.ToDatetime(tzinfo=UTC)
            board.take(signal.signal_name, content, at)
        return board

    async def _content(self, payloads: Sequence[Payload]) -> bytes:
        if len(payloads) != 1:  # a signal may have half a million
            return b""
        decoded: list[RawValue] = await self._client.data_converter.decode(payloads, [RawValue])
        return decoded[0].payload.data if len(decoded) == 1 else b""

    async def _value(self, payloads: Sequence[Payload]) -> JsonValue:
        if not payloads:
            return None
        try:
            return from_json(await self._content(payloads[:1]))
        except ValueError:
            return "no JSON"


def _knows_of(events: Sequence[HistoryEvent]) -> str:
    """
    Return the execution that one goes on from which the server began again; empty for others.

    It has the input of once. One that went on by itself was given all that was known.
    """
    if not events:
        return ""
    started = events[0].workflow_execution_started_event_attributes
    by_itself = started.initiator == ContinueAsNewInitiator.CONTINUE_AS_NEW_INITIATOR_WORKFLOW
    return "" if by_itself else started.continued_execution_run_id
