"""What holds for any call, any facts and any policy: decisions are total, and nothing slips."""

from collections.abc import Callable
from datetime import timedelta
from typing import cast

from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from holdfast.contracts.approvals import ApprovalRecord, Requirement
from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import Draft, ToolCall
from holdfast.contracts.decisions import (
    Allow,
    ApprovalRequired,
    Caller,
    Decision,
    Deny,
    RunInSandbox,
)
from holdfast.contracts.switches import Switch
from holdfast.contracts.tools import Risk, ToolContract
from holdfast.policy.case import CallContext as Subject
from holdfast.policy.conditions import Condition, compile_condition
from holdfast.policy.engine import DecisionFacts, decide
from holdfast.policy.matching import find_forbidding_rule, find_governing_rule, match_rule
from holdfast.policy.risk import DEFAULT_PERMISSIONS
from holdfast.policy.rules import ALLOWING_EFFECTS, Effect, Match, Policy, PolicyRule
from holdfast.run.limits.loop_detection import fingerprint
from tests.builders import NOW, a_contract, a_proof, a_record
from tests.policy.policies import VOUCHING

FITS_OR_DOUBT = {"fits", "doubt"}
DECISION: TypeAdapter[Decision] = TypeAdapter(Decision)
EFFECTS: tuple[Effect, ...] = ("forbid", "allow", "sandbox", "draft", "approve", "ask", "deny")
CONDITIONS = [
    cast("Condition", compile_condition(text))
    for text in ("true", "false", "args.x == 1", "args.x.y > 2", "args.x < 5", "tool == 'act'")
]

VALUES = st.one_of(
    st.none(),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from(["acme", "a\0b", "../x", "notes", "http://a.example", 2**70]),
    st.just(["ls", "-l"]),
    st.just(["rm"]),
    st.lists(st.integers() | st.text(max_size=3), max_size=3),
)
ARGUMENTS = st.dictionaries(st.sampled_from(["x", "method", "question"]), VALUES, max_size=3)
SCOPES = st.sampled_from(
    [
        {"kind": "none", "argument": None},
        *(
            {"kind": kind, "argument": argument}
            for kind in ("tenant", "workspace", "command", "host")
            for argument in ("x", None)
        ),
    ]
)


def names(*known: str) -> st.SearchStrategy[frozenset[str]]:
    return st.frozensets(st.sampled_from(known), max_size=2)


REQUIREMENTS = st.builds(
    Requirement,
    strength=st.sampled_from(["plain", "strong"]),
    groups=st.lists(st.sampled_from(["finance", "it"]), max_size=1).map(tuple),
    count=st.integers(1, 3),
    methods=st.lists(st.sampled_from(["mfa", "hwk"]), max_size=1).map(tuple),
    max_auth_age=st.none() | st.just(60.0),
    valid_for=st.none() | st.just(60.0),
    recovery=st.sampled_from(["", "RB-1"]),
)
MATCHES = st.builds(
    Match,
    tools=names("act", "other"),
    risks=st.frozensets(st.sampled_from(Risk), max_size=2),
    agents=names("it", "other"),
    tenants=names("acme", "other"),
    actors=names("bob", "other"),
    environments=names("production", "other"),
    commands=st.lists(st.sampled_from(["*", "ls", "rm"]), max_size=1).map(tuple),
    hosts=st.lists(st.sampled_from(["*", "a.example"]), max_size=1).map(tuple),
)
RULES = st.builds(
    PolicyRule,
    id=st.sampled_from(["r1", "r2", "r3"]),
    effect=st.sampled_from(EFFECTS),
    reason=st.just("so it is"),
    match=MATCHES,
    condition=st.none() | st.sampled_from(CONDITIONS),
    requirement=REQUIREMENTS,
)
POLICIES = st.builds(
    lambda rules: Policy(digest="d", rules=tuple(rules)),  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType] -- hypothesis knows
    st.lists(RULES, max_size=5),
)


@st.composite
def calls(draw: st.DrawFn) -> tuple[ToolCall, ToolContract]:
    call = ToolCall(call_id="c1", name="act", arguments=cast("JsonObject", draw(ARGUMENTS)))
    contract = a_contract(
        "act",
        risk=draw(st.sampled_from(Risk)),
        resource_scope=draw(SCOPES),
        permission=draw(st.sampled_from(["by_risk", "by_risk", "approval", "ask_user"])),
        draft=draw(st.sampled_from([None, "prepare"])),
        sandboxed=draw(st.booleans()),
    )
    return call, contract


