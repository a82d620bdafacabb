"""Which runs there are, and where one stands."""

from datetime import UTC, datetime
from typing import Literal, get_args

from pydantic import TypeAdapter
from rich.console import Console
from temporalio.client import (
    Client,
    WorkflowExecution,
    WorkflowExecutionStatus,
    WorkflowFailureError,
)

from contracts.approvals import RefusedMessage, Request
from contracts.base import Contract
from contracts.budget import Limits
from contracts.run import WORKFLOW_TYPE, RunResult, StatusReport, Stop, UsageReport
from contracts.usage import UsageMetrics
from holdfast.cli import access, render, requested
from holdfast.trace.reader import read_trace
from holdfast.trace.requests import Asked
from holdfast.trace.values import Standing, Trace
from holdfast.trace.words import counted, dollars, duration, moment
from workflows import attributes
from workflows.requests import KEPT_REFUSALS

STATUSES: tuple[Standing, ...] = get_args(Standing)

_STATUS = TypeAdapter(StatusReport)
_USAGE = TypeAdapter(UsageReport)

_ENDED: dict[WorkflowExecutionStatus, Standing] = {
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
    status: Standing
    pending: tuple[str, ...]
    started_at: datetime
    ended_at: datetime | None


class RunView(Contract):
    """
    Where one run stands.

    `source` says who says so: a worker that was asked, or the history that the server keeps. The
    history doesn't know the digest of the transcript, nor all that `requests` say which wait.
    `refused` are the latest of `refused_total`.
    """

    source: Literal["worker", "history"]
    run_id: str
    agent: str | None
    tenant: str | None
    actor: str | None
    status: Standing
    waits_for: tuple[str, ...]
    requests: tuple[Request, ...]
    step: int
    tool_calls: int
    hosted_calls: int
    model: str | None
    answer: str | None
    stop: Stop | None
    failure: str | None
    usage: UsageMetrics
    budget: Limits | None
    waited_seconds: float
    started_at: datetime
    ended_at: datetime | None
    transcript_digest: str | None
    refused: tuple[RefusedMessage, ...]
    refused_total: int
    notes: tuple[str, ...]


async def runs(client: Client, status: Standing | None, limit: int) -> list[RunEntry]:
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


async def view(client: Client, run: str) -> RunView:
    """Return where a run stands; raises HoldfastError when there is no such run."""
    description = await access.describe(client, run)
    if description.status is WorkflowExecutionStatus.RUNNING:
        status = await access.ask(client, run, "status", _STATUS)
        usage = await access.ask(client, run, "usage", _USAGE) if status is not None else None
        waiting = bool(status and status.waits_for)
        requests = await access.ask(client, run, "pending", access.REQUESTS) if waiting else ()
        if status is not None and usage is not None:
            return _asked(status, usage, requests or ())
    return _read(read_trace(await access.history(client, run)))


def show(out: Console, entries: list[RunEntry]) -> None:
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


def show_view(out: Console, shown: RunView) -> None:
    """Print where a run stands."""
    fields = [
        ("run", shown.run_id),
        ("agent", shown.agent or "-"),
        ("for", f"{shown.actor or '-'} of {shown.tenant or '-'}"),
        ("status", shown.status.replace("_", " ")),
        *(("waits for", line) for line in shown.waits_for),
        ("model", shown.model or "-"),
        ("used", _used(shown)),
        ("limits", _limits(shown.budget)),
        ("started", moment(shown.started_at)),
    ]
    if shown.ended_at is not None:
        took = duration(shown.ended_at - shown.started_at)
        fields.append(("ended", f"{moment(shown.ended_at)}, after {took}"))
    if shown.stop is not None:
        fields.append(("stopped", f"{shown.stop.reason}: {shown.stop.detail}"))
        fields.append(("next", shown.stop.next_safe_action))
    if (more := shown.refused_total - len(shown.refused)) > 0:
        fields.append(("refused", f"{more} before these"))
    fields += [
        ("refused", f"{one.signal} {one.request_id} {one.sender}: {one.reason}")
        for one in shown.refused
    ]
    fields += [("noted", note) for note in shown.notes]
    if shown.failure is not None:
        fields.append(("failure", shown.failure))
    if shown.answer is not None:
        fields.append(("answer", shown.answer))
    if shown.source == "history" and shown.ended_at is None:
        fields.append(("note", "no worker answered; this is what the history says"))
    render.show_fields(out, fields)
    for request in shown.requests:
        requested.show_request(out, shown.run_id, request)


async def _entry(client: Client, execution: WorkflowExecution) -> RunEntry:
    found = execution.typed_search_attributes
    return RunEntry(
        run_id=execution.id,
        agent=found.get(attributes.NAME),
        tenant=found.get(attributes.TENANT),
        status=await _standing(client, execution),
        # What a run that was terminated waited for stays in its attributes.
        pending=() if execution.close_time else tuple(found.get(attributes.PENDING) or ()),
        started_at=execution.start_time,
        ended_at=execution.close_time,
    )


async def _standing(client: Client, execution: WorkflowExecution) -> Standing:
    if execution.status is not None and execution.status in _ENDED:
        return _ENDED[execution.status]
    known = execution.typed_search_attributes.get(attributes.STATUS)
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


def _asked(status: StatusReport, usage: UsageReport, requests: tuple[Request, ...]) -> RunView:
    return RunView(
        source="worker",
        run_id=status.run_id,
        agent=status.agent,
        tenant=status.tenant,
        actor=status.actor,
        status=status.status,
        waits_for=status.waits_for,
        requests=requests,
        step=status.step,
        tool_calls=usage.tool_calls,
        hosted_calls=usage.hosted_calls,
        model=status.model,
        answer=status.answer,
        stop=status.stop,
        failure=None,
        usage=usage.usage,
        budget=status.budget,
        waited_seconds=usage.waited_seconds,
        started_at=status.started_at,
        ended_at=None,
        transcript_digest=status.transcript_digest,
        refused=status.refused,
        refused_total=status.refused_total,
        notes=status.notes,
    )


def _read(trace: Trace) -> RunView:
    refused = tuple(
        RefusedMessage(
            signal=said.signal,
            request_id=said.request_id,
            sender=said.sender,
            reason=said.refusal,
            at=said.at,
            code=said.code or "unreadable",
        )
        for said in trace.messages
        if said.accepted is False
    )
    turns = [turn for turn in trace.turns if turn.ended_at is not None and turn.error is None]
    result = trace.result
    return RunView(
        source="history",
        run_id=trace.run_id,
        agent=trace.brief.agent if trace.brief else None,
        tenant=trace.brief.tenant if trace.brief else None,
        actor=trace.brief.actor if trace.brief else None,
        status=trace.status,
        waits_for=tuple(_waits_for(asked) for asked in trace.waiting),
        requests=(),
        step=result.steps if result else len(turns),
        tool_calls=trace.tool_calls,
        hosted_calls=trace.hosted_calls,
        model=result.model if result else (turns[-1].model if turns else None),
        answer=result.answer if result else None,
        stop=result.stop if result else None,
        failure=trace.failure,
        usage=result.usage if result else trace.usage,
        budget=trace.limits,
        waited_seconds=sum(
            asked.waited.total_seconds() for asked in trace.requests.values() if asked.waited
        ),
        started_at=trace.started_at,
        ended_at=trace.ended_at,
        transcript_digest=None,
        refused=refused[-KEPT_REFUSALS:],
        refused_total=len(refused),
        notes=tuple(entry.text for entry in trace.audits if entry.event == "noted"),
    )


def _waits_for(asked: Asked) -> str:
    so_far = f" ({len(asked.approvals)} of {asked.count} approved)" if asked.count > 1 else ""
    return f"{asked.request_id} · {asked.reason}{so_far}"


def _used(shown: RunView) -> str:
    used = [counted(shown.step, "step"), counted(shown.tool_calls, "tool call")]
    if shown.hosted_calls:
        used.append(counted(shown.hosted_calls, "hosted call"))
    tokens = counted(shown.usage.total_tokens, "token")
    return ", ".join((*used, tokens, dollars(shown.usage.estimated_cost)))


def _limits(budget: Limits | None) -> str:
    if budget is None:
        return "-"
    limits = budget.model_dump(mode="json", exclude_none=True)
    return ", ".join(f"{name} {value}" for name, value in limits.items())
