"""What a rule has people asked about runs unasked by no other while it is in doubt or lapsed."""

from datetime import timedelta

import pytest
from pydantic import JsonValue

from holdfast.contracts.calls import ToolCall
from holdfast.contracts.decisions import Allow, Decision, Deny, RunInSandbox
from holdfast.contracts.tools import ToolContract
from holdfast.policy.document import parse_policy
from holdfast.policy.engine import decide
from holdfast.policy.rules import Authority
from tests.builders import NOW, a_contract
from tests.policy.policies import some_facts
from tests.policy.test_listed_calls import ASK, RUN

TASK = a_contract("task", risk="write_internal", receiver="clerk")

WHEN = ', when: "args.size > 3"'
RESTS = ", authority: autumn"
"""What doesn't stand: nothing does that a call rests on here."""

POST: dict[str, JsonValue] = {"url": "https://api.example.com", "method": "POST"}
PUSH: dict[str, JsonValue] = {"command": ["git", "push"]}
ODD = 2**70
"""A number of which no condition can say how large it is."""


def decided(
    contract: ToolContract, arguments: dict[str, JsonValue], first: str, second: str
) -> Decision:
    """Decide about a call by two rules."""
    rules = "".join(f"  - {{{one}}}\n" for one in (first, second))
    policy = parse_policy(f"version: 1\nauthorities: a.yaml\nrules:\n{rules}")
    call = ToolCall(call_id="c1", name=contract.name, arguments=arguments)
    return decide(call, contract, some_facts(), policy)


@pytest.mark.parametrize("effect", ["allow", "sandbox"])
@pytest.mark.parametrize("doubt", [WHEN, RESTS], ids=["in doubt", "lapsed"])
@pytest.mark.parametrize(
    ("contract", "arguments", "match", "risky"),
    [
        pytest.param(ASK, POST, "tools: [ask], hosts: [api.example.com]", "POST", id="request"),
        pytest.param(RUN, PUSH, "tools: [run], commands: [git]", "git push", id="command"),
    ],
)
def test_what_is_risky_runs_unasked_by_no_rule_behind_one_that_asks(
    contract: ToolContract,
    arguments: dict[str, JsonValue],
    match: str,
    risky: str,
    effect: str,
    doubt: str,
) -> None:
    """The first rule lists it, and not as risky: while nobody can say whether it fits it asks."""
    # RK-18 BY-15
    asks = f"id: asks, effect: {effect}, match: {{{match}}}{doubt}"
    opens = f"id: opens, effect: {effect}, match: {{{match}}}, risky: [{risky}]"
    decision = decided(contract, {**arguments, "size": ODD}, asks, opens)

    if doubt == WHEN:
        assert (decision.verdict, decision.rule) == ("approval_required", f"risky:{risky}")
    else:
        assert isinstance(decision, Deny)
        assert "without it the call would run unasked" in decision.reason


@pytest.mark.parametrize("size", [2, 4, ODD])
def test_a_rule_in_doubt_asks_no_more_than_what_follows(size: int) -> None:
    """Where what follows asks as well, in its own way, that decides."""
    # BY-15
    match = "tools: [ask], hosts: [api.example.com]"
    listed = f"id: listed, effect: allow, match: {{{match}}}{WHEN}"
    asks = f"id: asks, effect: approve, match: {{{match}}}, approval: {{strong: true}}"
    decision = decided(ASK, {**POST, "size": size}, listed, asks)

    assert decision.rule == ("risky:POST" if size == 4 else "policy:asks")


@pytest.mark.parametrize("following", ["allow", "draft", "sandbox"])
@pytest.mark.parametrize("doubt", [WHEN, RESTS], ids=["in doubt", "lapsed"])
def test_no_task_goes_unasked_behind_a_rule_that_asks(following: str, doubt: str) -> None:
    """A task for another agent is neither drafted nor sandboxed: it would just go."""
    # BY-15 BY-74
    asks = f"id: asks, effect: approve, match: {{receivers: [clerk]}}{doubt}"
    then = f"id: then, effect: {following}, match: {{receivers: [clerk]}}"
    decision = decided(TASK, {"size": ODD}, asks, then)

    assert not isinstance(decision, Allow | RunInSandbox)


