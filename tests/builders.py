"""Valid objects of every kind; a test overrides what matters to it."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Literal

from pydantic import JsonValue

from holdfast.contracts.approvals import (
    ApprovalRecord,
    ApprovalRequest,
    Escalation,
    Proof,
    Question,
    Verdict,
)
from holdfast.contracts.base import digest
from holdfast.contracts.calls import (
    AnyCall,
    MalformedCall,
    ToolCall,
    ToolFailure,
    ToolInvocation,
    ToolSuccess,
)
from holdfast.contracts.control import AttemptKind, ModelAttempt
from holdfast.contracts.decisions import (
    Allow,
    ApprovalRequired,
    AskUser,
    Decided,
    Decision,
    Deny,
    Refused,
    Ruling,
    Rulings,
    RunAsDraftOnly,
)
from holdfast.contracts.model import ModelReply
from holdfast.contracts.run import AgentSnapshot, RunInput
from holdfast.contracts.sessions.state import SessionState
from holdfast.contracts.signals import (
    AnswerSignal,
    ApprovalSignal,
    ResolutionSignal,
)
from holdfast.contracts.state.run import RunState
from holdfast.contracts.tools import Risk, ToolContract
from holdfast.contracts.transcript import AssistantTurn, ToolTurn, TranscriptItem, UserTurn
from holdfast.run import replies, tool_calls, turns

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
SOON = NOW + timedelta(minutes=1)
"""While what was asked for at NOW still waits."""
MODEL = "scripted:it"
FIRST = "0190-first"
"""The first execution of every run that no server has made."""
EXECUTION = "test-run"
"""And the one that asks for activities, as the SDK's test environment calls it."""
IDS = {"run_id": "run-1", "first_execution_run_id": FIRST, "execution": EXECUTION}


def a_call(name: str = "look", /, call_id: str = "c1", **arguments: JsonValue) -> ToolCall:
    return ToolCall(call_id=call_id, name=name, arguments=arguments)


def a_malformed_call(name: str = "look", /, call_id: str = "c1") -> MalformedCall:
    return MalformedCall(call_id=call_id, name=name, raw_arguments="[1, 2]")


def a_contract(name: str = "look", /, **changes: object) -> ToolContract:
    """A tool that only reads, unless *changes* says otherwise."""
    fields: dict[str, object] = {
        "name": name,
        "description": "Look at a place and say what is there.",
        "input_schema": {
            "type": "object",
            "properties": {"place": {"type": "string"}},
            "required": [],
            "additionalProperties": False,
        },
        "output_schema": {"type": "string"},
        "risk": Risk.READ_ONLY,
        "side_effect": "none",
        "resource_scope": {"kind": "none"},
        "permission": "by_risk",
        "timeout": 30,
        "max_result_chars": 20_000,
        "retry": {"max_retries": 2, "backoff": 1},
        "audit": "history",
        "error_format": "tool_failure",
        "local": False,
        "pollable": False,
        "draft": None,
        "expected_result": "",
        "rollback": "",
    }
    return ToolContract.model_validate({**fields, **changes})


LOOK = a_contract("look")
POLL = a_contract("poll", pollable=True)
SEND = a_contract("send", risk=Risk.COMMUNICATION, expected_result="one mail", rollback="none")
WRITE = a_contract("write", risk=Risk.WRITE_LOCAL)


def an_agent(**changes: object) -> AgentSnapshot:
    """An agent with tools that look, poll, send and write."""
    fields: dict[str, object] = {
        "name": "it",
        "models": (MODEL, "other:second"),
        "instructions": "Do as you are told.",
        "prefix_digest": "p" * 64,
        "tools": (LOOK, POLL, SEND, WRITE),
        "budget": {"max_steps": 20},
        "settings": {"patience": 0},
        "escalates": False,
        "approval_timeout": 3600,
        "max_context_bytes": 500_000,
        "max_history_events": 15_000,
        "search_attributes": False,
    }
    return AgentSnapshot.model_validate({**fields, **changes})


def a_state(
    goal: str = "reach the goal", /, *, run: Mapping[str, object] | None = None, **agent: object
) -> RunState:
    """A run that has just begun, of an agent with these changes."""
    given = RunInput.model_validate({"agent": "it", "input": goal, **(run or {})})
    return turns.start_run(given, an_agent(**agent), NOW, **IDS)


