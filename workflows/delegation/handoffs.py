"""Handing a run to another agent: what it needs is loaded, then it goes on, or all stays."""

from temporalio import workflow
from temporalio.exceptions import FailureError

from holdfast.contracts.calls import ToolCall, ToolResult
from holdfast.contracts.control import Delegation
from holdfast.contracts.decisions import Decided
from holdfast.contracts.state.calls import CallState
from holdfast.contracts.state.run import RunState
from holdfast.run import tool_results
from holdfast.run.delegation.handoffs import (
    PreparedHandoff,
    add_constraints,
    add_cursor,
    build_load_denial,
    build_open_failure,
    build_record,
    build_second_denial,
    build_success,
    find_objection,
    find_refusal,
    hand_over,
    render_context,
    withdraw_returns,
)
from holdfast.run.delegation.subagents import Briefing, find_handoff
from holdfast.run.disagreements import TOO_OLD, NotBegun
from holdfast.workflows import failures
from holdfast.workflows.children import LATE_LOADS
from holdfast.workflows.opening import open_agent
from holdfast.workflows.run_context import RunContext, SentCall, is_cancellation
from holdfast.workflows.tool_call import build_invocation, execute_tool

HANDED_ONCE = "handed-once"
"""The patch by which a handoff that waits too long, and is decided anew, is told once."""


async def prepare_handoff(
    run: RunContext, calls: tuple[CallState, ...]
) -> tuple[ToolResult | NotBegun, ...]:
    """
    Prepare the first handoff that a turn asks for; the run stays with its agent meanwhile.

    Where it is decided anew all are: the others are refused because it happens.
    """
    first, *others = calls
    prepared = await _prepare(run, first)
    if isinstance(prepared, NotBegun):
        return (prepared,) * len(calls)
    return (prepared, *map(build_second_denial, others))


def withdraw_late(run: RunContext, calls: list[str]) -> None:
    """
    Have handoffs counted no more that are on record, and were too late for their receivers.

    In a run of an earlier release they are told again, and what they need is loaded again.
    """
    if not calls:
        return
    if workflow.patched(HANDED_ONCE):
        run.state = withdraw_returns(run.state, calls)
        run.handed.update(calls)
    else:
        run.drop_loads(calls)


def commit_handoff(run: RunContext, state: RunState) -> RunState:
    """
    Let the agent go on that is prepared, in the step that closes the turn; or none ever.

    Nobody goes on with an approach that has failed in that turn: it is taken back, and its agent
    plans another.
    """
    prepared, run.prepared = run.prepared, None
    if prepared is None or state.is_ending or state.calls or state.approaches.dead_end:
        return state
    return hand_over(state, prepared)


async def _prepare(run: RunContext, call: CallState) -> ToolResult | NotBegun:
    """
    Prepare a handoff, which happens within seconds after it was decided, and in no held run.

    Where it took longer it is decided anew, and what was loaded stays there for it.
    """
    ruled_at = run.elapsed_seconds()
    delegation, contract = find_handoff(run.state, call), run.state.agent.find_tool(call.call.name)
    if delegation is None or contract is None or contract.receiver is None:
        return build_open_failure(call, call.call.name, "this run has no such tool any more")
    if refusal := find_refusal(run.state, call):
        return refusal
    loaded = await _load_context(run, call, delegation)
    if isinstance(loaded, NotBegun):
        return loaded
    told = render_context(run.state, call, loaded)
    if not isinstance(told, tuple):
        return told
    words, given = told
    state = run.state
    try:
        receiver = await open_agent(
            contract.receiver,
            state.brief.task_kind,
            state.agent.app,
            regulated=state.brief.regulated,
            path=state.brief.path,
        )
    except FailureError as error:
        if is_cancellation(error):
            raise
        return build_open_failure(call, contract.receiver, failures.message(error))
    if run.state.is_ending:
        return tool_results.build_abort(call.call, "the run ended before another agent went on")
    if (run.state.suspended or run.is_late(ruled_at)) and workflow.patched(LATE_LOADS):
        return TOO_OLD
    if objection := find_objection(run.state, receiver):
        return build_open_failure(call, receiver.name, objection)
    record = build_record(
        run.state, call, receiver.name, workflow.now(), given, delegation=delegation
    )
    words = add_cursor(state, receiver, words, loaded)
    run.prepared = PreparedHandoff(receiver, record, words, loaded=bool(given))
    return build_success(call, record)


async def prepare_return(
    run: RunContext, call: CallState, delegation: Delegation, receiver: str
) -> Briefing | ToolResult | NotBegun:
    """Return the words with which another agent begins whose answer comes back; or why not."""
    if refusal := find_refusal(run.state, call):
        return refusal
    loaded = await _load_context(run, call, delegation)
    if isinstance(loaded, NotBegun):
        return loaded
    told = render_context(run.state, call, loaded)
    if not isinstance(told, tuple):
        return told
    has_more = bool(told[1])
    words, given = add_constraints(run.state, *told)
    if call.call.call_id not in run.handed:  # it is on record already
        record = build_record(
            run.state, call, receiver, workflow.now(), given, delegation=delegation
        )
        run.state = run.state.with_(journal=(*run.state.journal, record))
    run.state = run.state.with_parts(handoffs=run.state.parts.handoffs + 1)
    return Briefing(words, has_more)


async def _load_context(
    run: RunContext, call: CallState, delegation: Delegation
) -> ToolResult | NotBegun | None:
    """
    Load what the receiver needs, by the tool that is there for it; null where none is.

    Where that doesn't begin the call is decided anew; in a run of an earlier release it had
    failed. What the same invocation has loaded before that isn't loaded again.
    """
    contract = run.state.agent.find_any_tool(delegation.prepare)
    if contract is None or not isinstance(call.call, ToolCall):
        return None
    if not isinstance(call.ruling, Decided) or call.ruling.companion_forbidden:
        return build_load_denial(call, contract.name)
    invocation = build_invocation(run.state, call.call).with_(
        purpose="prepare", basis=call.ruling.loads_by
    )
    kept = run.loaded.get(call.call.call_id)
    if kept is not None and kept[0] == invocation:
        return kept[1]
    tracked = run.track_in_flight(f"tool {contract.name}")
    with tracked, run.track_sent(SentCall(invocation)):
        loaded = await execute_tool(
            contract, contract.risk, invocation, run.seconds_left(), summary=""
        )
    if isinstance(loaded, NotBegun):
        if workflow.patched(LATE_LOADS):
            return loaded
        return build_open_failure(call, contract.name, loaded.reason)
    run.loaded[call.call.call_id] = (invocation, loaded)
    return loaded
