"""
Who may do what: ordered tables of small rules, and what no rule covers is denied.

First come the rules that nothing can overrule. Then the policy, or else the risk class, says what
the call is permitted. What that permission takes, is looked at last: a list, a sandbox, a draft,
a person.
"""

from collections.abc import Callable
from pathlib import PurePosixPath
from typing import TypeAlias

from holdfast.contracts.calls import ToolCall
from holdfast.contracts.decisions import AskUser, Decision, Deny, RunAsDraftOnly
from holdfast.contracts.tools import Risk, ToolContract
from holdfast.policy.case import CallContext, DecisionFacts
from holdfast.policy.matching import find_forbidding_rule, may_belong_into_sandbox
from holdfast.policy.permission_checks import (
    PERMISSION_CHECKS,
    TELL_USER,
    deny_without_list_entry,
    find_permission,
    refuse,
    tighten,
)
from holdfast.policy.rules import NO_POLICY, Policy
from holdfast.policy.switches import describe_switch, find_switch

__all__ = ["RULES", "DecisionFacts", "decide"]

Rule: TypeAlias = Callable[[CallContext, Policy], Decision | None]

_MAX_PATH_PARTS = 256
"""Folders in each other of one path: a worker would take long to find where more of them lead."""


def deny_switched_off(case: CallContext, _policy: Policy) -> Decision | None:
    """What is switched off doesn't run, whoever has approved it."""
    facts = case.facts
    receiver = case.contract.receiver
    agents = (facts.agent, *facts.path, *([receiver] if receiver is not None else []))
    switch = find_switch(facts.switches, case.contract.name, agents, facts.caller.tenant)
    if switch is None:
        return None
    return Deny(
        rule=f"switch:{switch.kind}:{switch.name}",
        reason=describe_switch(switch),
        next_valid_actions=(
            ("use another tool", TELL_USER) if switch.kind == "tool" else (TELL_USER, "stop here")
        ),
    )


def deny_above_ceiling(case: CallContext, _policy: Policy) -> Decision | None:
    """What those before an agent keep from all behind them it doesn't do; who gets work is cut."""
    contract, ceiling = case.contract, case.facts.ceiling
    named = contract.name in ceiling.without_tools
    risky = contract.receiver is None and contract.risk in ceiling.without_risks
    if not (named or risky):
        return None
    what = f"by {contract.name!r}" if named else f"that is {contract.risk}"
    return Deny(
        rule="ceiling",
        reason=f"an agent behind others does nothing here {what}",
        next_valid_actions=("say in your answer what is left to do", TELL_USER),
    )


def deny_forbidden(case: CallContext, policy: Policy) -> Decision | None:
    """What any rule of the policy forbids is denied, wherever the rule stands."""
    found = find_forbidding_rule(case, policy)
    if found is None:
        return None
    return Deny(
        rule=f"policy:{found.rule.id}",
        reason=found.reason,
        next_valid_actions=("choose another way: nobody can approve this one", TELL_USER),
    )


def deny_foreign_tenant(case: CallContext, _policy: Policy) -> Decision | None:
    """A call stays with the tenant that the run belongs to."""
    scope, tenant = case.contract.resource_scope, case.facts.caller.tenant
    if scope.kind != "tenant" or case.scope_value == tenant:
        return None
    return Deny(
        rule="tenant-scope",
        reason=f"{scope.argument} is {case.scope_value!r}, "
        f"but this run belongs to tenant {tenant!r}",
        next_valid_actions=(f"use {scope.argument}={tenant!r}",),
    )


def deny_outside_workspace(case: CallContext, _policy: Policy) -> Decision | None:
    """A path stays inside the workspace."""
    scope, named = case.contract.resource_scope, case.scope_value
    if scope.kind != "workspace":
        return None
    if isinstance(named, str) and "\0" not in named and named.count("/") < _MAX_PATH_PARTS:
        path = PurePosixPath(named)
        if not path.is_absolute() and ".." not in path.parts:
            return None
    return Deny(
        rule="workspace-scope",
        reason=f"{scope.argument} {named!r} is no path inside the workspace",
        next_valid_actions=("use a relative path without '..'",),
    )


def deny_unresolved_repeat(case: CallContext, _policy: Policy) -> Decision | None:
    """A write of which nobody knows whether it happened isn't done again."""
    if not case.facts.unresolved or case.effect not in case.facts.unresolved:
        return None
    return Deny(
        rule="unresolved-write",
        reason="the same call was cut off before, and nobody knows whether it happened",
        next_valid_actions=(
            "find out with a tool that reads whether it happened",
            "ask the user to find out",
        ),
        type="non_idempotent_retry_blocked",
    )


_GO_ON = "go on: it is done"
_NOT_COMMITTED = "go on without it: its draft is there alone, and was never committed"


