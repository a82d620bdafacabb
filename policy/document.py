"""From the text of a policy file to a policy. Reads text, opens nothing."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from pydantic import JsonValue, ValidationError

from holdfast.contracts.approvals import Requirement
from holdfast.contracts.base import digest
from holdfast.contracts.errors import PolicyRefused
from holdfast.policy.checks import find_problems
from holdfast.policy.conditions import Condition, compile_condition
from holdfast.policy.rules import Authority, Match, Policy, PolicyRule
from holdfast.policy.schema import (
    ENTRY_MODELS,
    RULE_ID,
    ApprovalEntry,
    AuthoritiesFile,
    AuthorityEntry,
    PolicyFile,
    RuleEntry,
    SignalEntry,
)
from holdfast.policy.yaml_lines import LocatedYaml, Problem, describe_validation_errors, parse_yaml


class PolicySource(NamedTuple):
    """A policy with the file that it was read from, for whoever looks closer at it."""

    policy: Policy
    file: PolicyFile
    located: LocatedYaml


def parse_policy(text: str, name: str = "policy", folder: Path | None = None) -> Policy:
    """
    Read a policy from the text of its file. Raises PolicyRefused, with the lines.

    *folder* is where the file lies: names of files in it are relative to it.
    """
    return parse_source(text, name, folder).policy


def parse_source(text: str, name: str = "policy", folder: Path | None = None) -> PolicySource:
    """Read a policy, and keep what it was read from."""
    located = parse_yaml(text)
    if isinstance(located, Problem):
        raise build_refusal(name, [located])
    conditions, flaws = _compile_conditions(located)
    try:
        file = PolicyFile.model_validate(located.value)
    except ValidationError as error:
        flaws += describe_validation_errors(located, error, ENTRY_MODELS)
        raise build_refusal(name, [*flaws, *_check_rest(located, error)]) from None
    if flaws := [*flaws, *find_problems(file, located)]:
        raise build_refusal(name, flaws)
    policy = Policy(
        digest=digest(located.value)[:16],
        groups=MappingProxyType({group: frozenset(who) for group, who in file.groups.items()}),
        issuers=file.issuers,
        rules=tuple(
            _build_rule(rule, conditions.get(place)) for place, rule in enumerate(file.rules)
        ),
        folder=folder,
        signals=MappingProxyType(
            {name: _build_signer(entry) for name, entry in file.signals.items()}
        ),
        authorities=(folder or Path()) / file.authorities if file.authorities else None,
    )
    return PolicySource(policy, file, located)


def parse_authorities(text: str, name: str) -> tuple[Authority, ...]:
    """Read what rules rest on from the text of its file. Raises PolicyRefused, with the lines."""
    located = parse_yaml(text)
    if isinstance(located, Problem):
        raise build_refusal(name, [located])
    try:
        file = AuthoritiesFile.model_validate(located.value)
    except ValidationError as error:
        named = {str(place[1]) for place in located.lines if len(place) > 1}
        shapes = {"": AuthoritiesFile, **dict.fromkeys(named, AuthorityEntry)}
        flaws = describe_validation_errors(located, error, shapes)
        raise build_refusal(name, [*flaws]) from None
    return tuple(
        Authority(
            name=name,
            version=entry.version,
            expires=entry.expires,
            agents=frozenset(entry.agents),
            tenants=frozenset(entry.tenants),
            actors=frozenset(entry.actors),
        )
        for name, entry in file.authorities.items()
    )


def _check_rest(located: LocatedYaml, error: ValidationError) -> Iterator[Problem]:
    """
    Say what is wrong with the rules whose fields are well formed, beside those that aren't.

    Nothing is said where groups or issuers aren't, or another field of the file: rules rest on it.
    """
    wrong = {entry["loc"][1:2] for entry in error.errors() if entry["loc"][:1] == ("rules",)}
    others = [entry for entry in error.errors() if entry["loc"][:1] != ("rules",)]
    match located.value:
        case {"rules": list(rules), **rest} if () not in wrong and not others:
            kept = [
                _stand_in(rule, number) if (number,) in wrong else rule
                for number, rule in enumerate(rules)
            ]
            yield from find_problems(PolicyFile.model_validate({**rest, "rules": kept}), located)
        case _:
            pass


def _stand_in(rule: JsonValue, number: int) -> JsonValue:
    """Return a rule without flaws in the place of one that has some, with its id if it can be."""
    match rule:
        case {"id": str(name)} if RULE_ID.fits(name):
            pass
        case _:
            name = f"rule-{number}"
    return {"id": name, "effect": "forbid", "match": {"tools": ["-"]}}


def build_refusal(name: str, flaws: list[Problem]) -> PolicyRefused:
    """Name the file and the line of each flaw, in their order."""
    return PolicyRefused(tuple(f"{name}:{flaw}" for flaw in sorted(flaws)))


def _compile_conditions(located: LocatedYaml) -> tuple[Mapping[int, Condition], list[Problem]]:
    """Compile whatever conditions there are, so that their flaws are told with all others."""
    found: dict[int, Condition] = {}
    flaws: list[Problem] = []
    rules = located.value.get("rules") if isinstance(located.value, dict) else None
    for number, rule in enumerate(rules if isinstance(rules, list) else []):
        text = rule.get("when") if isinstance(rule, dict) else None
        if not isinstance(text, str):
            continue
        condition = compile_condition(text)
        if isinstance(condition, Condition):
            found[number] = condition
            continue
        place = ("rules", number, "when")
        for misfit in condition:
            flaw = located.build_problem(place, str(misfit))
            block = located.blocks.get(place)
            # The words of a block stand on lines of their own.
            flaws.append(flaw if block is None else flaw._replace(line=block + misfit.line - 1))
    return found, flaws


def _build_rule(entry: RuleEntry, condition: Condition | None) -> PolicyRule:
    match = entry.match
    return PolicyRule(
        id=entry.id,
        effect=entry.effect,
        reason=entry.reason or f"rule {entry.id} of the policy says so",
        match=Match(
            tools=frozenset(match.tools),
            risks=frozenset(match.risks),
            agents=frozenset(match.agents),
            receivers=frozenset(match.receivers),
            tenants=frozenset(match.tenants),
            actors=frozenset(match.actors),
            environments=frozenset(match.environments),
            commands=match.commands,
            hosts=match.hosts,
        ),
        condition=condition,
        requirement=_build_requirement(entry.approval or ApprovalEntry()),
        risky=frozenset(entry.risky),
        authority=entry.authority or "",
    )


def _build_signer(entry: SignalEntry) -> Requirement:
    return Requirement(
        strength="strong",
        groups=entry.groups,
        methods=entry.methods,
        max_auth_age=entry.max_auth_age,
    )


def _build_requirement(entry: ApprovalEntry) -> Requirement:
    return Requirement(
        strength="strong" if entry.is_strong else "plain",
        groups=entry.groups,
        count=entry.count,
        methods=entry.methods,
        max_auth_age=entry.max_auth_age,
        valid_for=entry.valid_for,
        expires_after=entry.expires,
        escalate_after=entry.escalate.after if entry.escalate else None,
        escalate_to=entry.escalate.to if entry.escalate else (),
        recovery=entry.recovery,
    )
