"""Tool calls as activities under their tools' names, and finding out what became of lost ones."""

from collections.abc import Awaitable, Callable
from typing import cast

from pydantic import TypeAdapter
from temporalio import workflow
from temporalio.exceptions import FailureError

from holdfast.contracts.budget import Limits
from holdfast.contracts.calls import (
    Grant,
    MalformedCall,
    ToolCall,
    ToolFailure,
    ToolInvocation,
    ToolResult,
    ToolSuccess,
)
from holdfast.contracts.decisions import Decided, RunInSandbox
from holdfast.contracts.delegation.workers import FindWorker
from holdfast.contracts.state.calls import CallState
from holdfast.contracts.state.run import RunState
from holdfast.contracts.tools import RetryRule, Risk, ToolContract
from holdfast.run import authorization
from holdfast.run.disagreements import NotBegun
from holdfast.run.step import reconciliation
from holdfast.run.summaries import call_line
from holdfast.workflows import failures, options
from holdfast.workflows.authorizing import authorize
from holdfast.workflows.handing_back import UNTIL_FOUND, on_capable_worker
from holdfast.workflows.run_context import RunContext, SentCall, is_cancellation

FINDERS_DECIDED_ANEW = "finders-decided-anew"
"""The patch by which it is ruled anew on whoever is to find out what became of a call."""

FINDERS_STOP = "finders-stop"
"""The patch by which a run that is stopped waits no more until that can be ruled on."""

# Pydantic decodes a union like any type; only the annotation of execute_activity wants a class.
_RESULT_TYPE = cast("type[ToolSuccess | ToolFailure]", ToolResult)
_RESULT_ADAPTER = TypeAdapter[ToolSuccess | ToolFailure](ToolResult)


async def run_tool(
    run: RunContext,
    asked: CallState,
    seconds_left: float | None,
    *,
    summary: str = "",
    patient: bool = False,
) -> ToolResult | NotBegun:
    """
    Run a call that was allowed; whatever happens to it becomes its one result.

    There is none yet where it has to be decided anew.
    What no model asked for has a *summary* of its own, so that people can tell it apart, and is
    *patient* where it must not be refused because all sandboxes are busy.
    """
    state, call, drafting, ruling = run.state, asked.call, asked.drafting, asked.ruling
    contract = state.agent.find_any_tool(call.name)
    if drafting is not None:
        contract = state.agent.find_any_tool(drafting.draft)
    if contract is None or isinstance(call, MalformedCall) or not isinstance(ruling, Decided):
        reason = "the call was allowed, but this run has no such tool"
        return ToolFailure.of(call, "error", "internal_error", reason)
    invocation = build_invocation(state, call).with_(
        purpose="call" if drafting is None else "draft",
        draft_id=asked.draft.draft_id if asked.draft and drafting is None else None,
        grant=_grant(asked),
        basis=ruling.basis,
    )
    if ruling.exceeds:  # when it is over, and how much of it fits into a payload, is counted here
        invocation = invocation.with_(
            time_limit=contract.timeout, max_result_chars=contract.max_result_chars
        )
    contract = _limit_retries(state.agent.budget, contract)
    contract = contract.with_risk(ruling.runs_as, reaches_out=ruling.reaches_out)
    sent = SentCall(invocation, asked, of_model=not patient, suspended=patient and run.is_held)
    with run.track_sent(sent):
        result = await execute_tool(
            contract, ruling.runs_as, invocation, seconds_left, summary=summary, patient=patient
        )
    if isinstance(result, NotBegun):
        return result
    run.recorded.keep_result(result)
    lost = drafting is None and result.status == "outcome_unknown"
    if lost and not ruling.companion_forbidden:
        return await _reconcile(run, asked, contract, invocation, result)
    # The model asked for the tool, not for its draft variant.
    return result.with_(name=call.name)


def build_invocation(state: RunState, call: ToolCall) -> ToolInvocation:
    """Build what a tool is told of a call, and on whose behalf it is made."""
    first = state.first_execution_run_id
    return ToolInvocation(
        run_id=state.run_id,
        first_execution_run_id=first,
        execution="" if state.execution == first else state.execution,
        call_id=call.call_id,
        app=state.agent.app,
        agent=state.agent.name,
        path=state.brief.path,
        tenant=state.brief.tenant,
        actor=state.brief.actor,
        arguments=call.arguments,
        dry=state.brief.is_dry,
    )


async def execute_tool(
    contract: ToolContract,
    risk: Risk,
    invocation: ToolInvocation,
    seconds_left: float | None,
    *,
    summary: str = "",
    patient: bool = False,
) -> ToolResult | NotBegun:
    """
    Run a tool's activity as one of the class that was ruled on; whatever it comes to is a result.

    Nothing begins where the workflow was reset since the call was allowed, or where the worker
    decides by something else than the one that allowed it, or hasn't the tool: it is decided anew.
    """
    contract = contract.with_risk(risk)
    running = execute_once(contract, invocation, seconds_left, summary, patient=patient)
    return await _take_result(contract, invocation, running)


