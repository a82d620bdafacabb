"""What a run says about itself when it is asked. Pure."""

from typing import Literal, TypeAlias

from pydantic import Field

from contracts.base import Inbound
from contracts.run import StatusReport, UsageReport
from contracts.state import RunState
from contracts.transcript import TranscriptPage
from policy import context
from workflows.summaries import request_line

PAGE_BYTES = 900_000
"""A query's answer may have 2 MB."""

Standing: TypeAlias = Literal[
    "running", "waiting", "suspended", "completed", "stopped", "blocked", "failed"
]


class PageQuery(Inbound):
    """The argument of the query `transcript`."""

    offset: int = Field(default=0, ge=0)
    limit: int = Field(default=1000, ge=1)


def standing(state: RunState) -> Standing:
    """Say in one word where a run stands."""
    if state.outcome is not None:
        return state.outcome
    if state.suspended:
        return "suspended"
    return "waiting" if state.requests else "running"


def status(state: RunState) -> StatusReport:
    """Answer the query `status`."""
    return StatusReport(
        run_id=state.run_id,
        agent=state.agent.name,
        tenant=state.brief.tenant,
        actor=state.brief.actor,
        status=standing(state),
        waits_for=tuple(request_line(request) for request in state.requests),
        step=state.ledger.steps,
        budget=state.agent.budget,
        model=state.model,
        answer=state.answer,
        stop=state.stop,
        started_at=state.started_at,
        transcript_digest=state.head.digest,
        refused=state.refused,
        refused_total=state.refused_total,
        notes=state.notes,
    )


def usage(state: RunState) -> UsageReport:
    """Answer the query `usage`."""
    return UsageReport(
        steps=state.ledger.steps,
        tool_calls=state.ledger.tool_calls,
        hosted_calls=state.ledger.hosted_calls,
        usage=state.ledger.usage,
        failed_usage=state.ledger.failed_usage,
        waited_seconds=state.ledger.waited,
        budget=state.agent.budget,
    )


def transcript_page(state: RunState, query: PageQuery) -> TranscriptPage:
    """Answer the query `transcript`: at most so many items, and never a page too large to send."""
    end, taken = query.offset, 0
    for item in state.items[query.offset : query.offset + query.limit]:
        taken += context.size(item)
        if taken > PAGE_BYTES and end > query.offset:
            break
        end += 1
    total = len(state.items)
    return TranscriptPage(
        items=state.items[query.offset : end],
        total=total,
        next_offset=end if end < total else None,
    )
