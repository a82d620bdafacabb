"""The commands `holdfast policy`: checking a file, explaining a decision, trying cases."""

import json
from pathlib import Path

import pytest

from holdfast import AppError
from holdfast.app import load_app
from tests.holdfast.policy_commands import APP, POLICY, Holdfast, running, written


@pytest.fixture
def holdfast(capsys: pytest.CaptureFixture[str]) -> Holdfast:
    """Run one command in this process."""
    return running(capsys)


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    """A policy for the shop."""
    return written(tmp_path / "policy.yaml", POLICY)


def test_a_good_policy_is_ok(holdfast: Holdfast, policy: Path) -> None:
    """`check` counts rules and groups, and names the digest that decisions will carry."""
    plain = holdfast("check", policy)
    said = holdfast("check", policy, "--app", APP, "--json")

    digest = said.json["digest"]
    assert (plain.code, plain.err) == (0, "")
    assert plain.out == f"ok: 4 rules, 2 groups, 0 signed signals, digest {digest}\n"
    assert said.json == {
        "ok": True,
        "rules": 4,
        "groups": 2,
        "signed_signals": 0,
        "digest": digest,
        "warnings": [],
    }


def test_all_flaws_are_told_with_their_lines(holdfast: Holdfast, tmp_path: Path) -> None:
    """`check` writes one line for each flaw, as compilers do, and fails."""
    bad = written(
        tmp_path / "bad.yaml",
        "version: 1\nrules:\n  - id: a\n    effect: dny\n  - id: b\n    effect: deny\n"
        "    when: amout > 1\n",
    )

    plain, said = holdfast("check", bad), holdfast("check", bad, "--json")

    lines = [
        (
            f"{bad}:4: rules[0].effect: Input should be 'forbid', 'allow', 'sandbox', 'draft', "
            "'approve', 'ask' or 'deny', not 'dny'"
        ),
        f"{bad}:7: rules[1].when: undeclared reference to 'amout' (column 1)",
    ]
    assert (plain.code, plain.out, plain.err.splitlines()) == (1, "", lines)
    assert (said.code, said.json) == (1, {"ok": False, "errors": lines})


def test_flaws_of_each_kind_are_told_together(holdfast: Holdfast, tmp_path: Path) -> None:
    """Rules whose fields are well formed are looked at beside those whose aren't."""
    bad = written(
        tmp_path / "bad.yaml",
        "version: 1\nrules:\n"
        "  - {id: a, effect: deny, whn: 'true'}\n"
        "  - {id: b, effect: approve, approval: {groups: [oncall], expires: 5}}\n"
        "  - {id: c, effect: approve, approval: {groups: [oncall]}}\n"
        "  - {id: a, effect: allow}\n",
    )

    said = holdfast("check", bad)

    assert [line.removeprefix(f"{bad}:") for line in said.err.splitlines()] == [
        (
            "3: rules[0].whn: there is no such field (known: id, effect, reason, match, when, "
            "approval, risky, authority)"
        ),
        "4: rules[1].approval.expires: write a time as 90s, 5m, 4h or 7d",
        (
            "5: rules[2].approval.groups[0]: there is no group 'oncall' (known: none), and "
            "no issuer names any"
        ),
        "6: rules[3]: 'a' is never reached: 'c' before it fits every call",
        "6: rules[3].id: there is a rule 'a' already",
        "6: rules[3].match: 'allow' for every call there is: say which, in match or when",
    ]


