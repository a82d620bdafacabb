"""The tools that have a plan approved before anything is done, and say how far it is."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from holdfast.contracts.base import JsonObject, digest
from holdfast.contracts.tools import Risk
from holdfast.tools.tool import tool


@dataclass(frozen=True)
class Plan:
    """A plan as it was approved; another word in it makes it another plan."""

    plan: str
    goal: str
    steps: list[str]
    tools: list[str]


@tool(
    risk=Risk.COMPUTE_ONLY,
    permission="approval",
    expected_result="this plan, and no other, is approved: nothing is changed by other tools",
    rollback="none is needed: a plan does nothing; each step is decided when it is taken",
)
async def submit_plan(
    goal: Annotated[str, Field(min_length=1, max_length=2_000)],
    steps: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=2_000)]],
        Field(min_length=1, max_length=50),
    ],
    tools: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=64)]], Field(max_length=50)
    ],
) -> Plan:
    """
    Have a person approve a plan before you begin, and again whenever anything of it changes.

    tools: the names of all tools that change something or hand work over, and that the plan uses;
    once it is approved every other is denied. Returns the plan with its hash.
    """
    content: JsonObject = {"goal": goal, "steps": [*steps], "tools": [*tools]}
    return Plan(plan=digest(content), goal=goal, steps=steps, tools=tools)


@tool(
    risk=Risk.COMPUTE_ONLY,
    local=True,
    timeout=10,
    expected_result="people read it where the run stands",
)
async def report_progress(
    done: Annotated[str, Field(min_length=1, max_length=1_000)],
    next: Annotated[str, Field(min_length=1, max_length=1_000)],
) -> str:
    """Say what is done of the goal and what comes next, whenever that has changed."""
    return f"noted, {len(done)} and {len(next)} characters"
