"""docs/policy.md says what the code does, and so do other pages of what it is about."""

import re
from pathlib import Path
from typing import get_args

import pytest

from holdfast.contracts.signals import SignedSignal
from holdfast.contracts.tools import Risk
from holdfast.policy.allowlists import RISKY_PROGRAMS, find_risky_command
from holdfast.policy.document import parse_authorities, parse_policy
from holdfast.policy.risk import DEFAULT_PERMISSIONS, NEEDS_DRAFT, DefaultPermission
from holdfast.policy.schema import (
    ApprovalEntry,
    AuthorityEntry,
    MatchEntry,
    PolicyFile,
    RuleEntry,
    SignalEntry,
)
from holdfast.policy.yaml_lines import MAX_DOCUMENT_CHARS, LocatedYaml, parse_yaml

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "policy.md").read_text(encoding="utf-8")
APPROVALS = (ROOT / "docs" / "approvals.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


def defaults() -> str:
    """The table of the classes' defaults, as the page must have it."""
    rows: list[str] = []
    for risk, default in DEFAULT_PERMISSIONS.items():
        requirement = default.requirement
        said = {"allow": "allow", "deny": "deny", "approve": "approval"}[default.effect]
        if requirement.strength == "strong":
            said = "approval with strong authentication"
        if requirement.count > 1:
            said += f", by {requirement.count} people"
        if risk in NEEDS_DRAFT:
            said = f"draft first, then {said}; without a draft variant deny"
        if risk.needs_sandbox:
            said += "; where a rule lists it: in the sandbox"
        rows.append(f"| `{risk}` | {said} | {default.reason} |")
    return "\n".join(rows)


def test_the_defaults_are_those_of_the_code() -> None:
    """The table of risk classes is printed from the engine's own."""
    assert f"|---|---|---|\n{defaults()}\n" in PAGE


def say_default(risk: Risk, default: DefaultPermission) -> str:
    """What may happen without being asked, as the README must have it."""
    if risk in NEEDS_DRAFT:
        return "draft first, then approval; without a draft variant denied"
    match default.effect:
        case "allow":
            return "runs, within its scope"
        case "deny" if risk.needs_sandbox:
            return "denied, unless a policy lists the command or host; then in the sandbox"
        case "deny":
            return "denied, unless a policy asks for approval and names the way back"
        case "approve" if default.requirement.count > 1:
            return "the same, by two people"
        case "approve" if default.requirement.strength == "strong":
            return "approval with strong authentication"
        case "approve":
            return "waits for approval"


def test_the_readme_has_every_class_with_its_default() -> None:
    """Each once, in the row of what it may; none that there isn't."""
    table = README.partition("| risk class | default |\n|---|---|\n")[2].partition("\n\n")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines()]

    told = [(name, default) for names, default in rows for name in re.findall(r"`(\w+)`", names)]
    assert sorted(told) == sorted(
        (str(risk), say_default(risk, default)) for risk, default in DEFAULT_PERMISSIONS.items()
    )


@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        pytest.param(PAGE, r"The names are (.*?) \(of a session\)", id="policy"),
        pytest.param(APPROVALS, r"Where a policy's `signals` wants (.*?) signed", id="approvals"),
    ],
)
def test_every_signal_that_may_be_signed_is_named(page: str, sentence: str) -> None:
    """Who writes a policy, and who signs, find the same names on their pages."""
    (names,) = re.findall(sentence, page)

    assert re.findall(r"`(\w+)`", names) == list(get_args(SignedSignal))


def test_the_examples_are_valid() -> None:
    """What the page shows can be used as it is."""
    policy, signals, resting, authorities, cases = EXAMPLES

    assert len(parse_policy(policy).rules) == 5
    assert set(parse_policy(signals).signals) == {"suspend", "resume", "steer"}
    named = {one.authority for one in parse_policy(resting).rules}
    assert named == {one.name for one in parse_authorities(authorities, "authorities.yaml")}
    assert isinstance(parse_yaml(cases), LocatedYaml)


@pytest.mark.parametrize(
    "model", [PolicyFile, SignalEntry, RuleEntry, MatchEntry, ApprovalEntry, AuthorityEntry]
)
def test_every_field_is_there(model: type[PolicyFile]) -> None:
    """The page has every field of the file."""
    assert [name for name in model.model_fields if f"`{name}`" not in PAGE] == []


def test_risky_commands_are_risky() -> None:
    """What the page calls risky is so in the code."""
    section = PAGE.partition("## Risky commands")[2].partition("\n## ")[0]
    named = re.findall(r"`([a-z][^`/]*)`", section)

    assert len(named) > 20
    assert [one for one in named if not find_risky_command(tuple(one.split()))] == []
    assert RISKY_PROGRAMS


def test_figures_are_right() -> None:
    """The page's limit is that of the code."""
    assert f"{MAX_DOCUMENT_CHARS:,} characters" in PAGE
