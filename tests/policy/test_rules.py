"""Which rule of a policy governs a call: what forbids wins, then the order of the file."""

import pytest
from pydantic import JsonValue

from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import ToolCall
from holdfast.contracts.decisions import Deny, RunInSandbox
from holdfast.policy.engine import DecisionFacts, decide
from holdfast.policy.rules import Policy
from tests.builders import a_call, a_contract, a_record
from tests.policy.policies import a_policy, said, some_facts

CALL = a_call("write", place="attic")
CONTRACT = a_contract("write", risk="write_internal")


def rule_of(*rules: str, facts: DecisionFacts | None = None, **arguments: JsonValue) -> str:
    return find_rule(a_policy(*rules), facts, **arguments)


def find_rule(policy: Policy, facts: DecisionFacts | None = None, **arguments: JsonValue) -> str:
    """The rule that decides a call with these arguments."""
    call = ToolCall(call_id="c1", name="write", arguments=arguments or CALL.arguments)
    return decide(call, CONTRACT, facts or some_facts(), policy).rule


FITS, DIFFERS = "policy:r", "risk:write_internal"


@pytest.mark.parametrize(
    ("match", "expected"),
    [
        pytest.param("tools: [write]", FITS, id="tool"),
        pytest.param("tools: [read, write]", FITS, id="any of the tools"),
        pytest.param("tools: [Write]", DIFFERS, id="other case"),
        pytest.param("tools: [writer]", DIFFERS, id="longer name"),
        pytest.param("risks: [write_internal]", FITS, id="risk"),
        pytest.param("risks: [communication]", DIFFERS, id="other risk"),
        pytest.param("agents: [it]", FITS, id="agent"),
        pytest.param("agents: [other]", DIFFERS, id="other agent"),
        pytest.param("receivers: [it]", DIFFERS, id="nobody gets the call"),
        pytest.param("tenants: [acme]", FITS, id="tenant"),
        pytest.param("tenants: [other]", DIFFERS, id="other tenant"),
        pytest.param("actors: [bob]", FITS, id="actor"),
        pytest.param("actors: [alice]", DIFFERS, id="other actor"),
        pytest.param("environments: [staging]", FITS, id="environment"),
        pytest.param("environments: [production]", DIFFERS, id="other environment"),
        pytest.param("tools: [write], actors: [bob]", FITS, id="both"),
        pytest.param("tools: [write], actors: [alice]", DIFFERS, id="one of two"),
        pytest.param("tools: [write], commands: ['*']", DIFFERS, id="no command in this call"),
        pytest.param("tools: [write], hosts: ['*']", DIFFERS, id="no host in this call"),
    ],
)
def test_a_rule_fits_when_all_that_it_names_fits(match: str, expected: str) -> None:
    """Each field that is given must fit, and any entry of it is enough."""
    rule = rule_of(
        f"{{id: r, effect: allow, match: {{{match}}}}}", facts=some_facts(environment="staging")
    )

    assert rule == expected


def test_the_first_rule_that_fits_governs() -> None:
    """Rules are read from top to bottom."""
    assert (
        rule_of(
            "{id: a, effect: deny, match: {actors: [eve]}}",
            "{id: b, effect: ask, match: {tools: [write]}}",
            "{id: c, effect: allow, match: {tools: [write]}}",
        )
        == "policy:b"
    )


@pytest.mark.parametrize("place", [0, 1, 2])
def test_what_forbids_wins_wherever_it_stands(place: int) -> None:
    """No order of rules, no approval and no allowlist overrules a forbid."""
    rules = [
        "{id: a, effect: allow, match: {tools: [write]}}",
        "{id: b, effect: ask, when: 'true'}",
    ]
    rules.insert(place, "{id: f, effect: forbid, match: {tools: [write]}, reason: never}")
    facts = some_facts(approvals=(a_record(CALL, "strong"),))

    decision = decide(CALL, CONTRACT, facts, a_policy(*rules))

    assert isinstance(decision, Deny)
    assert (decision.rule, decision.reason) == ("policy:f", "never")
    assert decision.next_valid_actions


def test_what_forbids_comes_before_the_scope() -> None:
    """The policy is asked before anything that a model could talk itself out of."""
    contract = a_contract(resource_scope={"kind": "tenant", "argument": "tenant"})
    policy = a_policy("{id: f, effect: forbid, match: {tenants: [acme]}}")

    assert decide(a_call(tenant="other"), contract, some_facts(), policy).rule == "policy:f"


SMALL = "{id: small, effect: allow, match: {tools: [write]}, when: args.amount <= 20}"


