"""A reset of the workflow: another execution goes on from events of an earlier one."""

from datetime import datetime

from temporalio import workflow

from holdfast.contracts.approvals import ApprovalRequest, Escalation, Request, Review
from holdfast.contracts.base import digest
from holdfast.contracts.state.calls import CallState
from holdfast.contracts.state.resets import find_reset
from holdfast.contracts.state.run import RunState
from holdfast.run import requests
from holdfast.workflows.run_context import RunContext

RESET = "what people and the policy said before counts no more, and is asked for anew"


async def handle_reset(run: RunContext, execution: str) -> None:
    """
    Begin anew where another execution decides than before.

    Only an activity knows that: the history of a reset workflow repeats what it was.
    """
    if execution == run.state.execution:
        return
    run.state = after_reset(run.state, execution, workflow.now())
    await run.record("reset", RESET)


def after_reset(state: RunState, execution: str, now: datetime) -> RunState:
    """
    Forget what was decided and approved, plans too; ask anew what was asked, under new ids.

    What people said in the execution before may be sent again to this one: its requests must have
    other names.
    """
    planning = state.brief.mode == "plan"
    state = state.with_(execution=execution, planning=planning).with_oversight(
        request_mark=f"{digest(execution)[:8]}-",
        reviewed=(),
        releases=(),
        reset_at=find_reset(execution, now),
    )
    waiting, closed = state.oversight.requests, state.oversight.closed
    for request in waiting:
        state = requests.close_request(state, request, "withdrawn", now)
        state = requests.open_request(state, _reissue_request(state, request))
    about = {one.call_id for one in waiting if not isinstance(one, Escalation)}
    calls = tuple(_invalidate_call(call, about) for call in state.calls)
    return state.with_(calls=calls).with_oversight(closed=closed)


def _invalidate_call(call: CallState, about: set[str]) -> CallState:
    """Have a call decided again, unless somebody is asked about it."""
    if call.result is not None:
        return call
    fresh = call.with_(approvals=(), guarded="")
    if call.call.call_id in about:
        return fresh
    return fresh.with_(ruling=None)


def _reissue_request(state: RunState, request: Request) -> Request:
    name = state.oversight.next_request_id
    fresh = request.with_(request_id=name)
    if not isinstance(fresh, ApprovalRequest | Review):
        return fresh
    challenge = digest([state.execution, name, fresh.challenge])
    return fresh.with_(approvals=(), challenge=challenge)