@pytest.mark.parametrize(
    ("rule", "flaw"),
    [
        (
            "effect: forbid, match: {tools: [isue_refund]}",
            "match.tools[0]: nobody has tool 'isue_refund' (known: drop_order, fetch, find_or",
        ),
        (
            "effect: forbid, match: {agents: [suport]}",
            "match.agents[0]: nobody has agent 'suport' (known: support, reader)",
        ),
        (
            "effect: deny, match: {tools: [find_order], risks: [financial]}",
            "match.risks: these tools are read_only",
        ),
        (
            "effect: allow, match: {tools: [find_order, issue_refund]}",
            "match.tools[1]: 'issue_refund' is financial: a rule that lets money or access go",
        ),
        (
            "effect: allow, match: {tools: [drop_order]}, when: args.order_id > 1",
            "match.tools[0]: 'drop_order' is destructive: what is destroyed can't be brought back",
        ),
        (
            "effect: approve, match: {tools: [drop_order]}",
            "match.tools[0]: 'drop_order' is destructive: approval of what destroys needs a docum",
        ),
        (
            "effect: sandbox, match: {tools: [fetch]}",
            "match.tools[0]: 'fetch' needs hosts: list them, or ['*']",
        ),
        (
            "effect: deny, match: {tools: [issue_refund]}, when: args.amout > 1",
            "when: none of its tools has argument 'amout' (known: amount, currency, order_id)",
        ),
    ],
)
def test_names_that_nobody_has_are_told(
    holdfast: Holdfast, tmp_path: Path, rule: str, flaw: str
) -> None:
    """With an app, `check` finds what is misspelt, and rules that could never hold."""
    file = written(tmp_path / "p.yaml", f"version: 1\nrules:\n  - {{id: r, {rule}}}\n")

    alone, with_app = holdfast("check", file), holdfast("check", file, "--app", APP)

    assert alone.code == 0
    assert with_app.code == 1
    assert with_app.err.startswith(f"{file}:3: rules[0].{flaw}")


def test_words_in_texts_are_no_arguments(holdfast: Holdfast, tmp_path: Path) -> None:
    """A condition may compare with a text that looks like an argument."""
    when = "args.text == 'args.nothing' || args.text.startsWith(\"args.more\")"
    file = written(
        tmp_path / "p.yaml",
        f"version: 1\nrules:\n  - id: r\n    effect: deny\n    when: {when}\n",
    )

    assert holdfast("check", file, "--app", APP).code == 0


def test_a_decision_is_explained(holdfast: Holdfast, policy: Path) -> None:
    """`explain` shows decision, rule and reason, and what each rule has to do with the call."""
    ask = (
        "explain",
        APP,
        "issue_refund",
        '{"order_id": 1, "amount": "12.50"}',
        "--policy",
        policy,
    )

    plain, said = holdfast(*ask), holdfast(*ask, "--json")

    lines = [" ".join(line.split()) for line in plain.out.splitlines()]
    assert (plain.code, plain.err) == (0, "")
    assert lines[:4] == [
        'issue_refund(order_id=1, amount="12.50")',
        "decision allow",
        "rule policy:small-refunds",
        "reason small refunds in euro are routine",
    ]
    assert lines[-4:] == [
        "not-in-test forbid is about other environments",
        "small-refunds allow fits, and governs",
        "refunds approve fits",
        "notes allow is about other tools",
    ]
    assert said.json["decision"] == {
        "verdict": "allow",
        "rule": "policy:small-refunds",
        "reason": "small refunds in euro are routine",
    }
    assert said.json["values"] == {"order_id": 1, "amount": 12.5, "currency": "EUR"}


def test_a_draft_and_what_follows_it_are_explained(holdfast: Holdfast, policy: Path) -> None:
    """Where a draft comes first, `explain` shows what the approval after it takes."""
    ask = ("explain", APP, "issue_refund", '{"order_id": 1, "amount": 29}', "--policy", policy)

    plain, said = holdfast(*ask), holdfast(*ask, "--json")

    outcome = said.json["outcome"]
    assert isinstance(outcome, dict)
    assert (outcome["verdict"], outcome["count"], outcome["groups"]) == (
        "approval_required",
        2,
        ["finance"],
    )
    assert "decision     run_as_draft_only" in plain.out
    assert "then         approval_required (policy:refunds: " in plain.out
    assert "small-refunds  allow    its condition is false" in plain.out


