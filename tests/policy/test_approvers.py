"""Who may approve: not the requester, not the agent, members, and each person once."""

import pytest

from holdfast.policy.approvals import judge
from tests.builders import NOW, a_request, an_answer, an_approval
from tests.policy.hearings import (
    BOB,
    EVE,
    IDP,
    STRONG,
    TRUST,
    a_hearing,
    a_record,
    codes,
    judged,
    signed,
)
from tests.tokens import claims_about


@pytest.mark.parametrize(
    "approver",
    [
        "eve",
        "EVE",
        " eve ",
        "\uff45\uff56\uff45",
        "e\u200bve",
        "\u202eeve",
        "agent",
        "Agent",
        "agent support",
        "AGENT  Support",
        "support",
        "agent support for eve",
    ],
)
def test_nobody_approves_their_own(approver: str) -> None:
    """Neither the person that the run works for nor the agent approves, however they write it."""
    # BY-16
    request = a_request(requester="agent support for eve")

    said = judged(an_approval(approver=approver), request)

    assert (said.accepted, said.code) == (False, "self_approval")


@pytest.mark.parametrize("approver", ["Desk", "agent desk", "front"])
def test_no_agent_approves_what_works_for_it(approver: str) -> None:
    """What gives an agent its task is as little a person as that agent is."""
    # BY-16
    request = a_request()

    assert judged(an_approval(approver=approver), request, path=("desk", "front")).code == (
        "self_approval"
    )
    assert judged(an_approval(approver=approver), request).accepted


def test_a_proven_name_is_compared_too() -> None:
    """The requester's own token doesn't approve their run."""  # BY-16
    token = EVE.token(claims_about(STRONG, sub="eve"))

    said = judged(an_approval(approver="alice", token=token), STRONG)

    assert (said.accepted, said.code, said.approver) == (False, "self_approval", "eve")
    assert said.reason == "the run works for 'eve': somebody else must approve this"
    assert said.proof is None


@pytest.mark.parametrize("approver", [" ", "\u200b", "\u00ad\t"])
def test_an_approval_names_somebody(approver: str) -> None:
    """A name that nobody can see is nobody's."""
    assert judged(an_approval(approver=approver), a_request()).code == "unreadable"


@pytest.mark.parametrize(
    ("approver", "requirement", "groups"),
    [
        pytest.param("alice", {"groups": ("finance",)}, ("finance",), id="member"),
        pytest.param("bob", {"groups": ("leads", "finance")}, ("leads", "finance"), id="of both"),
        pytest.param("carol", {"groups": ("finance", "leads")}, ("leads",), id="of one"),
        pytest.param("carol", {"groups": ("finance",)}, None, id="of another"),
        pytest.param("Alice", {"groups": ("finance",)}, None, id="written otherwise"),
        pytest.param("alice", {"groups": ("nosuch",)}, None, id="a group of nobody"),
        pytest.param("zoe", {}, (), id="no group is needed"),
        pytest.param(
            "carol", {"groups": ("finance",), "escalate_to": ("leads",)}, None, id="too early"
        ),
        pytest.param(
            "carol",
            {"groups": ("finance",), "escalate_to": ("leads",), "escalated_at": NOW},
            ("leads",),
            id="escalated",
        ),
        pytest.param(
            "alice",
            {"groups": ("finance",), "escalate_to": ("leads",), "escalated_at": NOW},
            ("finance",),
            id="escalated, of the first group",
        ),
        pytest.param(
            "zoe",
            {"groups": ("finance",), "escalate_to": ("leads",), "escalated_at": NOW},
            None,
            id="escalated, of neither",
        ),
    ],
)
def test_members_of_the_groups_approve(
    approver: str, requirement: dict[str, object], groups: tuple[str, ...] | None
) -> None:
    """Who is in one of the groups may approve, and after the escalation the second one's too."""
    said = judged(an_approval(approver=approver), a_request("req-1", **requirement))

    assert said.accepted is (groups is not None)
    assert said.groups == (groups or ())
    assert said.code == ("accepted" if said.accepted else "wrong_group")


def test_the_wrong_group_is_told_the_right_one() -> None:
    """Who may not approve reads who may."""
    request = a_request(groups=("finance",), escalate_to=("leads",), escalated_at=NOW)
    said = judged(an_approval(approver="zoe"), request)

    assert said.reason == "'zoe' is in none of the groups that may approve: finance, leads"
    assert said.approver == ""


@pytest.mark.parametrize(
    ("claims", "groups"),
    [
        pytest.param({"groups": ["finance"]}, ("finance",), id="by the token"),
        pytest.param({"groups": ["others"]}, None, id="by neither"),
        pytest.param({"sub": "carol"}, ("leads",), id="by the policy"),
        pytest.param({"sub": "carol", "groups": ["finance"]}, ("finance", "leads"), id="by both"),
    ],
)
def test_a_verified_person_is_in_the_groups_of_the_token_too(
    claims: dict[str, str], groups: tuple[str, ...] | None
) -> None:
    """What the identity provider says of groups counts beside the policy's lists."""
    request = STRONG.model_copy(update={"groups": ("finance", "leads")})
    issuer = TRUST.issuers[1].issuer.issuer
    token = IDP.token(claims_about(request, **{"iss": issuer, "sub": "zoe", **claims}))

    said = judged(an_approval(token=token), request)

    assert said.groups == (groups or ())
    assert said.code == ("wrong_group" if groups is None else "accepted")


