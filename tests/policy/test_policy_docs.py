"""docs/policy.md says what the code does."""

import re
from pathlib import Path

import pytest

from holdfast.policy.allowlists import RISKY_PROGRAMS, find_risky_command
from holdfast.policy.document import parse_policy
from holdfast.policy.risk import DEFAULT_PERMISSIONS, NEEDS_DRAFT
from holdfast.policy.schema import ApprovalEntry, MatchEntry, PolicyFile, RuleEntry, SignalEntry
from holdfast.policy.yaml_lines import MAX_DOCUMENT_CHARS, LocatedYaml, parse_yaml

PAGE = (Path(__file__).parents[2] / "docs" / "policy.md").read_text(encoding="utf-8")
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


def test_the_examples_are_valid() -> None:
    """What the page shows can be used as it is."""
    policy, signals, cases = EXAMPLES

    assert len(parse_policy(policy).rules) == 5
    assert set(parse_policy(signals).signals) == {"suspend", "resume", "steer"}
    assert isinstance(parse_yaml(cases), LocatedYaml)


@pytest.mark.parametrize("model", [PolicyFile, SignalEntry, RuleEntry, MatchEntry, ApprovalEntry])
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
