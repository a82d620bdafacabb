"""Whether what a person says about a request counts."""

from datetime import timedelta

import pytest

from contracts.approvals import (
    AnswerSignal,
    ApprovalSignal,
    ClosedRequest,
    Disposition,
    Judgement,
    Request,
    ResolutionSignal,
)
from policy.approvals import judge
from tests.builders import (
    LATER,
    NOW,
    a_question,
    a_request,
    a_resolution,
    an_answer,
    an_approval,
    an_escalation,
)

Message = ApprovalSignal | AnswerSignal | ResolutionSignal


def judged(message: Message, request: Request | None) -> Disposition:
    return judge(Judgement(message=message, request=request, closed=None, now=NOW))


@pytest.mark.parametrize(
    ("message", "request_"),
    [
        pytest.param(an_approval(), a_request(), id="approve"),
        pytest.param(an_approval(decision="reject"), a_request(), id="reject"),
        pytest.param(an_answer(), a_question(), id="answer"),
        pytest.param(a_resolution("resume"), an_escalation(), id="resume"),
        pytest.param(a_resolution("abort"), an_escalation(), id="abort"),
        pytest.param(
            a_resolution("extend", budget={"max_steps": 9}), an_escalation(), id="extend"
        ),
    ],
)
def test_a_message_that_fits_its_request_is_accepted(message: Message, request_: Request) -> None:
    """An approval is approved, a question answered, an escalation resolved."""
    assert judged(message, request_) == Disposition(
        accepted=True, request_id="req-1", reason="accepted"
    )


@pytest.mark.parametrize(
    ("message", "request_", "wanted"),
    [
        pytest.param(an_answer(), a_request(), "an approval (signal 'approval')", id="answered"),
        pytest.param(
            a_resolution("resume"), a_request(), "an approval (signal 'approval')", id="resolved"
        ),
        pytest.param(
            an_approval(), a_question(), "an answer in words (signal 'answer')", id="question"
        ),
        pytest.param(
            an_approval(decision="reject"),
            an_escalation(),
            "a resolution (signal 'resolution')",
            id="escalation",
        ),
    ],
)
def test_a_message_of_another_kind_is_refused(
    message: Message, request_: Request, wanted: str
) -> None:
    """A request only takes what it waits for, and the refusal says what that is."""
    assert judged(message, request_) == Disposition(
        accepted=False, request_id="req-1", reason=f"request 'req-1' waits for {wanted}"
    )


@pytest.mark.parametrize(
    "message", [an_approval("req-9"), an_answer("req-9"), a_resolution("resume", "req-9")]
)
def test_a_message_about_no_request_is_refused(message: Message) -> None:
    """A message that comes too early, or names no request of the run, changes nothing."""  # T-17
    assert judged(message, None).reason == "no request 'req-9' in this run"
    assert not judged(message, None).accepted


@pytest.mark.parametrize(
    "outcome", ["approved", "rejected", "answered", "resolved", "expired", "withdrawn"]
)
def test_a_closed_request_stays_closed(outcome: str) -> None:
    """A second message, or a late one, is told what became of the request."""  # T-17
    closed = ClosedRequest.model_validate({"request_id": "req-1", "outcome": outcome, "at": NOW})

    said = judge(Judgement(message=an_approval(), request=None, closed=closed, now=NOW))

    assert said == Disposition(
        accepted=False, request_id="req-1", reason=f"request 'req-1' is already {outcome}"
    )


@pytest.mark.parametrize(
    ("seconds", "accepted"),
    [
        pytest.param(-0.000001, True, id="a moment before"),
        pytest.param(0, False, id="at the instant"),
        pytest.param(0.000001, False, id="a moment after"),
        pytest.param(86400, False, id="a day after"),
    ],
)
def test_a_request_expires_at_its_instant(seconds: float, *, accepted: bool) -> None:
    """Until a request expires a message counts; from that instant on none does."""
    for message, request in [
        (an_approval(), a_request()),
        (an_approval(decision="reject"), a_request()),
        (an_answer(), a_question()),
        (a_resolution("resume"), an_escalation()),
    ]:
        now = LATER + timedelta(seconds=seconds)
        said = judge(Judgement(message=message, request=request, closed=None, now=now))

        assert said.accepted is accepted
        assert accepted or said.reason == "request 'req-1' has expired"


@pytest.mark.parametrize("token", [None, "x.y.z"])
def test_strong_authentication_is_never_believed(token: str | None) -> None:
    """What needs strong authentication is released neither by a name nor by an unread token."""
    # RK-09 T-14
    request = a_request(strength="strong", tool="issue_refund", risk="financial")

    said = judged(an_approval(approver="ceo", token=token), request)

    assert not said.accepted
    assert ("token" if token else "needs strong authentication") in said.reason


def test_a_token_is_never_ignored() -> None:
    """A token that can't be verified is refused even where none was needed."""
    assert not judged(an_approval(token="x.y.z"), a_request()).accepted


@pytest.mark.parametrize("strength", ["plain", "strong"])
@pytest.mark.parametrize("token", [None, "x.y.z"])
def test_anybody_may_say_no(strength: str, token: str | None) -> None:
    """A rejection needs no proof, because it releases nothing."""
    assert judged(
        an_approval(decision="reject", token=token), a_request(strength=strength)
    ).accepted
