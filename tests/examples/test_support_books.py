"""The books of the support desk by themselves: what they pay, and what they never pay twice."""

from decimal import Decimal
from pathlib import Path

import pytest

from examples.support import answers, books, refunds
from examples.support.refunds import Claim
from holdfast import ToolError

TEAPOT = Claim(1044, Decimal("29.00"), "EUR")
LAMP = Claim(1051, Decimal("15.00"), "EUR")


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    return tmp_path / "books.db"


def refusal(books_: Path, key: str, draft_id: str | None, claim: Claim) -> ToolError:
    """Why a refund isn't paid."""
    with pytest.raises(ToolError) as refused:
        refunds.pay(books_, key, draft_id, claim)
    return refused.value


def test_a_prepared_refund_is_paid_once(kept: Path) -> None:
    """A second attempt under the same key changes nothing and answers as the first one did."""
    # BY-11
    refunds.prepare(kept, "draft-1", TEAPOT)

    first = refunds.pay(kept, "call-1", "draft-1", TEAPOT)
    second = refunds.pay(kept, "call-1", "draft-1", TEAPOT)

    assert first == second
    assert refunds.every(kept) == (first,)
    assert books.order(kept, 1044).refundable == 0


def test_after_a_reset_another_refund_is_none_that_was_paid(kept: Path) -> None:
    """Its call may have the id of one that was made, so its draft and its key are the same."""
    refunds.prepare(kept, "draft-1", LAMP)
    refunds.prepare(kept, "draft-1", TEAPOT)
    paid = refunds.pay(kept, "call-1", "draft-1", TEAPOT)

    assert "another refund was paid" in str(refusal(kept, "call-1", "draft-1", LAMP))
    with pytest.raises(ToolError, match="another draft was committed"):
        refunds.prepare(kept, "draft-1", LAMP)
    assert refunds.every(kept) == (paid,)


def test_after_a_reset_another_answer_is_none_that_was_sent(kept: Path) -> None:
    """What a person is shown is what is sent, or nothing."""
    answers.draft(kept, "draft-1", 1051, "It comes on Monday.")
    shown = answers.draft(kept, "draft-1", 1044, "Your money is on its way.")
    answers.send(kept, "call-1", "draft-1")

    assert answers.sent(kept) == (shown,)
    with pytest.raises(ToolError, match="another draft was committed"):
        answers.draft(kept, "draft-1", 1051, "It comes on Monday.")


@pytest.mark.parametrize(
    ("draft_id", "claim", "type_"),
    [
        pytest.param(None, TEAPOT, "approval_required", id="no draft"),
        pytest.param("draft-2", TEAPOT, "conflict", id="a draft that nobody made"),
        pytest.param("draft-1", LAMP, "conflict", id="another order"),
        pytest.param(
            "draft-1", TEAPOT._replace(amount=Decimal("28.99")), "conflict", id="another amount"
        ),
    ],
)
def test_nothing_is_paid_but_what_was_drafted(
    kept: Path, draft_id: str | None, claim: Claim, type_: str
) -> None:
    """A commit takes an existing draft of exactly this refund, and pays nothing otherwise."""
    # BY-05
    refunds.prepare(kept, "draft-1", TEAPOT)

    assert refusal(kept, "call-1", draft_id, claim).type == type_
    assert refunds.every(kept) == ()


def test_preparing_pays_nothing_and_shows_what_would_be_left(kept: Path) -> None:
    """A draft has what a person needs to judge it."""
    prepared = refunds.prepare(kept, "draft-1", LAMP)

    assert (prepared.customer, prepared.paid) == ("Bela Novak", Decimal("84.50"))
    assert (prepared.amount, prepared.left_afterwards) == (Decimal("15.00"), Decimal("69.50"))
    assert refunds.every(kept) == ()


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        (TEAPOT._replace(amount=Decimal("29.01")), "29.00 EUR can be refunded, not 29.01"),
        (TEAPOT._replace(currency="USD"), "was paid in EUR, not in USD"),
        (TEAPOT._replace(order_id=7), "there is no order 7"),
    ],
)
def test_no_refund_is_prepared_that_cant_be_paid(kept: Path, claim: Claim, words: str) -> None:
    """No more than was paid, in the currency of the order, of an order that there is."""
    with pytest.raises(ToolError, match=words):
        refunds.prepare(kept, "draft-1", claim)


def test_two_drafts_of_the_same_money_pay_once(kept: Path) -> None:
    """What was refunded since the draft counts when it is committed."""
    refunds.prepare(kept, "draft-1", TEAPOT)
    refunds.prepare(kept, "draft-2", TEAPOT)
    refunds.pay(kept, "call-1", "draft-1", TEAPOT)

    refused = refusal(kept, "call-2", "draft-2", TEAPOT)

    assert "29.00 refunded already" in refused.reason
    assert len(refunds.every(kept)) == 1


def test_small_refunds_that_nobody_saw_add_up(kept: Path) -> None:
    """Splitting a refund doesn't get around the limit of what is paid unseen."""
    refunds.pay(kept, "call-1", None, LAMP)

    assert refusal(kept, "call-2", None, LAMP).type == "approval_required"
    refunds.pay(kept, "call-3", None, LAMP._replace(amount=Decimal("5.00")))
    assert sum(refund.amount for refund in refunds.every(kept)) == refunds.UNSEEN


def test_a_refund_that_was_not_found_can_never_be_paid(kept: Path) -> None:
    """A worker that only seemed dead comes too late once the answer was "it didn't happen"."""
    # BY-11
    refunds.prepare(kept, "draft-1", TEAPOT)

    assert refunds.settle(kept, "call-1") is None

    assert "comes too late" in refusal(kept, "call-1", "draft-1", TEAPOT).reason
    assert refunds.every(kept) == ()


def test_a_refund_that_was_paid_is_found(kept: Path) -> None:
    """Looking for a refund answers with it, however often, and closes nothing."""
    refunds.prepare(kept, "draft-1", TEAPOT)
    paid = refunds.pay(kept, "call-1", "draft-1", TEAPOT)

    assert refunds.settle(kept, "call-1") == refunds.settle(kept, "call-1") == paid
    assert refunds.pay(kept, "call-1", "draft-1", TEAPOT) == paid


def test_an_answer_is_sent_as_it_was_drafted(kept: Path) -> None:
    """A second attempt sends nothing more, and without a draft nothing is sent at all."""
    # BY-05 BY-11
    drafted = answers.draft(kept, "draft-1", 1044, "You have it back.")

    assert answers.sent(kept) == ()
    assert answers.send(kept, "call-1", "draft-1") == drafted
    assert answers.send(kept, "call-1", "draft-1") == drafted
    assert answers.sent(kept) == (drafted,)
    with pytest.raises(ToolError, match="no drafted answer None"):
        answers.send(kept, "call-2", None)
