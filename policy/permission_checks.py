"""What a call is permitted, by the policy or else by its risk class, and what that takes."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Literal, NamedTuple, TypeAlias

from holdfast.contracts.approvals import ApprovalRecord, Requirement
from holdfast.contracts.base import digest
from holdfast.contracts.calls import Grant, ToolCall
from holdfast.contracts.decisions import (
    Allow,
    ApprovalRequired,
    AskUser,
    Decision,
    Deny,
    RunAsDraftOnly,
    RunInSandbox,
)
from holdfast.contracts.texts import clip_chars
from holdfast.contracts.tools import Risk
from holdfast.policy import standing
from holdfast.policy.allowlists import find_risky_operation, is_safe_request
from holdfast.policy.case import CallContext
from holdfast.policy.matching import MatchedRule, find_governing_rule, find_list_entries
from holdfast.policy.risk import DEFAULT_PERMISSIONS, NEEDS_DRAFT, DefaultPermission
from holdfast.policy.rules import PLAIN_REQUIREMENT, Policy
from holdfast.policy.trust import Trust, normalize_name

TELL_USER = "tell the user what you would have done and why"

_LOST = (
    "a part of this work ended without saying what it did, or more may have happened than is "
    "kept: find out whether this happened already"
)

_DELEGATING = DefaultPermission("allow", "each call of who gets the task is ruled on by itself")

_MAX_QUESTION_CHARS = 1_000
_MAX_SHOWN_ENTRIES = 20


class Permission(NamedTuple):
    """
    What a call is permitted before it is looked at what that takes.

    `grant` is what the sandbox may do, `sandboxed` says that the call must run there. `risky` is
    what it lets run although it is.
    """

    effect: Literal["allow", "draft", "approve", "ask", "deny"]
    rule: str
    reason: str
    requirement: Requirement = PLAIN_REQUIREMENT
    grant: Grant = Grant()
    sandboxed: bool = False
    risky: frozenset[str] = frozenset()


PermissionCheck: TypeAlias = Callable[[CallContext, Policy, Permission], Decision | None]


def find_permission(case: CallContext, policy: Policy) -> Permission:
    """Say what the policy permits, or the risk class where no rule of the policy fits."""
    receiver = case.contract.receiver
    default = DEFAULT_PERMISSIONS[case.contract.risk] if receiver is None else _DELEGATING
    found = find_governing_rule(case, policy, default)
    if found is not None:
        return _permission_from_rule(found, delegating=receiver is not None)
    if receiver is not None:
        return Permission(default.effect, f"receiver:{receiver}", default.reason)
    return Permission(
        default.effect, f"risk:{case.contract.risk}", default.reason, default.requirement
    )


def _permission_from_rule(found: MatchedRule, *, delegating: bool) -> Permission:
    """Return what a rule permits; how the receiver of a task acts, is ruled when it does."""
    rule = found.rule
    match rule.effect:
        case "sandbox" | "draft" if delegating:
            effect = "allow"
        case "sandbox":
            effect = "allow"
        case "forbid":
            effect = "deny"
        case _:
            effect = rule.effect
    return Permission(
        effect,
        f"policy:{rule.id}",
        found.reason,
        rule.requirement,
        rule.grant,
        sandboxed=rule.effect == "sandbox" and not delegating,
        risky=rule.risky,
    )


def tighten(case: CallContext, permission: Permission) -> Permission:
    """Ask for a person, and for strong authentication, where no policy can do without."""
    risky = find_risky_operation(case)
    if permission.effect == "allow" and case.contract.permission == "approval":
        permission = permission._replace(
            effect="approve", rule="tool:approval", reason="each call of this tool needs a person"
        )
    elif permission.effect == "allow" and risky is not None and risky not in permission.risky:
        permission = permission._replace(
            effect="approve",
            rule=f"risky:{risky}",
            reason=f"{risky!r} is risky, even where {permission.rule} lists it; "
            f"without a person it runs where that rule has risky: [{risky}]",
        )
    if _may_repeat(case, permission):
        permission = _mark_lost(permission)
    if permission.effect == "approve" and case.contract.risk.needs_strong_approval:
        strong = permission.requirement.model_copy(update={"strength": "strong"})
        permission = permission._replace(requirement=strong)
    return permission


def _may_repeat(case: CallContext, permission: Permission) -> bool:
    """Whether a call may do once more what a part of the same work did, of which nobody knows."""
    if not case.facts.lost or case.contract.changes_nothing or is_safe_request(case):
        return False
    if case.contract.risk is Risk.DRAFT_ONLY and case.contract.undo is None:
        return False  # it reaches nobody
    reaches_out = bool(permission.grant.hosts) or case.contract.undo is not None
    stays = case.contract.side_effect == "local" and not reaches_out
    return not (_in_sandbox(case, permission) and stays)


def _mark_lost(permission: Permission) -> Permission:
    if permission.effect == "allow":
        return permission._replace(effect="approve", rule="lost-part", reason=_LOST)
    return permission._replace(reason=f"{permission.reason}; {_LOST}")


def refuse(case: CallContext, policy: Policy, permission: Permission) -> Decision | None:
    """What isn't permitted is denied."""
    if permission.effect != "deny":
        return None
    actions = ("choose a tool with a lower risk class", TELL_USER)
    if case.names_command or case.names_host:
        actions = (_describe_list_entries(case, policy), TELL_USER)
    return Deny(rule=permission.rule, reason=permission.reason, next_valid_actions=actions)


