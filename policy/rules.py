"""The rules of a policy, as the engine takes them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias

from holdfast.contracts.approvals import Requirement
from holdfast.contracts.calls import Grant
from holdfast.contracts.errors import AppError
from holdfast.contracts.signals import SignedSignal
from holdfast.contracts.tools import Risk
from holdfast.policy.conditions import Condition, any_of
from holdfast.policy.trust import Issuer, is_address

Effect: TypeAlias = Literal["forbid", "allow", "sandbox", "draft", "approve", "ask", "deny"]

ALLOWING_EFFECTS: frozenset[Effect] = frozenset({"allow", "sandbox"})
"""Effects that let a call run without a person."""

RELEASING_EFFECTS: frozenset[Effect] = frozenset({*ALLOWING_EFFECTS, "approve"})
"""Effects after which the call itself may run."""

DENYING_EFFECTS: frozenset[Effect] = frozenset({"forbid", "deny"})

BATCH_SIZE = 32
"""Conditions that are looked at together; more at once gain little."""

NO_NAMES: frozenset[str] = frozenset()

PLAIN_REQUIREMENT = Requirement()
"""A plain approval of any one person."""


class Authority(NamedTuple):
    """
    What rules may rest on: it stands until it `expires`, for whom it names.

    Those that it doesn't name are all.
    """

    name: str
    version: int
    expires: datetime
    agents: frozenset[str] = NO_NAMES
    tenants: frozenset[str] = NO_NAMES
    actors: frozenset[str] = NO_NAMES


class Match(NamedTuple):
    """What a call must be for a rule to fit: each that is given, and any entry of it."""

    tools: frozenset[str] = NO_NAMES
    risks: frozenset[Risk] = frozenset()
    agents: frozenset[str] = NO_NAMES
    receivers: frozenset[str] = NO_NAMES
    tenants: frozenset[str] = NO_NAMES
    actors: frozenset[str] = NO_NAMES
    environments: frozenset[str] = NO_NAMES
    commands: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()


class PolicyRule(NamedTuple):
    """
    One rule of a policy; `requirement` is what an approval takes, where it asks for one.

    Where it rests on an `authority` it fits only while that stands.

    `risky` are the operations that it lets run without a person although they are risky.
    """

    id: str
    effect: Effect
    reason: str
    match: Match = Match()
    condition: Condition | None = None
    requirement: Requirement = PLAIN_REQUIREMENT
    risky: frozenset[str] = NO_NAMES
    authority: str = ""

    @property
    def grant(self) -> Grant:
        """What a sandboxed call may do that the rule lets run."""
        return Grant(commands=self.match.commands, hosts=self.match.hosts)

    @property
    def asks_for_environment(self) -> bool:
        """Whether the rule is about the environment that a worker is in."""
        condition = self.condition
        asks = condition is not None and condition.asks_for_environment
        return asks or bool(self.match.environments)

    def refuses_draft(self, draft: str | None) -> bool:
        """Whether the rule denies what is drafted by this tool, by the name of that tool."""
        return self.effect in DENYING_EFFECTS and draft is not None and draft in self.match.tools

    def may_be_about(self, tool: str, risk: Risk, draft: str | None = None) -> bool:
        """Whether what the rule says of tools and risk classes lets it fit calls of a tool."""
        match = self.match
        if self.refuses_draft(draft):
            return True
        return (not match.tools or tool in match.tools) and (
            not match.risks or risk in match.risks
        )


class Batch(NamedTuple):
    """
    Some rules in their order, and the condition that any of theirs is true.

    While that is false none of the rules fits, and none is in doubt: one look instead of many.
    """

    rules: tuple[PolicyRule, ...]
    any: Condition | None = None


class Candidates(NamedTuple):
    """The rules of a policy that can be about one tool, and the names of what they rest on."""

    forbidding: tuple[Batch, ...]
    ordered: tuple[Batch, ...]
    authorities: frozenset[str]


@dataclass(frozen=True)
class Policy:
    """
    Rules in their order, with the groups and issuers that approvals are judged by.

    `digest` names the document that it was read from. `folder` is where that lies: names of files
    in it are relative to it; `file` is the document itself, where it is one. `signals` are those
    that take a signature, and by whom. `authorities` is the file of those that rules rest on; it
    is read when something is decided.
    """

    digest: str = ""
    groups: Mapping[str, frozenset[str]] = field(default_factory=lambda: MappingProxyType({}))
    issuers: tuple[Issuer, ...] = ()
    rules: tuple[PolicyRule, ...] = ()
    folder: Path | None = None
    file: Path | None = None
    signals: Mapping[SignedSignal, Requirement] = field(
        default_factory=lambda: MappingProxyType({})
    )
    authorities: Path | None = None

    @property
    def live_files(self) -> tuple[Path, ...]:
        """The files that are read when something is decided: authorities, keys of providers."""
        folder = self.folder or Path()
        keys = (folder / one.jwks for one in self.issuers if not is_address(one.jwks))
        return (*keys, *((self.authorities,) if self.authorities else ()))

    @property
    def has_sandbox_rule(self) -> bool:
        """Whether any rule has calls run in the sandbox."""
        return any(rule.effect == "sandbox" for rule in self.rules)

    def require_environment(self, environment: str) -> None:
        """Raise AppError where a rule is about environments and a worker is in none."""
        about = next((rule.id for rule in self.rules if rule.asks_for_environment), None)
        if about is not None and not environment:
            raise AppError(
                f"rule {about!r} of the policy is about environments, and nobody says in which "
                "one this worker is: set HOLDFAST_ENVIRONMENT"
            )

    @cached_property
    def forbid_rules(self) -> tuple[PolicyRule, ...]:
        """The rules of which any that fits wins."""
        return tuple(rule for rule in self.rules if rule.effect == "forbid")

    @cached_property
    def first_match_rules(self) -> tuple[PolicyRule, ...]:
        """All other rules: the first that fits governs."""
        return tuple(rule for rule in self.rules if rule.effect != "forbid")

    def find_candidates(self, tool: str, risk: Risk, draft: str | None = None) -> Candidates:
        """Return the rules that can be about a tool. Prepared once for each that is called."""
        asked = (tool, risk, draft)
        found = self._candidates.get(asked)
        if found is None:
            forbidding = [rule for rule in self.forbid_rules if rule.may_be_about(*asked)]
            ordered = [rule for rule in self.first_match_rules if rule.may_be_about(*asked)]
            found = Candidates(
                _build_batches(forbidding),
                _build_batches(ordered),
                frozenset(rule.authority for rule in (*forbidding, *ordered) if rule.authority),
            )
            self._candidates[asked] = found
        return found

    @cached_property
    def _candidates(self) -> dict[tuple[str, Risk, str | None], Candidates]:
        return {}


NO_POLICY = Policy()


def find_safety_problem(
    risk: Risk, effect: Effect, *, recovery: str, conditional: bool
) -> str | None:
    """Say why a rule can't hold for a risk class, whatever it matches; null if it can."""
    if risk is Risk.DESTRUCTIVE and effect in ALLOWING_EFFECTS:
        return "what is destroyed can't be brought back: no rule lets it run without a person"
    if risk is Risk.DESTRUCTIVE and effect == "approve" and not recovery:
        return "approval of what destroys needs a documented way back (approval.recovery)"
    if risk.needs_strong_approval and effect in ALLOWING_EFFECTS and not conditional:
        return "a rule that lets money or access go without a person needs a condition (when)"
    return None


def _build_batches(rules: list[PolicyRule]) -> tuple[Batch, ...]:
    """Put neighbours together that all have a condition."""
    found: list[Batch] = []
    run: list[PolicyRule] = []
    for rule in rules:
        if rule.condition is not None:
            run.append(rule)
        if rule.condition is None or len(run) == BATCH_SIZE:
            found += _build_batch(run)
            run = []
        if rule.condition is None:
            found.append(Batch((rule,)))
    return (*found, *_build_batch(run))


def _build_batch(rules: list[PolicyRule]) -> list[Batch]:
    if not rules:
        return []
    conditions = [rule.condition for rule in rules if rule.condition is not None]
    return [Batch(tuple(rules), any_of(conditions) if len(conditions) > 1 else None)]
