"""What a plan that a person approves means for a run. Pure."""

from collections.abc import Iterable

from holdfast.contracts.calls import ToolResult, ToolSuccess
from holdfast.contracts.run import AgentSnapshot
from holdfast.contracts.state.calls import CallState
from holdfast.contracts.state.run import RunState
from holdfast.contracts.transcript import UserTurn
from holdfast.run.delegation.subagents import find_delegation

_PLAN_TOOL = "submit_plan"

PLAN_FIRST = UserTurn(
    text="Plan first. Nothing is changed before a person has approved your plan (submit_plan): "
    "read, search, ask and draft what the plan needs.",
    origin="constraint",
)
"""What the model of a run is told that changes nothing before its plan is approved."""


def has_approved_plan(agent: AgentSnapshot, results: Iterable[ToolResult]) -> bool:
    """Whether one of these results is that of a plan which a person has approved."""
    done = any(isinstance(one, ToolSuccess) and one.name == _PLAN_TOOL for one in results)
    return done and _has_people_approve(agent)


def _has_people_approve(agent: AgentSnapshot) -> bool:
    """Whether people approve its plans; a tool of an app's own may have that name."""
    tool = agent.find_tool(_PLAN_TOOL)
    return tool is not None and tool.permission == "approval"


def hold_tasks(state: RunState, batch: tuple[CallState, ...]) -> tuple[CallState, ...]:
    """Return what of a batch runs now: beside a plan nobody gets work that it may not name."""
    plans = any(one.call.name == _PLAN_TOOL for one in batch)
    if not (plans and _has_people_approve(state.agent)):
        return batch
    return tuple(one for one in batch if find_delegation(state, one) is None)


def lead_with_plan(
    state: RunState, batch: tuple[CallState, ...], waiting: Iterable[CallState]
) -> tuple[CallState, ...]:
    """Have a plan of the turn run before its tasks, where not all of *waiting* is in the batch."""
    plan = next((one for one in waiting if one.call.name == _PLAN_TOOL), None)
    if plan is None or plan in batch or not _has_people_approve(state.agent):
        return batch
    others = tuple(one for one in batch if find_delegation(state, one) is None)
    return batch if others == batch else (plan, *others)


def after_tools(
    state: RunState, calls: Iterable[CallState], results: Iterable[ToolResult]
) -> RunState:
    """
    Plan no more once a plan is approved, and change things only by the tools that it names.

    A plan that was only drafted has yet to be approved.
    """
    done = {one.call_id: one for one in results}
    for call in calls:
        if call.drafting is not None:
            continue
        result = done.get(call.call.call_id)
        if result is not None and has_approved_plan(state.agent, (result,)):
            named = call.arguments.get("tools")
            tools = tuple(map(str, named)) if isinstance(named, list) else ()
            state = state.with_(planning=False, planned=tools)
    return state
