"""What is asked of people before a call, and before what the run does or says. Pure."""

from datetime import datetime, timedelta
from typing import NamedTuple, TypeVar

from holdfast.contracts import bounds
from holdfast.contracts.approvals import (
    ApprovalRecord,
    ApprovalRequest,
    Requirement,
    Review,
    Verdict,
)
from holdfast.contracts.base import digest
from holdfast.contracts.bounds import MAX_VERDICT_REASON_CHARS
from holdfast.contracts.calls import AnyCall, Grant, ToolCall
from holdfast.contracts.decisions import ApprovalRequired, Decided, RunInSandbox
from holdfast.contracts.guardrails import WITHHELD, GuardrailSpec, GuardrailVerdict, Signals
from holdfast.contracts.signals import (
    ApprovalSignal,
)
from holdfast.contracts.state.answering import Rejection
from holdfast.contracts.state.calls import CallState
from holdfast.contracts.state.run import RunState
from holdfast.contracts.stops import Stop, StopReason
from holdfast.contracts.texts import clip_chars, cut_with_note, escape_invisible, one_line
from holdfast.run import answers, gates, requests, tool_results
from holdfast.run.limits.triggers import Trigger
from holdfast.run.sessions import hiding
from holdfast.run.summaries import call_line, render_call
from holdfast.run.texts.details import describe_grant
from holdfast.run.transcript import halt

RequestT = TypeVar("RequestT", ApprovalRequest, Review)


def build_request(
    state: RunState, call: CallState, ruling: Decided, policy: str, now: datetime
) -> ApprovalRequest:
    """Ask for approval of a call, with everything that a person needs to judge it."""
    asked, decision, draft = call.call, ruling.decision, call.draft
    if not isinstance(decision, ApprovalRequired) or not isinstance(asked, ToolCall):
        raise TypeError(f"{decision} asks for no approval of {asked}")
    contract = state.agent.find_tool(asked.name)
    lasts = timedelta(seconds=decision.expires_after or state.agent.approval_timeout)
    facts = ApprovalRequest(
        request_id=state.oversight.next_request_id,
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
        undo=ruling.undo and ruling.undo.as_shown,
        grant=decision.grant,
        challenge=_build_challenge(state, call, ruling, decision.grant),
    )
    wanted = {name: getattr(decision, name) for name in Requirement.model_fields}
    return facts.copy_with(wanted)


def with_approval(
    request: RequestT, message: ApprovalSignal, verdict: Verdict, now: datetime
) -> RequestT:
    """
    Add an accepted approval to those that still count.

    Of the others only what proves them is kept: their tokens are good for nothing any more.
    """
    gone = tuple(
        one
        for one in request.approvals
        if one.approver in verdict.lapsed or one.is_past_expiry(now)
    )
    kept = tuple(one for one in request.approvals if one not in gone)
    return request.with_(
        approvals=(*kept, _build_record(request, message, verdict, now)),
        lapsed=(*request.lapsed, *(one for one in gone if one.proof is not None)),
    )


def describe_rejection(by: str, reason: str | None, *, watched: bool) -> str:
    """Say who rejected something, and why; where guardrails of the whole watch words, neither."""
    if watched:
        return "rejected by a person"
    return f"rejected by {by}: {reason or 'no reason given'}"


def _build_record(
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
        reason=message.reason and cut_with_note(message.reason, bounds.MAX_REASON_BYTES),
        requested_at=request.requested_at,
        at=now,
        challenge=request.challenge,
        groups=verdict.groups,
        expires_at=None if lasts is None else now + timedelta(seconds=lasts),
        recovery=request.recovery,
        proof=verdict.proof,
        risk=request.risk if isinstance(request, ApprovalRequest) else None,
        undo=request.undo if isinstance(request, ApprovalRequest) else None,
        grant=request.grant if isinstance(request, ApprovalRequest) else None,
    )


def _build_challenge(
    state: RunState, call: CallState, ruling: Decided, grant: Grant | None
) -> str:
    """
    Return what no other request has: a token that names it is good for this one alone.

    The execution tells it from a request of another run with the same id; tool, risk, draft, undo
    and grant are in it because they are what was shown. No time is: a replay of a workflow task
    that a query divided gives another one.
    """
    draft, undo = call.draft, ruling.undo and ruling.undo.as_shown
    return digest(
        [
            state.first_execution_run_id,
            state.execution,
            state.oversight.next_request_id,
            call.call.call_id,
            ruling.tool,
            ruling.risk,
            ruling.arguments_digest,
            None if draft is None else [draft.draft_id, draft.data],
            None if undo is None else undo.model_dump(mode="json"),
            None if grant is None else grant.model_dump(mode="json"),
        ]
    )


