"""Questions to models, and what tools did for the calls in their replies."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from temporalio.exceptions import ActivityError

from holdfast.contracts.calls import MalformedCall, ToolFailure, ToolInvocation, ToolResult
from holdfast.contracts.decisions import Decided
from holdfast.contracts.model import ModelCall, ModelReply
from holdfast.contracts.run import AgentSnapshot
from holdfast.contracts.transcript import (
    AssistantTurn,
    NewItem,
    ResultReference,
    ToolTurn,
    ToolTurnReference,
)
from holdfast.contracts.usage import CallUsage
from holdfast.run import tool_results
from holdfast.run.step import reconciliation
from holdfast.run.summaries import call_line
from holdfast.trace.builder import TraceBuilder
from holdfast.trace.entries import AuxiliaryCall, Call, Turn
from holdfast.trace.operations import Operation, Outcome, Work, keep_entry
from holdfast.trace.payloads import decode, decode_result
from holdfast.workflows import failures


def begin_turn(trace: TraceBuilder, operation: Operation) -> Work:
    """Begin to keep a question to a model, which is the latest turn while it goes on."""
    asked = decode(operation.given, ModelCall)
    if asked is not None:
        _keep_results(trace, asked, operation.at)
    before = trace.turn.number if trace.turn else 0
    turn = Turn(
        key=operation.key,
        number=asked.turn if asked else before + 1,
        model=asked.model if asked else operation.summary,
        agent=trace.agent,
        at=operation.at,
        purpose=asked.purpose if asked else "turn",
        tools=asked.tools if asked else (),
    )
    return keep_entry(trace, turn, _conclude_turn)


def _conclude_turn(turn: Turn, outcome: Outcome) -> Turn:
    if outcome.error is not None:
        used = failures.usage(outcome.error)
        return replace(turn, error=outcome.failure, failed_usage=used)
    reply = decode(outcome.payloads, ModelReply)
    return turn if reply is None else _with_reply(turn, reply, outcome.at)


def _with_reply(turn: Turn, reply: ModelReply, now: datetime) -> Turn:
    return replace(
        turn,
        model=reply.model,
        text=reply.words if reply.calls else reply.text,
        parts=reply.parts,
        calls=tuple(
            Call(key=f"{turn.key}.{number}", call=call, at=now)
            for number, call in enumerate(reply.calls, 1)
        ),
        stop=reply.stop,
        objections=reply.objections,
        usage=reply.usage,
        failed_usage=reply.failed_usage or CallUsage(),
        latency_ms=reply.latency_ms,
        first_token_ms=reply.first_token_ms or None,
        provider_state=reply.provider_state or {},
    )


def _keep_results(trace: TraceBuilder, asked: ModelCall, now: datetime) -> None:
    """
    Take the failures that the model is told of: no word about them is truer.

    Of a success it may be told less than the tool returned, where one ran.
    """
    for item in asked.items:
        if isinstance(item, AssistantTurn) and trace.brief is not None and trace.brief.is_dry:
            trace.name_calls([call.call_id for call in item.calls])  # nobody ruled on them
        for result in _select_told_results(item):
            call = trace.find_call(result.call_id)
            if call is None or not (isinstance(result, ToolFailure) or call.result is None):
                continue
            if call.result is None and call.rulings and result.status != "denied":
                # It was done by another agent.
                call = replace(call, started_at=call.rulings[-1].at, ended_at=now)
            trace.put_call(replace(call, result=result))


def _select_told_results(item: NewItem) -> Iterator[ToolResult]:
    """Yield the results that a call itself tells; of the others their tools' activities do."""
    if isinstance(item, ToolTurn | ToolTurnReference):
        yield from (one for one in item.results if not isinstance(one, ResultReference))


def begin_call(trace: TraceBuilder, operation: Operation) -> Work:
    """Begin to keep a tool that runs for a call: that one, or another that drafts or looks."""
    if operation.outcome is not None:
        return _keep_call(trace, _find_local_call(trace, operation, operation.outcome))
    invocation = decode(operation.given, ToolInvocation)
    call = trace.find_call(invocation.call_id) if invocation else None
    if invocation is None or call is None:
        event = f"event {operation.key.rpartition('.')[2]}"
        return _begin_unread(trace, operation, invocation.call_id if invocation else event)
    queue, companion = operation.task_queue, ""
    match invocation.purpose:
        case "call" | "undo":  # what undoes is the run's own work
            call = replace(call, task_queue=queue, draft_id=invocation.draft_id or "")
        case purpose:
            companion = operation.key
            ran = AuxiliaryCall(
                key=companion,
                tool=operation.name,
                purpose=purpose,
                at=operation.at,
                task_queue=queue,
                draft_id=invocation.idempotency_key if purpose == "draft" else "",
            )
            call = replace(call, course=(*call.course, ran))
    trace.put_call(call)
    return _keep_call(trace, invocation.call_id, companion)


