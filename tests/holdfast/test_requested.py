"""What people read before they decide, and that what they sign is just that."""

import io
import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from pydantic import TypeAdapter
from rich.console import Console

from holdfast import signing
from holdfast.cli import request_details
from holdfast.cli.screen import Screen
from holdfast.contracts.approvals import Escalation, Request
from holdfast.contracts.control import Approach, ModelAttempt
from holdfast.contracts.usage import UsageMetrics
from holdfast.policy.trust import LOCAL_ISSUER, Issuer, Trust, TrustedIssuer
from holdfast.run.texts.requests import describe
from tests.builders import NOW, a_request, an_approval, an_escalation
from tests.contracts.controls import UNDO
from tests.policy.hearings import judged
from tests.policy.reviews import a_review

FAILED = (
    ModelAttempt(
        turn=3,
        model="anthropic:opus",
        kind="rate_limited",
        error="429: too many\ncalls",
        at=NOW,
        cost=Decimal("0.0123"),
    ),
    ModelAttempt(turn=3, model="anthropic:haiku", kind="overloaded", error="529", at=NOW),
)


_PASSING = {"waits", "digest"}
AT = "2026-03-01 12:00:00 UTC"


def escalation() -> Escalation:
    return an_escalation(
        reason="All model fallbacks exhausted",
        detail="anthropic:haiku: 529",
        trigger="models",
        attempts=FAILED,
        approaches=(
            Approach(
                number=1,
                approach="patch the parser",
                failure_reason="2 tests fail",
                partial_progress="1 file changed",
            ),
        ),
        usage=UsageMetrics(input_tokens=900, output_tokens=1, estimated_cost=Decimal("0.5")),
        confidence=0.55,
        answer="It should work now.\nMostly.",
    )


def printed(request: Request) -> list[str]:
    """What the terminal shows of a request, but for its digest and how long it has waited."""
    out = io.StringIO()
    request_details.show_request(Screen(Console(file=out, width=500)), "run-1", request)
    return [line for line in out.getvalue().splitlines() if line.split()[0] not in _PASSING]


def test_an_escalation_brings_every_attempt() -> None:
    """Model, kind, error and cost of each call that failed, and all else that was tried."""
    # ES-14 FB-14 ES-06
    assert printed(escalation()) == [
        "run-1  req-1  escalated: All model fallbacks exhausted",
        "    asks      pause_and_escalate",
        "    reason    All model fallbacks exhausted",
        "    detail    anthropic:haiku: 529",
        "    trigger   models",
        f"    attempts  turn 3, anthropic:opus, {AT}: rate_limited: 429: too many calls ($0.0123)",
        f"              turn 3, anthropic:haiku, {AT}: overloaded: 529",
        "    tried     1. patch the parser: 2 tests fail; came as far as: 1 file changed",
        "    used      900 + 1 token, $0.5000",
        "    sure      0.55 of 1",
        "    answer    It should work now.",
        "              | Mostly.",
        "    decide    holdfast resolve run-1 req-1 resume   (or: abort, extend)",
    ]


def test_an_escalation_of_an_older_run_is_shown_too() -> None:
    """What it doesn't bring has no line."""
    assert printed(an_escalation()) == [
        "run-1  req-1  escalated: max_consecutive_failures (2) reached",
        "    asks      pause_and_escalate",
        "    reason    max_consecutive_failures (2) reached",
        "    detail    2 calls failed in a row",
        "    decide    holdfast resolve run-1 req-1 resume   (or: abort, extend)",
    ]


def test_a_review_shows_what_is_approved_whole() -> None:
    """The text as it stands, why it waits, who may approve, and how."""
    # ES-08 ES-14 GR-27
    review = a_review(text="Dear Sir,\nhere is your money.", groups=("leads",), count=2)

    assert printed(review) == [
        "run-1  req-1  approve domain:payments? Sensitive domain requires human review",
        "    asks      require_approval",
        "    reason    Sensitive domain requires human review",
        "    what      domain:payments",
        "    text      Dear Sir,",
        "              | here is your money.",
        "    for       agent support for eve",
        "    who       a member of leads, but not whom it is for",
        "    needs     2 approvals, 0 given",
        "    decide    holdfast approve run-1 req-1   (or: reject)",
    ]


