"""Commands and hosts: what no rule lists doesn't run, and what is listed is granted."""

import pytest
from pydantic import JsonValue

from holdfast.contracts.decisions import Deny, RunInSandbox
from holdfast.contracts.errors import PolicyRefused
from holdfast.contracts.tools import Risk, ToolContract
from holdfast.policy.document import parse_policy
from holdfast.policy.engine import decide
from tests.builders import a_call, a_contract, a_record
from tests.policy.policies import a_policy, said, some_facts

CALL = a_call("write", place="attic")
CONTRACT = a_contract("write", risk="write_internal")
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


@pytest.mark.parametrize("risk", list(Risk))
@pytest.mark.parametrize("effect", ["allow", "sandbox", "approve"])
def test_what_says_that_it_reaches_nobody_is_granted_no_hosts(risk: Risk, effect: str) -> None:
    """Code that may ask hosts may change something there, which such a class denies."""
    # RK-14
    approval = ", approval: {recovery: the backup}" if effect == "approve" else ""
    match = "match: {tools: [it], hosts: [api.example.com]}"
    policy = a_policy(f"{{id: net, effect: {effect}, {match}{approval}}}")
    contract = a_contract("it", risk=risk, sandboxed=True)

    decision = decide(a_call("it"), contract, some_facts(), policy)

    denied = isinstance(decision, Deny) and decision.rule == "hosts-by-class"
    reads = {Risk.READ_ONLY, Risk.SEARCH_ONLY, Risk.COMPUTE_ONLY, Risk.DRAFT_ONLY}
    assert denied is (risk in reads)


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
    released = decide(call, RUN, some_facts(approvals=(a_record(call, risk=RUN.risk),)), LISTED)

    assert asked.rule == "risky:rm"
    assert (released.verdict, released.rule) == ("run_in_sandbox", "approved:req-1")


def test_what_is_risky_is_let_run_on_purpose() -> None:
    """The rule names it; whatever else it lists that is risky still needs a person."""
    # RK-18
    policy = parse_policy(
        """
version: 1
rules:
  - id: cluster
    effect: sandbox
    match: {tools: [run], commands: [kubectl get, helm, git]}
    risky: [kubectl, git push]
"""
    )
    calls = {
        command: a_call("run", command=[*command.split()])
        for command in ("kubectl get pods", "git push", "git reset", "helm ls")
    }
    rulings = {name: decide(one, RUN, some_facts(), policy) for name, one in calls.items()}

    assert {command: (one.verdict, one.rule) for command, one in rulings.items()} == {
        "kubectl get pods": ("run_in_sandbox", "policy:cluster"),
        "git push": ("run_in_sandbox", "policy:cluster"),
        "git reset": ("approval_required", "risky:git reset"),
        "helm ls": ("approval_required", "risky:helm"),
    }
    assert rulings["helm ls"].reason == (
        "'helm' is risky, even where policy:cluster lists it; "
        "without a person it runs where that rule has risky: [helm]"
    )


@pytest.mark.parametrize(
    ("rule", "flaw"),
    [
        pytest.param(
            "effect: sandbox, match: {tools: [run], commands: [ls]}, risky: [ls]",
            "nothing is risky by the name 'ls': write kubectl, git push or POST, say",
            id="harmless",
        ),
        pytest.param(
            "effect: approve, match: {tools: [run], commands: [rm]}, risky: [rm]",
            "'approve' lets nothing run without a person: leave risky out",
            id="another effect",
        ),
        pytest.param(
            "effect: allow, match: {tools: [run]}, risky: [rm]",
            "the rule lists no commands and no hosts, of which something is risky",
            id="no list",
        ),
        pytest.param(
            "effect: sandbox, match: {tools: [run], hosts: [a.b]}, risky: ['*']",
            "nothing is risky by the name '*': write kubectl, git push or POST, say",
            id="everything",
        ),
        pytest.param(
            "effect: sandbox, match: {tools: [run], hosts: [a.b]}, risky: [GET]",
            "nothing is risky by the name 'GET': write kubectl, git push or POST, say",
            id="a harmless method",
        ),
    ],
)
def test_what_isnt_risky_cant_be_named_so(rule: str, flaw: str) -> None:
    """A slip of the pen opens nothing, and is told with its line."""
    # RK-18
    with pytest.raises(PolicyRefused) as refused:
        parse_policy(f"version: 1\nrules:\n  - {{id: one, {rule}}}\n")

    assert str(refused.value).startswith("policy:3: rules[0].")
    assert str(refused.value).endswith(f": {flaw}")


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
    ("command", "rule"),
    [
        (["curl", "x"], "policy:f"),
        (["/usr/bin/curl", "x"], "policy:f"),
        (["./curl"], "policy:f"),
        (["curly"], "policy:all"),
        (["/opt/strange/tool", "x"], "policy:f"),
        (["/opt//strange/../strange/tool", "x"], "policy:f"),
        (["tool", "x"], "policy:f"),
        (["tools", "x"], "policy:all"),
        (["git", "push", "-f"], "policy:f"),
        (["/usr/bin/git", "push"], "policy:f"),
        (["git", "status"], "policy:all"),
        ("curl", "policy:f"),
        ([], "policy:f"),
        (["curl\0"], "policy:f"),
    ],
)
def test_a_forbidden_command_has_no_other_name(command: JsonValue, rule: str) -> None:
    """A path doesn't make it another program, and what can't be read is forbidden."""
    policy = a_policy(
        "{id: f, effect: forbid, match: {commands: [curl, git push, /opt/strange/tool]}}",
        "{id: all, effect: sandbox, match: {tools: [run], commands: ['*']}}",
    )

    decision = decide(a_call("run", command=command), RUN, some_facts(), policy)

    assert decision.rule == rule


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