async def execute_once(
    contract: ToolContract,
    invocation: ToolInvocation,
    seconds_left: float | None,
    summary: str,
    *,
    patient: bool = False,
) -> ToolResult:
    """Run a tool's activity. Raises FailureError."""
    call = _build_call(contract, invocation)
    summary = summary or call_line(call)
    if contract.local:
        local = await workflow.execute_local_activity(
            contract.name,
            invocation,
            result_type=_RESULT_TYPE,
            **options.local_tool_call(summary, contract),
        )
        return _without_spans(local)
    result = await failures.execute_activity(
        contract.name,
        invocation,
        _RESULT_ADAPTER,
        options.tool_call(
            summary,
            contract,
            seconds_left,
            sandboxed=invocation.grant is not None,
            finds_out=invocation.purpose == "reconcile",
            patient=patient,
        ),
    )
    # A client may have said what it came to: it is the result of this call all the same, and no
    # word of a person, which no tool brings.
    return _without_spans(result.with_(call_id=call.call_id, name=call.name, by_person=False))


def _without_spans(result: ToolResult) -> ToolResult:
    """Leave to history what a tool did meanwhile: neither the run nor a model needs it."""
    return result.with_(spans=()) if result.spans else result


async def _take_result(
    contract: ToolContract, invocation: ToolInvocation, running: Awaitable[ToolResult]
) -> ToolResult | NotBegun:
    """Make a result of whatever a call comes to, if it began."""
    try:
        return await running
    except FailureError as error:  # a local activity fails without an ActivityError around it
        if is_cancellation(error):
            raise
        if reason := failures.find_disagreement(error):
            return NotBegun(reason)
        return failures.build_tool_failure(_build_call(contract, invocation), contract, error)


async def execute_where_found(
    contract: ToolContract,
    invocation: ToolInvocation,
    attempt: Callable[[], Awaitable[ToolResult]],
) -> ToolResult | NotBegun:
    """Have a call tried, by which another is taken back or found out about, where its tool is."""
    wanted = FindWorker(run_id=invocation.run_id, app=invocation.app, tools=(contract.name,))
    running = on_capable_worker(wanted, attempt, UNTIL_FOUND)
    return await _take_result(contract, invocation, running)


async def _reconcile(
    run: RunContext,
    lost: CallState,
    contract: ToolContract,
    invocation: ToolInvocation,
    unknown: ToolResult,
) -> ToolResult:
    """
    Find out whether a call happened whose answer was lost; never ask for it again.

    Its worker may be cut off but alive, and the call under way. However long it waited for a
    worker, it had begun by now: that it didn't happen is believed when it is asked after all the
    time that the call may take from here.
    """
    over = workflow.now() + options.longest_call(
        contract.timeout, sandboxed=invocation.grant is not None
    )
    finder = run.state.agent.find_any_tool(contract.reconcile)
    if finder is None:
        return unknown
    asked = invocation.with_(  # within its own limits, not those of the write
        purpose="reconcile",
        grant=None,
        basis=finder.risk,
        time_limit=None,
        max_result_chars=None,
    )
    answer = await _ask_finder(run, lost, finder, asked)
    found = answer and reconciliation.parse_reconciliation(answer)
    if found is not None and found.happened is False:
        words = f"until {contract.name} can't be under way any more"
        why = f"{contract.name} was cut off and may still happen: {finder.name} is asked then"
        with run.track_wait(why, over):
            await workflow.sleep(options.at_least(over - workflow.now()), summary=words)
        answer = await _ask_finder(run, lost, finder, asked)
    call = _build_call(contract, invocation)
    return reconciliation.build_reconciliation(call, finder.name, answer) or unknown


def _build_call(contract: ToolContract, invocation: ToolInvocation) -> ToolCall:
    return ToolCall(call_id=invocation.call_id, name=contract.name, arguments=invocation.arguments)


async def _ask_finder(
    run: RunContext, lost: CallState, finder: ToolContract, asked: ToolInvocation
) -> ToolResult | None:
    """Ask what became of a call; nothing where a policy has come to forbid that meanwhile."""
    if workflow.patched(FINDERS_DECIDED_ANEW) and not await _may_be_found_out(run, lost):
        return None
    answer = await execute_where_found(
        finder, asked, lambda: execute_once(finder, asked, None, "")
    )
    return None if isinstance(answer, NotBegun) else answer


async def _may_be_found_out(run: RunContext, lost: CallState) -> bool:
    given = authorization.build_input(run.state, (lost,), (lost.call.name,), workflow.now())
    search = UNTIL_FOUND._replace(
        is_wanted=lambda: run.state.outside_stop is None or not workflow.patched(FINDERS_STOP)
    )
    answer = await authorize(given, search)
    ruled = answer.rulings[0] if answer is not None else None
    return isinstance(ruled, Decided) and not ruled.companion_forbidden


def _limit_retries(budget: Limits, contract: ToolContract) -> ToolContract:
    """Repeat a call no more often than the run's budget says."""
    most = budget.max_tool_retries
    if most is None or contract.retry.max_retries <= most:
        return contract
    retry = RetryRule(max_retries=most, backoff=contract.retry.backoff)
    return contract.with_(retry=retry)


def _grant(asked: CallState) -> Grant | None:
    return asked.decision.grant if isinstance(asked.decision, RunInSandbox) else None