def test_no_text_looks_like_what_stands_around_it() -> None:
    """Neither a line of it nor a character that nobody sees changes what a person reads."""
    forged = "Dear Sir\n    who       anybody\r    x\x1b[2J\u202e"
    shown = printed(a_review(text=forged))

    assert not any(line.startswith("    who       anybody ") for line in shown)
    assert "              |     who       anybody" in shown
    assert not any(character in "".join(shown) for character in "\r\x1b\u202e")


FORGED = "Dear boss,\nto = boss@corp.example\n--"
AIMED = "              to = "


class Terminal(io.StringIO):
    """A narrow one."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"preview": {"body": FORGED, "to": "x"}}, id="a field of the draft"),
        pytest.param({"preview": {f"a\n{AIMED.strip()}": "y", "to": "x"}}, id="a field's name"),
        pytest.param({"preview": {"to = boss": "y", "to": "x"}}, id="a name with a value"),
        pytest.param({"preview": {"body": f"{'.' * 59}to = boss", "to": "x"}}, id="a long line"),
        pytest.param({"preview": FORGED, "arguments": {"to": "x"}}, id="a draft of one text"),
        pytest.param(
            {"arguments": {"text": "\u2028to = boss\u2028", "to": "x"}}, id="an argument"
        ),
    ],
)
def test_no_text_looks_like_an_argument_or_a_field(changes: dict[str, object]) -> None:
    """Whom a mail goes to stands in the line of that name, and in no other."""
    out = Terminal()

    screen = Screen(Console(file=out, width=80))
    request_details.show_request(screen, "run-1", a_request("req-1", **changes))

    aimed = [line for line in out.getvalue().splitlines() if line.startswith(AIMED)]
    assert [line.replace('"', "") for line in aimed] == [f"{AIMED}x"]


@pytest.mark.parametrize("request_", [escalation(), a_review(), a_request()])
def test_programs_get_all_of_a_request(request_: Request) -> None:
    """What `pending --json` prints reads back as the same request."""
    # ES-14
    text = json.dumps([request_.model_dump(mode="json")])

    assert TypeAdapter(tuple[Request, ...]).validate_json(text) == (request_,)


@pytest.mark.parametrize("decision", ["approve", "reject"])
def test_what_is_signed_is_this_review(tmp_path: Path, decision: str) -> None:
    """A key made on the command line signs a review as it does a call, and it counts there."""
    # GR-27 RK-19
    now = datetime.now(UTC)
    key = signing.make(tmp_path, "alice", None)
    review = a_review(
        strength="strong", requested_at=now, expires_at=now + timedelta(hours=1), max_auth_age=60
    )
    says = "approve" if decision == "approve" else "reject"
    token = signing.sign_decision(key, None, "run-1", review, says, now)
    trusted = TrustedIssuer(Issuer(issuer=LOCAL_ISSUER, jwks="approvers.json"), (key.public,))
    message = an_approval(decision=decision, approver="x", token=token)

    said = judged(message, review, Trust(issuers=(trusted,)), now=now)
    other = judged(
        message,
        review.model_copy(update={"challenge": "d" * 64}),
        Trust(issuers=(trusted,)),
        now=now,
    )

    assert (said.accepted, said.approver) == (True, "alice")
    assert (other.accepted, other.code) == (False, "invalid_token")


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        (
            {},
            (
                "approved with this, as far as this approval suffices for it: it destroys "
                "(rule policy:back); recovery: the backup"
            ),
        ),
        (
            {"verdict": "deny", "recovery": ""},
            "never runs: it destroys (rule policy:back)",
        ),
    ],
)
def test_a_request_shows_its_undo(changes: dict[str, str], shown: str) -> None:
    """Who approves a call approves what takes it back: its tool, its risk, and the rule."""
    # PF-01 RK-10
    request = a_request(undo=UNDO.model_copy(update=changes))

    assert dict(describe(request).details)["undo"] == f"unsend (destructive): {shown}"
