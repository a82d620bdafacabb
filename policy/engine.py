"""Who may do what: one ordered table of rules, and what no rule covers is denied."""

from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Literal, NamedTuple, TypeAlias

from contracts.approvals import ApprovalRecord
from contracts.base import digest
from contracts.decisions import Allow, ApprovalRequired, AskUser, Decision, Deny
from contracts.tools import ToolCall, ToolContract
from policy.risk import DEFAULTS


class Facts(NamedTuple):
    """What a decision depends on beside the call: on whose behalf it is, and what was approved."""

    tenant: str
    actor: str
    agent: str
    approvals: tuple[ApprovalRecord, ...] = ()


Rule: TypeAlias = Callable[[ToolCall, ToolContract, Facts], Decision | None]


def ask_the_user(call: ToolCall, contract: ToolContract, _facts: Facts) -> Decision | None:
    """A tool that asks is no action: its call is a question."""
    if contract.permission != "ask_user":
        return None
    return AskUser(
        rule="ask-user",
        reason="the agent asks a person",
        question=str(call.arguments.get("question", "")),
    )


def deny_foreign_tenant(call: ToolCall, contract: ToolContract, facts: Facts) -> Decision | None:
    """A call stays with the tenant that the run belongs to."""
    scope = contract.resource_scope
    if scope.kind != "tenant" or scope.argument is None:
        return None
    named = call.arguments.get(scope.argument)
    if named == facts.tenant:
        return None
    return Deny(
        rule="tenant-scope",
        reason=f"{scope.argument} is {named!r}, but this run belongs to tenant {facts.tenant!r}",
        next_valid_actions=(f"use {scope.argument}={facts.tenant!r}",),
    )


def deny_outside_workspace(
    call: ToolCall, contract: ToolContract, _facts: Facts
) -> Decision | None:
    """A path stays inside the workspace."""
    scope = contract.resource_scope
    if scope.kind != "workspace" or scope.argument is None:
        return None
    named = call.arguments.get(scope.argument)
    path = PurePosixPath(named) if isinstance(named, str) else None
    if path is not None and not path.is_absolute() and ".." not in path.parts:
        return None
    return Deny(
        rule="workspace-scope",
        reason=f"{scope.argument} {named!r} is no path inside the workspace",
        next_valid_actions=("use a relative path without '..'",),
    )


def follow_the_risk_class(call: ToolCall, contract: ToolContract, facts: Facts) -> Decision | None:
    """What nobody has decided otherwise, the risk class decides."""
    rule = f"risk:{contract.risk}"
    default = DEFAULTS[contract.risk]
    match default.verdict:
        case "allow":
            return Allow(rule=rule, reason=default.reason)
        case "approve":
            return _approved(call, facts, "plain") or ApprovalRequired(
                rule=rule, reason=default.reason, strength="plain"
            )
        case "approve_strongly":
            return _approved(call, facts, "strong") or ApprovalRequired(
                rule=rule, reason=default.reason, strength="strong"
            )
        case "deny":
            return Deny(
                rule=rule,
                reason=default.reason,
                next_valid_actions=(
                    "choose a tool with a lower risk class",
                    "tell the user what you would have done and why",
                ),
            )


# The first rule that answers decides, so what forbids stands before what permits.
RULES: tuple[Rule, ...] = (
    deny_foreign_tenant,
    deny_outside_workspace,
    ask_the_user,
    follow_the_risk_class,
)


def decide(call: ToolCall, contract: ToolContract, facts: Facts) -> Decision:
    """Decide whether a call with valid arguments may run. Pure and total."""
    for rule in RULES:
        if (decision := rule(call, contract, facts)) is not None:
            return decision
    return Deny(
        rule="default-deny",
        reason=f"no rule covers {call.name!r}",
        next_valid_actions=("ask the user",),
    )


def _approved(call: ToolCall, facts: Facts, strength: Literal["plain", "strong"]) -> Allow | None:
    for record in facts.approvals:
        bound = (record.call_id, record.arguments_digest)
        if bound != (call.call_id, digest(call.arguments)):
            continue
        if record.strength == "strong" or strength == "plain":
            return Allow(
                rule=f"approved:{record.request_id}", reason=f"approved by {record.approver}"
            )
    return None
