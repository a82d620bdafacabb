"""The policy file: what may stand in it, and on which line it can't."""

import pytest

from holdfast.contracts.approvals import Requirement
from holdfast.contracts.errors import AppError, PolicyRefused
from holdfast.policy.conditions import Condition
from holdfast.policy.document import parse_policy
from holdfast.policy.rules import NO_POLICY, Match
from holdfast.policy.yaml_lines import MAX_DOCUMENT_CHARS

WHOLE = """\
# Everything that a policy file can say.
version: 1
groups: {finance: [fred, gina], managers: [mona]}
issuers:
  - {issuer: https://id.example.com, jwks: keys.json, subject: email, groups: groups}
signals:
  suspend: {groups: [managers], max_auth_age: 5m}
rules:
  - id: small-refunds
    effect: allow
    reason: small refunds in euro are routine
    match:
      tools: [issue_refund]
      risks: [financial]
      tenants: [no, 1044x]
      actors: [on]
      environments: [production]
      commands: [ls, "git status"]
      hosts: [api.example.com, "*.internal.example.com:8443"]
    when: args.amount <= 20 && args.currency == "EUR"
  - id: refunds
    effect: approve
    approval: {groups: [finance], count: 2, strong: true, max_auth_age: 5m, methods: [mfa, hwk],
      valid_for: 1h, expires: 24h, escalate: {after: 4h, to: [managers]},
      recovery: "RB-12, nightly backup"}
  - {id: never, effect: forbid, match: {tools: [drop]}}
"""


def test_the_whole_file_becomes_a_policy() -> None:
    """Every field goes where the engine looks for it; words that look odd stay words."""
    policy = parse_policy(WHOLE)

    small, refunds, never = policy.rules
    assert policy.groups == {"finance": {"fred", "gina"}, "managers": {"mona"}}
    assert [issuer.subject for issuer in policy.issuers] == ["email"]
    assert policy.signals == {
        "suspend": Requirement(strength="strong", groups=("managers",), max_auth_age=300)
    }
    assert (small.id, small.effect) == ("small-refunds", "allow")
    assert small.reason == "small refunds in euro are routine"
    assert small.match == Match(
        tools=frozenset({"issue_refund"}),
        risks=frozenset({"financial"}),  # pyright: ignore[reportArgumentType] -- equal to the enum
        tenants=frozenset({"no", "1044x"}),
        actors=frozenset({"on"}),
        environments=frozenset({"production"}),
        commands=("ls", "git status"),
        hosts=("api.example.com", "*.internal.example.com:8443"),
    )
    assert isinstance(small.condition, Condition)
    assert refunds.requirement == Requirement(
        strength="strong",
        groups=("finance",),
        count=2,
        methods=("mfa", "hwk"),
        max_auth_age=300,
        valid_for=3600,
        expires_after=86_400,
        escalate_after=14_400,
        escalate_to=("managers",),
        recovery="RB-12, nightly backup",
    )
    assert never.reason == "rule never of the policy says so"
    assert policy.forbid_rules == (never,)


def test_the_digest_is_of_what_the_file_says() -> None:
    """Comments, order of keys and spelling change nothing, any value does."""
    digest = parse_policy("version: 1\ngroups: {a: [x]}\nrules: [{id: r, effect: deny}]").digest

    same = parse_policy("# hi\ngroups:\n  a:\n  - 'x'\nversion: 1\nrules: [{effect: deny, id: r}]")
    other = parse_policy("version: 1\ngroups: {a: [y]}\nrules: [{id: r, effect: deny}]")

    assert digest == same.digest
    assert len(digest) == 16
    assert other.digest != digest
    assert (NO_POLICY.digest, NO_POLICY.rules) == ("", ())


def flaws(text: str) -> list[str]:
    """What is wrong with a file, one a line."""
    with pytest.raises(AppError) as raised:
        parse_policy(text, "p.yaml")
    assert isinstance(raised.value, PolicyRefused)
    return list(raised.value.lines)


