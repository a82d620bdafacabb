"""Taking back what a run did, latest first; what can't be undone is told, not hidden."""

from contracts.control import Compensation, Effect
from contracts.tools import ToolFailure
from workflows.live import LiveRun
from workflows.tool_call import invoked, scheduled


async def undo(run: LiveRun, *, workspace_restored: bool = False) -> Compensation:
    """
    Take back the run's effects in reverse order.

    What changed nothing but the workspace is taken back by restoring that.
    """
    undone: list[str] = []
    not_undone: list[str] = []
    for effect in reversed(run.state.effects):
        if effect.local:
            if workspace_restored:
                undone.append(effect.summary)
            else:
                not_undone.append(f"{effect.summary} (it stays in the run's own workspace)")
            continue
        flaw = await _undone(run, effect)
        (not_undone if flaw else undone).append(effect.summary + flaw)
        await run.record("not undone" if flaw else "undone", effect.summary + flaw)
    if (lost := run.state.forgotten_effects) > 0:
        not_undone.append(f"{lost} earlier changes, which only history knows one by one")
    return Compensation(undone=tuple(undone), not_undone=tuple(not_undone))


async def _undone(run: LiveRun, effect: Effect) -> str:
    """Take one effect back; say why not where it can't be."""
    state, tool = run.state, run.state.agent.companion(effect.undo)
    if tool is None or effect.call is None:
        return " (nothing undoes it)"
    told = {"purpose": "undo", "done": effect.result}
    invocation = invoked(state, effect.call).model_copy(update=told)
    result = await scheduled(tool, effect.call, invocation, None)
    return f" ({tool.name}: {result.reason})" if isinstance(result, ToolFailure) else ""
