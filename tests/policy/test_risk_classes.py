"""Every risk class with everything that a policy can say, and with everything that it can have."""

import pytest

from holdfast.contracts.approvals import ApprovalRecord
from holdfast.contracts.calls import Draft
from holdfast.contracts.decisions import Allow, RunInSandbox
from holdfast.contracts.switches import Switch
from holdfast.contracts.tools import Risk, ToolContract
from holdfast.policy.engine import decide
from holdfast.policy.risk import DEFAULT_PERMISSIONS
from tests.builders import NOW, a_call, a_contract, a_record
from tests.policy.policies import a_policy, said, some_facts

CALL = a_call("act", amount=1)
DRAFT = Draft(draft_id="run-1/c1/draft", call_id="c1", tool="prepare", summary="it would act")

EFFECTS = {
    "default": "",
    "allow": "{id: r, effect: allow, match: {tools: [act]}}",
    "allow if": "{id: r, effect: allow, match: {tools: [act]}, when: args.amount == 1}",
    "sandbox": "{id: r, effect: sandbox, match: {tools: [act]}}",
    "sandbox if": "{id: r, effect: sandbox, match: {tools: [act]}, when: args.amount == 1}",
    "draft": "{id: r, effect: draft, match: {tools: [act]}}",
    "approve": "{id: r, effect: approve, match: {tools: [act]}}",
    "recover": "{id: r, effect: approve, match: {tools: [act]}, approval: {recovery: RB-12}}",
    "ask": "{id: r, effect: ask, match: {tools: [act]}}",
    "deny": "{id: r, effect: deny, match: {tools: [act]}}",
    "forbid": "{id: r, effect: forbid, match: {tools: [act]}}",
}

# One letter for each effect, in their order.
LETTERS = {
    "A": "allow",
    "S": "run_in_sandbox",
    "F": "draft first",
    "R": "draft",
    "P": "plain approval",
    "X": "strong approval",
    "2": "strong approval by 2",
    "Q": "ask_user",
    "D": "deny",
}

FREE, MONEY, RUNS = "AAASSDPPQDD", "XXAXSDXXQDD", "DSSSSDPPQDD"
WITHOUT_DRAFT = {
    "read_only": FREE,  # RK-01
    "search_only": FREE,  # RK-02
    "compute_only": FREE,  # RK-03
    "draft_only": FREE,  # RK-04
    "write_local": FREE,  # RK-05
    "write_internal": "PAASSDPPQDD",  # RK-06
    "communication": "DAASSDDDQDD",  # RK-07
    "write_external": "DAASSDDDQDD",  # RK-08
    "financial": MONEY,  # RK-09
    "destructive": "DDDDDDDPQDD",  # RK-10
    "privileged_access": MONEY,  # RK-11
    "identity_access": MONEY,  # RK-12
    "process_execution": RUNS,  # RK-13
    "network_open_world": RUNS,  # RK-14
    "security_sensitive": MONEY,  # BY-03
    "privileged_admin": "22A2SDXXQDD",  # BY-03
}
WITH_DRAFT = {
    "read_only": "AAASSRFFQDD",
    "search_only": "AAASSRFFQDD",
    "compute_only": "AAASSRFFQDD",
    "draft_only": "AAASSRFFQDD",
    "write_local": "AAASSRFFQDD",
    "write_internal": "FAASSRFFQDD",
    "communication": "FAASSRFFQDD",  # RK-07 BY-04
    "write_external": "FAASSRFFQDD",  # RK-08
    "financial": "FFAFSRFFQDD",
    "destructive": "DDDDDRDFQDD",
    "privileged_access": "FFAFSRFFQDD",
    "identity_access": "FFAFSRFFQDD",
    "process_execution": "DSSSSRFFQDD",
    "network_open_world": "DSSSSRFFQDD",
    "security_sensitive": "FFAFSRFFQDD",
    "privileged_admin": "FFAFSRFFQDD",
}


def an_act(risk: str, draft: str | None = None) -> ToolContract:
    return a_contract("act", risk=risk, draft=draft)


def decided(risk: str, effect: str, draft: str | None = None) -> str:
    policy = a_policy(EFFECTS[effect])
    return said(decide(CALL, an_act(risk, draft), some_facts(), policy))


def row(letters: str) -> dict[str, str]:
    """A row of a table in words."""
    return {effect: LETTERS[letter] for effect, letter in zip(EFFECTS, letters, strict=True)}


@pytest.mark.parametrize("risk", WITHOUT_DRAFT)
def test_a_class_decides_with_every_effect(risk: str) -> None:
    """What a rule of the policy can do depends on the risk class, and nothing opens by mistake."""
    # PF-07
    without = {effect: decided(risk, effect) for effect in EFFECTS}
    with_draft = {effect: decided(risk, effect, "prepare") for effect in EFFECTS}

    assert without == row(WITHOUT_DRAFT[risk])
    assert with_draft == row(WITH_DRAFT[risk])


def test_every_risk_class_is_in_the_tables() -> None:
    """No class is without an answer: a new one must say what it may do."""
    assert set(DEFAULT_PERMISSIONS) == set(Risk)
    assert set(WITHOUT_DRAFT) == set(WITH_DRAFT) == {risk.value for risk in Risk}


PLAIN, STRONG = a_record(CALL), a_record(CALL, "strong")
SECOND = a_record(CALL, "strong", approver="carol")