def _begin_unread(trace: TraceBuilder, operation: Operation, call_id: str) -> Work:
    """Keep a call whose asking can't be read: that it ran can."""
    if (turn := trace.turn) is not None:
        unread = Call(
            key=operation.key,
            call=MalformedCall(call_id=call_id, name=operation.name, raw_arguments="?"),
            at=operation.at,
            task_queue=operation.task_queue,
        )
        trace.change_turn(replace(turn, calls=(*turn.calls, unread)))
    return _keep_call(trace, call_id)


def _keep_call(trace: TraceBuilder, call_id: str, companion: str = "") -> Work:
    """Keep a call that runs, or under the key *companion* another tool for it."""

    def put(call: Call, ran: Call | AuxiliaryCall) -> None:
        trace.put_call(ran if isinstance(ran, Call) else call.with_auxiliary_call(ran))

    def start(attempts: int, began: datetime, _execution: str) -> None:
        if (call := trace.find_call(call_id)) is not None:
            ran = call.find_auxiliary_call(companion) or call
            put(call, replace(ran, started_at=began, attempts=attempts))

    def end(outcome: Outcome) -> None:
        if (call := trace.find_call(call_id)) is None:
            return
        ran = call.find_auxiliary_call(companion) or call
        ran = _conclude_run(trace.agent, call, ran, outcome)
        put(call, ran)
        if isinstance(ran, AuxiliaryCall) and ran.result is not None:
            follows = _derive_result(call, ran, ran.result)
            if follows is not None:
                trace.close_call(follows, outcome.at)

    return Work(end, start, beside=True)


def _conclude_run(
    agent: AgentSnapshot | None, call: Call, ran: Call | AuxiliaryCall, outcome: Outcome
) -> Call | AuxiliaryCall:
    """Return what ran as it ended; a call goes on while another tool finds out what it did."""
    result = decode_result(outcome.payloads)
    if outcome.error is not None:
        result = _build_failure(agent, call, ran, outcome.error)
    if result is not None and result.spans:
        ran, result = replace(ran, spans=result.spans), result.with_(spans=())
    match ran, result:
        case Call(), ToolFailure() if _is_looked_for(agent, call, result):
            return replace(ran, lost=result)
        case _:
            return replace(ran, result=result, ended_at=outcome.at)


def _find_local_call(trace: TraceBuilder, operation: Operation, outcome: Outcome) -> str:
    """
    Find the call that ran inside a workflow task: its result names it.

    A failure names none: it is that of the first open one that reads the same.
    """
    if (result := decode_result(outcome.payloads)) is not None:
        return result.call_id
    open_calls = [
        call.call
        for call in (trace.turn.calls if trace.turn else ())
        if call.result is None and call.call.name == operation.name
    ]
    shown = operation.summary
    same = (call for call in open_calls if shown in {call.call_id, call_line(call)})
    found = next(same, open_calls[0] if open_calls else None)
    return found.call_id if found else ""


def _build_failure(
    agent: AgentSnapshot | None, call: Call, ran: Call | AuxiliaryCall, error: ActivityError
) -> ToolFailure:
    """Return what a run makes of the failure of a tool that ran for a call."""
    if agent is None:
        contract = None
    elif isinstance(ran, AuxiliaryCall) and ran.purpose != "draft":
        contract = agent.find_any_tool(ran.tool)
    else:
        contract = tool_results.find_running_tool(agent, call.state)
    if contract is not None:
        return failures.build_tool_failure(call.call, contract, error)
    return ToolFailure.of(call.call, "error", "internal_error", failures.message(error))


def _is_looked_for(agent: AgentSnapshot | None, call: Call, result: ToolFailure) -> bool:
    """Whether another tool finds out what became of a call."""
    ruled = call.state
    if agent is None or result.status != "outcome_unknown":
        return False
    contract = tool_results.find_running_tool(agent, ruled)
    forbidden = isinstance(ruled.ruling, Decided) and ruled.ruling.companion_forbidden
    finder = contract and agent.find_any_tool(contract.reconcile)
    return finder is not None and not forbidden


def _derive_result(call: Call, ran: AuxiliaryCall, result: ToolResult) -> ToolResult | None:
    """Return the result of a call that follows from a tool that ran for it, if it does."""
    if ran.purpose == "reconcile":
        return reconciliation.build_reconciliation(call.call, ran.tool, result) or call.lost
    if isinstance(result, ToolFailure):
        return result.with_(name=call.call.name)
    drafting = call.state.drafting
    if drafting is None or drafting.then == "approval":
        return None
    return tool_results.build_draft_result(call.call, ran.draft_id, result.summary, result.data)
