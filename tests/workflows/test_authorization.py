"""Asking about the calls of a turn: what can't be sent at once is asked about in parts."""

from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.contracts import bounds
from holdfast.contracts.approvals import Review
from holdfast.contracts.calls import Draft, Grant
from holdfast.contracts.decisions import AuthorizeCalls, Rulings, fit_into_payload
from holdfast.contracts.state.calls import CallState
from holdfast.contracts.state.run import RunState
from holdfast.run import authorization
from tests.builders import EXECUTION, NOW, a_call, a_record, a_state, allowed, to_approve

WIDE = "\U0001f600"


def a_turn(sizes: list[int], approvals: int, reviewed: int) -> tuple[RunState, list[CallState]]:
    """Calls with arguments of these sizes, approvals of each, and reviews of the first of them."""
    calls = [
        CallState(
            call=(call := a_call("send", call_id=f"c{place}", text="x" * size)),
            draft=Draft(draft_id="d", call_id=f"c{place}", tool="t", summary="", data="x" * size),
            approvals=tuple(
                a_record(call, approver=f"{n}{WIDE * 199}", reason="x" * 500)
                for n in range(approvals)
            ),
        )
        for place, size in enumerate(sizes)
    ]
    releases = tuple(
        Review(
            request_id=f"req-{place}",
            reason="x" * 4_000,
            requested_at=NOW,
            expires_at=NOW,
            subject="guardrail:careful:c",
            objections=("x" * 4_000,) * 5,
            text="",
            arguments_digest="a" * 64,
            requester="agent it for bob",
            challenge="c" * 64,
            call_id=call.call.call_id,
            approvals=call.approvals,
        )
        for place, call in enumerate(calls[:reviewed])
    )
    return a_state().with_oversight(releases=releases), calls


def asked_about(state: RunState, calls: list[CallState]) -> AuthorizeCalls:
    return authorization.build_input(state, tuple(calls), ("look", "send"), NOW)


def answered(part: AuthorizeCalls, most: int = 200) -> Rulings:
    """All that was asked about is allowed; no more than so many rulings are sent."""
    rulings = tuple(map(allowed, part.calls))[:most]
    lapsed = tuple(review.request_id for review in part.reviews)
    return Rulings(rulings=rulings, lapsed=lapsed, execution=EXECUTION, policy="p")


@settings(max_examples=30)
@given(
    st.lists(st.sampled_from([0, 100, 3_000, 90_000]), min_size=1, max_size=200),
    st.integers(0, 6),
    st.integers(0, 200),
    st.integers(1, 200),
)
def test_what_decides_fits_into_a_payload(
    sizes: list[int], approvals: int, reviewed: int, most: int
) -> None:
    """Each call is asked about once, with all its approvals and its draft, and each review."""
    # PF-09
    while sum(sizes) > bounds.MAX_REPLY_BYTES:
        sizes.pop()
    state, calls = a_turn(sizes or [0], approvals, reviewed)
    left, answers = asked_about(state, calls), list[Rulings]()
    while left.calls or left.reviews:
        part = authorization.take_part(left)

        assert part.calls or part.reviews
        assert bounds.size(part) <= authorization.MAX_AUTHORIZE_BYTES
        assert len(part.approvals) == approvals * len(part.calls)
        assert [one.call_id for one in part.drafts] == [one.call_id for one in part.calls]

        answers.append(answered(part, most))
        left = authorization.select_rest(left, part, answers[-1])

    together = authorization.merge(answers)
    assert together is not None
    assert [one.call_id for one in together.rulings] == [one.call.call_id for one in calls]
    assert list(together.lapsed) == [one.request_id for one in state.oversight.releases]


def test_a_call_that_is_too_large_by_itself_is_asked_about_alone() -> None:
    """It isn't left out, nor does it keep others from being decided."""
    state, calls = a_turn([10, 900_000, 10], 1, 0)
    left, parts = asked_about(state, calls), list[list[str]]()
    while left.calls:
        part = authorization.take_part(left)
        parts.append([call.call_id for call in part.calls])
        left = authorization.select_rest(left, part, answered(part))

    assert parts == [["c0"], ["c1"], ["c2"]]


def test_what_calls_leave_out_is_counted_through_all_parts() -> None:
    """However a turn is divided, its calls have no more defaults together."""
    state, calls = a_turn([10, 10], 0, 0)
    asked = asked_about(state, calls)
    filled = allowed(calls[0].call).model_copy(update={"filled": {"by": "x" * 91}})
    first = Rulings(rulings=(filled,), execution=EXECUTION)

    left = authorization.select_rest(asked, asked, first)

    assert [call.call_id for call in left.calls] == ["c1"]
    assert left.filled_bytes == 100


def test_parts_that_two_policies_decided_are_no_answer() -> None:
    """A worker with another policy, or a reset in between: all is asked anew."""
    # PF-10
    state, calls = a_turn([10], 0, 0)
    one = answered(asked_about(state, calls))

    assert authorization.merge([one, one]) is not None
    assert authorization.merge([one, one.model_copy(update={"policy": "q"})]) is None
    assert authorization.merge([one, one.model_copy(update={"execution": "other"})]) is None


def test_no_rule_reads_why_people_approved() -> None:
    """What is only for people to read stays where it is."""
    state, calls = a_turn([100], 1, 1)

    asked = asked_about(state, calls)

    assert asked.approvals[0].reason is None
    assert asked.drafts[0].data is None
    assert asked.reviews[0].objections == ()


def test_of_rulings_with_wide_grants_those_are_sent_that_fit() -> None:
    """A rule may list hundreds of hosts; what a call may do is never cut."""
    grant = Grant(hosts=tuple(f"host-{n:03}.example.com" for n in range(300)))
    rulings = tuple(to_approve(a_call(call_id=f"c{n}"), grant=grant) for n in range(200))

    sent = fit_into_payload(rulings)

    assert 50 < len(sent) < 200
    assert bounds.size(sent) <= bounds.MAX_RULINGS_BYTES
    assert sent[0] == rulings[0]


def test_of_many_rulings_none_lacks_what_guardrails_look_at() -> None:
    """What the arguments are as a tool takes them isn't cut either."""
    # GR-19
    written = {"text": "x" * 3_900}
    rulings = tuple(
        allowed(a_call(call_id=f"c{n}")).model_copy(update={"canonical": written})
        for n in range(210)
    )

    sent = fit_into_payload(rulings)

    assert 100 < len(sent) < 210
    assert {one.kind == "decided" and one.canonical == written for one in sent} == {True}