@pytest.mark.parametrize("risk", WITHOUT_DRAFT)
@pytest.mark.parametrize(
    ("effect", "approvals", "number"),
    [
        pytest.param("default", (PLAIN,), 0, id="default, plain"),
        pytest.param("default", (STRONG,), 1, id="default, strong"),
        pytest.param("default", (STRONG, SECOND), 2, id="default, two"),
        pytest.param("approve", (PLAIN,), 3, id="approve, plain"),
        pytest.param("approve", (STRONG,), 4, id="approve, strong"),
        pytest.param("deny", (STRONG, SECOND), 5, id="deny"),
        pytest.param("forbid", (STRONG, SECOND), 6, id="forbid"),
    ],
)
def test_approvals_release_what_they_are_good_for(
    risk: str, effect: str, approvals: tuple[ApprovalRecord, ...], number: int
) -> None:
    """A weak approval never releases a strong class, and none releases what is denied."""
    # PF-09
    free, money, runs = "AAAAADD", "XAAXADD", "DDDSSDD"
    table = {
        **dict.fromkeys(["read_only", "search_only", "compute_only"], free),
        **dict.fromkeys(["draft_only", "write_local", "write_internal"], free),
        **dict.fromkeys(["communication", "write_external"], free),
        **dict.fromkeys(["financial", "privileged_access", "identity_access"], money),
        **dict.fromkeys(["process_execution", "network_open_world"], runs),
        "destructive": "DDDDDDD",  # RK-10
        "security_sensitive": money,
        "privileged_admin": "22AXADD",
    }
    policy = a_policy(EFFECTS[effect])
    shown = tuple(one.model_copy(update={"risk": Risk(risk)}) for one in approvals)
    facts = some_facts(approvals=shown, draft=DRAFT)

    decision = decide(CALL, an_act(risk, "prepare"), facts, policy)

    assert said(decision) == LETTERS[table[risk][number]]


def test_destroying_needs_approval_with_the_way_back() -> None:
    """What destroys runs after an approval that names the recovery path of the policy."""
    # RK-10
    policy = a_policy(EFFECTS["recover"])
    contract = an_act("destructive")

    strong = a_record(CALL, "strong", risk=contract.risk)
    asked = decide(CALL, contract, some_facts(), policy)
    bare = decide(CALL, contract, some_facts(approvals=(strong,)), policy)
    other = a_record(CALL, risk=contract.risk, recovery="RB-1")
    elsewhere = decide(CALL, contract, some_facts(approvals=(other,)), policy)
    right = a_record(CALL, risk=contract.risk, recovery="RB-12")
    released = decide(CALL, contract, some_facts(approvals=(right,)), policy)

    assert getattr(asked, "recovery", "") == "RB-12"
    assert [said(bare), said(elsewhere)] == ["plain approval", "plain approval"]
    assert released == Allow(rule="approved:req-1", reason="approved by alice")


@pytest.mark.parametrize("risk", WITHOUT_DRAFT)
@pytest.mark.parametrize("effect", ["default", "allow if", "sandbox if", "approve", "recover"])
def test_nothing_leaves_the_sandbox_for_want_of_one(risk: str, effect: str) -> None:
    """A worker without a sandbox denies what would run in one, before anybody is asked."""
    policy = a_policy(EFFECTS[effect])
    contract = an_act(risk, "prepare")
    with_one = decide(CALL, contract, some_facts(draft=DRAFT), policy)

    decision = decide(CALL, contract, some_facts(draft=DRAFT, sandbox=False), policy)

    needs_one = isinstance(with_one, RunInSandbox) or (
        contract.risk.needs_sandbox and with_one.verdict != "deny"
    )
    assert decision.rule == ("no-sandbox" if needs_one else with_one.rule)
    assert not isinstance(decision, RunInSandbox)


@pytest.mark.parametrize(("kind", "name"), [("tool", "act"), ("agent", "it"), ("tenant", "acme")])
def test_the_switch_comes_before_everything(kind: str, name: str) -> None:
    """What is switched off is denied, whatever the policy says and whoever has approved it."""
    # BY-31
    switch = Switch.model_validate(
        {"kind": kind, "name": name, "by": "ops", "reason": "it runs wild", "at": NOW}
    )
    facts = some_facts(switches=(switch,), approvals=(STRONG, SECOND), draft=DRAFT)
    why = f"{kind} {name!r} is switched off by ops: it runs wild"

    decisions = {
        (risk, effect): decide(CALL, an_act(risk, "prepare"), facts, a_policy(EFFECTS[effect]))
        for risk in WITHOUT_DRAFT
        for effect in EFFECTS
    }

    denied = ("deny", f"switch:{kind}:{name}", why)
    others = {c: it for c, it in decisions.items() if (it.verdict, it.rule, it.reason) != denied}
    assert not others, "\n".join(f"{', '.join(case)}: {it!r}" for case, it in others.items())


def test_other_switches_change_nothing() -> None:
    """What is switched off is that tool, that agent and that tenant, by its exact name."""
    switches = tuple(
        Switch.model_validate({"kind": kind, "name": name, "by": "o", "reason": "", "at": NOW})
        for kind, name in [("tool", "ac"), ("agent", "act"), ("tenant", "it"), ("tool", "acme")]
    )

    decision = decide(CALL, an_act("read_only"), some_facts(switches=switches))

    assert decision.verdict == "allow"