@pytest.mark.parametrize(
    ("amount", "rule"),
    [
        pytest.param(20, "policy:small", id="at the limit"),
        pytest.param(20.0, "policy:small", id="as a decimal"),
        pytest.param(20.01, "risk:write_internal", id="above"),
        pytest.param("20", "risk:write_internal", id="text"),
        pytest.param(None, "risk:write_internal", id="null"),
        pytest.param([1], "risk:write_internal", id="list"),
        pytest.param(-(2**70), "risk:write_internal", id="beyond 64 bits"),
        pytest.param(float("nan"), "risk:write_internal", id="no number"),
        pytest.param(float("-inf"), "risk:write_internal", id="less than everything"),
    ],
)
def test_a_condition_looks_at_arguments(amount: JsonValue, rule: str) -> None:
    """A rule with a condition governs while that is true, and never when nobody can say."""
    assert rule_of(SMALL, amount=amount) == rule


def test_a_condition_sees_the_values_of_the_tool() -> None:
    """Defaults that the model left out count, and decimals are numbers."""
    assert rule_of(SMALL, amount="19.5") == "risk:write_internal"
    assert rule_of(SMALL, facts=some_facts(values={"amount": 19.5}), amount="19.5") == (
        "policy:small"
    )


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("tool == 'write'", FITS),
        ("risk == 'write_internal'", FITS),
        ("agent == 'it' && tenant == 'acme' && actor == 'bob'", FITS),
        ("environment == ''", FITS),
        ("agent == 'other'", DIFFERS),
        ("args.place.startsWith('att') && size(args) == 1", FITS),
        ("args.place in ['cellar', 'attic']", FITS),
        ("args.place.matches('^[a-c]')", FITS),
        ("has(args.amount)", DIFFERS),
        ("!has(args.amount) || args.amount < 2", FITS),
    ],
)
def test_a_condition_has_these_variables(expression: str, expected: str) -> None:
    """Arguments, tool, risk, agent, tenant, actor and environment: nothing else."""
    rule = rule_of(f'{{id: r, effect: allow, when: "{expression}"}}')

    assert rule == expected


UNSURE: list[JsonObject] = [
    {"amount": 2**70},
    {"amount": -(2**64)},
    {"amount": float("nan")},
    {"amount": "5"},
    {"amount": 5, "note": "a\0b"},
    {"amount": 5, "note": "\ud800"},
    {"amount": 5, "no\0te": 1},
    {"note": "no amount"},
]


@pytest.mark.parametrize("arguments", UNSURE, ids=lambda given: ascii(given)[:30])
@pytest.mark.parametrize(
    ("rules", "rule"),
    [
        pytest.param(["forbid {}"], "policy:r0", id="forbid"),
        pytest.param(["allow all", "forbid {}"], "policy:r1", id="forbid, later"),
        pytest.param(["deny {}", "allow all"], "policy:r0", id="deny"),
        pytest.param(["allow {}"], "risk:write_internal", id="allow"),
        pytest.param(["allow {}", "sandbox {}", "ask all"], "policy:r2", id="two that open"),
        pytest.param(["allow {}", "sandbox all"], "policy:r1", id="allow before sandbox"),
        pytest.param(["approve {}", "allow all"], "policy:r0", id="approve before allow"),
        pytest.param(["ask {}", "sandbox all"], "policy:r0", id="ask before sandbox"),
        pytest.param(["approve {}", "approve all"], "policy:r1", id="approve before approve"),
        pytest.param(["approve {}", "deny all"], "policy:r1", id="approve before deny"),
        pytest.param(["approve {}"], "risk:write_internal", id="approve alone"),
    ],
)
def test_what_nobody_can_evaluate_opens_nothing(
    arguments: JsonObject, rules: list[str], rule: str
) -> None:
    """A model that breaks a condition with odd arguments gets the stricter of both branches."""
    when = '"args.amount > 3 && args.amount < 9"'
    written: list[str] = []
    for number, entry in enumerate(rules):
        effect, scope = entry.split()
        condition = f"when: {when}" if scope == "{}" else "match: {tools: [write]}"
        written.append(f"{{id: r{number}, effect: {effect}, {condition}}}")

    call = ToolCall(call_id="c1", name="write", arguments=arguments)
    decision = decide(call, CONTRACT, some_facts(), a_policy(*written))

    assert decision.rule == rule
    assert rule != "policy:r0" or "can't be evaluated" in decision.reason


@pytest.mark.parametrize("effect", ["forbid", "deny"])
def test_one_of_many_conditions_is_found(effect: str) -> None:
    """In a long policy too the rule that fits is the one that decides, comments and all."""
    policy = a_policy(
        *(
            f"{{id: r{number}, effect: {effect}, when: 'args.number == {number} // just this'}}"
            for number in range(100)
        )
    )
    expected = {place: f"policy:r{place}" for place in (0, 1, 30, 31, 32, 33, 63, 64, 98, 99)}
    expected |= {100: "risk:write_internal", 2**70: "policy:r0"}

    found = {number: find_rule(policy, number=number) for number in expected}

    assert found == expected


