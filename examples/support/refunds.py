"""Refunds: prepared under the id of a draft, paid under the key of a call, once."""

import sqlite3
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

from examples.support.books import Entry, Order, found, keep_draft, money, opened, writing
from holdfast import ToolError

UNSEEN = Decimal("20.00")
"""What the books pay of one order without a draft that a person saw, whatever a policy says."""


class Claim(NamedTuple):
    """What is to be refunded of which order."""

    order_id: int
    amount: Decimal
    currency: str

    @property
    def cents(self) -> int:
        """The amount as the books keep it."""
        return int(self.amount.scaleb(2))


class Prepared(Entry):
    """A refund that could be paid, as the person sees it who decides about that."""

    order_id: int
    customer: str
    article: str
    paid: Decimal
    refunded_before: Decimal
    amount: Decimal
    currency: str
    left_afterwards: Decimal


class Refund(Entry):
    """A refund that was paid."""

    refund_id: int
    order_id: int
    amount: Decimal
    currency: str
    at: str


def prepare(books: Path, draft_id: str, claim: Claim) -> Prepared:
    """Check a refund against the books and keep it under the id of its draft. Pays nothing."""
    with writing(books) as db:
        order = _checked(db, claim)
        draft = (draft_id, claim.order_id, claim.cents, claim.currency)
        keep_draft(db, "prepared_refunds", "refunds", draft)
    return Prepared(
        order_id=order.order_id,
        customer=order.customer,
        article=order.article,
        paid=order.paid,
        refunded_before=order.refunded,
        amount=money(claim.cents),
        currency=order.currency,
        left_afterwards=order.refundable - money(claim.cents),
    )


def pay(books: Path, key: str, draft_id: str | None, claim: Claim) -> Refund:
    """
    Pay a refund, once for each key: a second attempt returns what the first one did.

    With a draft it must be the prepared one. Without, policy asked nobody, and it must be small.
    No other refund has the key of one that was paid, though after a reset one may come with it.
    """
    with writing(books) as db:
        if (earlier := _paid(db, key)) is not None:
            return _match(earlier, claim)
        if db.execute("SELECT 1 FROM closed_keys WHERE idempotency_key = ?", (key,)).fetchone():
            raise ToolError(
                "conflict",
                f"refund {key!r} comes too late: it was looked for, and reported as not done",
                ("look the order up before asking for a refund again",),
            )
        if draft_id is None:
            _check_unseen(db, claim)
        else:
            _check_draft(db, draft_id, claim)
        _checked(db, claim)
        (row,) = db.execute(
            "INSERT INTO refunds (idempotency_key, draft_id, order_id, cents, currency)"
            " VALUES (?, ?, ?, ?, ?) RETURNING *",
            (key, draft_id, claim.order_id, claim.cents, claim.currency),
        ).fetchall()
        return _refund(row)


def settle(books: Path, key: str) -> Refund | None:
    """
    Return the refund of a call, or close its key: what wasn't paid by now never will be.

    Without that a worker that only seemed dead could still pay after the answer was "no".
    """
    with writing(books) as db:
        paid = _paid(db, key)
        if paid is None:
            db.execute("INSERT INTO closed_keys VALUES (?) ON CONFLICT DO NOTHING", (key,))
    return paid


def every(books: Path) -> tuple[Refund, ...]:
    """Return every refund, in the order in which they were paid."""
    with opened(books) as db:
        return tuple(map(_refund, db.execute("SELECT * FROM refunds ORDER BY refund_id")))


def _checked(db: sqlite3.Connection, claim: Claim) -> Order:
    """Return the order, if this much of its money can be given back in this currency."""
    order = found(db, claim.order_id)
    if claim.currency != order.currency:
        raise ToolError(
            "invalid_arguments",
            f"order {order.order_id} was paid in {order.currency}, not in {claim.currency}",
            (f"refund in {order.currency}",),
        )
    if claim.amount > order.refundable:
        raise ToolError(
            "conflict",
            f"of order {order.order_id} {order.refundable} {order.currency} can be refunded, "
            f"not {claim.amount}: {order.paid} paid, {order.refunded} refunded already",
            ("refund less", "tell the customer what was refunded already"),
        )
    return order


def _check_unseen(db: sqlite3.Connection, claim: Claim) -> None:
    """Small refunds add up: all of an order's that nobody saw count."""
    (before,) = db.execute(
        "SELECT coalesce(sum(cents), 0) FROM refunds WHERE draft_id IS NULL AND order_id = ?",
        (claim.order_id,),
    ).fetchone()
    if money(before) + claim.amount > UNSEEN:
        raise ToolError(
            "approval_required",
            f"without a draft that somebody approved the books pay {UNSEEN} of an order, "
            f"not {claim.amount} after {money(before)}",
            ("tell the customer that somebody has to look at it",),
        )


def _check_draft(db: sqlite3.Connection, draft_id: str, claim: Claim) -> None:
    row = db.execute(
        "SELECT order_id, cents, currency FROM prepared_refunds WHERE draft_id = ?", (draft_id,)
    ).fetchone()
    if row is None or tuple(row) != (claim.order_id, claim.cents, claim.currency):
        raise ToolError(
            "conflict",
            f"draft {draft_id!r} is no refund of {claim.amount} {claim.currency} of order "
            f"{claim.order_id}",
            ("ask for the refund again, so that it is drafted and approved",),
        )


def _match(earlier: Refund, claim: Claim) -> Refund:
    if (earlier.order_id, earlier.amount, earlier.currency) != claim:
        raise ToolError(
            "conflict",
            f"another refund was paid under this key: {earlier.amount} {earlier.currency} of "
            f"order {earlier.order_id}",
            ("look the order up, and ask for the refund in a new call",),
        )
    return earlier


def _paid(db: sqlite3.Connection, key: str) -> Refund | None:
    row = db.execute("SELECT * FROM refunds WHERE idempotency_key = ?", (key,)).fetchone()
    return None if row is None else _refund(row)


def _refund(row: sqlite3.Row) -> Refund:
    return Refund(
        refund_id=row["refund_id"],
        order_id=row["order_id"],
        amount=money(row["cents"]),
        currency=row["currency"],
        at=row["at"],
    )
