"""What an auditor asks of a run: each decision with its rule, each approval with its proof."""

from collections.abc import Sequence
from datetime import timedelta

from pydantic import JsonValue

from holdfast.contracts.base import JsonObject, digest
from holdfast.contracts.calls import AnyCall, ToolCall
from holdfast.contracts.decisions import Decided
from holdfast.trace.entries import Call, DecisionTrace
from holdfast.trace.requests import MessageTrace, RequestTrace
from holdfast.trace.spans.values import iso, iso_or_null
from holdfast.trace.values import Trace


def decisions(trace: Trace, call: Call) -> list[JsonValue]:
    """
    Return a record of each decision about a call, in their order.

    `approvers` are those who approved the request that the decision led to, or whose approvals of
    an earlier one it took into account.
    """
    records: list[JsonValue] = []
    approvers: Sequence[str] = ()
    for ruled in call.rulings:
        if ruled.request_id is not None:
            asked = trace.requests[ruled.request_id]
            approvers = find_approvers(asked) if asked.outcome == "approved" else ()
        records.append(_decision(trace, call.call, ruled, approvers))
    return records


def approvals(asked: RequestTrace, ruled: DecisionTrace | None) -> list[JsonValue]:
    """Return a record of each approval of a request, and of its rejection; never a token."""
    settled = asked.settled
    rejection = [settled] if settled is not None and asked.outcome == "rejected" else []
    return [_approval(asked, ruled, said) for said in (*asked.approvals, *rejection)]


def find_approvers(asked: RequestTrace) -> tuple[str, ...]:
    """Return who approved a request."""
    return tuple(said.author for said in asked.approvals)


def arguments_digest(call: AnyCall, ruled: DecisionTrace | None) -> str | None:
    """Return the digest of the arguments that were ruled upon; null where they are no JSON."""
    if ruled is not None and isinstance(ruled.ruling, Decided):
        return ruled.ruling.arguments_digest
    return digest(call.arguments) if isinstance(call, ToolCall) else None


def _decision(
    trace: Trace, call: AnyCall, ruled: DecisionTrace, approvers: Sequence[str]
) -> JsonObject:
    decision, brief = ruled.decision, trace.brief
    return {
        "tool": call.name,
        "arguments_digest": arguments_digest(call, ruled),
        "risk": ruled.risk,
        "scope": ruled.ruling.scope if isinstance(ruled.ruling, Decided) else None,
        "decision": ruled.verdict,
        "rule": ruled.rule or None,
        "policy": ruled.policy or None,
        **({"trust": ruled.trust} if ruled.trust else {}),
        "reason": ruled.reason,
        "terms": decision.model_dump(mode="json", exclude={"verdict", "rule", "reason"})
        if decision
        else None,
        "tenant": brief.tenant if brief else None,
        "actor": brief.actor if brief else None,
        "session_id": brief.session_id if brief else None,
        "undo": ruled.undo and ruled.undo.model_dump(mode="json"),
        "request_id": ruled.request_id,
        "approvers": list(approvers),
        "timestamp": iso(ruled.at),
    }


def _approval(asked: RequestTrace, ruled: DecisionTrace | None, said: MessageTrace) -> JsonObject:
    proof, given_at = said.proof, said.judged_at or said.at
    valid_for = asked.required.valid_for if asked.required else None
    expires_at = given_at + timedelta(seconds=valid_for) if valid_for is not None else None
    decided = ruled.ruling if ruled is not None else None
    return {
        "status": "approved" if said.text == "approve" else "rejected",
        "approved_by": said.author,
        "timestamp": iso(given_at),
        "scope": "single_use",
        "expires_at": iso_or_null(expires_at),
        "arguments_digest": decided.arguments_digest if isinstance(decided, Decided) else None,
        "reason": said.reason,
        "groups": list(said.groups),
        "sender": said.sender,
        "identity": said.identity,
        "strength": "plain" if proof is None else "strong",
        "method": list(proof.methods) if proof else None,
        "issuer": proof.issuer if proof else None,
        "subject": proof.subject if proof else None,
        "authenticated_at": iso(proof.authenticated_at) if proof else None,
        "verified_at": iso(proof.verified_at) if proof else None,
        "token_id": proof.token_id if proof else None,
    }
