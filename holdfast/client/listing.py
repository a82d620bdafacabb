"""Which runs there are."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable
from datetime import datetime
from typing import Literal, NamedTuple, get_args
from uuid import UUID

from temporalio.api.common.v1 import Payload
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import (
    Client,
    WorkflowExecution,
    WorkflowExecutionStatus,
)
from temporalio.common import RawValue
from temporalio.service import RPCError, RPCStatusCode

from holdfast.activities.statuses import (
    IS_OPEN,
    IS_OVER,
    PAUSED,
    UnreadableHistory,
    can_be_sought,
    list_executions,
    read_end,
    read_events,
)
from holdfast.client.rpc_errors import read_answer
from holdfast.contracts.base import Contract
from holdfast.contracts.errors import HoldfastError
from holdfast.contracts.run import WORKFLOW_TYPE, RunInput, RunResult
from holdfast.contracts.sessions.messages import SESSION_WORKFLOW_TYPE
from holdfast.contracts.texts import shorten
from holdfast.run.requests import may_wait_for
from holdfast.trace.payloads import decode
from holdfast.trace.values import TraceStatus
from holdfast.workflows.execution.search_attributes import NAME, PENDING, STATUS, TENANT

_ALL = f"WorkflowType = '{WORKFLOW_TYPE}'"
_SESSIONS = f"WorkflowType = '{SESSION_WORKFLOW_TYPE}'"
_OPEN = f"({_ALL} OR {_SESSIONS}) AND {IS_OPEN}"
_HAS_NO_ANSWER = f"{IS_OVER} AND (AgentStatus IS NULL OR AgentStatus != 'completed')"

# Runs of a worker that began without search attributes may wait too.
_WAITING = f"{_OPEN} AND (AgentPending IS NOT NULL OR AgentStatus IS NULL)"

_UNKNOWN = "AgentTenant IS NULL"

MAX_READ_AT_ONCE = 20
"""Runs of which is read at once what no search attribute says: those that nobody begins."""

STATUSES: tuple[TraceStatus, ...] = get_args(TraceStatus)

ACTIVE: frozenset[TraceStatus] = frozenset(
    {"running", "waiting", "idle", "suspending", "suspended"}
)
"""Where runs and sessions stand that are not over."""

FAILED: frozenset[TraceStatus] = frozenset(STATUSES) - ACTIVE - {"completed"}
"""How runs end that have no answer."""

_CLOSE_STATUSES: dict[WorkflowExecutionStatus, TraceStatus] = {
    WorkflowExecutionStatus.FAILED: "failed",
    WorkflowExecutionStatus.CANCELED: "cancelled",
    WorkflowExecutionStatus.TERMINATED: "terminated",
    WorkflowExecutionStatus.TIMED_OUT: "timed_out",
}


class RunEntry(Contract):
    """
    A run in a list. What the server doesn't know, for want of search attributes, is null.

    A run that went on in a new execution is listed with the times of its latest. `reason` says why
    one ended without an answer, where runs are listed that did.
    """

    run_id: str
    agent: str | None
    tenant: str | None
    status: TraceStatus
    pending: tuple[str, ...]
    started_at: datetime
    ended_at: datetime | None
    reason: str | None = None


class SessionEntry(Contract):
    """A session in a list; one that is closed opens again with the next message."""

    session_id: str
    agent: str | None
    tenant: str | None
    status: TraceStatus | Literal["closed"]
    started_at: datetime


class Wanted(NamedTuple):
    """
    Which runs are listed; null is any. `waiting_for` is a group, a kind or a tool.

    One of several statuses is wanted by `ACTIVE` or `FAILED`, one run by the id of its trace.
    """

    status: TraceStatus | frozenset[TraceStatus] | None = None
    agent: str | None = None
    tenant: str | None = None
    waiting_for: str | None = None
    trace_id: str | None = None

    def fits(self, entry: RunEntry) -> bool:
        """Whether a run is one of them."""
        return (
            (self.status is None or entry.status in self._statuses)
            and self.agent in {None, entry.agent}
            and self.tenant in {None, entry.tenant}
            and (self.waiting_for is None or any(map(self._names, entry.pending)))
        )

    @property
    def _statuses(self) -> frozenset[TraceStatus]:
        if isinstance(self.status, frozenset):
            return self.status
        return frozenset() if self.status is None else frozenset({self.status})

    @property
    def query(self) -> str:
        """What the server is asked for; whatever it answers is looked at once more."""
        named = {"AgentName": self.agent, "AgentTenant": self.tenant}
        return " AND ".join(
            (
                _OPEN if self.status == ACTIVE else _ALL,
                *((_HAS_NO_ANSWER,) if self.status == FAILED else ()),
                # Runs that no worker has begun are named by their input alone.
                *(
                    f"({name} = {_quote(value)} OR {name} IS NULL)"
                    for name, value in named.items()
                    if value and can_be_sought(value)
                ),
                *(("AgentPending IS NOT NULL",) if self.waiting_for else ()),
            )
        )

    def _names(self, keyword: str) -> bool:
        return self.waiting_for in {keyword, *keyword.split(":", 2)}


class MayWait(NamedTuple):
    """
    An open run in which something may wait; `of_tenant`, the server says that it is theirs.

    One that `is_paused` in Temporal can't be asked.
    """

    run_id: str
    of_tenant: bool
    queue: str
    is_paused: bool


async def find_waiting(client: Client, group: str | None, tenant: str | None) -> list[MayWait]:
    """
    Return open runs in which something may wait for a group, and which may be a tenant's.

    Of a server that lacks the search attributes these are all open runs.
    """
    theirs = ""
    if tenant is not None and can_be_sought(tenant):
        theirs = f" AND (AgentTenant = {_quote(tenant)} OR {_UNKNOWN})"
    try:
        return [
            MayWait(
                run.id,
                of_tenant=run.typed_search_attributes.get(TENANT) == tenant,
                queue=run.task_queue,
                is_paused=run.status == PAUSED,
            )
            async for run in list_executions(client, f"{_WAITING}{theirs}")
            if group is None or may_wait_for(run.typed_search_attributes.get(PENDING), group)
        ]
    except RPCError as error:
        if error.status is not RPCStatusCode.INVALID_ARGUMENT:
            raise
        return [
            MayWait(
                run.id,
                of_tenant=False,
                queue=run.task_queue,
                is_paused=run.status == PAUSED,
            )
            async for run in list_executions(client, _OPEN)
        ]


async def find_runs(client: Client, wanted: Wanted, limit: int) -> list[RunEntry]:
    """
    Return the latest runs that are wanted.

    Raises HoldfastError where the server lacks the search attributes by which they are found.
    """
    found: list[RunEntry] = []
    traced = wanted.trace_id and _find_by_trace(client, wanted.trace_id)
    try:
        async for some in _batch(traced or list_executions(client, wanted.query)):
            entries = await asyncio.gather(*(_entry_if(wanted, client, one) for one in some))
            found += filter(None, entries)
            if len(found) >= limit:
                break
    except RPCError as error:
        if error.status is not RPCStatusCode.INVALID_ARGUMENT or wanted.query == _ALL:
            raise
        raise HoldfastError(
            "this namespace has no search attributes of Holdfast, by which runs of an agent, for "
            "a tenant, waiting for somebody or failed are found: create them (deploy/README.md), "
            "or list all"
        ) from None
    return found[:limit]


async def _batch(
    executions: AsyncIterable[WorkflowExecution],
) -> AsyncGenerator[list[WorkflowExecution]]:
    """Yield those with which no new execution went on, some at a time."""
    batch: list[WorkflowExecution] = []
    async for one in executions:
        if one.status is not WorkflowExecutionStatus.CONTINUED_AS_NEW:
            batch.append(one)
        if len(batch) == MAX_READ_AT_ONCE:
            yield batch
            batch = []
    yield batch


async def _find_by_trace(client: Client, trace_id: str) -> AsyncGenerator[WorkflowExecution]:
    """Yield the latest execution of a run or a session, whose trace is named by its first."""
    query = f"RunId = '{UUID(trace_id)}' AND ({_ALL} OR {_SESSIONS})"
    async for first in list_executions(client, query):
        # A session that was closed may have been opened again since, under another trace.
        later = (
            f"WorkflowId = {_quote(first.id)} AND StartTime >= '{first.start_time.isoformat()}'"
        )
        latest = [
            one
            async for one in list_executions(client, later)
            if one.status is not WorkflowExecutionStatus.CONTINUED_AS_NEW
        ]
        for one in latest[-1:]:
            yield one


async def find_sessions(client: Client, limit: int) -> list[SessionEntry]:
    """Return the latest sessions, each once."""
    found: dict[str, SessionEntry] = {}
    async for execution in list_executions(client, _SESSIONS):
        if execution.status is WorkflowExecutionStatus.CONTINUED_AS_NEW or execution.id in found:
            continue
        shown = execution.typed_search_attributes
        is_closed = execution.status is WorkflowExecutionStatus.COMPLETED
        found[execution.id] = SessionEntry(
            session_id=execution.id,
            agent=shown.get(NAME),
            tenant=shown.get(TENANT),
            status="closed" if is_closed else await _find_status(client, execution),
            started_at=execution.start_time,
        )
        if len(found) == limit:
            break
    return list(found.values())


def _quote(value: str) -> str:
    """Write a text in a query, out of which it doesn't come (Temporal's list filters)."""
    doubled = value.replace("\\", "\\\\").replace("'", "''")
    return f"'{doubled}'"


async def _entry_if(
    wanted: Wanted, client: Client, execution: WorkflowExecution
) -> RunEntry | None:
    entry = await _entry(client, execution)
    if not wanted.fits(entry):
        return None
    if wanted.status != FAILED:
        return entry
    return entry.copy_with({"reason": await _find_reason(client, execution)})


async def _entry(client: Client, execution: WorkflowExecution) -> RunEntry:
    found = execution.typed_search_attributes
    agent, tenant = found.get(NAME), found.get(TENANT)
    if agent is None:
        asked = await _read_input(client, execution)
        agent, tenant = (asked.agent, asked.tenant) if asked else (None, None)
    return RunEntry(
        run_id=execution.id,
        agent=agent,
        tenant=tenant,
        status=await _find_status(client, execution),
        # What a run that was terminated waited for stays in its attributes.
        pending=() if execution.close_time else tuple(found.get(PENDING) or ()),
        started_at=execution.start_time,
        ended_at=execution.close_time,
    )


async def _find_status(client: Client, execution: WorkflowExecution) -> TraceStatus:
    if execution.status is not None and execution.status in _CLOSE_STATUSES:
        return _CLOSE_STATUSES[execution.status]
    known = execution.typed_search_attributes.get(STATUS)
    for standing in STATUSES:
        if standing == known:
            return standing
    if execution.close_time is None:
        return "running"
    # Without search attributes only the result says how a completed run ended.
    try:
        return (await _read_result(client, execution)).status
    except HoldfastError:
        return "failed"


async def _find_reason(client: Client, execution: WorkflowExecution) -> str:
    """Say on one line why a run ended without an answer."""
    try:
        stop = (await _read_result(client, execution)).stop
    except HoldfastError as error:
        return shorten(str(error))
    return shorten(": ".join(filter(None, (stop.reason, stop.detail)))) if stop else ""


async def _read_result(client: Client, execution: WorkflowExecution) -> RunResult:
    """
    Read what an execution came to; raises HoldfastError, which says why, where that is no result.

    The SDK would wait for whatever its server begins behind it, by a schedule or a retry policy.
    """
    end = await read_end(client, execution.id, execution.run_id)
    if execution.status is not WorkflowExecutionStatus.COMPLETED:
        raise HoldfastError(await _describe_end(client, end))
    results = (
        end.workflow_execution_completed_event_attributes.result,
        end.workflow_execution_continued_as_new_event_attributes.last_completion_result,
    )
    said = [payload for result in results for payload in result.payloads][:1]
    found = await client.data_converter.decode(said, [RawValue] * len(said))
    return read_answer(execution.id, found[0] if found else RawValue(Payload()), RunResult)


async def _describe_end(client: Client, end: HistoryEvent) -> str:
    """Say how an execution ended that came to nothing, though another one began behind it."""
    for attributes in (
        end.workflow_execution_failed_event_attributes,
        end.workflow_execution_continued_as_new_event_attributes,
    ):
        if attributes.HasField("failure"):
            return str(await client.data_converter.decode_failure(attributes.failure))
    if end.HasField("workflow_execution_terminated_event_attributes"):
        ended = end.workflow_execution_terminated_event_attributes
        return ended.reason or "Workflow terminated"
    if end.HasField("workflow_execution_canceled_event_attributes"):
        return "Workflow cancelled"
    return "Workflow timed out"


async def _read_input(client: Client, execution: WorkflowExecution) -> RunInput | None:
    """Return what a run was started with, which no worker needs to have read; null if unfit."""
    codec = client.data_converter.payload_codec
    try:
        event = await anext(read_events(client, execution.id, execution.run_id, first=1))
    except UnreadableHistory:
        return None
    payloads = [*event.workflow_execution_started_event_attributes.input.payloads]
    return decode(await codec.decode(payloads) if codec else payloads, RunInput)
