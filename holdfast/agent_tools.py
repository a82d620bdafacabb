"""The tools by which the agents of an app give work to each other."""

import inspect
from collections.abc import Sequence

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
from holdfast.delegation import SubAgent
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
        self._made: dict[str, tuple[SubAgent, Tool]] = {}
        self._of = {
            agent.name: tuple(self._make(agent.name, one) for one in agent.subagents)
            for agent in agents
        }

    def of(self, agent: str) -> tuple[Tool, ...]:
        """Return the tools by which an agent gives tasks."""
        return self._of.get(agent, ())

    def _make(self, sender: str, sub: SubAgent) -> Tool:
        name, shape = sub.tool_name, (sub.agent, sub.input, sub.output)
        if name in self._made:
            known, made = self._made[name]
            if (known.agent, known.input, known.output) != shape:
                raise AppError(
                    f"agent {sender!r}: its tool {name!r} is another one elsewhere, with another "
                    "agent, input or output: give both the same, or rename an agent"
                )
            return made
        made = _build_tool(sender, sub, self._find_risk(sub.agent))
        self._made[name] = (sub, made)
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
            waiting += agent.delegates
        return max(risks, key=lambda risk: _SEVERITY[risk])


def _describe(sub: SubAgent) -> str:
    """Say what the tool is for, as the docstring of its input does."""
    said = inspect.cleandoc(vars(sub.input).get("__doc__") or "")
    return (
        f"Give a task to the agent {sub.agent!r}, which does it by itself and brings back the "
        f"result. It knows nothing of this conversation but what you write here.\n\n{said}"
    ).strip()


def _build_tool(sender: str, sub: SubAgent, risk: Risk) -> Tool:
    name = sub.tool_name
    if not _NAME.fits(name):
        raise AppError(
            f"agent {sender!r}: subagent {sub.agent!r} would be the tool {name!r}, and a tool's "
            "name is made of letters, digits and _ alone, of at most 64 of them: rename the agent"
        )
    signature = Signature(name, sub.input, sub.output)

    async def run_agent() -> None:
        raise AssertionError(f"{name} is a run of {sub.agent}, and no function")

    contract = ToolContract(
        name=name,
        description=_describe(sub),
        input_schema=signature.input_schema,
        output_schema=output_schema(sub.agent, sub.output),
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
        raise AppError(f"agent {sender!r}: subagent {sub.agent!r}: {'; '.join(holes)}")
    return made