def test_times_have_units(holdfast: Holdfast, tmp_path: Path) -> None:
    """`explain` writes them as the policy does; its JSON has seconds."""
    file = written(
        tmp_path / "p.yaml",
        "version: 1\nrules:\n  - id: a\n    effect: approve\n    match: {tools: [note_ticket]}\n"
        "    approval: {max_auth_age: 90s, valid_for: 60m, expires: 7d}\n",
    )
    ask = ("explain", APP, "note_ticket", '{"text": "x"}', "--policy", file)

    plain, said = holdfast(*ask), holdfast(*ask, "--json")

    lines = {" ".join(line.split()) for line in plain.out.splitlines()}
    assert {"max auth age 90s", "valid for 1h", "expires after 7d"} <= lines
    assert isinstance(said.json["decision"], dict)
    assert said.json["decision"]["valid_for"] == 3600


@pytest.mark.parametrize(
    ("more", "verdict", "rule"),
    [
        ([], "approval_required", "risk:write_internal"),
        (["--actor", "bob"], "allow", "policy:notes"),
        (["--actor", "bob", "--environment", "test"], "deny", "policy:not-in-test"),
    ],
)
def test_who_asks_decides_too(
    holdfast: Holdfast, policy: Path, more: list[str], verdict: str, rule: str
) -> None:
    """`explain` takes actor, tenant, agent and environment, as a run has them."""
    # PF-06
    said = holdfast(
        *("explain", APP, "note_ticket", '{"text": "x"}', "--policy", policy, "--json", *more)
    )

    decision = said.json["decision"]
    assert isinstance(decision, dict)
    assert (decision["verdict"], decision["rule"]) == (verdict, rule)


def test_a_condition_in_doubt_is_explained(holdfast: Holdfast, tmp_path: Path) -> None:
    """`explain` says why a condition can't be evaluated, and that the rule can't hold."""
    file = written(
        tmp_path / "p.yaml",
        "version: 1\nrules:\n  - {id: a, effect: allow, match: {tools: [note_ticket]}, "
        "when: args.size > 1}\n  - {id: b, effect: allow, match: {tools: [drop_order]}}\n",
    )

    noted = holdfast("explain", APP, "note_ticket", '{"text": "x"}', "--policy", file)
    dropped = holdfast("explain", APP, "drop_order", '{"order_id": 1}', "--policy", file)

    assert 'a     allow   its condition can\'t be evaluated: Key not found in map : "size"' in (
        noted.out
    )
    assert "b     allow   never holds here: what is destroyed can't be" in dropped.out


@pytest.mark.parametrize(
    ("arguments", "code", "error"),
    [
        (
            ["explain", APP, "find_order", '{"order": 1}'],
            1,
            "the arguments don't fit 'find_order': ",
        ),
        (["explain", APP, "find_order", "[1]"], 2, "Invalid value for ARGS: '[1]' is no JSON obj"),
        (["explain", APP, "nope", "{}"], 1, "the app has no tool 'nope' (known: drop_order, "),
        (
            ["explain", APP, "note_ticket", "{}", "--agent", "reader"],
            1,
            "agent 'reader' has no tool 'note_ticket' (known: find_order)",
        ),
        (
            ["explain", APP, "find_order", "{}", "--agent", "x"],
            1,
            "no agent 'x' (known: support, reader)",
        ),
        (["explain", "no.app:app", "find_order", "{}"], 1, "app 'no.app:app' can't be imported: "),
        (["check", "no-such-file.yaml"], 1, "no-such-file.yaml: No such file or directory"),
        (["test", APP], 2, "Invalid value: name files with cases, or try it on past runs with"),
        (["test", APP, "no-such-file.yaml"], 1, "no-such-file.yaml: No such file or directory"),
        (["test", APP, "--runs", "no-such-file.json"], 1, "there is no file 'no-such-file.json'"),
    ],
)
def test_what_cant_be_is_one_line(
    holdfast: Holdfast, arguments: list[str], code: int, error: str
) -> None:
    """A mistake on the command line is told in one line on standard error."""
    said = holdfast(*arguments)

    assert (said.code, said.out) == (code, "")
    assert said.err.count("\n") == 1
    assert said.err.startswith(f"holdfast: {error}")


