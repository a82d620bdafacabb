"""Approvals of one call: what is asked of whom, what was given, and when it is enough. Pure."""

from datetime import datetime, timedelta

from contracts.approvals import (
    ApprovalRecord,
    ApprovalRequest,
    ApprovalSignal,
    Requirement,
    Review,
    Verdict,
)
from contracts.base import digest
from contracts.decisions import ApprovalRequired, Decided
from contracts.state import CallState, RunState
from contracts.tools import ToolCall
from workflows.summaries import call_line


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
        challenge=_challenge(state, call, ruling, now),
    )
    wanted = {name: getattr(decision, name) for name in Requirement.model_fields}
    return facts.model_copy(update=wanted)


def record(
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
        reason=message.reason,
        at=now,
        challenge=request.challenge,
        groups=verdict.groups,
        expires_at=None if lasts is None else now + timedelta(seconds=lasts),
        recovery=request.recovery,
        proof=verdict.proof,
    )


def _challenge(state: RunState, call: CallState, ruling: Decided, now: datetime) -> str:
    """
    Return what no other request has: a token that names it is good for this one alone.

    The time tells it from a request of an earlier run with the same id; the draft is in it because
    it is what was shown.
    """
    draft = call.draft
    return digest(
        [
            state.run_id,
            state.next_request_id,
            call.call.call_id,
            ruling.arguments_digest,
            now.isoformat(),
            None if draft is None else [draft.draft_id, draft.data],
        ]
    )
