"""What `holdfast policy check` warns of in a policy that can be used."""

from pathlib import Path

import pytest

from tests.holdfast.policy_commands import running, written


def test_listed_interpreters_are_a_warning(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """`check` names programs that do what a file says, where nobody is asked; it doesn't fail."""
    # RK-18
    listed = "match: {commands: [ls, python3, python3 tool.py, /bin/sh, make, git status]}"
    file = written(
        tmp_path / "p.yaml",
        f"version: 1\nrules:\n  - {{id: a, effect: allow, {listed}}}\n"
        f"  - {{id: b, effect: sandbox, {listed}}}\n",
    )

    holdfast = running(capsys)
    plain, said = holdfast("check", file), holdfast("check", file, "--json")

    assert (plain.code, said.code) == (0, 0)
    assert plain.out.startswith("ok: 2 rules")
    assert plain.err.splitlines() == said.json["warnings"]
    assert [line.partition(" does ")[0] for line in plain.err.splitlines()] == [
        f"{file}:3: rules[0].match.commands[{place}]: warning: '{name}'"
        for place, name in ((1, "python3"), (3, "/bin/sh"), (4, "make"))
    ]
