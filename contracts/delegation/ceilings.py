"""What agents that come behind another may not use, whatever their own definitions say."""

from operator import not_
from typing import Annotated, TypeAlias

from pydantic import Field

from holdfast.contracts.base import AuthoredContract
from holdfast.contracts.budget import Budget
from holdfast.contracts.tools import TOOL_NAME_PATTERN, Risk

MAX_TOOLS_WITHOUT = 200

ToolsWithout: TypeAlias = Annotated[
    tuple[Annotated[str, Field(pattern=TOOL_NAME_PATTERN)], ...],
    Field(max_length=MAX_TOOLS_WITHOUT, exclude_if=not_),
]
"""Names of tools that an agent doesn't get."""

RisksWithout: TypeAlias = Annotated[tuple[Risk, ...], Field(max_length=len(Risk), exclude_if=not_)]
"""Risk classes of which an agent gets no tool."""


class Ceiling(AuthoredContract):
    """
    What no agent may use that works for another, or goes on in its place; nor any behind that.

    They get no tools of these names and risk classes. Limits in `budget` lower those of each run
    that works for the agent, and those of a run that it hands over.
    """

    without_tools: ToolsWithout = ()
    without_risks: RisksWithout = ()
    budget: Budget = Field(default_factory=Budget)