@pytest.mark.parametrize(
    ("text", "flaw"),
    [
        pytest.param("", "1: it must be a mapping, as in 'name: value'", id="empty"),
        pytest.param("- a", "1: it must be a mapping, as in 'name: value'", id="list"),
        pytest.param("rules: []", "1: version: it is missing", id="no version"),
        pytest.param("version: 2", "1: version: Input should be 1, not 2", id="version"),
        pytest.param(
            "version: 1\nrules:\n",
            "2: rules: nothing stands behind it: write a value, or leave it out",
            id="null",
        ),
        pytest.param("version: 1\na: [1,\nb: c\n", "4: did not find expected", id="syntax"),
        pytest.param("version: 1\n\tgroups: {}", "2: found a tab character", id="tab"),
        pytest.param("version: 1\nversion: 1", "2: 'version' is there twice", id="twice"),
        pytest.param(
            "version: 1\ngroups:\n  a: [x]\n  b: [x]\n  a: [y]", "5: 'a' is there twice", id="deep"
        ),
        pytest.param("version: 1\nx: &a 1", "2: anchors (&) are not read here", id="anchor"),
        pytest.param("version: 1\nx: *a", "2: aliases (*) are not read here", id="alias"),
        pytest.param("version: 1\nx: !!python/object:a.b {}", "2: tags (!) are not", id="tag"),
        pytest.param("version: 1\nx: !!str 1", "2: tags (!) are not", id="plain tag"),
        pytest.param("version: 1\n---\nversion: 1", "2: a second document", id="documents"),
        pytest.param("version: 1\n? [a]\n: b", "2: a name must be a word", id="complex key"),
        pytest.param("version: 1\nx: \x07", "2: it holds a character that no YAML", id="control"),
        pytest.param("version: 1\nx: \ud800", "2: it holds a character that no YAML", id="half"),
        pytest.param("x: " + "[" * 99, "1: it is nested more than 40 deep", id="nested"),
        pytest.param("#" * (MAX_DOCUMENT_CHARS + 1), "1: it has 1,000,001 characters", id="size"),
        pytest.param(
            "version: 1\nrule: []",
            "2: rule: there is no such field (known: version, groups, issuers, signals, ",
            id="unknown field",
        ),
        pytest.param(
            "version: 1\ngroups: {1: [2]}",
            "2: groups.1[0]: it must be text: put 2 in quotes",
            id="number for a name",
        ),
        pytest.param(
            "version: 1\nsignals: {cancel: {}}",
            "2: signals.cancel: Input should be 'answer', 'resolution', 'steer', ",
            id="no signal",
        ),
        pytest.param(
            "version: 1\nsignals: {steer: {groups: [it]}}",
            "2: signals.steer.groups[0]: there is no group 'it' (known: none)",
            id="group of a signal",
        ),
        pytest.param(
            "version: 1\nissuers:\n  - issuer: x\n    jwks: http://x.example/keys",
            "4: issuers[0].jwks: keys are fetched from https://",
            id="insecure keys",
        ),
        pytest.param(
            "version: 1\nissuers:\n  - {issuer: x, jwks: a}\n  - {issuer: x, jwks: b}",
            "4: issuers[1].issuer: 'x' is there twice",
            id="issuer twice",
        ),
        pytest.param(
            "version: 1\nissuers:\n  - {issuer: holdfast, jwks: a}",
            "3: issuers[0].issuer: 'holdfast' vouches for people's own keys",
            id="local issuer",
        ),
    ],
)
def test_a_file_that_cant_be_is_refused_with_the_line(text: str, flaw: str) -> None:
    """Whoever wrote it reads on which line to look, and what to write instead."""
    (line,) = flaws(text)

    assert line.startswith(f"p.yaml:{flaw}")


@pytest.mark.parametrize(
    "field", ["tools", "agents", "receivers", "tenants", "actors", "environments"]
)
def test_no_star_stands_for_names(field: str) -> None:
    """It is no pattern here, as it is for hosts: what forbids by one would forbid nothing."""
    (line,) = flaws(
        f"version: 1\nrules:\n  - {{id: r, effect: forbid, match: {{{field}: [x, 'delete_*']}}}}"
    )

    assert line == (
        f"p.yaml:3: rules[0].match.{field}[1]: names are exact, and none has a star: "
        "name each, or leave the list out"
    )


