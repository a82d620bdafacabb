"""Deciding about calls outside of any run: what would become of them, and which rules say so."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import NamedTuple

from holdfast.activities.companions import describe_draft
from holdfast.app import App
from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import Draft, ToolCall
from holdfast.contracts.decisions import Caller, Decision, RunAsDraftOnly
from holdfast.contracts.errors import AppError, ToolError
from holdfast.contracts.tools import ToolContract
from holdfast.contracts.transcript import Trust
from holdfast.policy.case import CallContext, DecisionFacts
from holdfast.policy.engine import decide
from holdfast.policy.matching import MatchResult, find_forbidding_rule, match_rule
from holdfast.policy.permission_checks import find_permission
from holdfast.policy.rules import Policy, PolicyRule
from holdfast.policy_files import load_authorities
from holdfast.tools.tool import Tool


class CallerContext(NamedTuple):
    """On whose behalf a call is made, by which agent, and where."""

    agent: str
    caller: Caller
    metadata: JsonObject
    environment: str = ""
    trust: Trust = "trusted"


class InvalidArguments(NamedTuple):
    """A call that never gets to a decision, because its arguments don't fit."""

    reason: str


class RuleEvaluation(NamedTuple):
    """What one rule of a policy has to do with a call."""

    rule: PolicyRule
    fit: MatchResult
    governs: bool


@dataclass(frozen=True)
class DryRun:
    """A call as it would be decided about where there is a sandbox, and no approval yet."""

    call: ToolCall
    contract: ToolContract
    facts: DecisionFacts
    policy: Policy

    @cached_property
    def decision(self) -> Decision:
        """What is decided first."""
        return decide(self.call, self.contract, self.facts, self.policy)

    @cached_property
    def outcome(self) -> Decision:
        """What is decided in the end: where a draft comes first, after it."""
        first = self.decision
        if not isinstance(first, RunAsDraftOnly) or first.then == "result":
            return first
        draft = Draft(draft_id="", call_id=self.call.call_id, tool=first.draft, summary="")
        return decide(self.call, self.contract, self.facts._replace(draft=draft), self.policy)

    def evaluate_rules(self) -> list[RuleEvaluation]:
        """Hold every rule of the policy against the call, in the order of the file."""
        case = CallContext(self.call, self.contract, self.facts)
        found = find_forbidding_rule(case, self.policy)
        governing = (
            find_permission(case, self.policy).rule if found is None else f"policy:{found.rule.id}"
        )
        return [
            RuleEvaluation(rule, match_rule(rule, case), governs=f"policy:{rule.id}" == governing)
            for rule in self.policy.rules
        ]


def dry_run(
    call: ToolCall,
    tool: Tool | ToolContract,
    who: CallerContext,
    app: App,
    policy: Policy,
    now: datetime,
) -> DryRun | InvalidArguments:
    """Prepare to decide about a call; of a tool whose code is gone the contract will do."""
    values, variant = call.arguments, None
    if isinstance(tool, Tool):
        if objections := tool.objections(call.arguments):
            return InvalidArguments("; ".join(objections))
        try:
            values = tool.values(call.arguments)
        except ToolError as error:
            return InvalidArguments(error.reason)
        tool = tool.contract
        variant = describe_draft(app.registry, tool, call.arguments, call.arguments)
    standing = tuple(one for one in load_authorities(policy) if now < one.expires)
    facts = _build_facts(who, values, now)._replace(variant=variant, authorities=standing)
    return DryRun(call, tool, facts, policy)


def find_tool(app: App, name: str, agent: str | None) -> tuple[Tool, str]:
    """Return a tool and the agent that uses it: the one named, or the first that has it."""
    agents = {one.name: one for one in app.agents}
    if agent is not None and agent not in agents:
        raise AppError(f"no agent {agent!r} (known: {_join_names(list(agents))})")
    having = [agents[agent]] if agent is not None else list(app.agents)
    for one in having:
        for tool in app.find_tools(one):
            if tool.contract.name == name:
                return tool, one.name
    known = sorted({tool.contract.name for one in having for tool in app.find_tools(one)})
    whose = "the app" if agent is None else f"agent {agent!r}"
    raise AppError(f"{whose} has no tool {name!r} (known: {_join_names(known)})")


def _build_facts(who: CallerContext, values: JsonObject, now: datetime) -> DecisionFacts:
    return DecisionFacts(
        caller=who.caller,
        metadata=who.metadata,
        agent=who.agent,
        now=now,
        environment=who.environment,
        trust=who.trust,
        sandbox=True,
        values=values,
    )


def _join_names(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"
