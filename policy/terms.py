"""What a call is permitted, by the policy or else by its risk class, and what that takes."""

import json
from collections.abc import Callable
from datetime import datetime
from typing import Literal, NamedTuple, TypeAlias

from contracts.approvals import ApprovalRecord, Requirement
from contracts.base import digest
from contracts.decisions import (
    Allow,
    ApprovalRequired,
    AskUser,
    Decision,
    Deny,
    RunAsDraftOnly,
    RunInSandbox,
)
from contracts.tools import Grant, ToolCall
from policy.allowlists import risky_operation
from policy.case import Case
from policy.fitting import Found, governing, listed_for
from policy.people import person
from policy.risk import DEFAULTS, DRAFTED
from policy.rules import NOTHING, Policy

TELL = "tell the user what you would have done and why"

_LONGEST_QUESTION = 1_000
_MOST_LISTED = 20


class Permission(NamedTuple):
    """
    What a call is permitted before it is looked at what that takes.

    `grant` is what the sandbox may do, `sandboxed` says that the call must run there.
    """

    effect: Literal["allow", "draft", "approve", "ask", "deny"]
    rule: str
    reason: str
    requirement: Requirement = NOTHING
    grant: Grant = Grant()
    sandboxed: bool = False


Term: TypeAlias = Callable[[Case, Policy, Permission], Decision | None]


def permitted(case: Case, policy: Policy) -> Permission:
    """Say what the policy permits, or the risk class where no rule of the policy fits."""
    default = DEFAULTS[case.contract.risk]
    found = governing(case, policy, default)
    if found is not None:
        return _by_policy(found)
    return Permission(
        default.effect, f"risk:{case.contract.risk}", default.reason, default.requirement
    )


def _by_policy(found: Found) -> Permission:
    rule = found.rule
    match rule.effect:
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
        sandboxed=rule.effect == "sandbox",
    )


def strengthened(case: Case, permission: Permission) -> Permission:
    """Ask for a person, and for strong authentication, where no policy can do without."""
    risky = risky_operation(case)
    if permission.effect == "allow" and case.contract.permission == "approval":
        permission = permission._replace(
            effect="approve", rule="tool:approval", reason="each call of this tool needs a person"
        )
    elif permission.effect == "allow" and risky is not None:
        permission = permission._replace(
            effect="approve",
            rule=f"risky:{risky}",
            reason=f"{risky!r} is risky, even where {permission.rule} lists it",
        )
    if permission.effect == "approve" and case.contract.risk.needs_strong_approval:
        strong = permission.requirement.model_copy(update={"strength": "strong"})
        permission = permission._replace(requirement=strong)
    return permission


def refuse(case: Case, policy: Policy, permission: Permission) -> Decision | None:
    """What isn't permitted is denied."""
    if permission.effect != "deny":
        return None
    actions = ("choose a tool with a lower risk class", TELL)
    if case.names_command or case.names_host:
        actions = (_listed(case, policy), TELL)
    return Deny(rule=permission.rule, reason=permission.reason, next_valid_actions=actions)


def ask_a_person(case: Case, _policy: Policy, permission: Permission) -> Decision | None:
    """What a person is asked about isn't done: their words are the result."""
    if permission.effect != "ask":
        return None
    return AskUser(
        rule=permission.rule,
        reason=permission.reason,
        question=f"{permission.reason}: what shall become of {_spelled(case.call)}?",
    )


def draft_only(case: Case, _policy: Policy, permission: Permission) -> Decision | None:
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


def deny_unlisted(case: Case, policy: Policy, permission: Permission) -> Decision | None:
    """A command runs, or a host is asked, only where a rule of the policy lists it."""
    lists = permission.grant.commands if case.names_command else permission.grant.hosts
    if lists or not (case.names_command or case.names_host):
        return None
    kind = case.contract.resource_scope.kind
    return Deny(
        rule=f"{kind}-scope",
        reason=f"{permission.rule} would let it run, but lists no {kind}s",
        next_valid_actions=(_listed(case, policy), TELL),
    )


def deny_without_sandbox(case: Case, _policy: Policy, permission: Permission) -> Decision | None:
    """What belongs into the sandbox runs nowhere else."""
    if case.facts.sandbox or not _in_sandbox(case, permission):
        return None
    return Deny(
        rule="no-sandbox",
        reason=f"{case.contract.name!r} runs in the sandbox only, and this worker has none",
        next_valid_actions=("use a tool that needs no sandbox", TELL),
    )


def deny_without_draft(case: Case, _policy: Policy, permission: Permission) -> Decision | None:
    """Nobody approves what is sent without having seen it."""
    if permission.effect != "approve" or case.contract.risk not in DRAFTED:
        return None
    return _no_draft(case, permission) if case.contract.draft is None else None


