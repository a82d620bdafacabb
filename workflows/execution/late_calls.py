"""What a run says of a call that waited in its queue, before that begins. It changes nothing."""

from datetime import datetime

from temporalio import workflow

from holdfast.contracts.decisions import Decided
from holdfast.contracts.state.late_calls import LateCall, Whole, digest_terms, prove_call
from holdfast.run import authorization
from holdfast.run.limits import budgets
from holdfast.workflows.inbound.inbox import Inbox
from holdfast.workflows.run_context import RunContext, SentCall
from holdfast.workflows.views import LateCallQuery


def answer(run: RunContext, inbox: Inbox, asked: LateCallQuery) -> LateCall:
    """
    Answer the query `late_call`: by what is known now a call may begin, or why it may not.

    Without a proof it is one of a part's, whichever. A part may have yet to hear what its whole
    was told, so that is to be asked, too; not about what is taken back.

    A stop may be among what has come and is being judged: whoever asks waits for that, and not
    for what came later. The time is the server's, as the activity knows it: that of the run
    stands still while the call waits.
    """
    sent = next((one for one in run.sent if prove_call(one.invocation) == asked.proof), None)
    if sent is None and asked.proof is not None:
        return LateCall(reason="its run waits for no such call")
    behind = inbox.taken if asked.heard is None else asked.heard
    if inbox.heard < min(behind, inbox.taken):
        return LateCall(heard=behind)
    said = _answer_for_part(run) if sent is None else _answer(run, sent, asked.now)
    above = workflow.info().parent if sent is None or sent.of_model else None
    if said.reason or above is None or not run.state.brief.path:
        return said
    return said.with_whole(Whole(run_id=above.workflow_id, execution=above.run_id))


def _answer_for_part(run: RunContext) -> LateCall:
    """Say why nothing begins in a part, whatever that has heard by now."""
    if workflow.cancellation_reason() is not None:
        return LateCall(reason="the run that its run works for is cancelled")
    if run.state.is_over or run.state.outside_stop is not None:
        return LateCall(reason="the run that its run works for is over")
    if run.is_held:
        return LateCall(reason="the run that its run works for is suspended")
    return LateCall()


def _answer(run: RunContext, sent: SentCall, at: datetime) -> LateCall:
    now = max(at, workflow.now())
    if workflow.cancellation_reason() is not None:
        return LateCall(reason="its run is cancelled")
    if reason := find_objection(run, sent, now):
        return LateCall(reason=reason)
    if sent.call is None or not isinstance(sent.call.ruling, Decided):
        return LateCall()
    approved = sent.call.approvals or run.state.oversight.releases
    if sent.call.ruling.repeatable and not approved:  # its worker asks for the rest itself
        return LateCall()
    given = authorization.build_input(run.state, (sent.call,), (sent.call.call.name,), now)
    if not sent.of_model:
        given = given.with_(planning=False, planned=None)
    return LateCall(asked=given, terms=digest_terms(sent.call.ruling))


def find_objection(run: RunContext, sent: SentCall, now: datetime) -> str | None:
    """Say what ended since a call was sent. What is taken back is so though the run is over."""
    state = run.state
    over = state.is_ending if sent.of_model else sent.call is not None and state.is_over
    if over or state.outside_stop is not None:
        return "its run is over"
    if run.is_held and not sent.suspended:
        return "its run is suspended"
    elapsed = (now - state.started_at).total_seconds()
    if sent.of_model and budgets.out_of_time(state.agent.budget, state.ledger, elapsed):
        return "the time of its run is over"
    return None
