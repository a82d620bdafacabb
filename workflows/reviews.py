"""Reviews: a person approves what a run is about to do or to say, not one call of it. Pure."""

from datetime import datetime, timedelta
from typing import NamedTuple

from contracts.approvals import ApprovalSignal, Requirement, Review, Verdict
from contracts.base import digest
from contracts.guardrails import GuardrailSpec, GuardrailVerdict, Signals
from contracts.run import Stop
from contracts.state import CallState, RunState
from contracts.tools import AnyCall
from contracts.transcript import AssistantTurn
from policy.escalation import Trigger
from workflows import answers, approvals, gates, open_requests, results
from workflows.summaries import call_line, shortened
from workflows.transcript import halted

LONGEST_TEXT = 20_000
"""Characters that a person is shown; the transcript has the rest."""


class Matter(NamedTuple):
    """What is reviewed: its name, what a person reads, and the call if it is one."""

    subject: str
    reason: str
    text: str
    call: AnyCall | None = None


def of_domain(state: RunState, trigger: Trigger, batch: tuple[CallState, ...]) -> Matter:
    """Build what is reviewed before a run in a sensitive domain has its first effect."""
    calls = "\n".join(f"It is about to call {line(one.call)}" for one in batch)
    return Matter(trigger.name, trigger.reason, f"{goal(state)}\n\n{calls}")


def of_answer(state: RunState, spec: GuardrailSpec, what: str) -> Matter:
    """Build what is reviewed before an answer is released."""
    text = gates.answer(state).text
    return of_guardrail(spec, what, f"{spec.name}: somebody must review this", text)


def goal(state: RunState) -> str:
    """Return the goal of a run: the first that anybody said."""
    return next((item.text for item in state.items if item.kind == "user"), "")


def of_guardrail(spec: GuardrailSpec, what: str, reason: str, text: str) -> Matter:
    """Build what is reviewed because a guardrail wants a person; *what* is a digest of it."""
    return Matter(gates.subject_of(spec, what), reason, text)


def asked(state: RunState, matter: Matter, requirement: Requirement, now: datetime) -> RunState:
    """Open a review."""
    lasts = timedelta(seconds=requirement.expires_after or state.agent.approval_timeout)
    text = matter.text[:LONGEST_TEXT]
    bound = digest([matter.subject, matter.text])
    facts = Review(
        request_id=state.next_request_id,
        reason=matter.reason,
        requested_at=now,
        expires_at=now + lasts,
        subject=matter.subject,
        text=text,
        arguments_digest=bound,
        requester=f"agent {state.agent.name} for {state.brief.actor}",
        challenge=digest([state.run_id, state.next_request_id, bound, now.isoformat()]),
        call_id=matter.call.call_id if matter.call else "",
    )
    wanted = {name: getattr(requirement, name) for name in Requirement.model_fields}
    return open_requests.asked(state, facts.model_copy(update=wanted))


def decided(
    state: RunState, message: ApprovalSignal, verdict: Verdict, request: Review, now: datetime
) -> RunState:
    """Take a decision: go on with what was approved, and without what was rejected."""
    if message.decision == "reject":
        by = verdict.approver or message.approver
        said = f"rejected by {by}: {message.reason or 'no reason given'}"
        state = open_requests.closed(state, request, "rejected", now)
        return refused(_voted(state, request, against=1), request, said, by=by)
    given = (*request.approvals, approvals.record(request, message, verdict, now))
    request = request.model_copy(update={"approvals": given})
    if len(request.approvals) < request.count:
        return open_requests.changed(state, request)
    state = open_requests.closed(state, request, "approved", now)
    state = state.model_copy(update={"reviewed": (*state.reviewed, request.subject)})
    return answers.advanced(_voted(state, request, against=0))


def refused(state: RunState, request: Review, why: str, *, by: str = "") -> RunState:
    """Do without what somebody refused (*by* whom), or nobody approved in time."""
    if request.call_id:
        call = open_requests.call(state, request.call_id)
        failure = results.denied(
            call.call, "permission_denied", f"{request.reason}; {why}", "go on without it"
        )
        return open_requests.replaced(state, call.model_copy(update={"result": failure}))
    if request.subject.startswith(gates.GUARDRAIL):
        verdict = _rejection(request, why)
        layer = gates.spec(state, verdict.guardrail).layer
        if layer in {"output", "post_action"} or state.tripped is not None:
            return answers.withheld(state, verdict)
    stop = Stop(
        reason=request.reason,
        detail=why,
        next_safe_action="read what was rejected, change the task, start the run again",
        ended_by=by,
    )
    blocked = request.subject.startswith(gates.GUARDRAIL)
    return halted(state, stop, "blocked" if blocked else "stopped")


def line(call: AnyCall) -> str:
    """Write what a person reads of a call that a guardrail objects to."""
    return shortened(call_line(call, limit=5_000), 5_000)


def done(state: RunState, call_id: str) -> str:
    """Write what a person reads of a call that ran."""
    asked = (
        call
        for item in reversed(state.items)
        if isinstance(item, AssistantTurn)
        for call in item.calls
    )
    return next((line(call) for call in asked if call.call_id == call_id), goal(state))


def _rejection(request: Review, why: str) -> GuardrailVerdict:
    name, _, what = request.subject.removeprefix(gates.GUARDRAIL).partition(":")
    return GuardrailVerdict(
        guardrail=name, subject=what, tripwire_triggered=True, reason=f"{request.reason}; {why}"
    )


def _voted(state: RunState, request: Review, *, against: int) -> RunState:
    """Count the votes on an answer: they are a signal of how good it is."""
    if state.candidate is None or request.call_id:
        return state
    votes_for = len(request.approvals)
    known = state.signals
    counted = Signals(
        votes_for=(known.votes_for or 0) + votes_for,
        votes=(known.votes or 0) + votes_for + against,
    )
    if not counted.votes:
        return state
    return state.model_copy(update={"signals": known.updated(counted)})
