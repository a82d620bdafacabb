"""Whether a rule fits a call, and which of a policy's rules governs it."""

from collections.abc import Iterator
from typing import Literal, NamedTuple, Self

from holdfast.contracts.approvals import Requirement
from holdfast.contracts.calls import Grant
from holdfast.contracts.tools import Risk
from holdfast.policy.allowlists import command_is_forbidden, find_risky_operation
from holdfast.policy.case import CallContext
from holdfast.policy.conditions import Undetermined
from holdfast.policy.risk import DefaultPermission
from holdfast.policy.rules import (
    ALLOWING_EFFECTS,
    DENYING_EFFECTS,
    RELEASING_EFFECTS,
    Authority,
    Batch,
    Candidates,
    Effect,
    Match,
    Policy,
    PolicyRule,
    find_safety_problem,
)
from holdfast.policy.standing import takes_less
from holdfast.tools.egress.allowlists import host_is_forbidden, matches_command, matches_host


class MatchResult(NamedTuple):
    """
    Whether a rule fits a call.

    `fits`: `detail` names what the rule rests on, if it does. `differs`: the call is another one,
    in what `detail` names, or that doesn't stand. `unsafe`: such a rule never holds for a call of
    this risk class. `false`: its condition isn't true. `doubt`: nobody can say.
    """

    kind: Literal["fits", "differs", "unsafe", "false", "doubt"]
    detail: str = ""


_FITS = MatchResult("fits")
_FALSE = MatchResult("false")
_UNFIT = {name: MatchResult("differs", name) for name in Match._fields}


def match_rule(rule: PolicyRule, case: CallContext) -> MatchResult:
    """Say whether a rule fits a call."""
    different = _find_difference(rule, case)
    if different is not None:
        return different
    flaw = find_safety_problem(
        Risk.READ_ONLY if case.contract.changes_nothing else case.contract.risk,
        rule.effect,
        recovery=rule.requirement.recovery,
        conditional=rule.condition is not None,
    )
    if flaw is not None:
        return MatchResult("unsafe", flaw)
    standing = _find_authority(rule, case)
    fits = (
        MatchResult("fits", f"authority {standing.name} {standing.version}") if standing else _FITS
    )
    if rule.condition is None:
        return fits
    match rule.condition.evaluate(case.variables):
        case True:
            return fits
        case False:
            return _FALSE
        case Undetermined(reason):
            return MatchResult("doubt", reason)


class MatchedRule(NamedTuple):
    """The rule that decides about a call, and how sure that is."""

    rule: PolicyRule
    fit: MatchResult

    @property
    def reason(self) -> str:
        """Why the rule decides so."""
        said, detail = self.rule.reason, self.fit.detail
        if self.fit.kind == "doubt":
            return f"{said} (its condition can't be evaluated: {detail})"
        return f"{said} ({detail})" if detail else said


def find_forbidding_rule(case: CallContext, policy: Policy) -> MatchedRule | None:
    """Return a rule that forbids the call; one whose condition nobody can evaluate does."""
    for rule in _select_candidates(_find_candidates(case, policy).forbidding, case):
        found = match_rule(rule, case)
        if found.kind in {"fits", "doubt"}:
            return MatchedRule(rule, found)
    return None


def find_governing_rule(
    case: CallContext, policy: Policy, default: DefaultPermission
) -> MatchedRule | None:
    """
    Return the first rule in the order of the file that fits a call; null leaves it to *default*.

    A condition that can't be evaluated never opens anything, whatever a model puts into the
    arguments: a rule that lets calls run doesn't fit then, a rule that denies does. One that needs
    a person holds where what follows would let the call run without one, and one that keeps it in
    the sandbox where it would run outside, or be granted more. Where something else follows, the
    call is denied: nobody can say what it takes. So is one that would run without a person,
    outside of the sandbox, or with more in it, only because what a rule rests on, by which it
    wouldn't, doesn't stand any more.
    """
    doubtful, lapsed = list[MatchedRule](), list[PolicyRule]()
    for rule in _select_candidates(_find_candidates(case, policy).ordered, case):
        found = MatchedRule(rule, match_rule(rule, case))
        doubt = found.fit.kind == "doubt"
        if rule.effect in DENYING_EFFECTS and (doubt or found.fit.kind == "fits"):
            return found
        if found.fit.kind == "fits":
            following = _Outcome.of(rule, case)
            freed = _deny_freed_call(lapsed, following, case)
            return freed or _resolve_doubtful_rules(doubtful, following, case) or found
        if doubt:
            doubtful.append(found)
        if _lacks_only_authority(found, case):
            lapsed.append(rule)
    if default.effect == "deny":
        return None
    confined = case.runs_in_sandbox
    following = _Outcome(default.effect, default.requirement, Grant(), confined)
    return _deny_freed_call(lapsed, following, case) or _resolve_doubtful_rules(
        doubtful, following, case
    )


