"""What waits for people: opening requests, taking decisions, letting them expire. Pure."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from holdfast.contracts.approvals import (
    ApprovalRequest,
    Escalation,
    Proof,
    Question,
    Request,
    Review,
    Verdict,
)
from holdfast.contracts.bounds import MAX_VALIDATION_ERROR_CHARS
from holdfast.contracts.errors import OutcomeCode
from holdfast.contracts.journal import MessageRefused
from holdfast.contracts.signals import (
    AnswerSignal,
    ApprovalSignal,
    Message,
    MessageOutcome,
    RefusedMessage,
    ResolutionSignal,
    UsedToken,
)
from holdfast.contracts.state.run import RunState
from holdfast.contracts.texts import clip_chars, shorten
from holdfast.run import approvals, escalations, requests, tool_results
from holdfast.run.sessions import hiding
from holdfast.run.summaries import find_sender
from holdfast.run.transcript import halt

_TOKEN_MEMORY = timedelta(minutes=12)
"""Longer than a token is good, by whatever clock."""

KEEP_LAST_TOKENS = 100
"""How many used tokens the state keeps at least, however long ago they were good."""

KEEP_LAST_REFUSALS = 20
"""How many refused messages the state keeps; history has them all."""


def after_verdicts(
    state: RunState, judged: Iterable[tuple[Message, Verdict]], now: datetime
) -> tuple[RunState, tuple[MessageOutcome, ...]]:
    """
    Let messages take effect that were judged together: what one changes counts for the next.

    What was rejected is hidden together, behind all: each time the whole transcript is read.
    """
    rejected: list[Request] = []
    outcomes: list[MessageOutcome] = []
    for message, verdict in judged:
        request = requests.find(state, message.request_id)
        state, outcome = _after_verdict(state, message, verdict, now)
        rejects = isinstance(message, ApprovalSignal) and message.decision == "reject"
        if rejects and outcome.accepted and isinstance(request, Review) and not request.call_id:
            rejected.append(request)
        outcomes.append(outcome)
    return hiding.hide_review_subjects(state, rejected), tuple(outcomes)


def after_verdict(
    state: RunState, message: Message, verdict: Verdict, now: datetime
) -> tuple[RunState, MessageOutcome]:
    """Let one message take effect."""
    state, (outcome,) = after_verdicts(state, ((message, verdict),), now)
    return state, outcome


def _after_verdict(
    state: RunState, message: Message, verdict: Verdict, now: datetime
) -> tuple[RunState, MessageOutcome]:
    """
    Let an accepted message take effect, and keep a refused one.

    What came with it in one batch may have closed the request, or it has expired since the
    verdict: then it is refused after all.
    """
    request = requests.find(state, message.request_id)
    if verdict.accepted and (request is None or request.expires_at <= now):
        late: OutcomeCode = "closed" if request is None else "expired"
        why = f"the request has just {late}"
        verdict = Verdict(accepted=False, request_id=message.request_id, reason=why, code=late)
    if request is None or not verdict.accepted:
        sender = find_sender(message)
        state = record_refusal(state, _SIGNALS[type(message)], verdict, now, sender=sender)
        return state, _build_outcome(verdict)
    match message, request:
        case ApprovalSignal(), ApprovalRequest():
            state = _after_decision(state, message, verdict, request, now)
        case AnswerSignal(), Question():
            state = _after_answer(state, message, request, now)
        case ApprovalSignal(), Review():
            state = approvals.after_decision(state, message, verdict, request, now)
        case ResolutionSignal(), Escalation():
            state = escalations.after_resolution(state, message, request, now)
        case _:
            raise AssertionError(f"{verdict} accepts what doesn't fit")
    return state, _build_outcome(verdict)


def next_deadline(request: Request) -> datetime:
    """Say when a request changes if nobody decides: it goes to a second group, or expires."""
    if not isinstance(request, ApprovalRequest | Review) or request.escalated_at is not None:
        return request.expires_at
    after = request.escalate_after
    if after is None:
        return request.expires_at
    return min(request.requested_at + timedelta(seconds=after), request.expires_at)


def select_for_escalation(state: RunState, now: datetime) -> tuple[ApprovalRequest | Review, ...]:
    """Return the requests that go to a second group now, because the first let time pass."""
    return tuple(
        request
        for request in state.oversight.requests
        if isinstance(request, ApprovalRequest | Review)
        and next_deadline(request) <= now < request.expires_at
    )


def after_timeout(state: RunState, now: datetime) -> RunState:
    """Take what time did: a second group may decide too, calls are denied, an escalation stops."""
    for request in select_for_escalation(state, now):
        state = requests.escalate_request(state, request, now)
    return expire_requests(state, now)


def expire_requests(state: RunState, now: datetime) -> RunState:
    """Close what nobody decided in time: calls are denied, an escalated run stops."""
    late = tuple(one for one in state.oversight.requests if one.expires_at <= now)
    # Whatever ends the run between them has the others hidden, too.
    asked = (one for one in late if isinstance(one, Review) and not one.call_id)
    state = hiding.hide_review_subjects(state, asked)
    for request in late:
        state = requests.close_request(state, request, "expired", now)
        if isinstance(request, Escalation):
            return halt(state, escalations.build_stop(request, "nobody resolved it in time"), now)
        if isinstance(request, Review):
            state = approvals.go_on_without(state, request, "nobody decided in time", now)
            if state.outcome is not None:
                return state
            continue
        call = requests.find_call(state, request.call_id)
        failure = tool_results.build_expiry(call.call, request.request_id, request.expires_at)
        state = requests.replace_call(state, call.with_(result=failure))
    return state


def keep_token(state: RunState, proof: Proof, now: datetime) -> RunState:
    """
    Keep the token of a signal about no request until nobody can use it again.

    The latest stay for good: a server's clock that is set back makes them good once more.
    """
    known = state.oversight.used_tokens
    kept = tuple(
        one
        for place, one in enumerate(known, start=KEEP_LAST_TOKENS - len(known))
        if place >= 0 or one.until > now
    )
    used = UsedToken(
        issuer=proof.issuer, token_id=proof.token_id, until=proof.verified_at + _TOKEN_MEMORY
    )
    return state.with_oversight(used_tokens=(*kept, used))


def record_refusal(
    state: RunState, signal: str, disposition: MessageOutcome, now: datetime, *, sender: str = ""
) -> RunState:
    """Keep a message that changed nothing, and of why no more than anybody needs to know."""
    entry = RefusedMessage(
        signal=shorten(signal),  # an update may have a name of any length
        request_id=disposition.request_id,
        sender=sender,
        reason=clip_chars(disposition.reason, MAX_VALIDATION_ERROR_CHARS),
        at=now,
        code=disposition.code,
    )
    return state.with_oversight(
        refused=(*state.oversight.refused, entry)[-KEEP_LAST_REFUSALS:],
        refused_total=state.oversight.refused_total + 1,
    )


def tell_refusal(state: RunState, refused: MessageRefused) -> RunState:
    """
    Tell of a message that changed nothing; of many that say the same at once, in one event.

    Of more than are told one by one the last event says how many there were.
    """
    journal, last = state.journal, state.journal[-1] if state.journal else None
    if isinstance(last, MessageRefused) and last.with_(count=1) == refused:
        again = last.with_(count=last.count + 1)
        return state.with_(journal=(*journal[:-1], again))
    told = [(at, one) for at, one in enumerate(journal) if isinstance(one, MessageRefused)]
    if len(told) != KEEP_LAST_REFUSALS:
        return state.with_(journal=(*journal, refused))
    alike = [(at, one) for at, one in told if one.signal == refused.signal]
    if not alike:
        return state
    at, one = alike[-1]
    return state.with_(journal=(*journal[:at], one.with_another(), *journal[at + 1 :]))


_SIGNALS = {ApprovalSignal: "approval", AnswerSignal: "answer", ResolutionSignal: "resolution"}


def _after_decision(
    state: RunState,
    message: ApprovalSignal,
    verdict: Verdict,
    request: ApprovalRequest,
    now: datetime,
) -> RunState:
    call = requests.find_call(state, request.call_id)
    if message.decision == "reject":
        by = verdict.approver or message.approver
        watched = state.brief.words_watched
        reason = approvals.describe_rejection(by, message.reason, watched=watched)
        failure = tool_results.build_rejection(call.call, reason)
        state = requests.replace_call(state, call.with_(result=failure))
        return requests.close_request(state, request, "rejected", now)
    request = approvals.with_approval(request, message, verdict, now)
    if len(request.approvals) < request.count:
        return requests.replace_request(state, request)
    enough = call.with_(approvals=request.approvals)
    state = requests.replace_call(state, enough)
    return requests.close_request(state, request, "approved", now)


def _after_answer(
    state: RunState, message: AnswerSignal, request: Question, now: datetime
) -> RunState:
    call = requests.find_call(state, request.call_id)
    contract = state.agent.find_tool(call.call.name)
    answer = tool_results.build_answer(call.call, message.text, contract)
    state = requests.replace_call(state, call.with_(result=answer))
    return requests.close_request(state, request, "answered", now)


def _build_outcome(verdict: Verdict) -> MessageOutcome:
    """Return what a sender is told: the verdict without what it is proved by."""
    return MessageOutcome(
        accepted=verdict.accepted,
        request_id=verdict.request_id,
        reason=verdict.reason,
        code=verdict.code,
    )
