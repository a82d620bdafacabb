"""
Taking back what a run did, latest first; what can't be undone is told, not hidden.

Nobody is asked: each undo was ruled on when its call was.
"""

from holdfast.contracts.control import Compensation, Effect
from holdfast.contracts.run import Stop
from holdfast.contracts.tools import ToolCall, ToolFailure
from holdfast.run import tool_results, tripwires
from holdfast.run.disagreements import NotBegun
from holdfast.workflows.resting import may_begin
from holdfast.workflows.run_context import RunContext
from holdfast.workflows.tool_call import invoked, scheduled


async def undo(run: RunContext, *, workspace_restored: bool = False) -> Compensation:
    """
    Take back the effects of the run and its parts in reverse order; what can't be, stands.

    None is begun while the run is suspended, nor after it was cancelled.
    What changed nothing but the workspace is taken back by restoring that.
    """
    undone: list[str] = []
    not_undone: list[str] = []
    standing: list[Effect] = []
    for effect in reversed(run.state.effects):
        if effect.reported:
            standing.append(effect)
            continue
        if effect.local:
            restored = workspace_restored and not effect.part
            flaw = "" if restored else " (it stays in the run's own workspace)"
        else:
            await may_begin(run)
            with run.doing("undo"):
                flaw = await _undone(run, effect)
                await run.record("not undone" if flaw else "undone", effect.summary + flaw)
        (not_undone if flaw else undone).append(effect.summary + flaw)
        if flaw:
            standing.append(effect.model_copy(update={"reported": True}))
    if (lost := run.state.forgotten_effects) > 0:
        not_undone.append(f"{lost} earlier changes, which only history knows one by one")
    run.state = run.state.model_copy(update={"effects": tuple(reversed(standing))})
    return Compensation(undone=tuple(undone), not_undone=tuple(not_undone))


async def undo_all(run: RunContext, stop: Stop) -> Stop:
    """Take back what is left of a run that one of its parts has ended; say what couldn't be."""
    undone = await undo(run)
    run.state = tool_results.taken_back(run.state, undone)
    return tripwires.with_losses(stop, undone.not_undone)


async def _undone(run: RunContext, effect: Effect) -> str:
    """Take one effect back; say why not where it can't be."""
    state, ruling = run.state, effect.undo
    if ruling is None:
        return " (nothing undoes it)"
    if ruling.verdict != "allow":
        return f" ({ruling.tool}: {ruling.verdict} by {ruling.rule}: {ruling.reason})"
    tool = state.agent.companion(ruling.tool)
    if tool is None or effect.call is None:
        return f" (what {ruling.tool} would need isn't kept)"
    told = {"purpose": "undo", "done": effect.result, "basis": ruling.risk}
    told["call_id"] = _call_id(effect, effect.call)
    invocation = invoked(state, effect.call).model_copy(update=told)
    result = await scheduled(tool, ruling.risk, invocation, None)
    if isinstance(result, NotBegun):
        return f" ({result.reason}; find out what was taken back before)"
    return f" ({tool.name}: {result.reason})" if isinstance(result, ToolFailure) else ""


def _call_id(effect: Effect, call: ToolCall) -> str:
    """Tell calls of parts apart, whose models count alike."""
    return f"{effect.part}/{call.call_id}" if effect.part else call.call_id