def may_belong_into_sandbox(case: CallContext, policy: Policy) -> bool:
    """
    Whether a rule that fits keeps a call in the sandbox, or one that might before any that does.

    Nobody can say whether it does where its condition is in doubt, or what it rests on has ended.
    """
    for rule in _select_candidates(_find_candidates(case, policy).ordered, case):
        found = MatchedRule(rule, match_rule(rule, case))
        unsure = found.fit.kind == "doubt" or _lacks_only_authority(found, case)
        if rule.effect == "sandbox" and (unsure or found.fit.kind == "fits"):
            return True
        if found.fit.kind == "fits":
            return False
    return False


def _lacks_only_authority(found: MatchedRule, case: CallContext) -> bool:
    """Whether a rule would fit, but for what it rests on."""
    rule, fit = found.rule, found.fit
    if (fit.kind, fit.detail) != ("differs", "authority"):
        return False
    return match_rule(rule._replace(authority=""), case).kind in {"fits", "doubt"}


def _deny_freed_call(
    lapsed: list[PolicyRule], following: "_Outcome", case: CallContext
) -> MatchedRule | None:
    """
    Deny what would run unasked, outside of the sandbox or with more in it, as rules lapsed.

    Or by a weaker approval, where what they rest on stands for nobody any more.
    """
    standing = {one.name for one in case.facts.authorities}
    for rule in lapsed:
        outcome, ended = _Outcome.of(rule, case), rule.authority not in standing
        if following.frees_from(outcome) or (ended and following.asks_less_than(outcome)):
            how = following.describe_gain(outcome)
            reason = (
                f"rule {rule.id!r} rests on authority {rule.authority!r}, which doesn't stand: "
                f"without it the call would run {how}"
            )
            return MatchedRule(rule._replace(effect="deny", reason=reason), _FITS)
    return None


def _find_effect(rule: PolicyRule, case: CallContext) -> Effect:
    """Return what a rule does; a task for an agent is neither drafted nor kept in the sandbox."""
    goes = case.contract.receiver is not None and rule.effect in {"sandbox", "draft"}
    return "allow" if goes else rule.effect


class _Outcome(NamedTuple):
    """What becomes of a call, as far as it must not depend on a condition in doubt."""

    effect: Effect
    requirement: Requirement
    grant: Grant
    confined: bool

    @classmethod
    def of(cls, rule: PolicyRule, case: CallContext) -> Self:
        effect = granted = _find_effect(rule, case)
        risky = find_risky_operation(case) if granted in ALLOWING_EFFECTS else None
        if risky is not None and risky not in rule.risky:
            effect = "approve"
        requirement = rule.requirement
        if case.contract.risk.needs_strong_approval:
            requirement = requirement.copy_with({"strength": "strong"})
        confined = granted == "sandbox" or case.runs_in_sandbox
        return cls(effect, requirement, rule.grant, confined)

    @property
    def asks_nobody(self) -> bool:
        """Whether the call runs, and no person is asked."""
        return self.effect in ALLOWING_EFFECTS

    def leads_out_of(self, other: Self) -> bool:
        """Whether a call runs by this without a person, or the sandbox, that it has by another."""
        return self.asks_nobody and (
            not other.asks_nobody or (other.confined and not self.confined)
        )

    def frees_from(self, other: Self) -> bool:
        """Whether it does so, or is granted what it isn't by the other."""
        more = self.asks_nobody and other.confined and not self.grants_no_more_than(other)
        return self.leads_out_of(other) or more

    def asks_less_than(self, other: Self) -> bool:
        """Whether people are asked by both, and this takes a weaker approval."""
        asked = self.effect == other.effect == "approve"
        return asked and takes_less(self.requirement, other.requirement)

    def describe_gain(self, other: Self) -> str:
        """Say how a call runs by this that it frees from another."""
        if not self.asks_nobody:
            return "by a weaker approval"
        if not other.asks_nobody:
            return "unasked"
        return "with more granted in the sandbox" if self.confined else "outside of the sandbox"

    def grants_no_more_than(self, other: Self) -> bool:
        """Whether the sandbox lets a call do nothing by this that it doesn't by another."""
        mine, others = self.grant, other.grant
        return {*mine.hosts} <= {*others.hosts} and {*mine.commands} <= {*others.commands}


