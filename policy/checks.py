"""What a policy file may not say although each of its fields is well formed."""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from holdfast.policy.allowlists import names_risky_operation
from holdfast.policy.rules import ALLOWING_EFFECTS, RELEASING_EFFECTS, find_safety_problem
from holdfast.policy.schema import ApprovalEntry, MatchEntry, PolicyFile, RuleEntry
from holdfast.policy.trust import LOCAL_ISSUER
from holdfast.policy.yaml_lines import LocatedYaml, Problem, YamlPath

Findings: TypeAlias = Iterator[tuple[YamlPath, str]]
RuleCheck: TypeAlias = Callable[[PolicyFile, RuleEntry], Findings]


def find_problems(file: PolicyFile, located: LocatedYaml) -> Iterator[Problem]:
    """Say everything that is wrong with a file whose fields are well formed."""
    for place, reason in _check_issuers(file):
        yield located.build_problem(place, reason)
    for place, reason in _check_order(file):
        yield located.build_problem(place, reason)
    for name, signal in file.signals.items():
        for place, reason in _check_group_names(file, _list_groups(signal.groups, ("groups",))):
            yield located.build_problem(("signals", name, *place), reason)
    for number, rule in enumerate(file.rules):
        for check in RULE_CHECKS:
            for place, reason in check(file, rule):
                yield located.build_problem(("rules", number, *place), reason)


def _check_issuers(file: PolicyFile) -> Findings:
    names = [issuer.issuer for issuer in file.issuers]
    for number, name in enumerate(names):
        if name == LOCAL_ISSUER:
            yield (
                ("issuers", number, "issuer"),
                f"{name!r} vouches for people's own keys ('holdfast keys'); name another",
            )
        if name in names[:number]:
            yield ("issuers", number, "issuer"), f"{name!r} is there twice"


def _check_order(file: PolicyFile) -> Findings:
    """Each rule has a name of its own, and a chance to be reached."""
    names = [rule.id for rule in file.rules]
    catching: RuleEntry | None = None
    for number, rule in enumerate(file.rules):
        if rule.id in names[:number]:
            yield ("rules", number, "id"), f"there is a rule {rule.id!r} already"
        if catching and rule.effect != "forbid":
            yield (
                ("rules", number),
                f"{rule.id!r} is never reached: {catching.id!r} before it fits every call",
            )
        elif rule.effect != "forbid" and not rule.authority and _matches_every_call(rule):
            catching = catching or rule


def _check_catch_all(_file: PolicyFile, rule: RuleEntry) -> Findings:
    """A rule that lets calls run says which."""
    if rule.effect in ALLOWING_EFFECTS and _matches_every_call(rule):
        yield ("match",), f"{rule.effect!r} for every call there is: say which, in match or when"


def _check_safety(_file: PolicyFile, rule: RuleEntry) -> Findings:
    """No rule opens what no rule may open."""
    approval = rule.approval
    for risk in rule.match.risks:
        reason = find_safety_problem(
            risk,
            rule.effect,
            recovery=approval.recovery if approval else "",
            conditional=rule.when is not None,
        )
        if reason is not None:
            yield ("effect",), f"{rule.effect!r} for {risk.value}: {reason}"


def _check_approval_effect(_file: PolicyFile, rule: RuleEntry) -> Findings:
    if rule.approval is not None and rule.effect != "approve":
        yield (
            ("approval",),
            f"only effect 'approve' takes an approval, and this is {rule.effect!r}",
        )


def _check_authority(file: PolicyFile, rule: RuleEntry) -> Findings:
    """What lets something happen may rest on an authority, which its file can take away."""
    if rule.authority is None:
        return
    if rule.effect not in {*RELEASING_EFFECTS, "draft"}:
        yield ("authority",), f"{rule.effect!r} lets nothing happen: it rests on no authority"
    if file.authorities is None:
        yield ("authority",), "the policy names no file of authorities: write authorities: FILE"


def _check_risky(_file: PolicyFile, rule: RuleEntry) -> Findings:
    """What is risky is let run without a person by its name alone, where a rule lists it."""
    if not rule.risky:
        return
    if rule.effect not in ALLOWING_EFFECTS:
        yield ("risky",), f"{rule.effect!r} lets nothing run without a person: leave risky out"
    elif not (rule.match.commands or rule.match.hosts):
        yield ("risky",), "the rule lists no commands and no hosts, of which something is risky"
    for number, name in enumerate(rule.risky):
        if not names_risky_operation(name):
            yield (
                ("risky", number),
                f"nothing is risky by the name {name!r}: write kubectl, git push or POST, say",
            )


def _check_approval_fields(_file: PolicyFile, rule: RuleEntry) -> Findings:
    approval = rule.approval or ApprovalEntry()
    escalate = approval.escalate
    if approval.strong is False and approval.is_strong:
        yield (
            ("approval", "strong"),
            "methods and max_auth_age are in signed tokens only: leave them out, or strong: true",
        )
    if escalate and not approval.groups:
        yield (
            ("approval", "escalate"),
            "without groups anybody may approve from the beginning: name groups, or leave it out",
        )
    if escalate and approval.expires is not None and escalate.after >= approval.expires:
        yield ("approval", "escalate", "after"), "by then the request has expired"


def _check_groups(file: PolicyFile, rule: RuleEntry) -> Findings:
    approval = rule.approval or ApprovalEntry()
    later = approval.escalate.to if approval.escalate else ()
    yield from _check_group_names(file, _list_groups(approval.groups, ("approval", "groups")))
    yield from _check_group_names(file, _list_groups(later, ("approval", "escalate", "to")))


def _list_groups(groups: tuple[str, ...], place: YamlPath) -> Findings:
    return (((*place, number), group) for number, group in enumerate(groups))


def _check_group_names(file: PolicyFile, named: Findings) -> Findings:
    if any(issuer.groups for issuer in file.issuers):
        return
    for place, group in named:
        if group not in file.groups:
            known = ", ".join(file.groups) or "none"
            yield place, f"there is no group {group!r} (known: {known}), and no issuer names any"
        elif not file.groups[group]:
            yield place, f"nobody is in group {group!r}, and no issuer names its members"


def _check_quorum(file: PolicyFile, rule: RuleEntry) -> Findings:
    approval = rule.approval or ApprovalEntry()
    if not approval.groups or any(issuer.groups for issuer in file.issuers):
        return
    later = approval.escalate.to if approval.escalate else ()
    people = {
        name.casefold()
        for group in (*approval.groups, *later)
        for name in file.groups.get(group, ())
    }
    if 0 < len(people) < approval.count:
        yield (
            ("approval", "count"),
            f"{approval.count} must approve, and only {len(people)} could",
        )


RULE_CHECKS: tuple[RuleCheck, ...] = (
    _check_catch_all,
    _check_safety,
    _check_approval_effect,
    _check_risky,
    _check_authority,
    _check_approval_fields,
    _check_groups,
    _check_quorum,
)


def _matches_every_call(rule: RuleEntry) -> bool:
    return rule.when is None and rule.match == MatchEntry()