CASES = """\
- name: small ones run
  tool: issue_refund
  args: {order_id: 1, amount: 15}
  expect: allow
  rule: small-refunds
- name: large ones are drafted
  tool: issue_refund
  args: {order_id: 1, amount: "29.00"}
  expect: run_as_draft_only
- name: and then wait
  tool: issue_refund
  args: {order_id: 1, amount: "29.00"}
  drafted: true
  expect: approval_required
  rule: policy:refunds
- {name: a default, tool: drop_order, args: {order_id: 1}, expect: deny, rule: "risk:destructive"}
- {name: no arguments, tool: drop_order, expect: invalid_arguments}
- {name: bob, tool: note_ticket, args: {text: x}, actor: bob, expect: allow}
"""


def test_cases_that_hold(holdfast: Holdfast, policy: Path, tmp_path: Path) -> None:
    """`test` counts the cases that hold; all of them is success."""
    cases = written(tmp_path / "cases.yaml", CASES)

    plain = holdfast("test", APP, cases, cases, "--policy", policy)
    said = holdfast("test", APP, cases, "--policy", policy, "--json")

    assert plain == (0, "12 of 12 cases hold\n", "")
    assert [outcome["objection"] for outcome in json.loads(said.out)] == [""] * 6


def test_cases_that_fail(holdfast: Holdfast, tmp_path: Path) -> None:
    """A case that doesn't hold is told with its line and what came instead; then `test` fails."""
    cases = written(tmp_path / "cases.yaml", CASES)

    said = holdfast("test", APP, cases)

    assert (said.code, said.out) == (1, "3 of 6 cases hold\n")
    small, waits, bob = said.err.splitlines()
    assert small.startswith(f"{cases}:1: small ones run: expected allow, got run_as_draft_only (")
    assert waits == (
        f"{cases}:10: and then wait: expected rule policy:refunds, got approval_required "
        "(risk:financial: money or access is at stake)"
    )
    assert bob.startswith(f"{cases}:18: bob: expected allow, got approval_required (risk:write_")


@pytest.mark.parametrize(
    ("text", "flaw"),
    [
        ("- {name: x}", "1: [0].expect: it is missing (and 1 more"),
        ("- {name: x, tool: a, expect: allowed}", "1: [0].expect: Input should be 'allow', "),
        ("\n- {name: x, tool: a, expect: allow, arg: 1}", "2: [0].arg: there is no such field (k"),
        ("cases: []", "1: it must be a list, as in [a, b]"),
        ("- {name: x", "2: did not find expected"),
    ],
)
def test_cases_that_cant_be_read(holdfast: Holdfast, tmp_path: Path, text: str, flaw: str) -> None:
    """A flaw in a file of cases is told with its line."""
    cases = written(tmp_path / "cases.yaml", text)

    said = holdfast("test", APP, cases)

    assert said.code == 1
    assert said.err.startswith(f"holdfast: {cases}:{flaw}")


def test_an_app_finds_its_policy(
    holdfast: Holdfast, policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`App(policy=...)` is relative to the working directory, and read when somebody asks."""
    monkeypatch.chdir(tmp_path)
    source = "from tests.holdfast.shop import *\napp = App(agents={}, policy={!r})\n"
    agents = "[Agent(name='s', instructions='x', models=['scripted:s'], tools=[issue_refund])]"
    scripts = ", scripts={'s': SCRIPT}"
    for name, file in (("with_policy", "policy.yaml"), ("with_typo", "polcy.yaml")):
        text = source.format(agents + scripts, file)
        written(tmp_path / f"{name}.py", f"from holdfast import Agent, App\n{text}")

    said = holdfast(
        *("explain", "with_policy:app", "issue_refund", '{"order_id": 1, "amount": 1}', "--json")
    )
    with pytest.raises(AppError) as raised:
        load_app("with_typo:app")

    decision = said.json["decision"]
    assert isinstance(decision, dict)
    assert decision["rule"] == "policy:refunds"
    assert said.json["policy"] == holdfast("check", policy, "--json").json["digest"]
    assert str(raised.value) == "polcy.yaml: No such file or directory"
