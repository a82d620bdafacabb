"""What a run did: kept so that it can be taken back when its answer is blocked. Pure."""

from collections.abc import Iterator

from contracts.control import Compensation, Effect
from contracts.decisions import Decided
from contracts.state import CallState, RunState
from contracts.tools import Risk, ToolCall, ToolResult, ToolSuccess
from workflows.summaries import call_line

HAPPENED = {"ok", "outcome_unknown"}
"""The results of calls that ran, or may have."""

KEPT_EFFECTS = 200
"""How many effects the state keeps; history has them all."""

KEPT_BYTES = 200_000
"""What arguments and answers of all effects may have together: the state is one payload."""


def remembered(
    state: RunState, calls: tuple[CallState, ...], results: tuple[ToolResult, ...]
) -> RunState:
    """Keep what calls changed, or may have."""
    found = {result.call_id: result for result in results}
    fresh = tuple(
        effect
        for call in calls
        if (result := found.get(call.call.call_id)) is not None
        and (effect := _effect(state, call, result)) is not None
    )
    if not fresh:
        return state
    every = (*_uncommitted(state, calls, found), *fresh)
    forgotten = state.forgotten_effects + max(len(every) - KEPT_EFFECTS, 0)
    return state.model_copy(update={"effects": _bounded(every), "forgotten_effects": forgotten})


def taken_back(state: RunState, undone: Compensation) -> RunState:
    """Keep what became of the run's effects; none of them is taken back a second time."""
    before = state.compensation or Compensation()
    together = Compensation(
        undone=before.undone + undone.undone, not_undone=before.not_undone + undone.not_undone
    )
    fresh = {"effects": (), "forgotten_effects": 0, "compensation": together}
    return state.model_copy(update=fresh)


def _effect(state: RunState, call: CallState, result: ToolResult) -> Effect | None:
    """Return what a call changed; a draft is an effect where it can be taken back."""
    asked, tool = call.call, state.agent.tool(call.call.name)
    risk = call.ruling.risk if isinstance(call.ruling, Decided) else None
    if call.drafting is not None:
        tool, risk = state.agent.companion(call.drafting.draft), None
        asked = asked.model_copy(update={"name": call.drafting.draft})
    if tool is None or not isinstance(asked, ToolCall):
        return None
    risk = risk or tool.risk
    changes = not (tool.risk.changes_nothing and risk.changes_nothing)
    harmless = not changes or (tool.risk is Risk.DRAFT_ONLY and tool.undo is None)
    if harmless or result.status not in HAPPENED:
        return None
    line = call_line(asked)
    if result.status == "outcome_unknown":
        return Effect(summary=f"{line}, if it happened", undo=tool.undo, call=asked)
    done = result.data if isinstance(result, ToolSuccess) else None
    if tool.undo is None:
        return Effect(summary=line, local=tool.risk.needs_sandbox or tool.sandboxed)
    return Effect(summary=line, undo=tool.undo, call=asked, result=done)


def _uncommitted(
    state: RunState, calls: tuple[CallState, ...], found: dict[str, ToolResult]
) -> Iterator[Effect]:
    """Leave out drafts that are committed now: they aren't there any more to be taken back."""
    committed = {
        call.call.call_id
        for call in calls
        if call.draft is not None and (result := found.get(call.call.call_id)) is not None
        if result.status in HAPPENED
    }
    for effect in state.effects:
        if effect.call is None or effect.call.call_id not in committed:
            yield effect


def _bounded(effects: tuple[Effect, ...]) -> tuple[Effect, ...]:
    """Keep what undoes the latest effects; of earlier ones only that they happened."""
    kept: list[Effect] = []
    taken = 0
    for effect in reversed(effects[-KEPT_EFFECTS:]):
        taken += len(effect.model_dump_json().encode())
        kept.append(effect if taken <= KEPT_BYTES else Effect(summary=effect.summary))
    return tuple(reversed(kept))