@pytest.mark.parametrize(
    ("url", "rule"),
    [
        ("https://evil.example/x", "policy:f"),
        ("https://evil.example.:443", "policy:f"),
        ("https://good.example", "policy:all"),
        ("https://evil.example:444@good.example", "policy:f"),
        ("evil.example", "policy:f"),
        (None, "policy:f"),
    ],
)
def test_a_forbidden_host_has_no_other_name(url: JsonValue, rule: str) -> None:
    """What could be read as the forbidden host, or can't be read at all, is forbidden."""
    policy = a_policy(
        "{id: f, effect: forbid, match: {hosts: [evil.example]}}",
        "{id: all, effect: sandbox, match: {tools: [ask], hosts: ['*']}}",
    )

    assert decide(a_call("ask", url=url), ASK, some_facts(), policy).rule == rule


@pytest.mark.parametrize("effect", ["forbid", "deny"])
@pytest.mark.parametrize(
    ("entry", "url", "rule"),
    [
        ("evil.example", "https://evil.example:8443/", "policy:f"),
        ("'*.example'", "http://evil.example:8443/", "policy:f"),
        ("'[2606:2800::1]'", "https://[2606:2800::1]:8443/", "policy:f"),
        ("'*'", "https://evil.example:8443/", "policy:f"),
        ("evil.example:443", "https://evil.example:8443/", "policy:all"),
        ("evil.example:8443", "https://evil.example:8443/", "policy:f"),
        ("evil.example:8443", "https://evil.example/", "policy:all"),
    ],
)
def test_a_forbidden_host_has_no_other_port(effect: str, entry: str, url: str, rule: str) -> None:
    """Unless one is named, all are meant: else a list of another port would open the host."""
    policy = a_policy(
        f"{{id: f, effect: {effect}, match: {{hosts: [{entry}]}}}}",
        "{id: all, effect: sandbox, match: {tools: [ask], hosts: ['*', '*:8443']}}",
    )

    assert decide(a_call("ask", url=url), ASK, some_facts(), policy).rule == rule


@pytest.mark.parametrize(
    ("host", "rule"),
    [
        ("93.184.216.34", "policy:f"),
        ("93.184.216.34.", "policy:f"),
        ("1572395042", "policy:f"),
        ("0x5d.184.216.34", "policy:f"),
        ("93.12113954", "policy:f"),
        ("[::ffff:93.184.216.34]", "policy:f"),
        ("[::FFFF:5db8:d822]", "policy:f"),
        ("[0:0:0:0:0:ffff:5db8:d822]", "policy:f"),
        ("[::5db8:d822]", "policy:f"),
        ("[::ffff:0:5db8:d822]", "policy:f"),
        ("[64:ff9b::5db8:d822]", "policy:f"),
        ("[64:ff9b:1::5db8:d822]", "policy:f"),
        ("[2002:5db8:d822::1]", "policy:f"),
        ("[2001:0:5db8:d822::1]", "policy:f"),
        ("93.184.216.35", "policy:all"),
        ("[::1]", "policy:all"),
        ("[2606:2800:21f:cb07::1]", "policy:all"),
    ],
)
def test_a_forbidden_address_has_no_other_form(host: str, rule: str) -> None:
    """A number that stands for another one is on no list, so that whatever forbids denies it."""
    policy = a_policy(
        "{id: all, effect: sandbox, match: {tools: [ask], hosts: ['*']}}",
        "{id: f, effect: forbid, match: {hosts: [93.184.216.34]}}",
    )

    assert decide(a_call("ask", url=f"http://{host}/"), ASK, some_facts(), policy).rule == rule


@pytest.mark.parametrize("effect", ["forbid", "deny", "ask", "draft"])
def test_only_what_lets_a_call_run_grants(effect: str) -> None:
    """A list in any other rule is about calls that have a command or host of their own."""
    policy = a_policy(f"{{id: r, effect: {effect}, match: {{tools: [python], hosts: ['*']}}}}")
    python = a_contract("python", risk="process_execution")

    assert decide(a_call("python"), python, some_facts(), policy).rule == "risk:process_execution"