@st.composite
def records(draw: st.DrawFn, call: ToolCall, risk: Risk) -> ApprovalRecord:
    other = call.model_copy(update={"call_id": "c2"})
    changed = call.model_copy(update={"arguments": {"x": "changed"}})
    return a_record(
        draw(st.sampled_from([call, call, other, changed])),
        draw(st.sampled_from(["plain", "strong"])),
        risk=draw(st.sampled_from([risk, risk, Risk.READ_ONLY])),
        request_id=draw(st.sampled_from(["req-1", "req-2"])),
        approver=draw(st.sampled_from(["alice", "ALICE", "carol", "dave"])),
        groups=draw(st.sampled_from([(), ("finance",), ("it",)])),
        expires_at=draw(st.sampled_from([None, NOW, NOW + timedelta(hours=1)])),
        recovery=draw(st.sampled_from(["", "RB-1"])),
        proof=draw(st.sampled_from([None, a_proof(), a_proof(methods=("pwd",))])),
    )


@st.composite
def facts_about(draw: st.DrawFn, call: ToolCall, risk: Risk) -> DecisionFacts:
    draft = Draft(draft_id="d", call_id="c1", tool="prepare", summary="it would")
    switch = Switch(kind="tool", name="act", by="ops", reason="", at=NOW)
    return DecisionFacts(
        caller=Caller(tenant=draw(st.sampled_from(["acme", "a\0b"])), actor="bob"),
        agent="it",
        now=NOW,
        environment=draw(st.sampled_from(["", "production"])),
        approvals=tuple(draw(st.lists(records(call, risk), max_size=4))),
        draft=draw(st.sampled_from([None, draft])),
        unresolved=draw(st.sampled_from([(), (), (fingerprint(call),)])),
        switches=draw(st.sampled_from([(), (), (switch,)])),
        sandbox=draw(st.booleans()),
        values=draw(st.none() | st.just(call.arguments)),
        issuers=draw(st.sampled_from([(VOUCHING,), ()])),
    )


@st.composite
def cases(draw: st.DrawFn) -> tuple[ToolCall, ToolContract, DecisionFacts, Policy]:
    call, contract = draw(calls())
    return call, contract, draw(facts_about(call, contract.risk)), draw(POLICIES)


Case = tuple[ToolCall, ToolContract, DecisionFacts, Policy]


def every_call_gets_a_structured_decision(case: Case) -> None:
    """For anything there is a decision with a rule and a reason, it is JSON, and no accident."""
    # PF-10
    decision = decide(*case)

    assert DECISION.validate_json(DECISION.dump_json(decision)) == decision
    assert decision.rule
    assert decision.reason
    assert decide(*case) == decision


def nothing_runs_without_a_rule_that_lets_it(case: Case) -> None:
    """What runs was let run by its class, by a rule that opens, or by people who approved it."""
    _, contract, facts, policy = case
    decision = decide(*case)
    if not isinstance(decision, Allow | RunInSandbox):
        return
    kind, _, name = decision.rule.partition(":")
    opening = [
        rule for rule in policy.rules if rule.id == name and rule.effect in ALLOWING_EFFECTS
    ]
    default = DEFAULT_PERMISSIONS[contract.risk].effect == "allow" and name == contract.risk
    approved = [record for record in facts.approvals if record.request_id == name]

    assert {"risk": default, "policy": bool(opening), "approved": bool(approved)}[kind]


def a_forbid_always_wins(case: Case) -> None:
    """A rule that forbids the call denies it, wherever it stands and whatever else there is."""
    call, contract, facts, policy = case
    never = PolicyRule("never", "forbid", "never", Match(tools=frozenset({"act"})))
    facts = facts._replace(switches=())
    for place in range(len(policy.rules) + 1):
        rules = (*policy.rules[:place], never, *policy.rules[place:])

        decision = decide(call, contract, facts, Policy(rules=rules))

        assert isinstance(decision, Deny)
        assert decision.rule.startswith("policy:")


def a_switch_always_wins(case: Case) -> None:
    """What is switched off is denied."""
    # BY-31
    call, contract, facts, policy = case
    off = Switch(kind="agent", name="it", by="ops", reason="", at=NOW)

    decision = decide(call, contract, facts._replace(switches=(off,)), policy)

    assert decision.rule == "switch:agent:it"


