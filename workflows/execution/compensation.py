"""
Taking back what calls did, latest first.

What can't be undone is told, not hidden. Nobody is asked: each undo was ruled on with its call.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Literal, TypeAlias

from temporalio import workflow

from holdfast.contracts.calls import ToolCall, ToolFailure, ToolResult, idempotency_key
from holdfast.contracts.effects import Compensation, Effect, UndoRuling
from holdfast.contracts.state.run import RunState
from holdfast.contracts.texts import shorten
from holdfast.run import tool_results
from holdfast.run.disagreements import RETRY_DELAYS_SECONDS, NotBegun
from holdfast.run.step import periods, undoing
from holdfast.workflows import options
from holdfast.workflows.run_context import RunContext, SentCall, wait_for_resume
from holdfast.workflows.tool_call import build_invocation, execute_once, execute_where_found

UNDO_LATER, UNDONE_SINCE, LOST_SINCE = "undo-later", "undone-since", "lost-since"
"""
The patches by which an undo that couldn't begin just then is tried again, and made once, though a
part was lost.
"""

UNDONE_BESIDE = "undone-beside"
"""The patch by which it isn't made where a part beside may have made it."""

Files: TypeAlias = Literal["restored", "standing", "kept"]
"""What becomes of the workspace where effects are taken back; it may be kept until later."""


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
        if run.state.outside_stop is not None:
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
            lambda: run.state.outside_stop is not None,
            timeout=longest,
            timeout_summary="until what may have happened can't be under way",
        )


async def _undo_effect(run: RunContext, index: int, made: tuple[Effect, ...]) -> str:
    """
    Take one effect back, by its place among all; say why not where it can't be.

    Where nobody knows whether it was, nobody knows of the effect either: its answer was lost, the
    run was ended meanwhile, or reset, behind which point it may have run before.
    """
    state, effect, ruling = run.state, made[index], made[index].undo
    if ruling is None or ruling.verdict != "allow":
        return undoing.describe_refusal(ruling)
    tool = state.agent.find_any_tool(ruling.tool)
    if tool is None or effect.call is None or not effect.agents:
        return f" (what {ruling.tool} would need isn't kept)"
    if why := _find_other_undo(ruling, index, made):
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
    lost = undoing.keep_lost(undoing.doubt(state, index), effect, reverting)

    async def attempt() -> ToolResult:
        await wait_for_resume(run)  # each time: a worker was looked for, or it waited too long
        if (stopping := run.state.outside_stop) is not None:
            return tool_results.build_abort(call, stopping.reason)
        # Who ends the run meanwhile leaves it so.
        _keep_effects(run, lost)
        with run.track_in_flight("undo"), run.track_sent(SentCall(invocation)):
            return await execute_once(reverting, invocation, None, "")

    trying = partial(execute_where_found, reverting, invocation, attempt)
    result = await _try_until_begun(tool.name, trying)
    if isinstance(result, NotBegun):
        return f" ({result.reason}; find out what was taken back before)"
    if result.status != "outcome_unknown":
        _keep_effects(run, state)
    if result.status == "ok":
        run.state = undoing.keep_made(run.state, effect, reverting)
    return f" ({tool.name}: {result.reason})" if isinstance(result, ToolFailure) else ""


def _find_other_undo(ruling: UndoRuling, index: int, made: tuple[Effect, ...]) -> str:
    """Say that an effect was taken back by a call of a model, or may have been."""
    since, beside = made[index + 1 :], periods.select_overlapping(made, index)
    if (why := undoing.find_repeat(ruling, since)) and workflow.patched(UNDONE_SINCE):
        return why
    if (why := undoing.find_lost_part(ruling, since)) and workflow.patched(LOST_SINCE):
        return why
    if (why := undoing.find_doubt(ruling, beside)) and workflow.patched(UNDONE_BESIDE):
        return why
    return ""


def _keep_effects(run: RunContext, known: RunState) -> None:
    run.state = run.state.with_(effects=known.effects)


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
