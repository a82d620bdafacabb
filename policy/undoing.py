"""
Whether what a call does may be taken back: ruled on with the call, for nobody is asked later.

An undo is ruled on as a call of its own would be, but for this: whoever approves a call approves
its undo, which they are shown. Switches are looked at when it runs.
"""

from typing import Literal

from holdfast.contracts.approvals import ApprovalRecord
from holdfast.contracts.effects import UndoRuling
from holdfast.contracts.tools import ToolContract
from holdfast.policy.case import CallContext
from holdfast.policy.engine import (
    Rule,
    deny_forbidden,
    deny_foreign_tenant,
    deny_outside_workspace,
    deny_unresolved_repeat,
)
from holdfast.policy.permission_checks import (
    Permission,
    deny_without_list_entry,
    find_approvals,
    find_permission,
    tighten,
)
from holdfast.policy.rules import Policy

# What nobody can approve, in the order of the engine.
_RULES: tuple[Rule, ...] = (
    deny_forbidden,
    deny_foreign_tenant,
    deny_outside_workspace,
    deny_unresolved_repeat,
)


def rule_on(undo: CallContext, act: CallContext, policy: Policy) -> UndoRuling:
    """Say whether *undo*, a call with the arguments of *act*, may take that back."""
    for rule in _RULES:
        if (denial := rule(undo, policy)) is not None:
            return _build_ruling(undo, "deny", denial.rule, denial.reason)
    permission = tighten(undo, find_permission(undo, policy))
    if unlisted := deny_without_list_entry(undo, policy, permission):
        return _build_ruling(undo, "deny", unlisted.rule, unlisted.reason)
    if permission.sandboxed:
        return _build_ruling(undo, "deny", permission.rule, "no undo runs in the sandbox")
    match permission.effect:
        case "allow" | "deny" as verdict:
            return _build_ruling(undo, verdict, permission.rule, permission.reason)
        case "approve":
            return _rule_by_approvals(undo, act, policy, permission)
        case "draft" | "ask":
            reason = f"{permission.reason}, and nobody is asked while a run takes back what it did"
            return _build_ruling(undo, "deny", permission.rule, reason)


def matches_shown_undo(record: ApprovalRecord, now: UndoRuling | None) -> bool:
    """Whether a request showed the undo that it would show *now*, before anybody approves it."""
    shown = record.undo
    if shown is None or now is None:
        return shown is now
    same = (shown.tool, shown.risk, shown.verdict) == (now.tool, now.risk, now.verdict)
    return same and now.recovery in {"", shown.recovery}


def deny_invalid_arguments(undo: ToolContract, reason: str) -> UndoRuling:
    """Rule on an undo that doesn't take the arguments of the call."""
    return UndoRuling(
        tool=undo.name, risk=undo.risk, verdict="deny", rule="invalid-arguments", reason=reason
    )


def _rule_by_approvals(
    undo: CallContext, act: CallContext, policy: Policy, permission: Permission
) -> UndoRuling:
    """Count the approvals of the call for its undo, as far as their givers saw that."""
    recovery = permission.requirement.recovery
    asked = _build_ruling(undo, "approval_required", permission.rule, permission.reason, recovery)
    seen = tuple(one for one in act.facts.approvals if matches_shown_undo(one, asked))
    shown = CallContext(act.call, act.contract, act.facts._replace(approvals=seen))
    # The way back that they were shown is compared above: a record's own is that of the call.
    given = find_approvals(
        shown, policy, permission.requirement.model_copy(update={"recovery": ""})
    )
    if not given:
        return asked
    rule, names = f"approved:{given[0].request_id}", ", ".join(one.approver for one in given)
    return _build_ruling(undo, "allow", rule, f"approved with the call by {names}", recovery)


def _build_ruling(
    undo: CallContext,
    verdict: Literal["allow", "approval_required", "deny"],
    rule: str,
    reason: str,
    recovery: str = "",
) -> UndoRuling:
    return UndoRuling(
        tool=undo.contract.name,
        risk=undo.contract.risk,
        verdict=verdict,
        rule=rule,
        reason=reason,
        recovery=recovery,
    )