@pytest.mark.parametrize(
    ("first", "then", "decided"),
    [
        pytest.param("approve, {count: 2}", "approve, {}", "deny", id="fewer people"),
        pytest.param("approve, {groups: [it]}", "approve, {}", "deny", id="anybody"),
        pytest.param("approve, {strong: true}", "approve, {}", "deny", id="weaker"),
        pytest.param("approve, {}", "approve, {count: 2}", "deny", id="more people"),
        pytest.param("approve, {count: 2}", "approve, {count: 2}", "approval", id="the same"),
        pytest.param("approve, {}", "ask", "deny", id="a question instead"),
        pytest.param("draft", "approve, {}", "deny", id="more than a draft"),
        pytest.param("approve, {count: 2}", "", "deny", id="the class asks for fewer"),
        pytest.param("approve, {}", "", "approval", id="the class asks for the same"),
        pytest.param("approve, {count: 2}", "allow", "approval", id="free"),
    ],
)
def test_odd_arguments_choose_no_other_approval(first: str, then: str, decided: str) -> None:
    """Where nobody can say which of two approvals a call takes, it is denied and told why."""
    # BY-15
    entries = [entry for entry in (first, then) if entry]
    written: list[str] = []
    for number, entry in enumerate(entries):
        effect, _, approval = entry.partition(", ")
        takes = f", approval: {approval}" if approval else ""
        place = ", when: args.amount > 3" if number == 0 else ", match: {tools: [write]}"
        written.append(f"{{id: r{number}, effect: {effect}{place}{takes}}}")
    policy = a_policy(*written, groups="{it: [ida]}")

    call = ToolCall(call_id="c1", name="write", arguments={"amount": 2**70})
    decision = decide(call, CONTRACT, some_facts(), policy)

    assert decision.verdict == ("deny" if decided == "deny" else "approval_required")
    if isinstance(decision, Deny):
        assert decision.rule == "policy:r0"
        assert decision.reason.startswith(
            "condition of rule 'r0' can't be evaluated for these arguments"
        )


def test_of_two_doubtful_approvals_none_is_chosen() -> None:
    """Two rules in doubt before one that opens take the same, or the call is denied."""
    policy = a_policy(
        "{id: r0, effect: approve, when: args.amount > 3}",
        "{id: r1, effect: approve, when: args.amount > 2, approval: {count: 2}}",
        "{id: r2, effect: allow, match: {tools: [write]}}",
    )

    call = ToolCall(call_id="c1", name="write", arguments={"amount": 2**70})

    assert decide(call, CONTRACT, some_facts(), policy).verdict == "deny"


@pytest.mark.parametrize("effect", ["forbid", "deny"])
@pytest.mark.parametrize("more", ["", ", risks: [draft_only]"])
def test_what_may_not_be_drafted_is_denied_before_it_is(effect: str, more: str) -> None:
    """A rule that refuses a draft tool by name refuses the calls that it would draft."""
    policy = a_policy(
        f"{{id: r0, effect: {effect}, match: {{tools: [draft_write]{more}}}}}",
        "{id: r1, effect: approve, match: {tools: [write]}}",
    )
    drafted = CONTRACT.model_copy(update={"draft": "draft_write"})
    call = ToolCall(call_id="c1", name="write", arguments={})

    assert decide(call, drafted, some_facts(), policy).rule == "policy:r0"
    assert decide(call, CONTRACT, some_facts(), policy).rule == "policy:r1"


def test_a_draft_tool_that_may_run_opens_nothing() -> None:
    """A rule that lets a draft tool run says nothing of the tool that commits."""
    policy = a_policy("{id: r0, effect: allow, match: {tools: [draft_write]}}")
    drafted = CONTRACT.model_copy(update={"draft": "draft_write"})
    call = ToolCall(call_id="c1", name="write", arguments={})

    assert decide(call, drafted, some_facts(), policy).rule == "risk:write_internal"


def test_a_free_class_is_not_freed_by_a_broken_condition() -> None:
    """Where the risk class would let a call run, the rule that nobody could evaluate holds."""
    policy = a_policy("{id: r, effect: approve, when: args.amount > 100}")

    decisions = [
        said(decide(a_call(amount=amount), a_contract(), some_facts(), policy))
        for amount in (1, 101, 2**70)
    ]

    assert decisions == ["allow", "plain approval", "plain approval"]