class ReviewSubject(NamedTuple):
    """
    What is reviewed: its name, what a person reads, and the call if it is one.

    `objections` are what they approve, `calls` the ids of those that they read of.
    """

    subject: str
    objections: tuple[str, ...]
    reason: str
    text: str
    call: AnyCall | None = None
    calls: tuple[str, ...] = ()
    quotes: bool = False


def build_domain_subject(
    state: RunState, trigger: Trigger, batch: tuple[CallState, ...]
) -> ReviewSubject:
    """
    Build what is reviewed before a run in a sensitive domain has its first effect.

    The goal is quoted: somebody else's words, which could name other calls.
    """
    calls = "\n".join(map(_describe_next, batch))
    goal = "\n".join(f"> {line}" for line in answers.redact_goal(state).splitlines())
    text = f"{calls}\n\nIts goal:\n{goal}"
    shown = tuple(one.call.call_id for one in batch)
    return ReviewSubject(trigger.name, (trigger.name,), trigger.reason, text, calls=shown)


def _describe_next(next_: CallState) -> str:
    return f"It is about to call {escape_invisible(render_call(next_.call))}{_grant_line(next_)}"


def describe_call(asked: CallState) -> str:
    """Write a call for who reviews it because of a guardrail."""
    line = _grant_line(asked)
    return (
        f"{escape_invisible(render_call(asked.call))}{line}" if line else render_call(asked.call)
    )


def _grant_line(asked: CallState) -> str:
    """Say what the sandbox lets a call do, whatever its code tries; empty outside of it."""
    if not isinstance(asked.decision, RunInSandbox):
        return ""
    return f"\nIt runs in the sandbox: {escape_invisible(describe_grant(asked.decision.grant))}"


def approved_for(state: RunState, batch: tuple[CallState, ...]) -> tuple[str, ...]:
    """
    Return what people approved, without a domain that they approved with other calls than these.

    Until a call has run by it, the review of a domain is good for what stood in it: whoever reads
    of a small payment that is then denied hasn't read of the large one that follows.
    """
    ids = {one.call.call_id for one in batch}
    others = {
        objection
        for one in state.oversight.releases
        if one.calls and not ids.issubset(one.calls)
        for objection in one.objections
    }
    return tuple(one for one in state.oversight.reviewed if one not in others)


def build_answer_subject(state: RunState, spec: GuardrailSpec, what: str) -> ReviewSubject:
    """Build what is reviewed before an answer is released."""
    reason = f"{spec.name}: somebody must review this"
    objections = (gates.objection(spec, what, reason),)
    return ReviewSubject(
        gates.subject_of(spec, what), objections, reason, gates.build_candidate_subject(state).text
    )


def build_tripwire_subject(
    state: RunState, tripped: tuple[GuardrailVerdict, ...], text: str, call: AnyCall | None
) -> ReviewSubject:
    """Build what is reviewed because guardrails want a person: all that they found about it."""
    subject = gates.subject_of(gates.find_spec(state, tripped[0].guardrail), tripped[0].subject)
    reason = escape_invisible(one_line("; ".join(one.reason for one in tripped)))
    return ReviewSubject(
        subject,
        tuple(objection(state, one) for one in tripped),
        reason,
        text,
        call,
        quotes=state.withholds and any(one.quotes for one in tripped),
    )


def objection(state: RunState, verdict: GuardrailVerdict) -> str:
    """Name what people approve who approve what a guardrail found."""
    spec = gates.find_spec(state, verdict.guardrail)
    return gates.objection(spec, verdict.subject, verdict.reason)


