"""Which rule of a policy governs a call: what forbids wins, then the order of the file."""

import pytest
from pydantic import JsonValue

from contracts.base import JsonObject
from contracts.decisions import Deny, RunInSandbox
from contracts.tools import ToolCall, ToolContract
from policy.engine import Facts, decide
from tests.builders import a_call, a_contract, a_record
from tests.policy.policies import a_policy, said, some_facts

CALL = a_call("write", place="attic")
CONTRACT = a_contract("write", risk="write_internal")


def rule_of(*rules: str, facts: Facts | None = None, **arguments: JsonValue) -> str:
    call = ToolCall(call_id="c1", name="write", arguments=arguments or CALL.arguments)
    return decide(call, CONTRACT, facts or some_facts(), a_policy(*rules)).rule


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
        pytest.param("tenants: [acme]", FITS, id="tenant"),
        pytest.param("tenants: [other]", DIFFERS, id="other tenant"),
        pytest.param("actors: [bob]", FITS, id="actor"),
        pytest.param("actors: [alice]", DIFFERS, id="other actor"),
        pytest.param("environments: [staging]", FITS, id="environment"),
        pytest.param("environments: [production]", DIFFERS, id="other environment"),
        pytest.param("tools: [write], actors: [bob]", FITS, id="both"),
        pytest.param("tools: [write], actors: [alice]", DIFFERS, id="one of two"),
        pytest.param("tools: [], actors: [bob]", FITS, id="an empty list says nothing"),
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


def test_a_free_class_is_not_freed_by_a_broken_condition() -> None:
    """Where the risk class would let a call run, the rule that nobody could evaluate holds."""
    policy = a_policy("{id: r, effect: approve, when: args.amount > 100}")

    decisions = [
        said(decide(a_call(amount=amount), a_contract(), some_facts(), policy))
        for amount in (1, 101, 2**70)
    ]

    assert decisions == ["allow", "plain approval", "plain approval"]


RUN = a_contract(
    "run", risk="process_execution", resource_scope={"kind": "command", "argument": "command"}
)
ASK = a_contract(
    "ask", risk="network_open_world", resource_scope={"kind": "host", "argument": "url"}
)
READ = a_contract("run", resource_scope=RUN.resource_scope)
LISTED = a_policy(
    "{id: tools, effect: sandbox, match: {tools: [run], commands: [ls, git status, rm]}}",
    "{id: net, effect: sandbox, match: {risks: [network_open_world], hosts: [api.example.com]}}",
)


@pytest.mark.parametrize(
    ("command", "verdict"),
    [
        pytest.param(["ls", "-l"], "run_in_sandbox", id="listed"),  # RK-16
        pytest.param(["git", "status"], "run_in_sandbox", id="listed words"),
        pytest.param(["git", "log"], "deny", id="other words"),
        pytest.param(["/opt/ls"], "deny", id="another program of that name"),
        pytest.param(["rm", "x"], "plain approval", id="risky"),  # RK-18
        pytest.param([], "deny", id="nothing"),
        pytest.param("ls", "deny", id="no list"),
        pytest.param(["ls", 1], "deny", id="no words"),
        pytest.param(["ls\0", "x"], "deny", id="NUL"),
    ],
)
def test_commands_run_when_they_are_listed(command: JsonValue, verdict: str) -> None:
    """Listed commands run in the sandbox with the list as grant; others are denied."""
    # RK-13
    decision = decide(a_call("run", command=command), RUN, some_facts(), LISTED)

    assert said(decision) == verdict
    if isinstance(decision, RunInSandbox):
        assert decision.grant.commands == ("ls", "git status", "rm")
    if isinstance(decision, Deny):
        assert decision.next_valid_actions[0] == "listed commands are: ls, git status, rm"


@pytest.mark.parametrize(
    ("url", "verdict"),
    [
        pytest.param("https://api.example.com/v1", "run_in_sandbox", id="listed"),  # RK-16
        pytest.param("https://example.com", "deny", id="other host"),
        pytest.param("https://api.example.com:8443", "deny", id="other port"),
        pytest.param("https://api.example.com@evil.com", "deny", id="user"),
        pytest.param("file:///etc/passwd", "deny", id="no host"),
        pytest.param(["https://api.example.com"], "deny", id="list"),
    ],
)
def test_hosts_are_asked_when_they_are_listed(url: JsonValue, verdict: str) -> None:
    """Requests go to listed hosts only, from the sandbox."""
    # RK-14
    decision = decide(a_call("ask", url=url), ASK, some_facts(), LISTED)

    assert said(decision) == verdict
    if isinstance(decision, Deny):
        assert decision.next_valid_actions[0] == "listed hosts are: api.example.com"


