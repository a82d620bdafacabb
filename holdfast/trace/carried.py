"""What an execution took over from one whose history the server no longer keeps."""

from dataclasses import replace
from datetime import datetime

from holdfast.contracts.approvals import Approvable, ApprovalRecord, ApprovalRequest, Request
from holdfast.contracts.calls import Draft, ToolSuccess
from holdfast.contracts.delegation.carryover import Carryover
from holdfast.contracts.state.calls import CallState
from holdfast.contracts.state.run import RunState
from holdfast.contracts.transcript import AssistantTurn
from holdfast.run.earlier import retries
from holdfast.run.requests import describe_opening
from holdfast.trace.builder import TraceBuilder
from holdfast.trace.entries import AuxiliaryCall, Call, DecisionTrace, Turn
from holdfast.trace.requests import EscalatedToGroup, MessageTrace, RequestTrace

_BEFORE = -1
"""The place of what no entry tells."""


def restore_state(trace: TraceBuilder, state: RunState, now: datetime) -> None:
    """Begin with the state that was carried over: the turn in progress, and what waits."""
    trace.started_at = state.started_at
    trace.brief, trace.agent = state.brief, state.agent
    trace.goal = next((item.text for item in state.conversation.items if item.kind == "user"), "")
    if state.suspended:
        trace.holds[_BEFORE] = "suspend", ""
    trace.approaches += state.approaches.failed
    if state.calls:
        trace.add(_build_turn(state, now))
    for request in state.oversight.requests:
        trace.open_request(_build_request(state, request))
    for call in state.calls:
        _restore_approvals(trace, call)


def take_over(trace: TraceBuilder, left: Carryover | None) -> None:
    """Begin with what a run left that is tried again: its goal, and what it was started with."""
    if left is None:
        return
    if trace.brief is not None:
        trace.brief = retries.build_retry_brief(trace.brief, left)
    trace.goal = next((item.text for item in left.items if item.kind == "user"), "")
    trace.budgets[:0] = [left.budget] if left.budget else []


def _build_turn(state: RunState, now: datetime) -> Turn:
    said = next(
        (item for item in reversed(state.conversation.items) if isinstance(item, AssistantTurn)),
        None,
    )
    return Turn(
        key="carried",
        number=state.ledger.turns,
        model=said.model if said else state.model or "",
        at=now,
        ended_at=now,
        text=said.words if said else "",
        parts=said.parts if said else (),
        calls=tuple(
            _build_call(state, call, f"carried.{number}", now)
            for number, call in enumerate(state.calls, 1)
        ),
    )


def _build_call(state: RunState, carried: CallState, key: str, now: datetime) -> Call:
    call_id = carried.call.call_id
    course: list[DecisionTrace | AuxiliaryCall] = []
    if carried.draft is not None:
        course.append(_build_draft_call(carried.draft, key, now))
    if carried.ruling is not None:
        about = (one for one in state.oversight.requests if isinstance(one, ApprovalRequest))
        policy = next((one.policy for one in about if one.call_id == call_id), "")
        course.append(DecisionTrace(ruling=carried.ruling, policy=policy, at=now))
    return Call(
        key=key,
        call=carried.call,
        at=now,
        course=tuple(course),
        ended_at=None if carried.result is None else now,
        result=carried.result,
    )


def _build_draft_call(draft: Draft, key: str, now: datetime) -> AuxiliaryCall:
    done = ToolSuccess(
        call_id=draft.call_id, name=draft.tool, summary=draft.summary, data=draft.data
    )
    return AuxiliaryCall(
        key=f"{key}.draft",
        tool=draft.tool,
        purpose="draft",
        at=now,
        draft_id=draft.draft_id,
        ended_at=now,
        result=done,
    )


def _build_request(state: RunState, request: Request) -> RequestTrace:
    heard: list[MessageTrace | EscalatedToGroup] = []
    approval = request if isinstance(request, Approvable) else None
    if approval is not None:
        heard += [_build_message(record) for record in approval.approvals]
        if approval.escalated_at is not None:
            heard.append(EscalatedToGroup(groups=approval.escalate_to, at=approval.escalated_at))
    asked = RequestTrace.of(describe_opening(state, request), f"carried.{request.request_id}")
    return replace(asked, heard=tuple(sorted(heard, key=lambda one: one.at)))


def _restore_approvals(trace: TraceBuilder, call: CallState) -> None:
    """Keep the approvals of a call that still waits for others of its turn."""
    if not call.approvals:
        return
    *before, last = (_build_message(record) for record in call.approvals)
    trace.open_request(
        RequestTrace(
            request_id=last.request_id,
            key=f"carried.{last.request_id}",
            kind="approval",
            call_id=call.call.call_id,
            reason="",
            at=call.approvals[0].at,
            heard=tuple(before),
            outcome="approved",
            settled=last,
            closed_at=last.at,
        )
    )


def _build_message(record: ApprovalRecord) -> MessageTrace:
    return MessageTrace(
        key=f"carried.{record.request_id}.{record.approver}",
        signal="approval",
        at=record.at,
        identity="",
        text="approve",
        sender=record.approver,
        request_id=record.request_id,
        reason=record.reason or "",
        accepted=True,
        judged_at=record.at,
        approver=record.approver,
        groups=record.groups,
        proof=record.proof,
    )