def a_session() -> SessionState:
    """A session in which nothing was said yet."""
    state = a_state()
    return SessionState(
        agent="it",
        actor="web",
        limits=state.agent.budget,
        budget=None,
        idle_timeout=60,
        context={},
        last_updated=NOW,
        idle_since=NOW,
    )


def asked_for(*calls: AnyCall, state: RunState | None = None) -> RunState:
    """A run whose model has just asked for these calls."""
    return replies.after_model(state or a_state(), a_reply(*calls), NOW)


def a_reply(*calls: AnyCall, **changes: object) -> ModelReply:
    """A reply with these calls, or with a final answer if there are none."""
    fields: dict[str, object] = {
        "calls": calls,
        "text": "" if calls else "done",
        "stop": "tool_use" if calls else "end_turn",
        "model": MODEL,
    }
    return ModelReply.model_validate({**fields, **changes})


def an_attempt(error: str = "overloaded", kind: AttemptKind = "overloaded") -> ModelAttempt:
    return ModelAttempt(turn=1, model=MODEL, kind=kind, error=error, at=NOW)


def a_success(call: AnyCall, data: JsonValue = "a lamp") -> ToolSuccess:
    return ToolSuccess(call_id=call.call_id, name=call.name, summary=str(data)[:80], data=data)


def unknown_outcome(call: ToolCall) -> ToolFailure:
    return ToolFailure(
        status="outcome_unknown",
        call_id=call.call_id,
        name=call.name,
        type="timeout",
        reason="it may have happened",
    )


def a_failure(call: AnyCall, reason: str = "no such place") -> ToolFailure:
    return ToolFailure(
        status="error", call_id=call.call_id, name=call.name, type="not_found", reason=reason
    )


def decided(call: AnyCall, decision: Decision, risk: Risk = Risk.COMMUNICATION) -> Decided:
    arguments = call.arguments if isinstance(call, ToolCall) else {}
    return Decided(
        call_id=call.call_id,
        tool=call.name,
        arguments_digest=digest(arguments),
        risk=risk,
        scope="none",
        decision=decision,
        repeatable=risk.changes_nothing,
        at=NOW,
        draft_risk=Risk.READ_ONLY if isinstance(decision, RunAsDraftOnly) else None,
    )


def ruled_upon(
    state: RunState, answer: tuple[Ruling, ...], now: datetime = NOW, policy: str = ""
) -> RunState:
    """What these rulings make of a run."""
    answered = Rulings(rulings=answer, policy=policy, execution=EXECUTION)
    return tool_calls.after_rulings(state, answered, now)


def yes(request_id: str = "req-1", approver: str = "alice", **changes: object) -> Verdict:
    """The verdict that a message counts."""
    fields: dict[str, object] = {"accepted": True, "request_id": request_id, "reason": "accepted"}
    return Verdict.model_validate({**fields, "approver": approver, **changes})


def no(reason: str = "request 'req-1' has expired", request_id: str = "req-1") -> Verdict:
    """The verdict that a message doesn't count."""
    return Verdict(accepted=False, request_id=request_id, reason=reason, code="expired")


def allowed(call: AnyCall) -> Decided:
    return decided(call, Allow(rule="risk:read_only", reason="it changes nothing"), Risk.READ_ONLY)


def denied(call: AnyCall) -> Decided:
    actions = ("choose another tool",)
    return decided(
        call,
        Deny(rule="risk:destructive", reason="it destroys", next_valid_actions=actions),
        Risk.DESTRUCTIVE,
    )


def to_approve(
    call: AnyCall, strength: Literal["plain", "strong"] = "plain", **requirement: object
) -> Decided:
    fields: dict[str, object] = {
        "rule": "risk:communication",
        "reason": "it reaches other people",
        "strength": strength,
    }
    return decided(call, ApprovalRequired.model_validate({**fields, **requirement}))


def to_answer(call: AnyCall, question: str = "Which one?") -> Decided:
    return decided(
        call,
        AskUser(rule="ask-user", reason="the agent asks a person", question=question),
        Risk.COMPUTE_ONLY,
    )


def unknown(call: AnyCall) -> Refused:
    return Refused(
        call_id=call.call_id,
        tool=call.name,
        type="unknown_tool",
        reason=f"no tool {call.name!r}",
        next_valid_actions=("use one of the known tools",),
    )