def ask_a_person(case: CallContext, _policy: Policy, permission: Permission) -> Decision | None:
    """What a person is asked about isn't done: their words are the result."""
    if permission.effect != "ask":
        return None
    return AskUser(
        rule=permission.rule,
        reason=permission.reason,
        question=f"{permission.reason}: what shall become of {_render_call(case.call)}?",
    )


def draft_only(case: CallContext, _policy: Policy, permission: Permission) -> Decision | None:
    """What is permitted as a draft is drafted, and nothing else."""
    if permission.effect != "draft":
        return None
    if case.contract.draft is None:
        return _no_draft(case, permission)
    return RunAsDraftOnly(
        rule=permission.rule,
        reason=permission.reason,
        draft=case.contract.draft,
        then="result",
    )


def deny_without_list_entry(
    case: CallContext, policy: Policy, permission: Permission
) -> Decision | None:
    """A command runs, or a host is asked, only where a rule of the policy lists it."""
    lists = permission.grant.commands if case.names_command else permission.grant.hosts
    if lists or not (case.names_command or case.names_host):
        return None
    kind = case.contract.resource_scope.kind
    return Deny(
        rule=f"{kind}-scope",
        reason=f"{permission.rule} would let it run, but lists no {kind}s",
        next_valid_actions=(_describe_list_entries(case, policy), TELL_USER),
    )


def deny_hosts_of_what_reaches_nobody(
    case: CallContext, _policy: Policy, permission: Permission
) -> Decision | None:
    """Code that may ask hosts may change something there: a class that says otherwise is wrong."""
    risk, granted = case.contract.risk, permission.grant.hosts
    if risk.may_reach_hosts or not granted or not _in_sandbox(case, permission):
        return None
    return Deny(
        rule="hosts-by-class",
        reason=f"{permission.rule} grants it hosts, and {case.contract.name!r} is declared "
        f"{risk}: what may ask hosts is network_open_world",
        next_valid_actions=("use a tool that asks no hosts", TELL_USER),
    )


def deny_without_sandbox(
    case: CallContext, _policy: Policy, permission: Permission
) -> Decision | None:
    """What belongs into the sandbox runs nowhere else."""
    if case.facts.sandbox or not _in_sandbox(case, permission):
        return None
    return Deny(
        rule="no-sandbox",
        reason=f"{case.contract.name!r} runs in the sandbox only, and this worker has none",
        next_valid_actions=("use a tool that needs no sandbox", TELL_USER),
    )


def deny_without_draft(
    case: CallContext, _policy: Policy, permission: Permission
) -> Decision | None:
    """Nobody approves what is sent without having seen it."""
    if permission.effect != "approve" or case.contract.risk not in NEEDS_DRAFT:
        return None
    if case.contract.receiver is not None:
        return None  # whoever gets the task drafts
    return _no_draft(case, permission) if case.contract.draft is None else None


