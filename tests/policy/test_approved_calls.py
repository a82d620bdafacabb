"""What an approval is good for when the call is dispatched."""

from datetime import timedelta

import pytest

from holdfast.contracts.approvals import ApprovalRecord
from holdfast.contracts.calls import Grant
from holdfast.contracts.decisions import Allow, ApprovalRequired
from holdfast.contracts.tools import Risk
from holdfast.policy.engine import DecisionFacts, decide
from holdfast.policy.standing import shows
from holdfast.policy.trust import TrustedIssuer
from tests.builders import NOW, a_call, a_contract, a_proof, a_record
from tests.policy.policies import a_policy, some_facts

APPROVED = a_call("send", text="hi", to="bob")
SEND = a_contract("send", risk=Risk.WRITE_INTERNAL)


def facts(*approvals: ApprovalRecord) -> DecisionFacts:
    return some_facts(approvals=approvals)


MINUTE = timedelta(minutes=1)
SECOND = a_record(APPROVED, approver="carol")
PROVEN = a_record(
    APPROVED,
    "strong",
    proof=a_proof(methods=("pwd",), authenticated_at=NOW - 5 * MINUTE),
    groups=("finance",),
)


@pytest.mark.parametrize(
    ("approval", "records", "verdict"),
    [
        pytest.param("{}", [a_record(APPROVED)], "allow", id="one"),
        pytest.param("{}", [a_record(APPROVED, expires_at=NOW)], "", id="expired now"),
        pytest.param("{}", [a_record(APPROVED, expires_at=NOW + MINUTE)], "allow", id="in time"),
        pytest.param("{valid_for: 1m}", [a_record(APPROVED, at=NOW - MINUTE)], "", id="lapsed"),
        pytest.param("{valid_for: 2m}", [a_record(APPROVED, at=NOW - MINUTE)], "allow", id="held"),
        pytest.param("{count: 2}", [a_record(APPROVED)], "", id="one of two"),
        pytest.param("{count: 2}", [a_record(APPROVED), SECOND], "allow", id="two of two"),
        pytest.param(
            "{count: 2}",
            [a_record(APPROVED), a_record(APPROVED, approver="ALICE")],
            "",
            id="the same person twice",
        ),
        pytest.param(
            "{count: 2}",
            [a_record(APPROVED), SECOND.model_copy(update={"request_id": "req-2"})],
            "",
            id="two of two requests",
        ),
        pytest.param("{groups: [finance]}", [a_record(APPROVED)], "", id="no group"),
        pytest.param(
            "{groups: [finance]}", [a_record(APPROVED, groups=("it",))], "", id="other group"
        ),
        pytest.param("{groups: [finance]}", [PROVEN], "allow", id="in the group"),
        pytest.param(
            "{groups: [it], escalate: {after: 1h, to: [finance]}}",
            [PROVEN.model_copy(update={"requested_at": NOW - 60 * MINUTE})],
            "allow",
            id="in the second group",
        ),
        pytest.param(
            "{groups: [it], escalate: {after: 1h, to: [finance]}}",
            [PROVEN.model_copy(update={"requested_at": NOW - 59 * MINUTE})],
            "",
            id="in the second group, before its time",
        ),
        pytest.param(
            "{groups: [finance], count: 2}",
            [PROVEN, SECOND],
            "",
            id="one of two is in the group",
        ),
        pytest.param("{strong: true}", [a_record(APPROVED)], "", id="weak"),
        pytest.param(
            "{strong: true}", [a_record(APPROVED, "strong", proof=None)], "", id="no proof"
        ),
        pytest.param("{strong: true}", [PROVEN], "allow", id="strong"),
        pytest.param("{methods: [hwk, pwd]}", [PROVEN], "allow", id="one of the methods"),
        pytest.param("{methods: [hwk]}", [PROVEN], "", id="another method"),
        pytest.param("{max_auth_age: 5m}", [PROVEN], "allow", id="fresh enough"),
        pytest.param("{max_auth_age: 4m}", [PROVEN], "", id="signed in too long ago"),
        pytest.param("{recovery: RB-1}", [a_record(APPROVED)], "", id="no way back"),
        pytest.param(
            "{recovery: RB-1}", [a_record(APPROVED, recovery="RB-1")], "allow", id="way back"
        ),
    ],
)
def test_an_approval_is_as_good_as_the_policy_asks_now(
    approval: str, records: list[ApprovalRecord], verdict: str
) -> None:
    """When the call is dispatched, the approvals are held against the policy of that moment."""
    # PF-09 BY-15 T-20
    policy = a_policy(
        f"{{id: r, effect: approve, match: {{tools: [send]}}, approval: {approval}}}",
        groups="{finance: [alice, carol], it: [ida]}",
    )

    decision = decide(APPROVED, SEND, facts(*records), policy)

    assert decision.verdict == (verdict or "approval_required")


@pytest.mark.parametrize("shown", [*Risk, None])
def test_an_approval_counts_for_the_class_that_was_shown(shown: Risk | None) -> None:
    """Who approved an internal write hasn't approved what another release knows as a payment."""
    # BY-15
    policy = a_policy("{id: r, effect: approve, match: {tools: [send]}}")

    decision = decide(APPROVED, SEND, facts(a_record(APPROVED, risk=shown)), policy)

    assert (decision.verdict == "allow") is (shown is Risk.WRITE_INTERNAL)


