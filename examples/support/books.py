"""
The desk's books in one SQLite file: how they are opened, and the orders in them.

Each change is one transaction that nobody else's overlaps. A ToolError says nothing was changed.
"""

import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from decimal import Decimal
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from holdfast import ToolError

PATIENCE = 20.0
"""Seconds to wait for a transaction of somebody else."""

_SCHEMA = Path(__file__).with_name("books.sql")


class Entry(BaseModel):
    """Something that stands in the books."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Order(Entry):
    """An order as it stands: `refundable` is what was paid and not given back yet."""

    order_id: int
    customer: str
    article: str
    currency: str
    paid: Decimal
    refunded: Decimal
    refundable: Decimal


def order(books: Path, order_id: int) -> Order:
    """Look up an order."""
    with opened(books) as db:
        return found(db, order_id)


def found(db: sqlite3.Connection, order_id: int) -> Order:
    """Return an order; raises ToolError when there is none."""
    row = db.execute(
        "SELECT *, ("
        " SELECT coalesce(sum(cents), 0) FROM refunds WHERE refunds.order_id = orders.order_id"
        ") AS refunded_cents FROM orders WHERE order_id = ?",
        (order_id,),
    ).fetchone()
    if row is None:
        raise ToolError(
            "not_found", f"there is no order {order_id}", ("ask the customer for its number",)
        )
    return Order(
        order_id=order_id,
        customer=row["customer"],
        article=row["article"],
        currency=row["currency"],
        paid=money(row["paid_cents"]),
        refunded=money(row["refunded_cents"]),
        refundable=money(row["paid_cents"] - row["refunded_cents"]),
    )


@contextmanager
def opened(books: Path) -> Generator[sqlite3.Connection]:
    """Open the books to read; the first who does makes them."""
    books.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(books, timeout=PATIENCE, isolation_level=None)) as db:
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if version == 0:
            db.executescript(_SCHEMA.read_text(encoding="utf-8"))
        db.execute("PRAGMA foreign_keys = ON")
        db.row_factory = sqlite3.Row
        yield db


@contextmanager
def writing(books: Path) -> Generator[sqlite3.Connection]:
    """Hold the only transaction that writes; whatever is raised in it undoes it."""
    with opened(books) as db:
        db.execute("BEGIN IMMEDIATE")
        try:
            yield db
        except BaseException:
            db.execute("ROLLBACK")
            raise
        db.execute("COMMIT")


def keep_draft(
    db: sqlite3.Connection, drafts: str, committed: str, draft: tuple[str | int, ...]
) -> None:
    """
    Keep a draft under its id, which comes first, in the table of its kind.

    After a reset of its run another may come under an id: it takes the place of one that wasn't
    committed. Raises ToolError where one was.
    """
    marks = ", ".join("?" * len(draft))
    db.execute(
        f"INSERT OR REPLACE INTO {drafts} SELECT {marks} WHERE NOT EXISTS"  # noqa: S608 -- ours
        f" (SELECT 1 FROM {committed} WHERE draft_id = ?)",
        (*draft, draft[0]),
    )
    kept = db.execute(f"SELECT * FROM {drafts} WHERE draft_id = ?", draft[:1])  # noqa: S608
    if tuple(kept.fetchone()) != draft:
        raise ToolError(
            "conflict",
            f"another draft was committed under the id {draft[0]!r}",
            ("ask for it in a new call",),
        )


def money(cents: int) -> Decimal:
    """Return an amount with its two decimals."""
    return Decimal(cents).scaleb(-2)