def test_no_task_goes_because_a_rule_that_lets_it_is_in_doubt() -> None:
    """What follows asks, whatever the rule before it would draft of a call."""
    # BY-15
    drafts = f"id: drafts, effect: draft, match: {{receivers: [clerk]}}{WHEN}"
    asks = "id: asks, effect: approve, match: {receivers: [clerk]}"

    assert decided(TASK, {"size": ODD}, drafts, asks).rule == "policy:asks"


STRICT = "groups: [finance], count: 2, methods: [hwk], max_auth_age: 5m, valid_for: 1h"

GROUPS = "{finance: [fred, gina], managers: [mona]}"


@pytest.mark.parametrize(
    ("behind", "verdict"),
    [
        pytest.param("", "deny", id="anybody"),
        pytest.param(STRICT.replace("count: 2", "count: 1"), "deny", id="fewer"),
        pytest.param(STRICT.replace("[finance]", "[finance, managers]"), "deny", id="more groups"),
        pytest.param(STRICT.replace("[hwk]", "[hwk, pwd]"), "deny", id="another way to sign in"),
        pytest.param(STRICT.replace("5m", "1h"), "deny", id="signed in earlier"),
        pytest.param(STRICT.replace(", valid_for: 1h", ""), "deny", id="good for longer"),
        pytest.param(f"{STRICT}, escalate: {{after: 4h, to: [managers]}}", "deny", id="escalates"),
        pytest.param("valid_for: 30m", "deny", id="anybody, for a shorter time"),
        pytest.param("groups: [finance], valid_for: 30m", "deny", id="one, for a shorter time"),
        pytest.param(STRICT, "approval_required", id="the same"),
        pytest.param(STRICT.replace("5m", "1m"), "approval_required", id="stricter"),
        pytest.param("groups: [managers]", "approval_required", id="others"),
    ],
)
@pytest.mark.parametrize("risk", ["write_internal", "financial"])
def test_an_authority_that_ends_weakens_no_approval(risk: str, behind: str, verdict: str) -> None:
    """Who takes it back has nobody release what two people of finance had to sign."""
    # BY-74 RK-18
    rules = f"  - {{id: asks, effect: approve, match: {{tools: [pay]}}, approval: {{{STRICT}}}"
    rules += f"{RESTS}}}\n"
    if behind:
        rules += f"  - {{id: r, effect: approve, match: {{tools: [pay]}}, approval: {{{behind}}}}}"
    policy = parse_policy(f"version: 1\ngroups: {GROUPS}\nauthorities: a.yaml\nrules:\n{rules}\n")
    call = ToolCall(call_id="c1", name="pay", arguments={})
    others = Authority("autumn", 3, NOW + timedelta(days=1), tenants=frozenset({"other"}))
    contract = a_contract("pay", risk=risk)
    decision = decide(call, contract, some_facts(), policy)
    elsewhere = decide(call, contract, some_facts(authorities=(others,)), policy)

    assert decision.verdict == verdict
    assert ("by a weaker approval" in decision.reason) is (verdict == "deny")
    assert elsewhere.verdict == "approval_required"


@pytest.mark.parametrize(
    ("behind", "verdict"),
    [
        pytest.param("groups: [finance]", "deny", id="one at once"),
        pytest.param("groups: [managers]", "deny", id="one who might later"),
        pytest.param(STRICT, "approval_required", id="the same, and nobody later"),
    ],
)
def test_nobody_releases_alone_what_two_had_to_sign_and_others_might_later(
    behind: str, verdict: str
) -> None:
    """That more people might have approved in the end makes what follows no stricter."""
    # BY-74
    asks = f"{STRICT}, escalate: {{after: 4h, to: [managers]}}"
    pays = "effect: approve, match: {tools: [pay]}"
    rules = (
        f"  - {{id: asks, {pays}, approval: {{{asks}}}{RESTS}}}\n"
        f"  - {{id: r, {pays}, approval: {{{behind}}}}}"
    )
    policy = parse_policy(f"version: 1\ngroups: {GROUPS}\nauthorities: a.yaml\nrules:\n{rules}\n")
    call = ToolCall(call_id="c1", name="pay", arguments={})

    contract = a_contract("pay", risk="write_internal")
    assert decide(call, contract, some_facts(), policy).verdict == verdict
