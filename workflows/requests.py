"""What waits for people: opening requests, taking decisions, letting them expire. Pure."""

from datetime import datetime, timedelta
from typing import TypeAlias

from contracts.approvals import (
    AnswerSignal,
    ApprovalRecord,
    ApprovalRequest,
    ApprovalSignal,
    ClosedRequest,
    Disposition,
    Escalation,
    Question,
    RefusedMessage,
    Request,
    ResolutionSignal,
)
from contracts.decisions import Allow, ApprovalRequired, AskUser, Decided, Deny, Refused, Ruling
from contracts.run import Stop
from contracts.state import CallState, RunState
from contracts.tools import ToolCall, ToolFailure, ToolResult, ToolSuccess
from contracts.transcript import UserTurn
from workflows.summaries import call_line
from workflows.transcript import halted

KEPT_REFUSALS = 20
"""How many refused messages the state keeps; history has them all."""

KEPT_CLOSED = 100
"""How many closed requests the state keeps, to tell a late message what it missed."""

MOST_WORDS = 100_000
"""Characters that wait for the next model call; they go there in one payload."""

Message: TypeAlias = ApprovalSignal | AnswerSignal | ResolutionSignal


def wants_approval(ruling: Ruling) -> bool:
    """Whether the latest decision about a call was that somebody must approve it."""
    return isinstance(ruling, Decided) and isinstance(ruling.decision, ApprovalRequired)


def open_request(state: RunState, request_id: str) -> Request | None:
    """Return the request that waits under this id."""
    return next((open_ for open_ in state.requests if open_.request_id == request_id), None)


def closed_request(state: RunState, request_id: str) -> ClosedRequest | None:
    """Return what became of the request with this id, if it waits no longer."""
    return next((done for done in state.closed if done.request_id == request_id), None)


def after_rulings(state: RunState, rulings: tuple[Ruling, ...], now: datetime) -> RunState:
    """Take the rulings: what may not run gets its result, what people decide gets a request."""
    ruled = {ruling.call_id: ruling for ruling in rulings}
    for call in state.calls:
        ruling = ruled.get(call.call.call_id)
        if ruling is None or call.result is not None:
            continue
        fresh = call.model_copy(update={"ruling": ruling, "result": _refusal(call, ruling)})
        if wants_approval(ruling):
            # Whatever was approved before, it was not enough for this decision.
            fresh = fresh.model_copy(update={"approval": None})
        state = _replaced(state, fresh)
        if request := _request(state, fresh, ruling, now):
            state = _asked(state, request)
    return state


def given_up(state: RunState, stop: Stop, now: datetime) -> RunState:
    """Ask a person how the run goes on where somebody is there to be asked; else stop it."""
    return escalated(state, stop, now) if state.agent.escalates else halted(state, stop)


def escalated(state: RunState, stop: Stop, now: datetime) -> RunState:
    """Ask a person how the run goes on, instead of stopping it."""
    return _asked(
        state,
        Escalation(
            request_id=_next_id(state),
            reason=stop.reason,
            detail=stop.detail,
            requested_at=now,
            expires_at=_expiry(state, now),
        ),
    )


def after_message(
    state: RunState, message: Message, disposition: Disposition, now: datetime
) -> tuple[RunState, Disposition]:
    """
    Let an accepted message take effect, and keep a refused one.

    The request may have closed while the message was judged: then it is refused after all.
    """
    request = open_request(state, message.request_id)
    if disposition.accepted and request is None:
        disposition = disposition.model_copy(
            update={"accepted": False, "reason": "the request has just closed"}
        )
    if request is None or not disposition.accepted:
        sender = message.approver if isinstance(message, ApprovalSignal) else ""
        name = _SIGNALS[type(message)]
        return refused(state, name, disposition, now, sender=sender), disposition
    match message, request:
        case ApprovalSignal(), ApprovalRequest():
            state = _decided(state, message, request, now)
        case AnswerSignal(), Question():
            state = _answered(state, message, request, now)
        case ResolutionSignal(), Escalation():
            state = _resolved(state, message, request, now)
        case _:
            raise AssertionError(f"{disposition} accepts what doesn't fit")
    return state, disposition