@pytest.mark.parametrize(
    ("method", "rule"),
    [
        ("GET", "policy:net"),
        ("head", "policy:net"),
        ("post", "risky:POST"),
        ("DELETE", "risky:DELETE"),
        ("GET\n", "risky:GET\n"),
        (["GET"], "risky:['GET']"),
        (None, "risky:NONE"),
    ],
)
def test_a_request_that_changes_something_needs_a_person(method: JsonValue, rule: str) -> None:
    """To a listed host too: what is sent away can't be had back."""
    # RK-18
    call = a_call("ask", url="https://api.example.com", method=method)

    assert decide(call, ASK, some_facts(), LISTED).rule == rule


def test_a_risky_command_runs_after_approval_in_the_sandbox() -> None:
    """A person can release what is risky, and it stays in the sandbox."""
    # RK-18
    call = a_call("run", command=["rm", "-r", "build"])

    asked = decide(call, RUN, some_facts(), LISTED)
    released = decide(call, RUN, some_facts(approvals=(a_record(call),)), LISTED)

    assert asked.rule == "risky:rm"
    assert (released.verdict, released.rule) == ("run_in_sandbox", "approved:req-1")


@pytest.mark.parametrize("effect", ["allow", "sandbox", "approve"])
@pytest.mark.parametrize("contract", [RUN, ASK, READ])
def test_a_rule_that_lists_nothing_lets_nothing_run(effect: str, contract: ToolContract) -> None:
    """To let commands run or hosts be asked, a rule must list them; a star lists all."""
    call = a_call(contract.name, command=["ls"], url="http://a.example")
    bare = a_policy(f"{{id: r, effect: {effect}, match: {{tools: [run, ask]}}}}")
    star = a_policy(
        f"{{id: c, effect: {effect}, match: {{tools: [run], commands: ['*']}}}}",
        f"{{id: h, effect: {effect}, match: {{tools: [ask], hosts: ['*']}}}}",
    )

    denied = decide(call, contract, some_facts(), bare)
    let = decide(call, contract, some_facts(), star)

    assert denied.rule == f"{contract.resource_scope.kind}-scope"
    assert let.verdict in {"approval_required", "run_in_sandbox", "allow"}


def test_without_a_list_a_free_class_is_denied_too() -> None:
    """A tool with a command or host of its own needs a list, whatever its risk class."""
    contract = a_contract("ask", resource_scope=ASK.resource_scope)

    decision = decide(a_call("ask", url="http://a.example"), contract, some_facts())

    assert isinstance(decision, Deny)
    assert decision.rule == "host-scope"
    assert "no hosts are listed" in decision.next_valid_actions[0]


@pytest.mark.parametrize(
    ("command", "verdict"),
    [
        (["curl", "x"], "deny"),
        (["/usr/bin/curl", "x"], "deny"),
        (["./curl"], "deny"),
        (["curly"], "run_in_sandbox"),
        (["git", "push", "-f"], "deny"),
        (["/usr/bin/git", "push"], "deny"),
        (["git", "status"], "run_in_sandbox"),
        ("curl", "deny"),
        ([], "deny"),
        (["curl\0"], "deny"),
    ],
)
def test_a_forbidden_command_has_no_other_name(command: JsonValue, verdict: str) -> None:
    """A path doesn't make it another program, and what can't be read is forbidden."""
    policy = a_policy(
        "{id: f, effect: forbid, match: {commands: [curl, git push]}}",
        "{id: all, effect: sandbox, match: {tools: [run], commands: ['*']}}",
    )

    decision = decide(a_call("run", command=command), RUN, some_facts(), policy)

    assert decision.verdict == verdict


def test_a_list_alone_opens_no_other_tool() -> None:
    """A rule that lists hosts and names no tool is about calls that ask hosts, and no others."""
    policy = a_policy("{id: r, effect: allow, match: {hosts: ['*']}}")
    python = a_contract("python", risk="process_execution")

    assert decide(CALL, CONTRACT, some_facts(), policy).rule == "risk:write_internal"
    assert decide(a_call("python"), python, some_facts(), policy).rule == "risk:process_execution"


def test_a_list_is_what_the_sandbox_grants() -> None:
    """For a tool without a command of its own, lists are what its sandbox may reach."""
    policy = a_policy("{id: r, effect: allow, match: {tools: [python], hosts: [pypi.org]}}")
    python = a_contract("python", risk="process_execution")

    decision = decide(a_call("python"), python, some_facts(), policy)

    assert isinstance(decision, RunInSandbox)
    assert decision.grant.hosts == ("pypi.org",)