def _resolve_doubtful_rules(
    doubtful: list[MatchedRule], following: _Outcome, case: CallContext
) -> MatchedRule | None:
    """Return what rules in doubt make of what follows them; null where it comes to the same."""
    # One that lets a call run makes nothing of what follows, unless that lets it do more.
    doubtful = [
        one
        for one in doubtful
        if _find_effect(one.rule, case) not in ALLOWING_EFFECTS
        or following.frees_from(_Outcome.of(one.rule, case))
    ]
    if not doubtful:
        return None
    first = doubtful[0]
    outcome = _Outcome.of(first.rule, case)
    if all(_Outcome.of(found.rule, case) == outcome for found in doubtful):
        if following.leads_out_of(outcome):
            return first
        if outcome.asks_nobody and outcome.grants_no_more_than(following):
            return first
        if following == outcome:
            return None
    reason = f"condition of rule {first.rule.id!r} can't be evaluated for these arguments"
    denial = first.rule._replace(effect="deny", reason=f"{reason}: {first.fit.detail}")
    return MatchedRule(denial, _FITS)


def _find_candidates(case: CallContext, policy: Policy) -> Candidates:
    contract = case.contract
    return policy.find_candidates(contract.name, contract.risk, contract.draft)


def find_list_entries(case: CallContext, policy: Policy) -> tuple[str, ...]:
    """Return the commands or hosts that rules list for calls like this one."""
    kind: Literal["commands", "hosts"] = "commands" if case.names_command else "hosts"
    found: dict[str, None] = {}
    for rule in policy.first_match_rules:
        different = _find_difference(rule, case)
        alike = different is None or different.detail == kind
        if alike and rule.effect in RELEASING_EFFECTS:
            found |= dict.fromkeys(getattr(rule.match, kind))
    return tuple(found)


def _select_candidates(batches: tuple[Batch, ...], case: CallContext) -> Iterator[PolicyRule]:
    for batch in batches:
        if batch.any is None or batch.any.evaluate(case.variables) is not False:
            yield from batch.rules


def _find_difference(rule: PolicyRule, case: CallContext) -> MatchResult | None:
    """Compare what a rule names with the call, the cheap and telling first."""
    match, facts = rule.match, case.facts
    # What no draft may be made of is denied before it is drafted.
    if not rule.refuses_draft(case.contract.draft):
        if match.tools and case.contract.name not in match.tools:
            return _UNFIT["tools"]
        if match.risks and case.contract.risk not in match.risks:
            return _UNFIT["risks"]
    if match.agents and facts.agent not in match.agents:
        return _UNFIT["agents"]
    if match.receivers and case.contract.receiver not in match.receivers:
        return _UNFIT["receivers"]
    if match.tenants and facts.caller.tenant not in match.tenants:
        return _UNFIT["tenants"]
    if match.actors and facts.caller.actor not in match.actors:
        return _UNFIT["actors"]
    if match.environments and facts.environment not in match.environments:
        return _UNFIT["environments"]
    if rule.authority and _find_authority(rule, case) is None:
        return MatchResult("differs", "authority")
    return _find_list_difference(rule, case)


def _find_authority(rule: PolicyRule, case: CallContext) -> Authority | None:
    """Return what a rule rests on, as it stands for whom the call is made."""
    facts = case.facts
    return next(
        (
            one
            for one in facts.authorities
            if one.name == rule.authority
            if not one.agents or facts.agent in one.agents
            if not one.tenants or facts.caller.tenant in one.tenants
            if not one.actors or facts.caller.actor in one.actors
        ),
        None,
    )


def _find_list_difference(rule: PolicyRule, case: CallContext) -> MatchResult | None:
    if rule.match.commands and not _commands_fit(rule, case):
        return _UNFIT["commands"]
    if rule.match.hosts and not _hosts_fit(rule, case):
        return _UNFIT["hosts"]
    return None


def _commands_fit(rule: PolicyRule, case: CallContext) -> bool:
    if not case.names_command:
        return _is_grant(rule, case)
    refuses = rule.effect in DENYING_EFFECTS
    if case.command is None:
        return refuses
    fits = command_is_forbidden if refuses else matches_command
    return fits(case.command, rule.match.commands)


def _hosts_fit(rule: PolicyRule, case: CallContext) -> bool:
    if not case.names_host:
        return _is_grant(rule, case)
    refuses = rule.effect in DENYING_EFFECTS
    if case.origin is None:
        return refuses
    fits = host_is_forbidden if refuses else matches_host
    return fits(case.origin, rule.match.hosts)


def _is_grant(rule: PolicyRule, case: CallContext) -> bool:
    """
    Whether a list says what the sandbox may do, for a call that names nothing of the kind.

    Only in a rule that names tools or risk classes: else a list of hosts would let every tool run.
    """
    named = bool(rule.match.tools or rule.match.risks)
    sandboxed = case.runs_in_sandbox or rule.effect == "sandbox"
    return named and sandboxed and rule.effect in RELEASING_EFFECTS
