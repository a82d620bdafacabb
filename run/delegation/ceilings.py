"""What binds an agent that works behind others: tools, risk classes, limits, reviews. Pure."""

from collections.abc import Iterable
from typing import TypeVar

from holdfast.contracts.approvals import Requirement
from holdfast.contracts.budget import Budget, Limits
from holdfast.contracts.delegation.ceilings import MAX_TOOLS_WITHOUT, Ceiling
from holdfast.contracts.run import AgentSnapshot, RunMetadata
from holdfast.contracts.tools import HostedTool, ToolContract
from holdfast.run.limits import budgets

BriefT = TypeVar("BriefT", bound=RunMetadata)
LimitsT = TypeVar("LimitsT", bound=Limits)
ToolT = TypeVar("ToolT", ToolContract, HostedTool)


def find_ceiling(agent: AgentSnapshot, brief: RunMetadata) -> Ceiling:
    """Return what binds all that come behind this agent: what bound it, and what it adds."""
    own = agent.ceiling or Ceiling()
    return Ceiling(
        without_tools=tuple(dict.fromkeys((*brief.without_tools, *own.without_tools))),
        without_risks=tuple(dict.fromkeys((*brief.without_risks, *own.without_risks))),
        budget=own.budget,
    )


def find_overflow(agent: AgentSnapshot, brief: RunMetadata) -> str:
    """
    Say why nobody may come behind this agent, if so: more is kept from them than can be written.

    A start may name as many tools as a ceiling, beside those of it.
    """
    own = agent.ceiling or Ceiling()
    named = {*brief.without_tools, *own.without_tools}
    if len(named) <= MAX_TOOLS_WITHOUT:
        return ""
    return f"{len(named)} tools are kept from it, and no more than {MAX_TOOLS_WITHOUT} may be"


def bind_brief(brief: BriefT, ceiling: Ceiling) -> BriefT:
    """Return what is kept of a run from when this ceiling holds in it."""
    if not ceiling.without_tools and not ceiling.without_risks:
        return brief
    changes = {"without_tools": ceiling.without_tools, "without_risks": ceiling.without_risks}
    return brief.copy_with(changes)


def lower_limits(limits: LimitsT, ceiling: Ceiling | None) -> LimitsT:
    """Return limits of which none is above that of the ceiling, if there is one."""
    return limits if ceiling is None else budgets.cap_limits(limits, ceiling.budget)


def lower_ceiling(limits: Budget | None, ceiling: Budget | None) -> Budget | None:
    """Return the limits of both that nothing may raise, of which each only lowers the other's."""
    if limits is None or ceiling is None:
        return limits or ceiling
    lower = budgets.cap_limits(limits, ceiling)
    given = limits.model_fields_set | ceiling.model_fields_set
    return Budget.model_validate(lower.model_dump(include=given))


def join_reviews(sender: Requirement, receiver: Requirement) -> Requirement:
    """
    Return what a review takes: the stricter, by whom the receiver names, or else the sender.

    Where both name methods, one of those that suit both is needed, or else one of the sender's.
    """
    common = tuple(one for one in sender.methods if one in receiver.methods)
    strength = "strong" if "strong" in {sender.strength, receiver.strength} else "plain"
    named = receiver if receiver.groups else sender
    return named.copy_with(
        {
            "strength": strength,
            "count": max(sender.count, receiver.count),
            "methods": common or sender.methods or receiver.methods,
            "max_auth_age": budgets.find_lower(sender.max_auth_age, receiver.max_auth_age),
            "valid_for": budgets.find_lower(sender.valid_for, receiver.valid_for),
            "expires_after": budgets.find_lower(sender.expires_after, receiver.expires_after),
        }
    )


def cut_tools(agent: AgentSnapshot, brief: RunMetadata) -> AgentSnapshot:
    """
    Return an agent without the tools that it may not use in this run.

    Tools that give work to others stay, whatever their risk: those who get it are cut as well.
    """
    if not brief.without_tools and not brief.without_risks:
        return agent
    tools = tuple(_select_tools(agent.tools, brief))
    hosted = tuple(_select_tools(agent.hosted, brief))
    left = {one.name for one in (*tools, *hosted)}
    settings = agent.settings
    if settings.tool_choice not in {"none", *left} and (
        settings.tool_choice != "required" or not left
    ):
        settings = settings.copy_with({"tool_choice": "auto"})
    cut = agent.copy_with({"tools": tools, "hosted": hosted, "settings": settings})
    return cut.with_(prefix_digest=cut.prefix.digest)


def _select_tools(tools: Iterable[ToolT], brief: RunMetadata) -> Iterable[ToolT]:
    for tool in tools:
        delegates = isinstance(tool, ToolContract) and tool.receiver is not None
        if tool.name not in brief.without_tools and (
            delegates or tool.risk not in brief.without_risks
        ):
            yield tool
