"""
Tool calls as activities under their tools' names, and taking back what they did, latest first.

What can't be undone is told, not hidden. Nobody is asked: each undo was ruled on with its call.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Literal, TypeAlias, cast

from pydantic import TypeAdapter
from temporalio import workflow
from temporalio.exceptions import FailureError

from holdfast.contracts.budget import Limits
from holdfast.contracts.calls import (
    Grant,
    MalformedCall,
    Reconciled,
    ToolCall,
    ToolFailure,
    ToolInvocation,
    ToolResult,
    ToolSuccess,
    idempotency_key,
)
from holdfast.contracts.decisions import Decided, RunInSandbox
from holdfast.contracts.delegation.workers import FindWorker
from holdfast.contracts.effects import Compensation, Effect
from holdfast.contracts.state.calls import CallState
from holdfast.contracts.state.run import RunState
from holdfast.contracts.texts import shorten
from holdfast.contracts.tools import RetryRule, Risk, ToolContract
from holdfast.run import tool_results
from holdfast.run.disagreements import RETRY_DELAYS_SECONDS, NotBegun
from holdfast.run.step import undoing
from holdfast.run.summaries import call_line
from holdfast.workflows import failures, options
from holdfast.workflows.handing_back import UNTIL_FOUND, on_capable_worker
from holdfast.workflows.run_context import RunContext, SentCall, is_cancellation, wait_for_resume

UNDO_LATER, UNDONE_SINCE = "undo-later", "undone-since"
"""The patches by which an undo that couldn't begin just then is tried again, and made once."""

Files: TypeAlias = Literal["restored", "standing", "kept"]
"""What becomes of the workspace where effects are taken back; it may be kept until later."""

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
        return await _reconcile(run, contract, invocation, result)
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
    running = _execute(contract, invocation, seconds_left, summary, patient=patient)
    return await _take_result(contract, invocation, running)