@pytest.mark.parametrize(
    ("shown", "verdict"),
    [
        pytest.param(Grant(hosts=("a.example", "b.example")), "run_in_sandbox", id="the same"),
        pytest.param(
            Grant(hosts=("b.example", "c.example", "a.example")), "run_in_sandbox", id="more"
        ),
        pytest.param(Grant(hosts=("a.example",)), "approval_required", id="one host less"),
        pytest.param(
            Grant(commands=("a.example", "b.example")), "approval_required", id="only commands"
        ),
        pytest.param(Grant(), "approval_required", id="nothing"),
        pytest.param(None, "run_in_sandbox", id="not even the sandbox"),
    ],
)
def test_an_approval_counts_for_what_its_request_granted(
    shown: Grant | None, verdict: str
) -> None:
    """Who approves code decides what it may reach: a wider grant than was shown is shown anew."""
    # BY-15 PF-01
    code = a_contract("send", risk=Risk.WRITE_INTERNAL, sandboxed=True)
    policy = a_policy(
        "{id: r, effect: approve, match: {tools: [send], hosts: [a.example, b.example]}}"
    )
    given = some_facts(approvals=(a_record(APPROVED, grant=shown),), sandbox=True)

    assert decide(APPROVED, code, given, policy).verdict == verdict


@pytest.mark.parametrize(
    ("granted", "seen"),
    [(("ls",), True), (("ls", "git status"), True), (("ls", "rm"), False), ((), True)],
)
def test_an_approval_counts_for_the_commands_that_were_shown(
    granted: tuple[str, ...], *, seen: bool
) -> None:
    """Commands that a rule has listed since are no part of what somebody approved."""
    # BY-15
    record = a_record(APPROVED, grant=Grant(commands=("git status", "ls")))

    assert shows(record, Grant(commands=granted)) is seen


def test_an_approval_in_the_sandbox_is_none_outside_of_it() -> None:
    """A tool that another release runs beside the worker does what its grant didn't show."""
    policy = a_policy("{id: r, effect: approve, match: {tools: [send]}}")
    given = facts(a_record(APPROVED, grant=Grant()))

    decision = decide(APPROVED, SEND, given, policy)

    assert decision.verdict == "approval_required"


@pytest.mark.parametrize(
    ("groups", "issuers", "named", "verdict"),
    [
        pytest.param("{finance: [alice]}", "", (), "allow", id="a member"),
        pytest.param("{finance: [carol], it: [alice]}", "", (), "approval_required", id="left"),
        pytest.param(
            "{finance: [carol]}", ", groups: roles", ("finance",), "allow", id="named by the token"
        ),
        pytest.param(
            "{finance: [carol]}",
            ", groups: roles",
            (),
            "approval_required",
            id="left, and the token named none",
        ),
        pytest.param(
            "{finance: [carol]}", "", ("finance",), "approval_required", id="named without a claim"
        ),
    ],
)
def test_who_has_left_the_group_has_not_approved(
    groups: str, issuers: str, named: tuple[str, ...], verdict: str
) -> None:
    """An approval counts while its giver is in the group that made them eligible."""  # PF-09
    policy = a_policy(
        "{id: r, effect: approve, match: {tools: [send]}, approval: {groups: [finance]}}",
        groups=groups,
        issuers=f"[{{issuer: 'https://id.example.com', jwks: 'https://id/keys'{issuers}}}]",
    )
    trusted = tuple(TrustedIssuer(issuer, ()) for issuer in policy.issuers)

    given = a_record(APPROVED, "strong", proof=a_proof(groups=named), groups=("finance",))

    decision = decide(APPROVED, SEND, some_facts(approvals=(given,), issuers=trusted), policy)

    assert decision.verdict == verdict


def test_a_request_says_everything_that_approval_takes() -> None:
    """Groups, number, strength, times and the way back go from the rule into the decision."""
    policy = a_policy(
        "{id: r, effect: approve, reason: money leaves, match: {tools: [send]}, approval: "
        "{groups: [finance], count: 2, max_auth_age: 5m, methods: [mfa], valid_for: 1h, "
        "expires: 1d, escalate: {after: 90s, to: [it]}, recovery: RB-12}}",
        groups="{finance: [alice, carol], it: [ida]}",
    )

    assert decide(APPROVED, SEND, facts(), policy) == ApprovalRequired(
        rule="policy:r",
        reason="money leaves",
        strength="strong",
        groups=("finance",),
        count=2,
        methods=("mfa",),
        max_auth_age=300,
        valid_for=3600,
        expires_after=86_400,
        escalate_after=90,
        escalate_to=("it",),
        recovery="RB-12",
    )


def test_all_who_approved_are_named() -> None:
    """The audit shows everybody who released a call."""
    policy = a_policy("{id: r, effect: approve, match: {tools: [send]}, approval: {count: 2}}")

    decision = decide(APPROVED, SEND, facts(a_record(APPROVED), SECOND), policy)

    assert decision == Allow(rule="approved:req-1", reason="approved by alice, carol")