def an_approval(request_id: str = "req-1", **changes: object) -> ApprovalSignal:
    fields = {"request_id": request_id, "decision": "approve", "approver": "alice"}
    return ApprovalSignal.model_validate({**fields, **changes})


def an_answer(request_id: str = "req-1", text: str = "the blue one") -> AnswerSignal:
    return AnswerSignal(request_id=request_id, text=text)


def a_resolution(action: str, request_id: str = "req-1", **changes: object) -> ResolutionSignal:
    return ResolutionSignal.model_validate({"request_id": request_id, "action": action, **changes})


def a_request(request_id: str = "req-1", **changes: object) -> ApprovalRequest:
    fields: dict[str, object] = {
        "request_id": request_id,
        "reason": "it reaches other people",
        "requested_at": NOW,
        "expires_at": LATER,
        "call_id": "c1",
        "tool": "send",
        "action": 'send(text="hi")',
        "arguments": {"text": "hi"},
        "arguments_digest": digest({"text": "hi"}),
        "risk": Risk.COMMUNICATION,
        "rule": "risk:communication",
        "scope": "none",
        "strength": "plain",
        "expected_result": "one mail",
        "rollback": "none",
        "requester": "agent it for anonymous",
    }
    return ApprovalRequest.model_validate({**fields, **changes})


def a_question(request_id: str = "req-1", **changes: object) -> Question:
    fields: dict[str, object] = {
        "request_id": request_id,
        "reason": "the agent asks a person",
        "requested_at": NOW,
        "expires_at": LATER,
        "call_id": "c1",
        "question": "Which one?",
    }
    return Question.model_validate({**fields, **changes})


def an_escalation(request_id: str = "req-1", **changes: object) -> Escalation:
    fields: dict[str, object] = {
        "request_id": request_id,
        "reason": "max_consecutive_failures (2) reached",
        "requested_at": NOW,
        "expires_at": LATER,
        "detail": "2 calls failed in a row",
        "next_safe_action": "look at the trace for the errors, mend their cause, start again",
    }
    return Escalation.model_validate({**fields, **changes})


def a_record(
    call: ToolCall, strength: Literal["plain", "strong"] = "plain", /, **changes: object
) -> ApprovalRecord:
    """An approval of a call by alice as an internal write, with a proof if it is a strong one."""
    fields: dict[str, object] = {
        "request_id": "req-1",
        "call_id": call.call_id,
        "arguments_digest": digest(call.arguments),
        "approver": "alice",
        "strength": strength,
        "reason": None,
        "requested_at": NOW,
        "at": NOW,
        "proof": a_proof() if strength == "strong" else None,
        "risk": Risk.WRITE_INTERNAL,
    }
    return ApprovalRecord.model_validate({**fields, **changes})


def a_proof(**changes: object) -> Proof:
    """What a token proves that alice signed right now."""
    fields: dict[str, object] = {
        "issuer": "https://id.example.com",
        "subject": "alice",
        "methods": ("mfa",),
        "authenticated_at": NOW,
        "token_id": "t-1",
        "verified_at": NOW,
    }
    return Proof.model_validate({**fields, **changes})


async def admitted() -> None:
    """Let a call begin."""


def an_invocation(**changes: object) -> ToolInvocation:
    fields: dict[str, object] = {
        "run_id": "run-1",
        "first_execution_run_id": FIRST,
        "execution": EXECUTION,
        "call_id": "c1",
        "agent": "it",
        "tenant": "acme",
        "actor": "alice",
        "arguments": {},
    }
    return ToolInvocation.model_validate({**fields, **changes})


def a_transcript(sizes: Sequence[int | None]) -> tuple[TranscriptItem, ...]:
    """A goal, then for each size a call with a result of so many bytes; for None, words."""
    items: list[TranscriptItem] = [UserTurn(text="reach the goal")]
    for number, size in enumerate(sizes):
        if size is None:
            items.append(UserTurn(text=f"word {number}", origin="steer"))
            continue
        call = a_call(call_id=f"c{number}", place="x")
        items.append(AssistantTurn(model=MODEL, text="", calls=(call,)))
        items.append(ToolTurn(results=(a_success(call, "x" * size),)))
    return tuple(items)