def expired(state: RunState, now: datetime) -> RunState:
    """Close what nobody decided in time: calls are denied, an escalated run stops."""
    for request in state.requests:
        if request.expires_at > now:
            continue
        state = _closed(state, request, "expired", now)
        if isinstance(request, Escalation):
            return halted(state, _unresolved(request, "nobody resolved it in time"))
        call = _call(state, request.call_id)
        reason = f"nobody decided {request.request_id} until {request.expires_at:%Y-%m-%d %H:%M}"
        failure = _denied(call, "approval_required", reason, "ask for it again", "go on without")
        state = _replaced(state, call.model_copy(update={"result": failure}))
    return state


def refused(
    state: RunState, signal: str, disposition: Disposition, now: datetime, *, sender: str = ""
) -> RunState:
    """Keep a message that changed nothing."""
    entry = RefusedMessage(
        signal=signal,
        request_id=disposition.request_id,
        sender=sender,
        reason=disposition.reason,
        at=now,
    )
    return state.model_copy(
        update={
            "refused": (*state.refused, entry)[-KEPT_REFUSALS:],
            "refused_total": state.refused_total + 1,
        }
    )


_SIGNALS = {ApprovalSignal: "approval", AnswerSignal: "answer", ResolutionSignal: "resolution"}


def _decided(
    state: RunState, message: ApprovalSignal, request: ApprovalRequest, now: datetime
) -> RunState:
    call = _call(state, request.call_id)
    if message.decision == "reject":
        reason = f"rejected by {message.approver}: {message.reason or 'no reason given'}"
        failure = _denied(call, "permission_denied", reason, "do without it", "ask the user")
        state = _replaced(state, call.model_copy(update={"result": failure}))
        return _closed(state, request, "rejected", now)
    record = ApprovalRecord(
        request_id=request.request_id,
        call_id=request.call_id,
        arguments_digest=request.arguments_digest,
        approver=message.approver,
        strength="plain",
        reason=message.reason,
        at=now,
    )
    state = _replaced(state, call.model_copy(update={"approval": record}))
    return _closed(state, request, "approved", now)


def _answered(
    state: RunState, message: AnswerSignal, request: Question, now: datetime
) -> RunState:
    call = _call(state, request.call_id)
    answer = ToolSuccess(
        call_id=request.call_id,
        name=call.call.name,
        summary=message.text[:200],
        data={"answer": message.text},
    )
    state = _replaced(state, call.model_copy(update={"result": answer}))
    return _closed(state, request, "answered", now)


def _resolved(
    state: RunState, message: ResolutionSignal, request: Escalation, now: datetime
) -> RunState:
    state = _closed(state, request, "resolved", now)
    if message.action == "abort":
        return halted(state, _unresolved(request, message.guidance or "aborted by a person"))
    if message.guidance is not None:
        state = said(state, UserTurn(text=message.guidance, origin="guidance"))
    if message.action == "extend" and message.budget is not None:
        budget = state.agent.budget.changed_by(message.budget)
        agent = state.agent.model_copy(update={"budget": budget})
        state = state.model_copy(update={"agent": agent})
    ledger = state.ledger.model_copy(update={"failures_in_a_row": 0, "repeats_in_a_row": 0})
    return state.model_copy(update={"ledger": ledger})


def undecided(state: RunState) -> RunState:
    """Have calls that were allowed before a wait decided again: policy may have changed."""
    calls = tuple(
        call.model_copy(update={"ruling": None})
        if call.result is None
        and isinstance(call.ruling, Decided)
        and isinstance(call.ruling.decision, Allow)
        else call
        for call in state.calls
    )
    return state.model_copy(update={"calls": calls})


