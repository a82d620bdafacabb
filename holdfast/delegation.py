"""Agents that work for an agent, as a platform engineer names them, each a tool of that."""

from dataclasses import KW_ONLY, dataclass

from pydantic import BaseModel

from holdfast.contracts.control import Delegation, HandoffData
from holdfast.contracts.delegation.ceilings import Ceiling
from holdfast.contracts.patterns import Pattern
from holdfast.run.delegation.subagents import MAX_PARALLEL_CHILDREN
from holdfast.tools.tool import Tool

__all__ = ["Ceiling", "Handoff", "SubAgent", "check_handoff", "check_subagent"]

_NO_NAME_CHARS = Pattern(r"[^A-Za-z0-9]+")


@dataclass(frozen=True)
class SubAgent:
    """
    An agent that does tasks for another one: a tool of that, named `delegate_to_NAME`.

    A call has the fields of *input*, whose docstring tells the model what it is for; the result
    has the shape of *output*, a pydantic model or a dataclass. Each call is a run of its own, of
    which *at_once* work beside each other (4 at most), each within *budget_share* of the budget.
    """

    agent: str
    _: KW_ONLY
    input: type[BaseModel]
    output: type[object]
    at_once: int = MAX_PARALLEL_CHILDREN
    budget_share: float = 0.25

    @property
    def works_apart(self) -> bool:
        """Whether it works in a run of its own."""
        return True

    @property
    def tool_name(self) -> str:
        """The tool by which the model gives it a task."""
        return _name_tool("delegate_to", self.agent)

    @property
    def delegation(self) -> Delegation:
        """What a run records of it."""
        return Delegation(
            tool=self.tool_name, at_once=self.at_once, budget_share=self.budget_share
        )


@dataclass(frozen=True)
class Handoff:
    """
    An agent that another one may hand its run to, by the tool `transfer_to_NAME`.

    *when* tells the model when to. *prepare* is a tool that changes nothing, takes `goal` and
    returns a HandoffData: what the agent needs that goes on. With *return_expected* it works in a
    run of its own, and its answer is the result of the call; it is stopped after
    *timeout_seconds*.
    """

    agent: str
    _: KW_ONLY
    when: str
    prepare: Tool | None = None
    return_expected: bool = False
    timeout_seconds: float | None = None

    @property
    def works_apart(self) -> bool:
        """Whether it works in a run of its own."""
        return self.return_expected

    @property
    def tool_name(self) -> str:
        """The tool by which the model hands over."""
        return _name_tool("transfer_to", self.agent)

    @property
    def delegation(self) -> Delegation:
        """What a run records of it."""
        return Delegation(
            tool=self.tool_name,
            at_once=1,
            budget_share=1.0,
            handoff=not self.return_expected,
            returns=self.return_expected,
            timeout_seconds=self.timeout_seconds,
            prepare=None if self.prepare is None else self.prepare.contract.name,
        )


def _name_tool(purpose: str, agent: str) -> str:
    return f"{purpose}_{_NO_NAME_CHARS.sub('_', agent).strip('_')}"


def check_handoff(handoff: Handoff) -> list[str]:
    """Say what of a handoff isn't what it must be: nobody has typed user code."""
    whose, prepare, found = f"its handoff {handoff.agent!r}", handoff.prepare, list[str]()
    if not str(handoff.when).strip():
        found.append(f"{whose}: say when, which is all that the model knows of it")
    if handoff.timeout_seconds is not None and not (
        handoff.return_expected and _is_duration(handoff.timeout_seconds)
    ):
        found.append(f"{whose}: its timeout_seconds is more than 0, and goes with return_expected")
    if prepare is None:
        return found
    if not _is_tool(prepare):
        return [*found, f"{whose}: its prepare is no tool: write @tool(...) above a function"]
    contract = prepare.contract
    properties = contract.input_schema.get("properties")
    if list(properties if isinstance(properties, dict) else ()) != ["goal"]:
        found.append(f"{whose}: {contract.name!r} must take `goal` and nothing else")
    if contract.output_schema.get("title") != HandoffData.__name__:
        found.append(f"{whose}: {contract.name!r} must return HandoffData")
    if not contract.risk.changes_nothing or contract.local or contract.sandboxed:
        found.append(f"{whose}: {contract.name!r} must change nothing, and run in the worker")
    if contract.permission != "by_risk":
        found.append(f"{whose}: {contract.name!r} must be without a permission of its own")
    return found


def _is_tool(given: object) -> bool:
    return isinstance(given, Tool)


def check_subagent(sub: SubAgent) -> list[str]:
    """Say what of a subagent isn't what it must be: nobody has typed user code."""
    whose, found = f"its subagent {sub.agent!r}", list[str]()
    if not _is_model(sub.input):
        found.append(f"{whose}: its input must be a pydantic model, not {sub.input!r}")
    if not _is_count(sub.at_once):
        found.append(f"{whose}: its at_once is 1 to {MAX_PARALLEL_CHILDREN}")
    if not _is_share(sub.budget_share):
        found.append(f"{whose}: its budget_share is more than 0, and 1 at most")
    return found


def _is_model(given: object) -> bool:
    return isinstance(given, type) and issubclass(given, BaseModel)


def _is_count(given: object) -> bool:
    return isinstance(given, int) and 1 <= given <= MAX_PARALLEL_CHILDREN


def _is_duration(given: object) -> bool:
    return isinstance(given, int | float) and 0 < given < float("inf")


def _is_share(given: object) -> bool:
    return isinstance(given, int | float) and 0 < given <= 1