def money_and_access_never_go_on_someones_word(case: Case) -> None:
    """A call of a strong class runs on proof, or on a rule with a condition: on nothing less."""
    # RK-09 RK-11 RK-12 BY-03
    call, contract, facts, policy = case
    decision = decide(*case)
    if not contract.risk.needs_strong_approval:
        return
    if isinstance(decision, ApprovalRequired):
        assert decision.strength == "strong"
    if isinstance(decision, Allow | RunInSandbox):
        kind, _, name = decision.rule.partition(":")
        proven = [
            record
            for record in facts.approvals
            if record.request_id == name and record.proof and record.strength == "strong"
        ]
        conditional = [rule for rule in policy.rules if rule.id == name and rule.condition]
        assert proven if kind == "approved" else conditional
    assert call


def nothing_is_destroyed_without_a_person(case: Case) -> None:
    """What destroys runs only after an approval, under a rule that names the way back."""
    # RK-10
    _, contract, _, policy = case
    decision = decide(*case)
    if contract.risk is not Risk.DESTRUCTIVE:
        return
    if isinstance(decision, Allow | RunInSandbox):
        assert decision.rule.startswith("approved:")
    if isinstance(decision, Allow | RunInSandbox | ApprovalRequired):
        assert any(rule.effect == "approve" and rule.requirement.recovery for rule in policy.rules)


def what_belongs_into_the_sandbox_never_leaves_it(case: Case) -> None:
    """No call of a sandboxed tool, a process or the open network runs on the worker itself."""
    # RK-13 RK-14
    _, contract, facts, _ = case
    decision = decide(*case)
    if contract.sandboxed or contract.risk.needs_sandbox:
        assert not isinstance(decision, Allow)
    if isinstance(decision, RunInSandbox):
        assert facts.sandbox


def an_approval_of_something_else_releases_nothing(case: Case) -> None:
    """Approvals of other calls, or of other arguments, leave the decision as it was."""
    call, contract, facts, policy = case
    foreign = tuple(
        a_record(other, "strong", approver=approver, groups=("finance", "it"), recovery="RB-1")
        for other in (
            call.model_copy(update={"call_id": "c2"}),
            call.model_copy(update={"arguments": {**call.arguments, "more": 1}}),
        )
        for approver in ("alice", "carol", "dave")
    )

    with_them = decide(call, contract, facts._replace(approvals=foreign), policy)

    assert with_them == decide(call, contract, facts._replace(approvals=()), policy)


def looking_at_rules_together_is_looking_at_each(case: Case) -> None:
    """Conditions that are evaluated in batches find the same rule as one after the other."""
    call, contract, facts, policy = case
    subject = Subject(call, contract, facts)
    forbidding = [
        rule for rule in policy.forbid_rules if match_rule(rule, subject).kind in FITS_OR_DOUBT
    ]
    ordered = [
        rule for rule in policy.first_match_rules if match_rule(rule, subject).kind == "fits"
    ]

    forbidden = find_forbidding_rule(subject, policy)
    governed = find_governing_rule(subject, policy, DEFAULT_PERMISSIONS[Risk.DESTRUCTIVE])

    assert (forbidden.rule if forbidden else None) == (forbidding[0] if forbidding else None)
    if all(match_rule(rule, subject).kind != "doubt" for rule in policy.first_match_rules):
        assert (governed.rule if governed else None) == (ordered[0] if ordered else None)
    elif governed is None:
        assert ordered == []


PROPERTIES: tuple[Callable[[Case], None], ...] = (
    every_call_gets_a_structured_decision,
    nothing_runs_without_a_rule_that_lets_it,
    a_forbid_always_wins,
    a_switch_always_wins,
    money_and_access_never_go_on_someones_word,
    nothing_is_destroyed_without_a_person,
    what_belongs_into_the_sandbox_never_leaves_it,
    an_approval_of_something_else_releases_nothing,
    looking_at_rules_together_is_looking_at_each,
)


# To make up a case takes twenty times as long as to decide it: so each is looked at by all.
@settings(max_examples=200)
@given(cases())
def test_what_holds_for_any_case(case: Case) -> None:
    """Each of the properties above holds for it."""
    for holds in PROPERTIES:
        holds(case)
