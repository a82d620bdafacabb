"""Approvals of one call: what is asked of whom, what was given, and when it is enough. Pure."""

from datetime import datetime, timedelta
from typing import TypeVar

from holdfast.contracts import bounds
from holdfast.contracts.approvals import (
    ApprovalRecord,
    ApprovalRequest,
    ApprovalSignal,
    Requirement,
    Review,
    Verdict,
)
from holdfast.contracts.base import digest
from holdfast.contracts.decisions import ApprovalRequired, Decided
from holdfast.contracts.state import CallState, RunState
from holdfast.contracts.tools import ToolCall
from holdfast.policy import standing
from holdfast.run.summaries import call_line

Asked = TypeVar("Asked", ApprovalRequest, Review)


def request(
    state: RunState, call: CallState, ruling: Decided, policy: str, now: datetime
) -> ApprovalRequest:
    """Ask for approval of a call, with everything that a person needs to judge it."""
    asked, decision, draft = call.call, ruling.decision, call.draft
    if not isinstance(decision, ApprovalRequired) or not isinstance(asked, ToolCall):
        raise TypeError(f"{decision} asks for no approval of {asked}")
    contract = state.agent.tool(asked.name)
    lasts = timedelta(seconds=decision.expires_after or state.agent.approval_timeout)
    facts = ApprovalRequest(
        request_id=state.next_request_id,
        approval_type="call" if draft is None else "commit",
        reason=decision.reason,
        requested_at=now,
        expires_at=now + lasts,
        call_id=asked.call_id,
        tool=asked.name,
        action=call_line(asked, limit=500),
        arguments=asked.arguments,
        arguments_digest=ruling.arguments_digest,
        risk=ruling.risk,
        rule=decision.rule,
        policy=policy,
        scope=ruling.scope,
        target=ruling.scope.partition(":")[2] or asked.name,
        expected_result=contract.expected_result if contract else "",
        rollback=contract.rollback if contract else "",
        requester=f"agent {state.agent.name} for {state.brief.actor}",
        preview_ref=None if draft is None else draft.draft_id,
        preview=None if draft is None else draft.data,
        undo=ruling.undo,
        challenge=_challenge(state, call, ruling, now),
    )
    wanted = {name: getattr(decision, name) for name in Requirement.model_fields}
    return facts.model_copy(update=wanted)


def given(request: Asked, message: ApprovalSignal, verdict: Verdict, now: datetime) -> Asked:
    """
    Add an accepted approval to those that still count.

    Of the others only what proves them is kept: their tokens are good for nothing any more.
    """
    gone = tuple(
        one
        for one in request.approvals
        if one.approver in verdict.lapsed or standing.has_lapsed(one, now)
    )
    kept = tuple(one for one in request.approvals if one not in gone)
    return request.model_copy(
        update={
            "approvals": (*kept, _record(request, message, verdict, now)),
            "lapsed": (*request.lapsed, *(one for one in gone if one.proof is not None)),
        }
    )


def rejection(state: RunState, message: ApprovalSignal, by: str) -> str:
    """Say who rejected something, and why; where guardrails of the whole watch words, neither."""
    if state.brief.words_watched:
        return "rejected by a person"
    return f"rejected by {by}: {message.reason or 'no reason given'}"


def _record(
    request: ApprovalRequest | Review, message: ApprovalSignal, verdict: Verdict, now: datetime
) -> ApprovalRecord:
    """Build the record of an accepted approval."""
    lasts = request.valid_for
    return ApprovalRecord(
        request_id=request.request_id,
        call_id=request.call_id,
        arguments_digest=request.arguments_digest,
        approver=verdict.approver or message.approver,
        strength="plain" if verdict.proof is None else "strong",
        reason=message.reason and bounds.cut(message.reason, bounds.REASON),
        requested_at=request.requested_at,
        at=now,
        challenge=request.challenge,
        groups=verdict.groups,
        expires_at=None if lasts is None else now + timedelta(seconds=lasts),
        recovery=request.recovery,
        proof=verdict.proof,
        undo=request.undo if isinstance(request, ApprovalRequest) else None,
    )


def _challenge(state: RunState, call: CallState, ruling: Decided, now: datetime) -> str:
    """
    Return what no other request has: a token that names it is good for this one alone.

    The time tells it from a request of an earlier run with the same id; draft and undo are in it
    because they are what was shown.
    """
    draft, undo = call.draft, ruling.undo
    return digest(
        [
            state.first_execution_run_id,
            state.execution,
            state.next_request_id,
            call.call.call_id,
            ruling.arguments_digest,
            now.isoformat(),
            None if draft is None else [draft.draft_id, draft.data],
            None if undo is None else undo.model_dump(mode="json"),
        ]
    )