def open_review(
    state: RunState, under_review: ReviewSubject, requirement: Requirement, now: datetime
) -> RunState:
    """Open a review; what can't be shown whole is refused, as if somebody had rejected it."""
    lasts = timedelta(seconds=requirement.expires_after or state.agent.approval_timeout)
    bound = digest([under_review.subject, under_review.text])
    facts = Review(
        request_id=state.oversight.next_request_id,
        reason=under_review.reason,
        requested_at=now,
        expires_at=now + lasts,
        subject=under_review.subject,
        objections=under_review.objections,
        text=under_review.text,
        arguments_digest=bound,
        requester=f"agent {state.agent.name} for {state.brief.actor}",
        challenge=digest([state.execution, state.oversight.next_request_id, bound]),
        call_id=under_review.call.call_id if under_review.call else "",
        calls=under_review.calls,
        quotes=under_review.quotes,
    )
    wanted = {name: getattr(requirement, name) for name in Requirement.model_fields}
    request = facts.copy_with(wanted)
    if requests.is_too_large_to_show(request):
        return after_refusal(
            state, request, f"what there is to read {tool_results.TOO_LARGE_TO_SHOW}", now
        )
    return requests.open_request(state, request)


def after_decision(
    state: RunState, message: ApprovalSignal, verdict: Verdict, request: Review, now: datetime
) -> RunState:
    """
    Take a decision: go on with what was approved, and without what was rejected.

    Who takes it hides what was rejected: of many decisions at once, all together.
    """
    if message.decision == "reject":
        by = verdict.approver or message.approver
        watched = state.brief.words_watched
        said = describe_rejection(by, message.reason, watched=watched)
        state = requests.close_request(state, request, "rejected", now)
        state = _count_votes(state, request, against=1)
        return go_on_without(state, request, said, now, by=by)
    request = with_approval(request, message, verdict, now)
    if len(request.approvals) < request.count:
        return requests.replace_request(state, request)
    state = requests.close_request(state, request, "approved", now)
    released = (request.with_(text=""),) if _releases_calls(request) else ()
    # Of a domain the latest review counts: by the one before nothing has run.
    earlier = (one for one in state.oversight.releases if not (one.calls and request.calls))
    state = state.with_oversight(
        reviewed=(*state.oversight.reviewed, *request.objections), releases=(*earlier, *released)
    )
    return answers.release_if_clear(_count_votes(state, request, against=0))


def _releases_calls(request: Review) -> bool:
    """Whether calls run by a review: it is asked whether it still counts before they do."""
    return bool(request.call_id) or not request.subject.startswith(gates.GUARDRAIL_PREFIX)


def after_refusal(
    state: RunState, request: Review, why: str, now: datetime, *, by: str = ""
) -> RunState:
    """Hide what somebody refused (*by* whom), and do without it."""
    state = hiding.hide_review_subjects(state, () if request.call_id else (request,))
    return go_on_without(state, request, why, now, by=by)


def go_on_without(
    state: RunState, request: Review, why: str, now: datetime, *, by: str = ""
) -> RunState:
    """Do without what somebody refused (*by* whom), or nobody approved in time; it is hidden."""
    if request.call_id:
        call = requests.find_call(state, request.call_id)
        failure = tool_results.build_review_denial(
            call.call, request.reason, why, by_person=bool(by)
        )
        return requests.replace_call(state, call.with_(result=failure))
    if request.subject.startswith(gates.GUARDRAIL_PREFIX):
        rejection = Rejection(by=by, words=why) if by else None
        verdict = _build_rejection_verdict(request, "" if by else why)
        layer = gates.find_spec(state, verdict.guardrail).layer
        if layer in {"output", "post_action"} or state.answering.tripped is not None:
            return answers.withhold(state, verdict, rejection)
    reason = WITHHELD if request.quotes else request.reason
    stop = Stop.because(StopReason.REJECTED, why, why=reason, ended_by=by)
    blocked = request.subject.startswith(gates.GUARDRAIL_PREFIX)
    return halt(state, stop, now, "blocked" if blocked else "stopped")


def _build_rejection_verdict(request: Review, why: str) -> GuardrailVerdict:
    name, what = gates.split_subject(request.subject)
    reason = clip_chars("; ".join(filter(None, (request.reason, why))), MAX_VERDICT_REASON_CHARS)
    return GuardrailVerdict(
        guardrail=name,
        subject=what,
        tripwire_triggered=True,
        reason=reason,
        quotes=request.quotes,
    )


def _count_votes(state: RunState, request: Review, *, against: int) -> RunState:
    """Count the votes on an answer: they are a signal of how good it is."""
    if state.answering.candidate is None or request.call_id:
        return state
    votes_for = len(request.approvals)
    if not votes_for + against:
        return state
    counted = Signals(votes_for=votes_for, votes=votes_for + against)
    return state.with_answering(signals=state.answering.signals.merge(counted))