def test_a_free_class_stays_with_its_default() -> None:
    """A rule that would open, and of which nobody can say whether it does, changes nothing."""
    policy = a_policy("{id: r, effect: allow, when: args.amount > 100}")

    assert decide(a_call(amount=2**70), a_contract(), some_facts(), policy).rule == (
        "risk:read_only"
    )


@pytest.mark.parametrize("arguments", UNSURE, ids=lambda given: ascii(given)[:30])
@pytest.mark.parametrize("following", ["", "{id: r1, effect: allow, match: {tools: [write]}}"])
def test_no_odd_arguments_lead_out_of_the_sandbox(following: str, arguments: JsonObject) -> None:
    """A call that a rule confines stays confined where nobody can say whether that rule fits."""
    confined = '{id: r0, effect: sandbox, when: "args.amount > 3"}'
    policy = a_policy(*filter(None, (confined, following)))
    contract = a_contract("write", risk="write_local", side_effect="local")
    boxed = a_contract("write", risk="write_local", side_effect="local", sandboxed=True)
    call = ToolCall(call_id="c1", name="write", arguments=arguments)
    plain = ToolCall(call_id="c1", name="write", arguments={"amount": 1})

    decision = decide(call, contract, some_facts(), policy)

    assert (decision.verdict, decision.rule) == ("run_in_sandbox", "policy:r0")
    assert "can't be evaluated" in decision.reason
    assert decide(plain, contract, some_facts(), policy).verdict == "allow"
    assert decide(call, contract, some_facts(sandbox=False), policy).rule == "no-sandbox"
    # What never leaves it is governed by what follows, as before.
    assert decide(call, boxed, some_facts(), policy).rule != "policy:r0"


@pytest.mark.parametrize(
    ("rules", "decided"),
    [
        pytest.param(["sandbox {}", "approve all"], "policy:r1", id="approved"),
        pytest.param(["sandbox {}", "sandbox all"], "policy:r1", id="confined"),
        pytest.param(["sandbox {}", "deny all"], "policy:r1", id="denied"),
        pytest.param(["allow {}", "sandbox {}", "allow all"], "policy:r1", id="opened before"),
        pytest.param(["approve {}", "sandbox {}", "sandbox all"], "policy:r0", id="asked"),
        pytest.param(["approve {}", "sandbox {}", "allow all"], "deny", id="one of two"),
    ],
)
def test_a_doubtful_sandbox_before_others(rules: list[str], decided: str) -> None:
    """It holds before what would lead out of it, and says nothing of anything else."""
    # BY-15
    written: list[str] = []
    for number, entry in enumerate(rules):
        effect, scope = entry.split()
        place = 'when: "args.amount > 3"' if scope == "{}" else "match: {tools: [write]}"
        written.append(f"{{id: r{number}, effect: {effect}, {place}}}")
    call = ToolCall(call_id="c1", name="write", arguments={"amount": 2**70})

    decision = decide(call, CONTRACT, some_facts(), a_policy(*written))

    assert decided in {decision.rule, decision.verdict}


@pytest.mark.parametrize("effect", ["sandbox", "allow"])
@pytest.mark.parametrize(
    ("doubtful", "following", "decided"),
    [
        pytest.param("", "api.example.com", "policy:r0 ()", id="none before one"),
        pytest.param("a.example", "a.example, b.example", "policy:r0 (a.example)", id="fewer"),
        pytest.param("a.example", "b.example", "deny", id="others"),
        pytest.param("a.example, b.example", "a.example", "policy:r1 (a.example)", id="more"),
        pytest.param("a.example", "a.example", "policy:r1 (a.example)", id="the same"),
    ],
)
def test_no_odd_arguments_choose_a_wider_grant(
    doubtful: str, following: str, decided: str, effect: str
) -> None:
    """What the sandbox lets a call ask isn't more because a rule that lets it less is in doubt."""
    # BY-15
    written: list[str] = []
    for number, (hosts, condition) in enumerate(
        [(doubtful, ', when: "args.amount > 3"'), (following, "")]
    ):
        listed = f", hosts: [{hosts}]" if hosts else ""
        place = f"match: {{tools: [write]{listed}}}{condition}"
        written.append(f"{{id: r{number}, effect: {effect}, {place}}}")
    contract = a_contract("write", risk="network_open_world", sandboxed=True)
    call = ToolCall(call_id="c1", name="write", arguments={"amount": 2**70})

    decision = decide(call, contract, some_facts(), a_policy(*written))

    if isinstance(decision, Deny):
        assert decided == "deny"
        assert "can't be evaluated" in decision.reason
    else:
        assert isinstance(decision, RunInSandbox)
        assert f"{decision.rule} ({', '.join(decision.grant.hosts)})" == decided
