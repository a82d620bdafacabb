"""Whether a rule fits a call, and which of a policy's rules governs it."""

from collections.abc import Iterator
from typing import Literal, NamedTuple, Self

from holdfast.contracts.allowlists import command_is_listed, host_is_listed
from holdfast.contracts.approvals import Requirement
from holdfast.contracts.tools import Grant
from holdfast.policy.allowlists import command_is_forbidden
from holdfast.policy.case import Case
from holdfast.policy.conditions import Undetermined
from holdfast.policy.risk import Default
from holdfast.policy.rules import (
    OPENING,
    REFUSING,
    RELEASING,
    Batch,
    Candidates,
    Effect,
    Match,
    Policy,
    PolicyRule,
    unsafe,
)


class Fit(NamedTuple):
    """
    Whether a rule fits a call.

    `differs`: the call is another one, in what `detail` names. `unsafe`: such a rule never holds
    for a call of this risk class. `false`: its condition isn't true. `doubt`: nobody can say.
    """

    kind: Literal["fits", "differs", "unsafe", "false", "doubt"]
    detail: str = ""


_FITS = Fit("fits")
_FALSE = Fit("false")
_UNFIT = {name: Fit("differs", name) for name in Match._fields}


def fit(rule: PolicyRule, case: Case) -> Fit:
    """Say whether a rule fits a call."""
    different = _difference(rule, case)
    if different is not None:
        return different
    flaw = unsafe(
        case.contract.risk,
        rule.effect,
        recovery=rule.requirement.recovery,
        conditional=rule.condition is not None,
    )
    if flaw is not None:
        return Fit("unsafe", flaw)
    if rule.condition is None:
        return _FITS
    match rule.condition.holds(case.variables):
        case True:
            return _FITS
        case False:
            return _FALSE
        case Undetermined(reason):
            return Fit("doubt", reason)


class Found(NamedTuple):
    """The rule that decides about a call, and how sure that is."""

    rule: PolicyRule
    fit: Fit

    @property
    def reason(self) -> str:
        """Why the rule decides so."""
        doubt = self.fit.detail if self.fit.kind == "doubt" else ""
        said = self.rule.reason
        return f"{said} (its condition can't be evaluated: {doubt})" if doubt else said


def forbidden_by(case: Case, policy: Policy) -> Found | None:
    """Return a rule that forbids the call; one whose condition nobody can evaluate does."""
    for rule in _worth_a_look(_candidates(case, policy).forbidding, case):
        found = fit(rule, case)
        if found.kind in {"fits", "doubt"}:
            return Found(rule, found)
    return None


def governing(case: Case, policy: Policy, default: Default) -> Found | None:
    """
    Return the first rule in the order of the file that fits a call; null leaves it to *default*.

    A condition that can't be evaluated never opens anything, whatever a model puts into the
    arguments: a rule that lets calls run doesn't fit then, a rule that denies does. One that needs
    a person holds where what follows would let the call run without one. Where something else
    follows, the call is denied: nobody can say what it takes.
    """
    doubtful: list[Found] = []
    for rule in _worth_a_look(_candidates(case, policy).ordered, case):
        found = Found(rule, fit(rule, case))
        doubt = found.fit.kind == "doubt"
        if rule.effect in REFUSING and (doubt or found.fit.kind == "fits"):
            return found
        if found.fit.kind == "fits":
            return _despite(doubtful, _Outcome.of(rule)) or found
        if doubt and rule.effect not in OPENING:
            doubtful.append(found)
    if default.effect == "deny":
        return None
    return _despite(doubtful, _Outcome(default.effect, default.requirement, Grant()))


class _Outcome(NamedTuple):
    """What becomes of a call, as far as it must not depend on a condition in doubt."""

    effect: Effect
    requirement: Requirement
    grant: Grant

    @classmethod
    def of(cls, rule: PolicyRule) -> Self:
        return cls(rule.effect, rule.requirement, rule.grant)


def _despite(doubtful: list[Found], following: _Outcome) -> Found | None:
    """Return what rules in doubt make of what follows them; null where it comes to the same."""
    if not doubtful:
        return None
    first = doubtful[0]
    outcome = _Outcome.of(first.rule)
    if all(_Outcome.of(found.rule) == outcome for found in doubtful):
        if following.effect in OPENING:
            return first
        if following == outcome:
            return None
    reason = f"condition of rule {first.rule.id!r} can't be evaluated for these arguments"
    denial = first.rule._replace(effect="deny", reason=f"{reason}: {first.fit.detail}")
    return Found(denial, _FITS)


def _candidates(case: Case, policy: Policy) -> Candidates:
    contract = case.contract
    return policy.about(contract.name, contract.risk, contract.draft)


def listed_for(case: Case, policy: Policy) -> tuple[str, ...]:
    """Return the commands or hosts that rules list for calls like this one."""
    kind: Literal["commands", "hosts"] = "commands" if case.names_command else "hosts"
    found: dict[str, None] = {}
    for rule in policy.ordered:
        different = _difference(rule, case)
        alike = different is None or different.detail == kind
        if alike and rule.effect in RELEASING:
            found |= dict.fromkeys(getattr(rule.match, kind))
    return tuple(found)


def _worth_a_look(batches: tuple[Batch, ...], case: Case) -> Iterator[PolicyRule]:
    for batch in batches:
        if batch.any is None or batch.any.holds(case.variables) is not False:
            yield from batch.rules


def _difference(rule: PolicyRule, case: Case) -> Fit | None:
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
    if match.tenants and facts.tenant not in match.tenants:
        return _UNFIT["tenants"]
    if match.actors and facts.actor not in match.actors:
        return _UNFIT["actors"]
    if match.environments and facts.environment not in match.environments:
        return _UNFIT["environments"]
    return _lists_differ(rule, case)


def _lists_differ(rule: PolicyRule, case: Case) -> Fit | None:
    if rule.match.commands and not _commands_fit(rule, case):
        return _UNFIT["commands"]
    if rule.match.hosts and not _hosts_fit(rule, case):
        return _UNFIT["hosts"]
    return None


def _commands_fit(rule: PolicyRule, case: Case) -> bool:
    if not case.names_command:
        return _is_grant(rule, case)
    refuses = rule.effect in REFUSING
    if case.command is None:
        return refuses
    fits = command_is_forbidden if refuses else command_is_listed
    return fits(case.command, rule.match.commands)


def _hosts_fit(rule: PolicyRule, case: Case) -> bool:
    if not case.names_host:
        return _is_grant(rule, case)
    if case.origin is None:
        return rule.effect in REFUSING
    return host_is_listed(case.origin, rule.match.hosts)


def _is_grant(rule: PolicyRule, case: Case) -> bool:
    """
    Whether a list says what the sandbox may do, for a call that names nothing of the kind.

    Only in a rule that names tools or risk classes: else a list of hosts would let every tool run.
    """
    named = bool(rule.match.tools or rule.match.risks)
    sandboxed = case.runs_in_sandbox or rule.effect == "sandbox"
    return named and sandboxed and rule.effect in RELEASING