def hears(state: RunState) -> bool:
    """Whether words for the model still have a place and an effect."""
    waiting = sum(len(words.text) for words in state.steers)
    return state.outcome is None and waiting < MOST_WORDS


def said(state: RunState, words: UserTurn) -> RunState:
    """Keep words of a person until the next model call."""
    return state.model_copy(update={"steers": (*state.steers, words)})


def _refusal(call: CallState, ruling: Ruling) -> ToolResult | None:
    match ruling:
        case Refused():
            return ToolFailure(
                status="error",
                call_id=ruling.call_id,
                name=ruling.tool,
                type=ruling.type,
                reason=ruling.reason,
                next_valid_actions=ruling.next_valid_actions,
            )
        case Decided(decision=Deny(reason=reason, next_valid_actions=actions)):
            return _denied(call, "permission_denied", reason, *actions)
        case Decided():
            return None


def _request(
    state: RunState, call: CallState, ruling: Ruling, now: datetime
) -> ApprovalRequest | Question | None:
    """Build the request that a ruling asks for: everything that a person needs to judge it."""
    match ruling, call.call:
        case Decided(decision=AskUser() as decision), _:
            return Question(
                request_id=_next_id(state),
                reason=decision.reason,
                requested_at=now,
                expires_at=_expiry(state, now),
                call_id=ruling.call_id,
                question=decision.question,
            )
        case Decided(decision=ApprovalRequired() as decision), ToolCall() as asked:
            contract = state.agent.tool(asked.name)
            return ApprovalRequest(
                request_id=_next_id(state),
                reason=decision.reason,
                requested_at=now,
                expires_at=_expiry(state, now),
                call_id=ruling.call_id,
                tool=asked.name,
                action=call_line(asked, limit=500),
                arguments=asked.arguments,
                arguments_digest=ruling.arguments_digest,
                risk=ruling.risk,
                rule=decision.rule,
                scope=ruling.scope,
                strength=decision.strength,
                expected_result=contract.expected_result if contract else "",
                rollback=contract.rollback if contract else "",
                requester=f"agent {state.agent.name} for {state.brief.actor}",
            )
        case _:
            return None


def _denied(call: CallState, type_: str, reason: str, *actions: str) -> ToolFailure:
    return ToolFailure.model_validate(
        {
            "status": "denied",
            "call_id": call.call.call_id,
            "name": call.call.name,
            "type": type_,
            "reason": reason,
            "next_valid_actions": actions,
        }
    )


def _unresolved(request: Escalation, detail: str) -> Stop:
    return Stop(
        reason=request.reason,
        detail=f"{request.detail}; {detail}",
        next_safe_action="look at the trace for the errors, mend their cause, start again",
    )


def _asked(state: RunState, request: Request) -> RunState:
    return state.model_copy(
        update={
            "requests": (*state.requests, request),
            "requests_made": state.requests_made + 1,
        }
    )


def _closed(state: RunState, request: Request, outcome: str, now: datetime) -> RunState:
    done = ClosedRequest.model_validate(
        {"request_id": request.request_id, "outcome": outcome, "at": now}
    )
    return state.model_copy(
        update={
            "requests": tuple(
                other for other in state.requests if other.request_id != request.request_id
            ),
            "closed": (*state.closed, done)[-KEPT_CLOSED:],
        }
    )


def _call(state: RunState, call_id: str) -> CallState:
    return next(call for call in state.calls if call.call.call_id == call_id)


def _replaced(state: RunState, fresh: CallState) -> RunState:
    return state.model_copy(
        update={
            "calls": tuple(
                fresh if call.call.call_id == fresh.call.call_id else call for call in state.calls
            )
        }
    )


def _next_id(state: RunState) -> str:
    return f"req-{state.requests_made + 1}"


def _expiry(state: RunState, now: datetime) -> datetime:
    return now + timedelta(seconds=state.agent.approval_timeout)
