"""Which runs there are."""

from datetime import UTC, datetime
from typing import get_args

from temporalio.client import (
    Client,
    WorkflowExecution,
    WorkflowExecutionStatus,
    WorkflowFailureError,
)

from holdfast.cli import render
from holdfast.cli.screen import Screen
from holdfast.contracts.base import Contract
from holdfast.contracts.run import WORKFLOW_TYPE, RunResult
from holdfast.trace.values import TraceStatus
from holdfast.trace.words import duration, moment
from holdfast.workflows import run_context

STATUSES: tuple[TraceStatus, ...] = get_args(TraceStatus)

_CLOSE_STATUSES: dict[WorkflowExecutionStatus, TraceStatus] = {
    WorkflowExecutionStatus.FAILED: "failed",
    WorkflowExecutionStatus.CANCELED: "cancelled",
    WorkflowExecutionStatus.TERMINATED: "terminated",
    WorkflowExecutionStatus.TIMED_OUT: "timed_out",
}


class RunEntry(Contract):
    """
    A run in a list. What the server doesn't know, for want of search attributes, is null.

    A run that went on in a new execution is listed with the times of its latest.
    """

    run_id: str
    agent: str | None
    tenant: str | None
    status: TraceStatus
    pending: tuple[str, ...]
    started_at: datetime
    ended_at: datetime | None


async def runs(client: Client, status: TraceStatus | None, limit: int) -> list[RunEntry]:
    """Return the latest runs, or the latest that stand so. Search attributes may be missing."""
    found: list[RunEntry] = []
    async for execution in client.list_workflows(f"WorkflowType = '{WORKFLOW_TYPE}'"):
        if execution.status is WorkflowExecutionStatus.CONTINUED_AS_NEW:
            continue
        entry = await _entry(client, execution)
        if status is None or entry.status == status:
            found.append(entry)
        if len(found) == limit:
            break
    return found


def show(out: Screen, entries: list[RunEntry]) -> None:
    """Print runs as a table."""
    rows = [
        (
            entry.run_id,
            entry.agent or "-",
            entry.status,
            ",".join(entry.pending) or "-",
            moment(entry.started_at),
            duration((entry.ended_at or datetime.now(UTC)) - entry.started_at),
        )
        for entry in entries
    ]
    render.show_table(out, ("RUN", "AGENT", "STATUS", "PENDING", "STARTED", "TOOK"), rows)


async def _entry(client: Client, execution: WorkflowExecution) -> RunEntry:
    found = execution.typed_search_attributes
    return RunEntry(
        run_id=execution.id,
        agent=found.get(run_context.NAME),
        tenant=found.get(run_context.TENANT),
        status=await _find_status(client, execution),
        # What a run that was terminated waited for stays in its attributes.
        pending=() if execution.close_time else tuple(found.get(run_context.PENDING) or ()),
        started_at=execution.start_time,
        ended_at=execution.close_time,
    )


async def _find_status(client: Client, execution: WorkflowExecution) -> TraceStatus:
    if execution.status is not None and execution.status in _CLOSE_STATUSES:
        return _CLOSE_STATUSES[execution.status]
    known = execution.typed_search_attributes.get(run_context.STATUS)
    for standing in STATUSES:
        if standing == known:
            return standing
    if execution.status is WorkflowExecutionStatus.RUNNING:
        return "running"
    # Without search attributes only the result says how a completed run ended.
    handle = client.get_workflow_handle(
        execution.id, run_id=execution.run_id, result_type=RunResult
    )
    try:
        return (await handle.result()).status
    except WorkflowFailureError:
        return "failed"
