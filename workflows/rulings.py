"""What the rulings on calls mean for the run: what may not run, and who is asked. Pure."""

from datetime import datetime

from contracts.approvals import ApprovalRequest, Question
from contracts.decisions import (
    Allow,
    ApprovalRequired,
    AskUser,
    AuthorizeCalls,
    Decided,
    MayRun,
    Ruling,
    Rulings,
    RunAsDraftOnly,
    RunInSandbox,
    decision_of,
)
from contracts.state import CallState, RunState
from workflows import approvals, open_requests, results


def asked(
    state: RunState, calls: tuple[CallState, ...], visible: tuple[str, ...], now: datetime
) -> AuthorizeCalls:
    """Ask the permission engine about calls, of which the *visible* tools are known."""
    return AuthorizeCalls(
        run_id=state.run_id,
        agent=state.agent.name,
        tenant=state.brief.tenant,
        actor=state.brief.actor,
        calls=tuple(call.call for call in calls),
        approvals=tuple(given for call in calls for given in call.approvals),
        drafts=tuple(call.draft for call in calls if call.draft is not None),
        unresolved=state.unresolved,
        visible_tools=visible,
        now=now,
    )


def wants_approval(ruling: Ruling) -> bool:
    """Whether the latest decision about a call was that somebody must approve it."""
    return isinstance(decision_of(ruling), ApprovalRequired)


def is_notable(ruling: Ruling) -> bool:
    """Whether an auditor should find it without opening an event: it didn't just run."""
    return not isinstance(decision_of(ruling), Allow | RunInSandbox)


def after_rulings(state: RunState, answer: Rulings, now: datetime) -> RunState:
    """Take the rulings: what may not run gets its result, what people decide gets a request."""
    ruled = {ruling.call_id: ruling for ruling in answer.rulings}
    decisions = tuple(map(decision_of, answer.rulings))
    drafting = any(isinstance(decision, RunAsDraftOnly) for decision in decisions)
    for call in state.calls:
        ruling = ruled.get(call.call.call_id)
        if ruling is None or call.result is not None:
            continue
        if drafting and isinstance(decision_of(ruling), ApprovalRequired | AskUser):
            # Asked again when the drafts are there, so that people see the whole turn at once.
            continue
        fresh = call.model_copy(update={"ruling": ruling, "result": results.refusal(ruling)})
        if wants_approval(ruling):
            # Whatever was approved before, it was not enough for this decision.
            fresh = fresh.model_copy(update={"approvals": ()})
        state = open_requests.replaced(state, fresh)
        if request := _request(state, fresh, ruling, answer.policy, now):
            state = open_requests.asked(state, request)
    return state


def reopened(state: RunState) -> RunState:
    """Have calls decided again that were allowed before a wait, or before another call ran."""
    calls = tuple(
        call.model_copy(update={"ruling": None})
        if call.result is None and isinstance(call.decision, MayRun)
        else call
        for call in state.calls
    )
    return state.model_copy(update={"calls": calls})


def _request(
    state: RunState, call: CallState, ruling: Ruling, policy: str, now: datetime
) -> ApprovalRequest | Question | None:
    """Build the request that a ruling asks for."""
    match ruling:
        case Decided(decision=AskUser() as decision):
            return Question(
                request_id=state.next_request_id,
                reason=decision.reason,
                requested_at=now,
                expires_at=open_requests.expiry(state, now),
                call_id=ruling.call_id,
                question=decision.question,
            )
        case Decided(decision=ApprovalRequired()):
            return approvals.request(state, call, ruling, policy, now)
        case _:
            return None
