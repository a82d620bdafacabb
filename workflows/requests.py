"""What waits for people: opening requests, taking decisions, letting them expire. Pure."""

from datetime import datetime, timedelta

from contracts.approvals import (
    AnswerSignal,
    ApprovalRequest,
    ApprovalSignal,
    ClosedRequest,
    Disposition,
    Escalation,
    Question,
    RefusedMessage,
    Request,
    ResolutionSignal,
    Verdict,
)
from contracts.run import Stop
from contracts.state import CallState, RunState
from contracts.transcript import UserTurn
from workflows import approvals, results
from workflows.summaries import Message
from workflows.transcript import halted

KEPT_REFUSALS = 20
"""How many refused messages the state keeps; history has them all."""

KEPT_CLOSED = 100
"""How many closed requests the state keeps, to tell a late message what it missed."""

MOST_WORDS = 100_000
"""Characters that wait for the next model call; they go there in one payload."""


def open_request(state: RunState, request_id: str) -> Request | None:
    """Return the request that waits under this id."""
    return next((open_ for open_ in state.requests if open_.request_id == request_id), None)


def given_up(state: RunState, stop: Stop, now: datetime) -> RunState:
    """Ask a person how the run goes on where somebody is there to be asked; else stop it."""
    return escalated(state, stop, now) if state.agent.escalates else halted(state, stop)


def escalated(state: RunState, stop: Stop, now: datetime) -> RunState:
    """Ask a person how the run goes on, instead of stopping it."""
    return asked(
        state,
        Escalation(
            request_id=state.next_request_id,
            reason=stop.reason,
            detail=stop.detail,
            requested_at=now,
            expires_at=expiry(state, now),
        ),
    )


def after_verdict(
    state: RunState, message: Message, verdict: Verdict, now: datetime
) -> tuple[RunState, Disposition]:
    """
    Let an accepted message take effect, and keep a refused one.

    What came with it in one batch may have closed the request: then it is refused after all.
    """
    request = open_request(state, message.request_id)
    if verdict.accepted and request is None:
        late = "the request has just closed"
        verdict = Verdict(
            accepted=False, request_id=message.request_id, reason=late, code="closed"
        )
    if request is None or not verdict.accepted:
        sender = message.approver if isinstance(message, ApprovalSignal) else ""
        state = refused(state, _SIGNALS[type(message)], verdict, now, sender=sender)
        return state, _told(verdict)
    match message, request:
        case ApprovalSignal(), ApprovalRequest():
            state = _decided(state, message, verdict, request, now)
        case AnswerSignal(), Question():
            state = _answered(state, message, request, now)
        case ResolutionSignal(), Escalation():
            state = _resolved(state, message, request, now)
        case _:
            raise AssertionError(f"{verdict} accepts what doesn't fit")
    return state, _told(verdict)


def due(request: Request) -> datetime:
    """Say when a request changes if nobody decides: it goes to a second group, or expires."""
    if not isinstance(request, ApprovalRequest) or request.escalated_at is not None:
        return request.expires_at
    after = request.escalate_after
    if after is None:
        return request.expires_at
    return min(request.requested_at + timedelta(seconds=after), request.expires_at)


def passed_on(state: RunState, now: datetime) -> tuple[ApprovalRequest, ...]:
    """Return the requests that go to a second group now, because the first let time pass."""
    return tuple(
        request
        for request in state.requests
        if isinstance(request, ApprovalRequest) and due(request) <= now < request.expires_at
    )


def overdue(state: RunState, now: datetime) -> RunState:
    """Take what time did: a second group may decide too, calls are denied, an escalation stops."""
    for request in passed_on(state, now):
        state = _changed(state, request.model_copy(update={"escalated_at": now}))
    return expired(state, now)


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
        failure = results.denied(
            call.call, "approval_required", reason, "ask for it again", "go on without"
        )
        state = replaced(state, call.model_copy(update={"result": failure}))
    return state


def withdrawn(state: RunState, now: datetime) -> RunState:
    """Close what waits for people when its run is cancelled: there is nothing left to decide."""
    for request in state.requests:
        state = _closed(state, request, "withdrawn", now)
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
        code=disposition.code,
    )
    return state.model_copy(
        update={
            "refused": (*state.refused, entry)[-KEPT_REFUSALS:],
            "refused_total": state.refused_total + 1,
        }
    )


_SIGNALS = {ApprovalSignal: "approval", AnswerSignal: "answer", ResolutionSignal: "resolution"}


def _decided(
    state: RunState,
    message: ApprovalSignal,
    verdict: Verdict,
    request: ApprovalRequest,
    now: datetime,
) -> RunState:
    call = _call(state, request.call_id)
    if message.decision == "reject":
        by = verdict.approver or message.approver
        reason = f"rejected by {by}: {message.reason or 'no reason given'}"
        failure = results.denied(
            call.call, "permission_denied", reason, "do without it", "ask the user"
        )
        state = replaced(state, call.model_copy(update={"result": failure}))
        return _closed(state, request, "rejected", now)
    request = approvals.approved(request, message, verdict, now)
    if not approvals.is_complete(request):
        return _changed(state, request)
    state = replaced(state, call.model_copy(update={"approvals": request.approvals}))
    return _closed(state, request, "approved", now)


def _answered(
    state: RunState, message: AnswerSignal, request: Question, now: datetime
) -> RunState:
    call = _call(state, request.call_id)
    answer = results.answered(call.call, message.text)
    state = replaced(state, call.model_copy(update={"result": answer}))
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


def hears(state: RunState) -> bool:
    """Whether words for the model still have a place and an effect."""
    waiting = sum(len(words.text) for words in state.steers)
    return state.outcome is None and waiting < MOST_WORDS


def said(state: RunState, words: UserTurn) -> RunState:
    """Keep words of a person until the next model call."""
    return state.model_copy(update={"steers": (*state.steers, words)})


def _unresolved(request: Escalation, detail: str) -> Stop:
    return Stop(
        reason=request.reason,
        detail=f"{request.detail}; {detail}",
        next_safe_action="look at the trace for the errors, mend their cause, start again",
    )


def asked(state: RunState, request: Request) -> RunState:
    """Open a request."""
    return state.model_copy(
        update={
            "requests": (*state.requests, request),
            "requests_made": state.requests_made + 1,
        }
    )


def _changed(state: RunState, fresh: ApprovalRequest) -> RunState:
    requests = tuple(
        fresh if request.request_id == fresh.request_id else request for request in state.requests
    )
    return state.model_copy(update={"requests": requests})


def _told(verdict: Verdict) -> Disposition:
    """Return what a sender is told: the verdict without what it is proved by."""
    return Disposition(
        accepted=verdict.accepted,
        request_id=verdict.request_id,
        reason=verdict.reason,
        code=verdict.code,
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


def replaced(state: RunState, fresh: CallState) -> RunState:
    """Put a call in the place of what it was before."""
    return state.model_copy(
        update={
            "calls": tuple(
                fresh if call.call.call_id == fresh.call.call_id else call for call in state.calls
            )
        }
    )


def expiry(state: RunState, now: datetime) -> datetime:
    """Say until when somebody may decide, where nothing else is said."""
    return now + timedelta(seconds=state.agent.approval_timeout)