@pytest.mark.parametrize(
    ("rule", "flaw"),
    [
        ("{effect: deny}", "id: it is missing"),
        ("{id: r}", "effect: it is missing"),
        ("{id: 'a b', effect: deny}", "id: String should match pattern"),
        ("{id: r, effect: alow}", "effect: Input should be 'forbid', 'allow', 'sandbox', 'draft'"),
        ("{id: r, effect: deny, wen: x}", "wen: there is no such field (known: id, effect, rea"),
        (
            "{id: r, effect: deny, match: {tool: [x]}}",
            "match.tool: there is no such field (known: ",
        ),
        ("{id: r, effect: deny, match: {tools: x}}", "match.tools: it must be a list, as in"),
        ("{id: r, effect: deny, match: {tools: ['']}}", "match.tools[0]: String should have at l"),
        ("{id: r, effect: deny, match: {risks: [mony]}}", "match.risks[0]: Input should be 'read"),
        (
            "{id: r, effect: deny, match: {hosts: ['https://x']}}",
            "match.hosts[0]: write a host wi",
        ),
        (
            "{id: r, effect: deny, match: {commands: [git *]}}",
            "match.commands[0]: write the first",
        ),
        ("{id: r, effect: deny, when: true}", "when: it must be text: put True in quotes"),
        (
            "{id: r, effect: deny, when: amout < 2}",
            "when: undeclared reference to 'amout' (column",
        ),
        ("{id: r, effect: deny, when: args.x}", "when: it must be true or false"),
        (
            "{id: r, effect: deny, approval: {}}",
            "approval: only effect 'approve' takes an approva",
        ),
        ("{id: r, effect: approve, approval: {cuont: 2}}", "approval.cuont: there is no such fie"),
        ("{id: r, effect: approve, approval: {count: 0}}", "approval.count: Input should be grea"),
        ("{id: r, effect: approve, approval: {count: '2'}}", "approval.count: Input should be a "),
        (
            "{id: r, effect: approve, approval: {strong: yes}}",
            "approval.strong: Input should be a",
        ),
        (
            "{id: r, effect: approve, approval: {expires: 5}}",
            "approval.expires: write a time as 9",
        ),
        (
            "{id: r, effect: approve, approval: {expires: 0s}}",
            "approval.expires: a time is longer",
        ),
        (
            "{id: r, effect: approve, approval: {expires: 9999d}}",
            "approval.expires: a time is lon",
        ),
        (
            "{id: r, effect: approve, approval: {groups: [it]}}",
            "approval.groups[0]: there is no group 'it' (known: finance, empty), and no issuer",
        ),
        (
            "{id: r, effect: approve, approval: {groups: [empty]}}",
            "approval.groups[0]: nobody is in group 'empty'",
        ),
        (
            "{id: r, effect: approve, approval: {groups: [finance], count: 3}}",
            "approval.count: 3 must approve, and only 2 could",
        ),
        (
            "{id: r, effect: approve, approval: {methods: [mfa], strong: false}}",
            "approval.strong: methods and max_auth_age are in signed tokens only",
        ),
        (
            "{id: r, effect: approve, approval: {escalate: {after: 1h, to: [finance]}}}",
            "approval.escalate: without groups anybody may approve from the beginning",
        ),
        (
            "{id: r, effect: approve, approval: {expires: 1h, groups: [finance], escalate: LATE}}",
            "approval.escalate.after: by then the request has expired",
        ),
        (
            "{id: r, effect: approve, approval: {escalate: {after: 1h}}}",
            "approval.escalate.to: it is missing",
        ),
        ("{id: r, effect: allow}", "match: 'allow' for every call there is: say which"),
        ("{id: r, effect: sandbox, match: {}}", "match: 'sandbox' for every call"),
        (
            "{id: r, effect: allow, match: {tools: [], actors: [x]}}",
            "match.tools: an empty list names",
        ),
        ("{id: r, effect: forbid, match: {hosts: []}}", "match.hosts: an empty list names"),
        (
            "{id: r, effect: approve, approval: {groups: []}}",
            "approval.groups: an empty list",
        ),
        ("{id: r, effect: allow, match: {tools: [x]}, when: }", "when: nothing stands behind it"),
        ("{id: r, effect: approve, approval: }", "approval: nothing stands behind it"),
        ("{id: r, effect: approve, approval: {strong: ~}}", "approval.strong: nothing stands"),
        (
            "{id: r, effect: allow, match: {risks: [read_only, financial]}}",
            "effect: 'allow' for financial: a rule that lets money or access go without a person",
        ),
        (
            "{id: r, effect: sandbox, match: {risks: [identity_access]}}",
            "effect: 'sandbox' for identity_access: a rule that lets money or access go",
        ),
        (
            "{id: r, effect: allow, match: {risks: [destructive]}, when: args.x == 1}",
            "effect: 'allow' for destructive: what is destroyed can't be brought back",
        ),
        (
            "{id: r, effect: approve, match: {risks: [destructive]}}",
            "effect: 'approve' for destructive: approval of what destroys needs a documented way",
        ),
    ],
)
def test_a_rule_that_cant_be_is_refused(rule: str, flaw: str) -> None:
    """A rule that says what no rule may, or could never work, is refused when it is loaded."""
    rule = rule.replace("LATE", "{after: 1h, to: [finance]}")
    text = f"version: 1\ngroups: {{finance: [fred, gina], empty: []}}\nrules:\n  - {rule}\n"

    found = flaws(text)

    assert any(line.startswith(f"p.yaml:4: rules[0].{flaw}") for line in found), found


