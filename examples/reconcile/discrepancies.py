"""What a table of orders and a table of payments disagree about. Pure: no files, no clock."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from examples.reconcile.tables import Table, TableError


class Kind(StrEnum):
    """What can be wrong with an order, in the order of the report."""

    MISSING_PAYMENT = "missing_payment"
    UNKNOWN_ORDER = "unknown_order"
    DUPLICATE_PAYMENT = "duplicate_payment"
    DUPLICATE_ORDER = "duplicate_order"
    AMOUNT_DIFFERS = "amount_differs"
    CURRENCY_DIFFERS = "currency_differs"


class Columns(NamedTuple):
    """Where both tables keep what is compared."""

    key: str
    amount: str
    currency: str


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Money(_Frozen):
    """An exact amount in one currency."""

    amount: Decimal
    currency: str

    def __str__(self) -> str:
        return f"{self.amount:f} {self.currency}"


class Discrepancy(_Frozen):
    """One thing a person should look at. A side is absent where its table has no row to show."""

    kind: Kind
    order_id: str
    ordered: Money | None = None
    paid: Money | None = None
    detail: str


class Total(_Frozen):
    """Sums over every row of one currency, duplicates included."""

    currency: str
    ordered: Decimal
    paid: Decimal
    outstanding: Decimal


class Comparison(_Frozen):
    """All that two tables disagree about. `agreeing`: orders that nothing is said against."""

    orders: int
    payments: int
    agreeing: int
    counts: Mapping[Kind, int]
    totals: tuple[Total, ...]
    discrepancies: tuple[Discrepancy, ...]


class _Entry(NamedTuple):
    row_id: str
    key: str
    money: Money


def compare(orders: Table, payments: Table, columns: Columns, tolerance: Decimal) -> Comparison:
    """Match payments to orders by key; each order expects one payment of its own amount."""
    ordered, paid = _entries(orders, columns), _entries(payments, columns)
    orders_of, payments_of = _by_key(ordered), _by_key(paid)
    found = [
        discrepancy
        for key in orders_of | payments_of
        for discrepancy in _judge(orders_of.get(key, ()), payments_of.get(key, ()), tolerance)
    ]
    counted = Counter(discrepancy.kind for discrepancy in found)
    rank = {kind: position for position, kind in enumerate(Kind)}
    return Comparison(
        orders=len(ordered),
        payments=len(paid),
        agreeing=len(orders_of.keys() - {discrepancy.order_id for discrepancy in found}),
        counts={kind: counted[kind] for kind in Kind},
        totals=tuple(_totals(ordered, paid)),
        discrepancies=tuple(sorted(found, key=lambda each: (rank[each.kind], each.order_id))),
    )


def _entries(table: Table, columns: Columns) -> tuple[_Entry, ...]:
    for name in columns:
        if name not in table.columns:
            raise TableError(
                f"{table.name} has no column {name!r} (it has {', '.join(table.columns)})"
            )
    key, amount, currency = (table.columns.index(name) for name in columns)
    return tuple(
        _Entry(row[0], row[key], _money(row[amount], row[currency], f"{table.name}, row {number}"))
        for number, row in enumerate(table.rows, start=1)
    )


def _money(amount: str, currency: str, place: str) -> Money:
    try:
        exact = Decimal(amount)
    except InvalidOperation:
        exact = Decimal("NaN")
    if not exact.is_finite():
        raise TableError(f"{place}: {amount!r} is no amount like 1249.50")
    return Money(amount=exact, currency=currency)


def _by_key(entries: Sequence[_Entry]) -> dict[str, tuple[_Entry, ...]]:
    grouped: dict[str, tuple[_Entry, ...]] = {}
    for entry in entries:
        grouped[entry.key] = (*grouped.get(entry.key, ()), entry)
    return grouped


def _judge(
    orders: Sequence[_Entry], payments: Sequence[_Entry], tolerance: Decimal
) -> Iterator[Discrepancy]:
    """Say what is wrong about one key. The first order and the first payment stand for it."""
    if not orders:
        yield from map(_unknown_order, payments)
        return
    yield from map(_duplicate_order, orders[1:])
    if not payments:
        yield _missing_payment(orders[0])
        return
    yield from (_duplicate_payment(payments[0], again) for again in payments[1:])
    yield from _differences(orders[0], payments[0], tolerance)


def _unknown_order(payment: _Entry) -> Discrepancy:
    named = f"names {payment.key!r}, which is no order" if payment.key else "names no order"
    detail = f"{payment.row_id} of {payment.money} {named}"
    return Discrepancy(
        kind=Kind.UNKNOWN_ORDER, order_id=payment.key, paid=payment.money, detail=detail
    )


def _duplicate_order(again: _Entry) -> Discrepancy:
    detail = f"the order is listed again, with {again.money}"
    return Discrepancy(
        kind=Kind.DUPLICATE_ORDER, order_id=again.key, ordered=again.money, detail=detail
    )


def _missing_payment(order: _Entry) -> Discrepancy:
    detail = f"{order.money} ordered, nothing paid"
    return Discrepancy(
        kind=Kind.MISSING_PAYMENT, order_id=order.key, ordered=order.money, detail=detail
    )


def _duplicate_payment(first: _Entry, again: _Entry) -> Discrepancy:
    detail = f"{again.row_id} pays {again.money} after {first.row_id} paid {first.money}"
    return Discrepancy(
        kind=Kind.DUPLICATE_PAYMENT, order_id=again.key, paid=again.money, detail=detail
    )


def _differences(order: _Entry, payment: _Entry, tolerance: Decimal) -> Iterator[Discrepancy]:
    ordered, paid = order.money, payment.money
    if ordered.currency != paid.currency:
        kind, detail = Kind.CURRENCY_DIFFERS, f"{ordered} ordered, {payment.row_id} paid {paid}"
    elif abs(paid.amount - ordered.amount) > tolerance:
        difference = paid.amount - ordered.amount
        kind, detail = Kind.AMOUNT_DIFFERS, f"{payment.row_id} is off by {difference:+f}"
    else:
        return
    yield Discrepancy(kind=kind, order_id=order.key, ordered=ordered, paid=paid, detail=detail)


def _totals(ordered: Sequence[_Entry], paid: Sequence[_Entry]) -> Iterator[Total]:
    for currency in sorted({entry.money.currency for entry in (*ordered, *paid)}):
        due = _sum(ordered, currency)
        received = _sum(paid, currency)
        yield Total(currency=currency, ordered=due, paid=received, outstanding=due - received)


def _sum(entries: Sequence[_Entry], currency: str) -> Decimal:
    amounts = (entry.money.amount for entry in entries if entry.money.currency == currency)
    return sum(amounts, Decimal(0))
