"""Signals that a policy wants signed: by whom, for this run, and once."""

from datetime import timedelta
from typing import get_args

import pytest

from holdfast.contracts.approvals import ControlVerdict, Requirement
from holdfast.contracts.base import digest
from holdfast.contracts.signals import (
    CONTROL_SIGNALS,
    CloseSignal,
    ControlMessage,
    ControlName,
    SignedSignal,
    UsedToken,
)
from holdfast.policy.signed_signals import MAX_USED_TOKENS, judge_controls
from holdfast.policy.trust import LOCAL_ISSUER, Trust
from holdfast.run.inbound.controls import wants_judgement
from tests.builders import NOW, a_question, an_answer
from tests.policy.hearings import ALICE, BOB, TRUST, a_hearing, judged
from tests.tokens import Signer

RUN = "01a1ff88-0640-7633-b1f1-c2d0f0a6d3e5"
WORDS = digest({"text": "be brief"})
ANY = Requirement(strength="strong")
BY_FINANCE = Requirement(strength="strong", groups=("finance",))


def trusting(**wanted: Requirement) -> Trust:
    """What counts where a policy wants these signals signed."""
    return TRUST._replace(signals=wanted)


def token(signer: Signer = ALICE, **changes: str | float) -> str:
    """Alice's token for her words."""
    time = int(NOW.timestamp())
    claims = {
        "iss": LOCAL_ISSUER,
        "sub": signer.subject,
        "aud": "holdfast",
        "iat": time,
        "exp": time + 300,
        "jti": "token-1",
        "auth_time": time,
        "amr": ["swk"],
        "run_id": "run-1",
        "request_id": "-",
        "arguments_digest": WORDS,
        "decision": "steer",
        "nonce": RUN,
        **changes,
    }
    return signer.token(claims)  # pyright: ignore[reportArgumentType] -- JSON


def said(signal: SignedSignal = "steer", /, **given: str) -> ControlMessage:
    return ControlMessage(signal=signal, by="eve", digest=WORDS, token=given.get("token"))


def hears(
    *messages: ControlMessage,
    trust: Trust,
    used: tuple[UsedToken, ...] = (),
    signed: tuple[SignedSignal, ...] = (),
) -> tuple[ControlVerdict, ...]:
    hearing = a_hearing(
        (), (), controls=messages, used=used, signed=signed, first_execution_run_id=RUN
    )
    return judge_controls(hearing, trust)


def test_without_a_policy_nothing_has_to_be_signed() -> None:
    """Then a name is what somebody says."""
    (verdict,) = hears(said(), trust=TRUST)

    assert (verdict.accepted, verdict.approver, verdict.proof) == (True, "eve", None)


def test_what_a_run_goes_by_is_signed_for_a_worker_of_a_laxer_policy_too() -> None:
    """A worker that is left over, or of the next release, takes nothing unsigned for it."""
    unsigned, another = hears(said("stop"), said("steer"), trust=TRUST, signed=("stop",))
    (proven,) = hears(said("stop", token=token(decision="stop")), trust=TRUST, signed=("stop",))

    assert (unsigned.accepted, unsigned.code) == (False, "require_stronger_auth")
    assert (another.accepted, proven.accepted) == (True, True)


@pytest.mark.parametrize(
    ("signal", "counts"),
    [("resume", False), ("steer", False), ("suspend", True), ("stop", True), ("close", True)],
)
def test_nothing_signed_before_a_reset_lets_a_run_go_on(
    signal: SignedSignal, *, counts: bool
) -> None:
    """That it was used is forgotten then; what holds or ends a run may be sent to it again."""
    message = said(signal, token=token(decision=signal))
    before, after = (
        a_hearing((), (), controls=(message,), first_execution_run_id=RUN, reset_at=NOW + since)
        for since in (timedelta(seconds=1), timedelta(0))
    )
    trust = trusting(**{signal: ANY})

    assert judge_controls(before, trust)[0].accepted is counts
    assert judge_controls(after, trust)[0].accepted


def test_who_signs_is_heard() -> None:
    """Whatever the message says, it is from whom the token proves it to be."""
    (verdict,) = hears(said(token=token()), trust=trusting(steer=BY_FINANCE))

    assert verdict.accepted
    assert verdict.approver == "alice"
    assert verdict.proof is not None