def deny_doing_again(case: CallContext, _policy: Policy) -> Decision | None:
    """What another part of the same work, or an approach given up, has done isn't done again."""
    if not case.facts.done or case.effect not in case.facts.done:
        return None
    return Deny(
        rule="done-already",
        reason="it is done already: another part of this work made the same call, an earlier "
        "approach that couldn't take it back, or their run to take something back",
        next_valid_actions=(_GO_ON, TELL_USER),
        type="non_idempotent_retry_blocked",
    )


def deny_while_planning(case: CallContext, _policy: Policy) -> Decision | None:
    """Before its plan is approved a run reads, searches, asks and drafts, and changes nothing."""
    risk = case.contract.risk
    if not case.facts.planning or risk.changes_nothing or risk is Risk.DRAFT_ONLY:
        return None
    return Deny(
        rule="planning",
        reason=f"the run is still planning, and {risk} changes something",
        next_valid_actions=(
            "have a plan approved with submit_plan",
            "read or draft what the plan needs",
        ),
    )


def deny_beyond_plan(case: CallContext, _policy: Policy) -> Decision | None:
    """Once its plan is approved a run changes things, and hands work over, by what that names."""
    contract, named = case.contract, case.facts.planned
    quiet = contract.risk.changes_nothing or contract.risk is Risk.DRAFT_ONLY
    if named is None or contract.name in named or (quiet and contract.receiver is None):
        return None
    return Deny(
        rule="plan",
        reason=f"the approved plan doesn't name {contract.name}",
        next_valid_actions=(
            "have the changed plan approved with submit_plan",
            "keep to the plan",
        ),
    )


def ask_the_user(case: CallContext, _policy: Policy) -> Decision | None:
    """A tool that asks is no action: its call is a question."""
    if case.contract.permission != "ask_user":
        return None
    return AskUser(
        rule="ask-user",
        reason="the agent asks a person",
        question=str(case.call.arguments.get(case.contract.question or "question", "")),
    )


def follow_the_policy_or_the_risk_class(case: CallContext, policy: Policy) -> Decision | None:
    """What is permitted happens as soon as everything that it takes is there."""
    permission = tighten(case, find_permission(case, policy))
    for term in PERMISSION_CHECKS:
        if (decision := term(case, policy, permission)) is not None:
            return decision
    return None


FORBIDDING_RULES: tuple[Rule, ...] = (
    deny_switched_off,
    deny_above_ceiling,
    deny_forbidden,
    deny_foreign_tenant,
    deny_outside_workspace,
    deny_unresolved_repeat,
    deny_doing_again,
    deny_while_planning,
    deny_beyond_plan,
)

# The first rule that answers decides, so what forbids stands before what permits.
RULES: tuple[Rule, ...] = (
    *FORBIDDING_RULES,
    ask_the_user,
    follow_the_policy_or_the_risk_class,
)


def deny_draft(case: CallContext, policy: Policy) -> Deny | None:
    """
    Deny a call whose draft is none that may be made: it is ruled on as a call of its own is.

    But the rule that has the call drafted lets the draft run, and nobody is asked about it: where
    its own call would take a person, though drafts of its kind are allowed, it is denied.
    """
    draft, variant = case.as_draft(), case.facts.variant
    if draft is None or variant is None:
        return None
    if variant.flaw:
        return _deny_draft(draft, "invalid-arguments", variant.flaw)
    for rule in FORBIDDING_RULES:
        if isinstance(denial := rule(draft, policy), Deny):
            said = denial.next_valid_actions
            actions = tuple(_NOT_COMMITTED if one == _GO_ON else one for one in said)
            reason = _name_draft(draft, denial.reason)
            return denial.with_(reason=reason, next_valid_actions=actions)
    own = find_permission(draft, policy)
    unlisted = refuse(draft, policy, own) or deny_without_list_entry(draft, policy, own)
    if (draft.names_command or draft.names_host) and unlisted is not None:
        return _deny_draft(draft, unlisted.rule, unlisted.reason)
    if may_belong_into_sandbox(draft, policy):
        return _deny_draft(draft, own.rule, "no draft runs in the sandbox")
    taken = tighten(draft, own._replace(effect="allow"))
    return None if taken.effect == "allow" else _deny_draft(draft, taken.rule, taken.reason)


def _deny_draft(draft: CallContext, rule: str, reason: str) -> Deny:
    return Deny(rule=rule, reason=_name_draft(draft, reason), next_valid_actions=(TELL_USER,))


def _name_draft(draft: CallContext, reason: str) -> str:
    return f"its draft {draft.contract.name!r}: {reason}"


def decide(
    call: ToolCall, contract: ToolContract, facts: DecisionFacts, policy: Policy = NO_POLICY
) -> Decision:
    """Decide whether a call with valid arguments may run. Pure and total."""
    case = CallContext(call, contract, facts)
    for rule in RULES:
        decision = rule(case, policy)
        if isinstance(decision, RunAsDraftOnly):
            return deny_draft(case, policy) or decision
        if decision is not None:
            return decision
    return Deny(
        rule="default-deny",
        reason=f"no rule covers {call.name!r}",
        next_valid_actions=("ask the user",),
    )