@pytest.mark.parametrize(
    "rule",
    [
        "{id: r, effect: allow, match: {risks: [financial]}, when: args.amount < 5}",
        "{id: r, effect: allow, match: {tools: [refund]}, when: args.amount < 5}",
        "{id: r, effect: allow, when: agent == 'it'}",
        "{id: r, effect: approve, match: {risks: [destructive]}, approval: {recovery: RB-1}}",
        "{id: r, effect: deny}",
        "{id: r, effect: forbid}",
        "{id: r, effect: approve}",
    ],
)
def test_a_rule_that_can_be_is_taken(rule: str) -> None:
    """What restricts may be about everything; what opens says what."""
    assert len(parse_policy(f"version: 1\nrules: [{rule}]").rules) == 1


def test_an_issuer_may_name_the_groups() -> None:
    """Where tokens say who is in which group, the file needn't know the members."""
    text = (
        "version: 1\nissuers: [{issuer: x, jwks: keys.json, groups: roles}]\n"
        "rules: [{id: r, effect: approve, approval: {groups: [payments], count: 3}}]"
    )

    assert parse_policy(text).rules[0].requirement.groups == ("payments",)


def test_every_flaw_is_told_at_once() -> None:
    """Fields and conditions are objected to together, in the order of their lines."""
    text = (
        "version: 1\nrules:\n  - id: a\n    effect: deny\n    when: amout > 1\n"
        "  - id: b\n    reason: []\n    when: |\n      true\n      && nothing\n"
        "  - id: c\n    effect: deny\n    when: >\n      true\n      && nothing\n"
    )

    assert flaws(text) == [
        "p.yaml:5: rules[0].when: undeclared reference to 'amout' (column 1)",
        "p.yaml:6: rules[1].effect: it is missing",
        "p.yaml:7: rules[1].reason: it must be text",
        "p.yaml:10: rules[1].when: undeclared reference to 'nothing' (line 2, column 4)",
        "p.yaml:13: rules[2].when: undeclared reference to 'nothing' (column 9)",
    ]


def test_the_message_counts_what_it_leaves_out() -> None:
    """As one line, an error names the first flaw and how many follow."""
    with pytest.raises(AppError) as raised:
        parse_policy("version: 2\nrule: 1\nrules: x", "p.yaml")

    assert str(raised.value) == (
        "p.yaml:1: version: Input should be 1, not 2 (and 2 more: see 'holdfast policy check')"
    )


def test_a_person_is_counted_once() -> None:
    """A name in other letters, or in two groups, is no second person."""
    text = (
        "version: 1\ngroups: {a: [Fred, fred], b: [FRED]}\nrules:\n"
        " - {id: r, effect: approve, approval: {groups: [a, b], count: 2}}"
    )

    assert flaws(text) == ["p.yaml:4: rules[0].approval.count: 2 must approve, and only 1 could"]


def test_two_rules_of_one_name_are_refused() -> None:
    """A decision names its rule, so a name is one rule."""
    text = "version: 1\nrules:\n - {id: r, effect: deny, when: 'true'}\n - {id: r, effect: forbid}"

    assert flaws(text) == ["p.yaml:4: rules[1].id: there is a rule 'r' already"]


def test_a_rule_behind_one_for_everything_is_refused() -> None:
    """A rule that could never be reached is a mistake of whoever wrote it."""
    text = (
        "version: 1\nrules:\n - {id: a, effect: ask}\n - {id: f, effect: forbid}\n"
        " - {id: b, effect: deny, match: {tools: [x]}}"
    )

    assert flaws(text) == [
        "p.yaml:5: rules[2]: 'b' is never reached: 'a' before it fits every call"
    ]