def test_a_token_of_the_wrong_group_is_refused() -> None:
    """A good signature of somebody who may not approve releases nothing."""  # RK-19
    request = STRONG.model_copy(update={"groups": ("leads",)})

    said = judged(signed(request), request)

    assert (said.accepted, said.code, said.approver) == (False, "wrong_group", "alice")


@pytest.mark.parametrize("approver", ["alice", "ALICE", " alice", "a\u00adlice"])
def test_the_same_person_counts_once(approver: str) -> None:
    """Two approvals need two people: one who has approved may not do so again."""
    request = a_request(count=2, approvals=(a_record("alice"),))

    said = judged(an_approval(approver=approver), request)

    assert (said.accepted, said.code) == (False, "approved_already")


def test_of_two_messages_of_one_person_the_first_counts() -> None:
    """Messages of one hearing are judged in their order, each with those before it in mind."""
    request = a_request(count=3)
    messages = [an_approval(approver=name) for name in ("bob", "alice", "Bob", "alice", "carol")]

    verdicts = judge(a_hearing(messages, [request]), TRUST)

    assert codes(verdicts) == [
        *("accepted", "accepted", "approved_already", "approved_already", "accepted")
    ]


def test_a_refused_approval_is_no_approval() -> None:
    """Who was refused may come again with what was missing."""
    messages = [an_approval(approver="alice"), signed(), signed(jti="token-2")]

    verdicts = judge(a_hearing(messages, [STRONG]), TRUST)

    assert codes(verdicts) == ["require_stronger_auth", "accepted", "approved_already"]


def test_one_person_approves_several_requests() -> None:
    """Each request is for itself."""
    other = a_request("req-2")
    messages = [an_approval(), an_approval("req-2"), an_answer("req-2")]

    verdicts = judge(a_hearing(messages, [a_request(), other]), TRUST)

    assert codes(verdicts) == ["accepted", "accepted", "wrong_kind"]
    assert [verdict.request_id for verdict in verdicts] == ["req-1", "req-2", "req-2"]


def test_a_token_counts_once() -> None:
    """Two tokens with the same id are one, whoever they say they are from."""  # RK-19
    request = STRONG.model_copy(update={"count": 2})
    issuer = TRUST.issuers[1].issuer.issuer
    tokens = [
        IDP.token(claims_about(request, iss=issuer, sub=name, jti="same"))
        for name in ("alice", "bob")
    ]
    messages = [an_approval(token=token) for token in tokens]

    at_once = judge(a_hearing(messages, [request]), TRUST)
    proof = at_once[0].proof
    later = judged(
        messages[1], request.model_copy(update={"approvals": (a_record("alice", proof),)})
    )

    assert codes(at_once) == ["accepted", "invalid_token"]
    assert (at_once[1].reason, at_once[1].approver) == (
        "the token has been used already: sign a new one",
        "bob",
    )
    assert later.code == "invalid_token"


def test_tokens_of_two_issuers_are_two() -> None:
    """Each issuer counts its tokens by itself, so the same id means nothing between them."""
    # RK-19
    request = STRONG.model_copy(update={"count": 2})
    by_bob = claims_about(request, iss=TRUST.issuers[1].issuer.issuer, sub="bob", jti="same")
    messages = [signed(request, jti="same"), an_approval(token=IDP.token(by_bob))]

    assert codes(judge(a_hearing(messages, [request]), TRUST)) == ["accepted", "accepted"]


def test_nobody_approves_for_whom_an_earlier_run_worked() -> None:
    """A run that tries another again, and a session, know all the people whose wish it was."""
    # BY-16
    request, said = a_request(), an_approval(approver=" Ann ")

    assert judged(said, request, earlier_actors=["ann"]).code == "self_approval"
    assert judged(said, request, earlier_actors=["bob"]).code == "accepted"


def test_the_same_token_delivered_twice_is_a_repetition() -> None:
    """A signal that arrives twice is told that it counted the first time."""  # T-17
    verdicts = judge(a_hearing([signed(), signed()], [STRONG]), TRUST)

    assert codes(verdicts) == ["accepted", "approved_already"]


def test_two_people_approve_one_request() -> None:
    """Two different keys are two people."""
    request = STRONG.model_copy(update={"count": 2, "groups": ("finance",)})
    second = BOB.token(claims_about(request, sub="bob", jti="token-2"))

    verdicts = judge(a_hearing([signed(request), an_approval(token=second)], [request]), TRUST)

    assert codes(verdicts) == ["accepted", "accepted"]
    assert [verdict.approver for verdict in verdicts] == ["alice", "bob"]