@pytest.mark.parametrize(
    ("message", "wanted", "code"),
    [
        pytest.param(said(), ANY, "require_stronger_auth", id="unsigned"),
        pytest.param(
            said(token=token(Signer("x", "EdDSA", ALICE.private, "mallory"))),
            ANY,
            "invalid_token",
            id="unknown key",
        ),
        pytest.param(said(token=token(run_id="run-2")), ANY, "invalid_token", id="another run"),
        pytest.param(said(token=token(nonce="")), ANY, "invalid_token", id="an earlier run"),
        pytest.param(
            said(token=token(decision="suspend")), ANY, "invalid_token", id="another signal"
        ),
        pytest.param(
            said(token=token(arguments_digest=digest({"text": "pay eve"}))),
            ANY,
            "invalid_token",
            id="other words",
        ),
        pytest.param(said(token=token(request_id="req-1")), ANY, "invalid_token", id="a request"),
        pytest.param(
            said(token=token(exp=NOW.timestamp() - 1)), ANY, "invalid_token", id="expired"
        ),
        pytest.param(
            said(token=token()),
            Requirement(strength="strong", groups=("leads",)),
            "wrong_group",
            id="group",
        ),
        pytest.param(
            said(token=token()),
            Requirement(strength="strong", methods=("hwk",)),
            "invalid_token",
            id="method",
        ),
        pytest.param(
            said(token=token(auth_time=NOW.timestamp() - 600)),
            Requirement(strength="strong", max_auth_age=300),
            "stale_authentication",
            id="sign-in",
        ),
    ],
)
def test_what_proves_nothing_is_refused(
    message: ControlMessage, wanted: Requirement, code: str
) -> None:
    """A signature is for these words to this run, by somebody who may."""
    (verdict,) = hears(message, trust=trusting(steer=wanted))

    assert (verdict.accepted, verdict.code) == (False, code)


def test_a_bad_token_is_refused_where_none_was_needed() -> None:
    """It is never ignored."""
    (verdict,) = hears(said(token=token(run_id="run-2")), trust=TRUST)

    assert (verdict.accepted, verdict.code) == (False, "invalid_token")


def test_a_token_counts_once() -> None:
    """Neither twice at once, nor again while it is good."""
    twice = hears(said(token=token()), said(token=token()), trust=trusting(steer=ANY))
    kept = UsedToken(issuer=LOCAL_ISSUER, token_id="token-1", until=NOW + timedelta(minutes=1))
    (again,) = hears(said(token=token()), trust=trusting(steer=ANY), used=(kept,))

    assert [one.accepted for one in twice] == [True, False]
    assert (again.accepted, again.code) == (False, "invalid_token")


@pytest.mark.parametrize(("signal", "code"), [("steer", "full"), ("stop", "accepted")])
def test_there_is_no_room_for_any_number_of_tokens(signal: SignedSignal, code: str) -> None:
    """Who may sign, and signs hundreds within minutes, is told to wait; who stops is heard."""
    until = NOW + timedelta(minutes=1)
    used = tuple(
        UsedToken(issuer=LOCAL_ISSUER, token_id=f"t{number}", until=until)
        for number in range(MAX_USED_TOKENS)
    )
    message = said(signal, token=token(decision=signal))
    (verdict,) = hears(message, trust=trusting(steer=ANY, stop=ANY), used=used)

    assert verdict.code == code


@pytest.mark.parametrize(
    ("signed", "code"),
    [(None, "require_stronger_auth"), (BOB, "accepted"), (ALICE, "wrong_group")],
    ids=["unsigned", "by bob", "by alice"],
)
def test_an_answer_is_signed_where_a_policy_wants_that(signed: Signer | None, code: str) -> None:
    """For the words that were sent, and by members of the groups that may."""
    sent = digest({"request_id": "req-1", "text": "the blue one"})
    proof = signed and token(
        signed, request_id="req-1", arguments_digest=sent, decision="answer", sub=signed.subject
    )
    message = an_answer().model_copy(update={"token": proof})
    leads = Requirement(strength="strong", groups=("leads",))
    verdict = judged(
        message,
        a_question(),
        trusting(answer=leads),
        sent=(sent,),
        first_execution_run_id=RUN,
    )

    assert verdict.code == code
    assert verdict.approver == ("bob" if signed is BOB else "")


@pytest.mark.parametrize(
    ("is_part", "excused"),
    [
        pytest.param(True, {"suspend", "resume", "stop"}, id="part"),
        pytest.param(False, set[str](), id="whole"),
    ],
)
def test_a_part_takes_unsigned_only_what_comes_with_its_whole(
    *, is_part: bool, excused: set[str]
) -> None:
    """Whatever else a policy wants signed is looked at in a part as it is elsewhere."""
    known = {**CONTROL_SIGNALS, "close": CloseSignal}
    wanted = get_args(ControlName)
    taken = {
        name
        for name, model in known.items()
        if not wants_judgement(model.model_construct(), name, wanted, is_part=is_part)
    }

    assert known.keys() == set(wanted)
    assert taken == excused
