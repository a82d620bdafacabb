"""Taking back what a run did, latest first; what can't be undone is told, not hidden."""

from contracts.control import Compensation, Effect
from contracts.tools import ToolFailure, ToolInvocation
from workflows.live import LiveRun
from workflows.tool_call import scheduled


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
    invocation = ToolInvocation(
        run_id=state.run_id,
        call_id=effect.call.call_id,
        agent=state.agent.name,
        tenant=state.brief.tenant,
        actor=state.brief.actor,
        arguments=effect.call.arguments,
        purpose="undo",
        done=effect.result,
    )
    result = await scheduled(tool, effect.call, invocation, None)
    return f" ({tool.name}: {result.reason})" if isinstance(result, ToolFailure) else ""
