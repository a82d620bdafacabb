"""The commands `holdfast policy` are told what a run is about, as a run is."""

from pathlib import Path

import pytest

from tests.holdfast.policy_commands import APP, Holdfast, running, written

RULES = """\
version: 1
rules:
  - id: notes
    effect: allow
    match: {tools: [note_ticket]}
    when: session == 's-1' && domain == 'stock' && task_kind == 'count' && metadata.team == 'shop'
"""

CASES = """\
- {name: all of it, tool: note_ticket, args: {text: x}, session: s-1, domain: Stock,
   task_kind: count, metadata: {team: shop}, expect: allow, rule: notes}
- {name: nothing of it, tool: note_ticket, args: {text: x}, expect: approval_required}
"""


def test_what_a_run_is_about_is_said(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Both on the command line and in a file with cases; `explain` shows what it was told."""
    # PF-06
    holdfast: Holdfast = running(capsys)
    policy = written(tmp_path / "policy.yaml", RULES)
    ask = ("explain", APP, "note_ticket", '{"text": "x"}', "--policy", policy)
    about = ("--session", "s-1", "--domain", " Stock", "--task-kind", "count")

    without = holdfast(*ask, *about)
    shown = holdfast(*ask, *about, "--metadata", "team=shop")
    said = holdfast(*ask, *about, "--metadata", "team=shop", "--json")
    cases = holdfast("test", APP, written(tmp_path / "c.yaml", CASES), "--policy", policy)

    lines = {" ".join(line.split()) for line in shown.out.splitlines()}
    assert {"decision allow", "session s-1", "domain stock", "task kind count"} <= lines
    assert 'metadata {"team": "shop"}' in lines
    assert "its condition can't be evaluated: Key not found in map" in without.out
    assert (said.json["task_kind"], said.json["metadata"]) == ("count", {"team": "shop"})
    assert (cases.code, cases.err) == (0, "")
