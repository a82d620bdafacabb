"""The tools by which the agents of an app give work to each other."""

import inspect
from collections.abc import Sequence

from pydantic import BaseModel, Field

from holdfast.agent import Agent
from holdfast.contracts.errors import AppError
from holdfast.contracts.patterns import Pattern
from holdfast.contracts.tools import (
    TOOL_NAME_PATTERN,
    ResourceScope,
    RetryRule,
    Risk,
    ToolContract,
)
from holdfast.delegation import Handoff, SubAgent
from holdfast.tools.schema import Signature, output_schema
from holdfast.tools.tool import SIDE_EFFECTS, Tool, find_holes

MAX_SUBAGENT_RESULT_CHARS = 20_000
"""What of a result goes to the model, as of other tools; its run has the whole."""

_NAME = Pattern(TOOL_NAME_PATTERN)
_SEVERITY = {risk: place for place, risk in enumerate(Risk)}
"""The classes stand in the order of what is at stake."""


class DelegatingTools:
    """
    The tools by which the agents of an app give tasks to each other, each made once.

    Raises AppError for two that no name tells apart.
    """

    def __init__(self, agents: Sequence[Agent]) -> None:
        self._known = {agent.name: agent for agent in agents}
        self._made: dict[str, tuple[SubAgent | Handoff, Tool]] = {}
        self._of = {
            agent.name: tuple(
                self._make(agent.name, one) for one in (*agent.subagents, *agent.handoffs)
            )
            for agent in agents
        }

    def of(self, agent: str) -> tuple[Tool, ...]:
        """Return the tools by which an agent gives tasks."""
        return self._of.get(agent, ())

    def _make(self, sender: str, one: SubAgent | Handoff) -> Tool:
        name = one.tool_name
        if name in self._made:
            known, made = self._made[name]
            if _say_shape(known) != _say_shape(one):
                raise AppError(
                    f"agent {sender!r}: its tool {name!r} is another one elsewhere, with another "
                    "agent, input, output or when: give both the same, or rename an agent"
                )
            return made
        made = _build_tool(sender, one, self._find_risk(one.agent))
        self._made[name] = (one, made)
        return made

    def _find_risk(self, receiver: str) -> Risk:
        """Return the highest class of what an agent may do, itself or through others."""
        risks, waiting, seen = [Risk.READ_ONLY], [receiver], set[str]()
        while waiting:
            name = waiting.pop()
            agent = self._known.get(name)
            if agent is None or name in seen:
                continue
            seen.add(name)
            risks += [tool.contract.risk for tool in agent.tools]
            risks += [tool.risk for tool in agent.hosted]
            waiting += (*agent.delegates, *(one.agent for one in agent.handoffs))
        return max(risks, key=lambda risk: _SEVERITY[risk])


class _TransferArguments(BaseModel):
    goal: str = Field(description="What is to be done, and what the other agent has to know.")


class _Returned(BaseModel):
    answer: str


class _Transferred(BaseModel):
    to_agent: str


def _say_shape(one: SubAgent | Handoff) -> tuple[object, ...]:
    """Return what makes two tools of a name the same."""
    if isinstance(one, Handoff):
        return (one.agent, one.when, one.return_expected)
    return (one.agent, one.input, one.output)


def _describe(sub: SubAgent | Handoff) -> str:
    """Say what the tool is for, as the docstring of its input does."""
    if isinstance(sub, Handoff) and sub.return_expected:
        return (
            f"Hand a piece of work over to the agent {sub.agent!r}, and read its answer. It knows "
            f"nothing of this conversation but what you write here. When: {sub.when}"
        )
    if isinstance(sub, Handoff):
        return (
            f"Hand this conversation over to the agent {sub.agent!r}, which goes on in your place."
            f" When: {sub.when}"
        )
    said = inspect.cleandoc(vars(sub.input).get("__doc__") or "")
    return (
        f"Give a task to the agent {sub.agent!r}, which does it by itself and brings back the "
        f"result. It knows nothing of this conversation but what you write here.\n\n{said}"
    ).strip()


def _build_tool(sender: str, sub: SubAgent | Handoff, risk: Risk) -> Tool:
    name = sub.tool_name
    if not _NAME.fits(name):
        raise AppError(
            f"agent {sender!r}: {sub.agent!r} would be the tool {name!r}, and a tool's "
            "name is made of letters, digits and _ alone, of at most 64 of them: rename the agent"
        )
    hands_over = isinstance(sub, Handoff)
    taken = _TransferArguments if hands_over else sub.input
    given: type[object] = _Returned if sub.works_apart else _Transferred
    if not hands_over:
        given = sub.output
    signature = Signature(name, taken, given)

    async def run_agent() -> None:
        raise AssertionError(f"{name} is a run of {sub.agent}, and no function")

    contract = ToolContract(
        name=name,
        description=_describe(sub),
        input_schema=signature.input_schema,
        output_schema=output_schema(sub.agent, given),
        risk=risk,
        side_effect=SIDE_EFFECTS[risk],
        resource_scope=ResourceScope(),
        permission="by_risk",
        timeout=30.0,
        max_result_chars=MAX_SUBAGENT_RESULT_CHARS,
        retry=RetryRule(max_retries=0, backoff=1.0),
        audit="history",
        error_format="tool_failure",
        local=False,
        pollable=False,
        draft=None,
        expected_result="",
        rollback="",
        receiver=sub.agent,
    )
    made = Tool(contract, run_agent, signature)
    if holes := find_holes(made):
        raise AppError(f"agent {sender!r}: {sub.agent!r}: {'; '.join(holes)}")
    return made