def draft_first(case: Case, _policy: Policy, permission: Permission) -> Decision | None:
    """What has a draft variant is drafted before anybody is asked to approve it."""
    draft = case.contract.draft
    if permission.effect != "approve" or draft is None or case.facts.draft is not None:
        return None
    return RunAsDraftOnly(
        rule=permission.rule, reason=permission.reason, draft=draft, then="approval"
    )


def run(case: Case, policy: Policy, permission: Permission) -> Decision | None:
    """What is permitted runs, if it takes an approval as soon as that is given."""
    rule, reason = permission.rule, permission.reason
    if permission.effect == "approve":
        approved = _approved(case, policy, permission.requirement)
        if not approved:
            return ApprovalRequired(
                **permission.requirement.model_dump(), rule=rule, reason=reason
            )
        rule = f"approved:{approved[0].request_id}"
        reason = f"approved by {', '.join(record.approver for record in approved)}"
    if _in_sandbox(case, permission):
        return RunInSandbox(rule=rule, reason=reason, grant=permission.grant)
    return Allow(rule=rule, reason=reason)


# The first that answers decides: nobody is asked about what couldn't run anyway.
TERMS: tuple[Term, ...] = (
    refuse,
    ask_a_person,
    draft_only,
    deny_unlisted,
    deny_without_sandbox,
    deny_without_draft,
    draft_first,
    run,
)


def _in_sandbox(case: Case, permission: Permission) -> bool:
    return case.runs_in_sandbox or permission.sandboxed


def _approved(case: Case, policy: Policy, requirement: Requirement) -> tuple[ApprovalRecord, ...]:
    """Return the approvals that release a call; nothing while there are too few of one request."""
    good: dict[str, dict[str, ApprovalRecord]] = {}
    for record in case.facts.approvals:
        if _counts(record, case, policy, requirement):
            people = good.setdefault(record.request_id, {})
            people.setdefault(person(record.approver), record)
    for people in good.values():
        if len(people) >= requirement.count:
            return tuple(people.values())
    return ()


def _counts(record: ApprovalRecord, case: Case, policy: Policy, requirement: Requirement) -> bool:
    """Whether an approval is of exactly this call, and as good as is asked for now."""
    return (
        record.call_id == case.call.call_id
        and record.arguments_digest == digest(case.call.arguments)
        and _is_in_time(record, case.facts.now, requirement)
        and _is_strong_enough(record, requirement)
        and _is_eligible(record, policy, requirement)
        and requirement.recovery in {"", record.recovery}
    )


def _is_in_time(record: ApprovalRecord, now: datetime, requirement: Requirement) -> bool:
    if record.expires_at is not None and now >= record.expires_at:
        return False
    lasts = requirement.valid_for
    return lasts is None or (now - record.at).total_seconds() < lasts


def _is_strong_enough(record: ApprovalRecord, requirement: Requirement) -> bool:
    if requirement.strength == "plain":
        return True
    proof, wanted = record.proof, requirement.methods
    if record.strength != "strong" or proof is None:
        return False
    age = (proof.verified_at - proof.authenticated_at).total_seconds()
    fresh = requirement.max_auth_age is None or age <= requirement.max_auth_age
    return fresh and (not wanted or not set(wanted).isdisjoint(proof.methods))


def _is_eligible(record: ApprovalRecord, policy: Policy, requirement: Requirement) -> bool:
    """Whether somebody was in a group that may approve, and is now, as far as the policy knows."""
    if not requirement.groups:
        return True
    groups = {*requirement.groups, *requirement.escalate_to}.intersection(record.groups)
    naming = {issuer.issuer for issuer in policy.issuers if issuer.groups is not None}
    vouched = record.proof is not None and record.proof.issuer in naming
    return any(vouched or record.approver in policy.groups.get(group, ()) for group in groups)


def _no_draft(case: Case, permission: Permission) -> Deny:
    return Deny(
        rule="no-draft",
        reason=f"{case.contract.name!r} has no draft variant, without which "
        f"{permission.rule} lets nothing happen",
        next_valid_actions=("use a tool that drafts", TELL),
    )


def _listed(case: Case, policy: Policy) -> str:
    kind = "commands" if case.names_command else "hosts"
    listed = listed_for(case, policy)
    if not listed:
        return f"no {kind} are listed: ask for a rule of the policy that lists them"
    more = f" and {len(listed) - _MOST_LISTED} more" if len(listed) > _MOST_LISTED else ""
    return f"listed {kind} are: {', '.join(listed[:_MOST_LISTED])}{more}"


def _spelled(call: ToolCall) -> str:
    said = f"{call.name}({json.dumps(call.arguments, ensure_ascii=False)})"
    return said if len(said) <= _LONGEST_QUESTION else f"{said[: _LONGEST_QUESTION - 1]}…"
