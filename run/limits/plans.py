"""What a plan that a person approves means for a run. Pure."""

from collections.abc import Iterable

from holdfast.contracts.calls import ToolResult, ToolSuccess
from holdfast.contracts.run import AgentSnapshot
from holdfast.contracts.transcript import UserTurn

_PLAN_TOOL = "submit_plan"

PLAN_FIRST = UserTurn(
    text="Plan first. Nothing is changed before a person has approved your plan (submit_plan): "
    "read, search, ask and draft what the plan needs.",
    origin="constraint",
)
"""What the model of a run is told that changes nothing before its plan is approved."""


def has_approved_plan(agent: AgentSnapshot, results: Iterable[ToolResult]) -> bool:
    """Whether one of these results is that of a plan which a person has approved."""
    tool = agent.find_tool(_PLAN_TOOL)
    if tool is None or tool.permission != "approval":  # of an app's own, that nobody approves
        return False
    return any(isinstance(one, ToolSuccess) and one.name == _PLAN_TOOL for one in results)
