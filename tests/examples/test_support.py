"""A refund of 29.00 from the customer's wish to the books, on a real server."""

from decimal import Decimal
from pathlib import Path

import pytest

from examples.support import answers, refunds
from examples.support.app import app
from examples.support.tools import kept
from holdfast.contracts.approvals import ApprovalRequest
from holdfast.contracts.base import JsonObject, digest
from holdfast.contracts.calls import ToolFailure
from holdfast.contracts.decisions import Decided
from holdfast.contracts.run import RunResult
from holdfast.trace.entries import Call
from holdfast.trace.reader import read_trace
from tests.examples.approvers import Approver, trusted
from tests.running import Run, Runs

GOAL = "Order 1044 came broken, the customer wants 29.00 back"


@pytest.fixture
def people(tmp_path: Path) -> list[Approver]:
    """Fiona and Farid of finance, Mara of the managers, Sam of the support leads."""
    return trusted(tmp_path / "home", "fiona", "farid", "mara", "sam")


def paid() -> list[tuple[int, Decimal, str]]:
    """What the books say was refunded."""
    return [(one.order_id, one.amount, one.currency) for one in refunds.every(kept())]


async def call_of(run: Run, tool: str) -> Call:
    """A call of a tool, as the trace of a run has it."""
    trace = read_trace((await run.handle.fetch_history(),))
    return next(call for call in trace.calls if call.call.name == tool)


def by_name(request: ApprovalRequest, decision: str, approver: str) -> JsonObject:
    """A signal that proves nothing."""
    return {"request_id": request.request_id, "decision": decision, "approver": approver}


async def approved(run: Run, person: Approver) -> RunResult:
    """Have somebody approve what waits, and return the result of the run."""
    request = await run.asked_for_approval()
    disposition = await run.decide(person.signed(run.handle.id, request))
    assert disposition.accepted, disposition
    return await run.result()


async def test_a_refund_is_drafted_approved_and_paid_once(
    runs: Runs, people: list[Approver]
) -> None:
    """The draft is what finance sees, their signature releases it, and the books have it once."""
    # RK-09 BY-05 BY-14
    fiona, *_ = people
    async with runs.working(app):
        run = await runs.start("support", GOAL, actor="walk-in")
        request = await run.asked_for_approval()
        before = paid()
        result = await approved(run, fiona)
        call = await call_of(run, "issue_refund")

    assert (request.approval_type, request.rule, request.groups) == (
        "commit",
        "policy:refunds",
        ("finance",),
    )
    assert isinstance(request.preview, dict)
    assert (request.preview["amount"], request.preview["left_afterwards"]) == ("29.00", "0.00")
    assert before == []
    assert paid() == [(1044, Decimal("29.00"), "EUR")]
    assert (result.status, result.answer) == (
        "completed",
        "29.00 EUR of order 1044 were refunded (refund 1).",
    )
    assert [ruled.verdict for ruled in call.rulings] == [
        "run_as_draft_only",
        "approval_required",
        "allow",
    ]
    assert call.draft_id == request.preview_ref
    assert [step.tool for step in call.auxiliary_calls] == ["prepare_refund"]


async def test_only_a_signature_for_this_refund_releases_it(
    runs: Runs, people: list[Approver]
) -> None:
    """Words, a token for other arguments, another group and the requester leave it waiting."""
    # RK-09 RK-19 BY-02 BY-16
    fiona, farid, _, sam = people
    async with runs.working(app):
        run = await runs.start("support", GOAL, actor="fiona")
        request = await run.asked_for_approval()
        name = run.handle.id
        of_900 = {**request.arguments, "amount": 900.0}
        other = request.model_copy(update={"arguments_digest": digest(of_900)})
        refused = [
            await run.decide(by_name(request, "approve", "farid")),
            await run.decide(farid.signed(name, other)),
            await run.decide(farid.signed("another-run", request)),
            await run.decide(sam.signed(name, request)),
            await run.decide(fiona.signed(name, request)),
        ]
        still = await run.asked_for_approval()
        before = paid()
        result = await approved(run, farid)

    assert [one.code for one in refused] == [
        "require_stronger_auth",
        "invalid_token",
        "invalid_token",
        "wrong_group",
        "self_approval",
    ]
    assert (still.request_id, before) == (request.request_id, [])
    assert result.status == "completed"
    assert paid() == [(1044, Decimal("29.00"), "EUR")]


async def test_a_rejected_refund_is_not_paid(runs: Runs, people: list[Approver]) -> None:
    """Anybody may stop money; the agent says why."""
    async with runs.working(app):
        run = await runs.start("support", GOAL)
        request = await run.asked_for_approval()
        await run.decide({**by_name(request, "reject", "lena"), "reason": "no photo"})
        result = await run.result()

    assert "no photo" in (result.answer or "")
    assert paid() == []


async def test_a_small_refund_needs_nobody(runs: Runs) -> None:
    """Up to 20 EUR the policy lets it run, and history names the rule."""
    # RK-09
    async with runs.working(app):
        run = await runs.start("support", "Order 1051 came late, give 15.00 back")
        result = await run.result()
        call = await call_of(run, "issue_refund")

    assert paid() == [(1051, Decimal("15.00"), "EUR")]
    assert [(ruled.verdict, ruled.rule) for ruled in call.rulings] == [
        ("allow", "policy:small-refunds")
    ]
    assert result.status == "completed"


@pytest.mark.parametrize(
    ("goal", "rule"),
    [
        ("Order 1060 came broken, the customer wants 600.00 back", "policy:no-large-refunds"),
        ("Order 1044 came broken, the customer wants 10.00 GBP back", "policy:known-currencies"),
    ],
)
async def test_what_the_policy_forbids_is_denied(runs: Runs, goal: str, rule: str) -> None:
    """Nobody is asked, nothing is drafted, and the agent reads why."""
    # PF-18
    async with runs.working(app):
        run = await runs.start("support", goal)
        result = await run.result()
        call = await call_of(run, "issue_refund")

    (ruled,) = call.rulings
    assert isinstance(ruled.ruling, Decided)
    assert (ruled.verdict, ruled.rule) == ("deny", rule)
    assert isinstance(call.result, ToolFailure)
    assert call.auxiliary_calls == ()
    assert ruled.reason in (result.answer or "")
    assert paid() == []


async def test_a_refund_in_another_currency_ends_with_the_draft(runs: Runs) -> None:
    """The books know the currency of an order: nobody is asked to approve what can't be paid."""
    async with runs.working(app):
        run = await runs.start("support", "Order 1044 came broken, give 25.00 USD back")
        result = await run.result()

    assert "order 1044 was paid in EUR, not in USD" in (result.answer or "")
    assert paid() == []


async def test_the_customer_is_told_what_a_lead_has_read(
    runs: Runs, people: list[Approver]
) -> None:
    """The answer is drafted, a lead approves it by name, and exactly that is sent."""
    # RK-07 BY-05
    async with runs.working(app):
        run = await runs.start("support", "Give 15.00 of order 1051 back and tell the customer")
        request = await run.asked_for_approval()
        stranger = await run.decide(by_name(request, "approve", "fiona"))
        before = answers.sent(kept())
        await run.approve(request.request_id, "sam")
        result = await run.result()
        call = await call_of(run, "send_answer")

    assert (stranger.code, before) == ("wrong_group", ())
    assert [step.tool for step in call.auxiliary_calls] == ["draft_answer"]
    (sent,) = answers.sent(kept())
    assert sent.model_dump() == request.preview
    assert sent.to == "bela@example.com"
    assert result.answer == (
        "15.00 EUR of order 1051 were refunded (refund 1). The customer was told."
    )
