"""The policy of the support desk comes to what its cases say, and they say enough."""

import asyncio
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from examples.support.app import app
from holdfast.policy_testing.cases import load_cases, run_case

ROOT = Path(__file__).parents[2]
CASES = ROOT / "examples" / "support" / "cases.yaml"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("check", "examples/support/policy.yaml", "--app", "examples.support.app:app"), "ok: 5"),
        (("test", "examples.support.app:app", "examples/support/cases.yaml"), "12"),
    ],
)
@pytest.mark.slow
async def test_the_commands_of_the_readme_agree(command: tuple[str, ...], said: str) -> None:
    """The policy can be used for this app, and each of its cases holds."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "holdfast.cli.main", "policy", *command),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    out, _ = await process.communicate()

    assert process.returncode == 0, out.decode()
    assert said in out.decode()


@pytest.mark.parametrize("rule", [rule.id for rule in app.policy.rules])
def test_no_rule_is_without_a_case(rule: str) -> None:
    """Without any one of its rules, the policy fails a case."""
    rules = tuple(one for one in app.policy.rules if one.id != rule)
    policy = replace(app.policy, rules=rules)

    outcomes = [run_case(app, policy, place, case) for place, case in load_cases(CASES)]

    assert [outcome.name for outcome in outcomes if outcome.objection] != []