def draft_first(case: CallContext, _policy: Policy, permission: Permission) -> Decision | None:
    """What has a draft variant is drafted before anybody is asked to approve it."""
    draft = case.contract.draft
    if permission.effect != "approve" or draft is None or case.facts.draft is not None:
        return None
    return RunAsDraftOnly(
        rule=permission.rule, reason=permission.reason, draft=draft, then="approval"
    )


def allow_or_require_approval(
    case: CallContext, policy: Policy, permission: Permission
) -> Decision | None:
    """What is permitted runs, if it takes an approval as soon as that is given."""
    rule, reason = permission.rule, permission.reason
    grant = permission.grant if _in_sandbox(case, permission) else None
    if permission.effect == "approve":
        given = find_approvals(_shown(case, grant), policy, permission.requirement)
        if not given:
            return ApprovalRequired(
                **permission.requirement.model_dump(), rule=rule, reason=reason, grant=grant
            )
        rule = f"approved:{given[0].request_id}"
        reason = f"approved by {', '.join(record.approver for record in given)}"
    if grant is not None:
        return RunInSandbox(rule=rule, reason=reason, grant=grant)
    return Allow(rule=rule, reason=reason)


# The first that answers decides: nobody is asked about what couldn't run anyway.
PERMISSION_CHECKS: tuple[PermissionCheck, ...] = (
    refuse,
    ask_a_person,
    draft_only,
    deny_without_list_entry,
    deny_hosts_of_what_reaches_nobody,
    deny_without_sandbox,
    deny_without_draft,
    draft_first,
    allow_or_require_approval,
)


def _in_sandbox(case: CallContext, permission: Permission) -> bool:
    return case.runs_in_sandbox or permission.sandboxed


def _shown(case: CallContext, grant: Grant | None) -> CallContext:
    """Leave of the approvals those whose givers saw what the sandbox lets the call do."""
    seen = tuple(one for one in case.facts.approvals if standing.shows(one, grant))
    return replace(case, facts=case.facts._replace(approvals=seen))


def find_approvals(
    case: CallContext, policy: Policy, requirement: Requirement
) -> tuple[ApprovalRecord, ...]:
    """Return the approvals that release a call; nothing while there are too few of one request."""
    trust = Trust(policy.groups, case.facts.issuers)
    good: dict[str, dict[str, ApprovalRecord]] = {}
    for record in _find_call_approvals(case):
        if standing.counts(record, requirement, trust, case.facts.now):
            people = good.setdefault(record.request_id, {})
            people.setdefault(normalize_name(record.approver), record)
    for people in good.values():
        if len(people) >= requirement.count:
            return tuple(people.values())
    return ()


def _find_call_approvals(case: CallContext) -> tuple[ApprovalRecord, ...]:
    """Return the approvals of exactly this call, whose givers saw the class that it has now."""
    about = (case.call.call_id, case.contract.risk)
    its = tuple(one for one in case.facts.approvals if (one.call_id, one.risk) == about)
    bound = digest(case.call.arguments) if its else ""
    return tuple(one for one in its if one.arguments_digest == bound)


def _no_draft(case: CallContext, permission: Permission) -> Deny:
    return Deny(
        rule="no-draft",
        reason=f"{case.contract.name!r} has no draft variant, without which "
        f"{permission.rule} lets nothing happen",
        next_valid_actions=("use a tool that drafts", TELL_USER),
    )


def _describe_list_entries(case: CallContext, policy: Policy) -> str:
    kind = "commands" if case.names_command else "hosts"
    listed = find_list_entries(case, policy)
    if not listed:
        return f"no {kind} are listed: ask for a rule of the policy that lists them"
    more = (
        f" and {len(listed) - _MAX_SHOWN_ENTRIES} more" if len(listed) > _MAX_SHOWN_ENTRIES else ""
    )
    return f"listed {kind} are: {', '.join(listed[:_MAX_SHOWN_ENTRIES])}{more}"


def _render_call(call: ToolCall) -> str:
    said = f"{call.name}({json.dumps(call.arguments, ensure_ascii=False)})"
    return clip_chars(said, _MAX_QUESTION_CHARS)