async def _execute(
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


async def _execute_where_found(
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
    found = await _ask_finder(finder, asked)
    if found is not None and found.happened is False:
        words = f"until {contract.name} can't be under way any more"
        why = f"{contract.name} was cut off and may still happen: {finder.name} is asked then"
        with run.track_wait(why, over):
            await workflow.sleep(options.at_least(over - workflow.now()), summary=words)
        found = await _ask_finder(finder, asked)
    call = _build_call(contract, invocation)
    return tool_results.build_reconciliation(call, finder.name, found) or unknown


def _build_call(contract: ToolContract, invocation: ToolInvocation) -> ToolCall:
    return ToolCall(call_id=invocation.call_id, name=contract.name, arguments=invocation.arguments)


async def _ask_finder(finder: ToolContract, asked: ToolInvocation) -> Reconciled | None:
    answer = await _execute_where_found(finder, asked, lambda: _execute(finder, asked, None, ""))
    return None if isinstance(answer, NotBegun) else tool_results.parse_reconciliation(answer)


def _limit_retries(budget: Limits, contract: ToolContract) -> ToolContract:
    """Repeat a call no more often than the run's budget says."""
    most = budget.max_tool_retries
    if most is None or contract.retry.max_retries <= most:
        return contract
    retry = RetryRule(max_retries=most, backoff=contract.retry.backoff)
    return contract.with_(retry=retry)


def _grant(asked: CallState) -> Grant | None:
    return asked.decision.grant if isinstance(asked.decision, RunInSandbox) else None


async def compensate(run: RunContext, files: Files, *, since: int = 0) -> Compensation:
    """
    Take back the effects of the run and its parts in reverse order; what can't be, stands.

    Those before the place *since* stay, the forgotten ones counted. None is begun while the run is
    suspended, nor after it was cancelled or stopped. What changed nothing but the workspace is
    taken back by restoring that, or kept for later. Whenever the run ends meanwhile, its state
    says what stands; nobody knows it of the one that is being taken back.
    """
    undone: list[str] = []
    not_undone: list[str] = []
    begin = max(since - run.state.effects.forgotten, 0)
    await _wait_until_over(run, begin)
    made = run.state.effects.done
    for index, effect in reversed(tuple(enumerate(made))[begin:]):
        its_own = effect.local and not effect.part
        if effect.reported or (its_own and files == "kept"):
            continue
        if not effect.local:
            await wait_for_resume(run)
        if run.state.stop_by_person is not None:
            break
        if effect.local:
            flaw = (
                "" if its_own and files == "restored" else " (it stays in the run's own workspace)"
            )
        else:
            flaw = await _undo_effect(run, index, made)
        if flaw:
            told = run.state.effects.done[index].with_(reported=True)
            run.state = tool_results.replace_effect(run.state, index, told)
        else:
            run.state = tool_results.remove_effect(run.state, index)
        if not effect.local:
            await run.record("not undone" if flaw else "undone", effect.summary + flaw)
        (not_undone if flaw else undone).append(effect.summary + flaw)
    if (lost := run.state.effects.forgotten - since) > 0:
        not_undone.append(f"{lost} earlier changes, which only history knows one by one")
    return Compensation(undone=tuple(undone), not_undone=tuple(not_undone))


async def _wait_until_over(run: RunContext, begin: int) -> None:
    """
    Wait until no call whose answer was lost can be under way any more, where it is to be undone.

    Its worker may be cut off but alive: what is taken back before it has happened stands.
    """
    done = run.state.effects.done[begin:]
    lost = [one for one in done if one.time_limit and not one.reported]
    if not lost:
        return
    longest = max(options.longest_call(one.time_limit, sandboxed=one.sandboxed) for one in lost)
    names = ", ".join(one.summary for one in lost)
    why = f"what was cut off and may still happen is taken back then: {names}"
    # A person who stops the run has nothing taken back.
    with run.track_wait(shorten(why), workflow.now() + longest), suppress(TimeoutError):
        await workflow.wait_condition(
            lambda: run.state.stop_by_person is not None,
            timeout=longest,
            timeout_summary="until what may have happened can't be under way",
        )


async def _undo_effect(run: RunContext, index: int, made: tuple[Effect, ...]) -> str:
    """
    Take one effect back, by its place among all; say why not where it can't be.

    Where nobody knows whether it was, nobody knows of the effect either: its answer was lost, or
    the workflow was reset, behind which point it may have run before.
    """
    state, effect, ruling = run.state, made[index], made[index].undo
    if ruling is None or ruling.verdict != "allow":
        return undoing.describe_refusal(ruling)
    tool = state.agent.find_any_tool(ruling.tool)
    if tool is None or effect.call is None or not effect.agents:
        return f" (what {ruling.tool} would need isn't kept)"
    if (why := undoing.find_repeat(ruling, made[index + 1 :])) and workflow.patched(UNDONE_SINCE):
        return why
    invocation = build_invocation(state, effect.call).with_(
        purpose="undo",
        agent=effect.agents[0],
        path=effect.agents[1:],
        draft_id=_draft_id(effect, effect.call),
        done=effect.result,
        basis=ruling.risk,
        call_id=_call_id(effect, effect.call),
    )
    reverting, call = tool.with_risk(ruling.risk), effect.call

    async def attempt() -> ToolResult:
        await wait_for_resume(run)  # each time: a worker was looked for, or it waited too long
        if (stopping := run.state.stop_by_person) is not None:
            return tool_results.build_abort(call, stopping.reason)
        doubtful = effect.with_(
            outcome="unknown", summary=f"{effect.summary}, unless it was taken back"
        )
        run.state = tool_results.replace_effect(run.state, index, doubtful)
        with run.track_in_flight("undo"), run.track_sent(SentCall(invocation)):
            return await _execute(reverting, invocation, None, "")

    trying = partial(_execute_where_found, reverting, invocation, attempt)
    result = await _try_until_begun(tool.name, trying)
    if isinstance(result, NotBegun):
        return f" ({result.reason}; find out what was taken back before)"
    if result.status == "outcome_unknown":
        run.state = undoing.keep_lost(run.state, effect, reverting)
    else:
        run.state = tool_results.replace_effect(run.state, index, effect)
    return f" ({tool.name}: {result.reason})" if isinstance(result, ToolFailure) else ""


async def _try_until_begun(
    name: str, trying: Callable[[], Awaitable[ToolResult | NotBegun]]
) -> ToolResult | NotBegun:
    """Have an undo tried, and a few times more where its worker can't begin it just then."""
    result = await trying()
    for pause in RETRY_DELAYS_SECONDS[1:]:
        if not (isinstance(result, ToolFailure) and result.may_begin_later):
            break
        if workflow.patched(UNDO_LATER):
            await workflow.sleep(pause, summary=f"until {name} is tried again, which hasn't begun")
            result = await trying()
    return result


def _call_id(effect: Effect, call: ToolCall) -> str:
    """Tell calls of parts apart, whose models count alike, by what the server calls each part."""
    made_by = effect.first_execution_run_id
    return f"{made_by}/{call.call_id}" if effect.part else call.call_id


def _draft_id(effect: Effect, call: ToolCall) -> str | None:
    made_by = effect.first_execution_run_id
    return idempotency_key(made_by, call.call_id, "draft") if effect.drafted else None
