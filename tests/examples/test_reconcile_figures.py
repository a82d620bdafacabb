"""The figures of the reconcile example, against a list of faults that was planted in its data."""

from decimal import Decimal
from pathlib import Path

import pytest

from examples.reconcile import discrepancies
from examples.reconcile.discrepancies import Columns, Comparison, Discrepancy, Kind, Total
from examples.reconcile.tables import Table, TableError, page_of, parse

DATA = Path(discrepancies.__file__).parent / "data"
COLUMNS = Columns("order_id", "amount", "currency")
CENT = Decimal("0.01")

# Kind, order, what was ordered, what was paid. Planted by hand, not computed.
PLANTED = [
    ("missing_payment", "SO-4017", "1502.00 EUR", None),
    ("missing_payment", "SO-4046", "342.40 EUR", None),
    ("missing_payment", "SO-4083", "31.60 EUR", None),
    ("missing_payment", "SO-4119", "219.20 EUR", None),
    ("missing_payment", "SO-4163", "324.60 USD", None),
    ("missing_payment", "SO-4188", "4080.00 EUR", None),
    ("missing_payment", "SO-4231", "298.00 USD", None),
    ("missing_payment", "SO-4277", "2739.35 USD", None),
    ("missing_payment", "SO-4294", "944.00 USD", None),
    ("unknown_order", "", None, "75.00 EUR"),
    ("unknown_order", "INV-20931", None, "89.90 GBP"),
    ("unknown_order", "SO-3874", None, "212.40 EUR"),
    ("unknown_order", "SO-4O17", None, "1502.00 EUR"),
    ("duplicate_payment", "SO-4012", None, "297.00 EUR"),
    ("duplicate_payment", "SO-4077", None, "61.25 EUR"),
    ("duplicate_payment", "SO-4077", None, "61.25 EUR"),
    ("duplicate_payment", "SO-4135", None, "142.50 EUR"),
    ("duplicate_payment", "SO-4182", None, "25.00 EUR"),
    ("duplicate_payment", "SO-4250", None, "94.80 EUR"),
    ("duplicate_order", "SO-4107", "312.60 EUR", None),
    ("amount_differs", "SO-4024", "386.70 EUR", "386.68 EUR"),
    ("amount_differs", "SO-4055", "906.00 EUR", "906.011 EUR"),
    ("amount_differs", "SO-4098", "201.60 EUR", "201.62 EUR"),
    ("amount_differs", "SO-4112", "61.25 EUR", "51.25 EUR"),
    ("amount_differs", "SO-4176", "540.00 EUR", "450.00 EUR"),
    ("amount_differs", "SO-4199", "46.75 EUR", "41.85 EUR"),
    ("amount_differs", "SO-4240", "70.70 EUR", "170.70 EUR"),
    ("amount_differs", "SO-4283", "313.00 EUR", "156.50 EUR"),
    ("currency_differs", "SO-4070", "68.75 EUR", "68.75 USD"),
    ("currency_differs", "SO-4128", "197.10 EUR", "197.10 USD"),
    ("currency_differs", "SO-4204", "86.50 EUR", "86.50 USD"),
    ("currency_differs", "SO-4266", "311.20 EUR", "336.10 USD"),
]
BEYOND = [("amount_differs", "A")]
WITHIN_TOLERANCE = ("SO-4033", "SO-4060", "SO-4090", "SO-4142", "SO-4151", "SO-4219", "SO-4258")


def shipped(name: str) -> Table:
    return parse(name, (DATA / name).read_bytes())


def shipped_comparison() -> Comparison:
    return discrepancies.compare(shipped("orders.csv"), shipped("payments.csv"), COLUMNS, CENT)


def table(name: str, *lines: str) -> Table:
    return parse(name, "\n".join(("id,order_id,currency,amount", *lines)).encode())


def judged(orders: Table, payments: Table, tolerance: Decimal = CENT) -> list[tuple[str, str]]:
    found = discrepancies.compare(orders, payments, COLUMNS, tolerance).discrepancies
    return [(each.kind.value, each.order_id) for each in found]


def as_planted(each: Discrepancy) -> tuple[str, str, str | None, str | None]:
    ordered = None if each.ordered is None else str(each.ordered)
    return each.kind.value, each.order_id, ordered, None if each.paid is None else str(each.paid)


def test_every_planted_fault_is_found_and_nothing_else() -> None:
    """The shipped files hold exactly the faults that were planted in them."""
    assert [as_planted(each) for each in shipped_comparison().discrepancies] == PLANTED


def test_counts_of_the_shipped_files() -> None:
    """Each kind is counted, and 273 of the 300 orders have nothing said against them."""
    found = shipped_comparison()

    assert found.counts == {
        Kind.MISSING_PAYMENT: 9,
        Kind.UNKNOWN_ORDER: 4,
        Kind.DUPLICATE_PAYMENT: 6,
        Kind.DUPLICATE_ORDER: 1,
        Kind.AMOUNT_DIFFERS: 8,
        Kind.CURRENCY_DIFFERS: 4,
    }
    assert (found.orders, found.payments, found.agreeing) == (301, 301, 273)


def test_totals_are_exact_per_currency() -> None:
    """Every row counts in its own currency, to the last digit that the files give."""
    rows = [
        ("EUR", "102572.90", "97731.371", "4841.529"),
        ("GBP", "24361.65", "24451.55", "-89.90"),
        ("USD", "23943.09", "20325.575", "3617.515"),
    ]

    assert [
        (each.currency, str(each.ordered), str(each.paid), str(each.outstanding))
        for each in shipped_comparison().totals
    ] == rows


def test_rounding_within_the_tolerance_is_no_discrepancy() -> None:
    """Seven shipped payments are off by at most a cent, and nothing is said about them."""
    orders = {row[0]: row[4] for row in shipped("orders.csv").rows}
    payments = {row[1]: row[4] for row in shipped("payments.csv").rows}
    named = {each.order_id for each in shipped_comparison().discrepancies}

    assert all(orders[order] != payments[order] for order in WITHIN_TOLERANCE)
    assert named.isdisjoint(WITHIN_TOLERANCE)


@pytest.mark.parametrize(
    ("ordered", "paid", "said"),
    [
        pytest.param("1.10", "1.11", [], id="exactly the tolerance above"),
        pytest.param("0.29", "0.28", [], id="exactly the tolerance below"),
        pytest.param("1.10", "1.1100001", BEYOND, id="a trace more than the tolerance above"),
        pytest.param("0.29", "0.2799999", BEYOND, id="a trace more than the tolerance below"),
        pytest.param("5", "5.00", [], id="the same amount in other digits"),
        pytest.param(
            "90071992547409.93", "90071992547409.95", BEYOND, id="more digits than a float carries"
        ),
    ],
)
def test_the_tolerance_is_inclusive_and_exact(
    ordered: str, paid: str, said: list[tuple[str, str]]
) -> None:
    """A difference of the tolerance is equal, the smallest one beyond it is not."""
    orders, payments = table("o", f"o1,A,EUR,{ordered}"), table("p", f"p1,A,EUR,{paid}")

    assert judged(orders, payments) == said


def test_without_tolerance_only_equal_amounts_agree() -> None:
    """A tolerance of zero still accepts equal amounts."""
    orders = table("o", "o1,A,EUR,1.10", "o2,B,EUR,1.10")
    payments = table("p", "p1,A,EUR,1.10", "p2,B,EUR,1.11")

    assert judged(orders, payments, Decimal(0)) == [("amount_differs", "B")]


@pytest.mark.parametrize(
    ("orders", "payments", "expected"),
    [
        pytest.param(["o1,A,EUR,5"], [], [("missing_payment", "A")], id="nothing paid"),
        pytest.param([], ["p1,A,EUR,5"], [("unknown_order", "A")], id="nothing ordered"),
        pytest.param(
            [],
            ["p1,A,EUR,5", "p2,A,EUR,5"],
            [("unknown_order", "A"), ("unknown_order", "A")],
            id="each payment of an unknown order",
        ),
        pytest.param(
            ["o1,A,EUR,5"],
            ["p1,A,EUR,4", "p2,A,EUR,5"],
            [("duplicate_payment", "A"), ("amount_differs", "A")],
            id="the first payment stands for the order",
        ),
        pytest.param(
            ["o1,A,EUR,5", "o2,A,EUR,5"],
            [],
            [("missing_payment", "A"), ("duplicate_order", "A")],
            id="listed twice and not paid",
        ),
        pytest.param(
            ["o1,A,EUR,5"],
            ["p1,A,USD,7"],
            [("currency_differs", "A")],
            id="amounts of two currencies are not compared",
        ),
        pytest.param(
            ["o1,A,EUR,5"],
            ["p1,a,EUR,5"],
            [("missing_payment", "A"), ("unknown_order", "a")],
            id="keys match letter by letter",
        ),
        pytest.param([], [], [], id="two empty tables"),
    ],
)
def test_what_is_said_about_one_order(
    orders: list[str], payments: list[str], expected: list[tuple[str, str]]
) -> None:
    """Each kind has its rule, and one order can break several."""
    assert judged(table("o", *orders), table("p", *payments)) == expected


def test_sums_carry_no_binary_rounding() -> None:
    """Ten times ten cents is one, and the JSON form keeps the digits."""
    orders = table("o", *(f"o{n},A{n},EUR,0.10" for n in range(10)))

    totals = discrepancies.compare(orders, table("p"), COLUMNS, CENT).totals

    assert totals == (
        Total(
            currency="EUR",
            ordered=Decimal("1.00"),
            paid=Decimal(0),
            outstanding=Decimal("1.00"),
        ),
    )
    assert '"ordered":"1.00"' in totals[0].model_dump_json()


def test_a_comparison_survives_json() -> None:
    """What a tool returns is what the transcript gives back."""
    found = shipped_comparison()

    assert Comparison.model_validate_json(found.model_dump_json()) == found


@pytest.mark.parametrize(
    ("page", "size", "first", "last", "pages"),
    [
        pytest.param(1, 50, "SO-4001", "SO-4050", 7, id="first page"),
        pytest.param(7, 50, "SO-4300", "SO-4300", 7, id="last page, one row"),
        pytest.param(1, 301, "SO-4001", "SO-4300", 1, id="all on one page"),
        pytest.param(301, 1, "SO-4300", "SO-4300", 301, id="one row a page"),
    ],
)
def test_pages_cut_rows_and_not_lines(
    page: int, size: int, first: str, last: str, pages: int
) -> None:
    """A row with line breaks inside is one row: 301 rows, though the file has more lines."""
    cut = page_of(shipped("orders.csv"), page, size)

    assert (cut.rows[0][0], cut.rows[-1][0], cut.pages) == (first, last, pages)
    assert cut.total_rows == 301


@pytest.mark.parametrize("page", [0, -1, 8])
def test_a_page_that_is_not_there_names_those_that_are(page: int) -> None:
    """The message says which pages exist."""
    with pytest.raises(TableError, match=rf"no page {page}: .* pages 1 to 7"):
        page_of(shipped("orders.csv"), page, 50)


def test_a_table_without_rows_has_one_empty_page() -> None:
    """A header alone is a table."""
    assert (page_of(table("o"), 1, 50).rows, page_of(table("o"), 1, 50).pages) == ((), 1)


def test_quoted_fields_come_out_as_they_were_typed() -> None:
    """Commas, quotes, line breaks and letters beyond ASCII stay inside their field."""
    rows = {row[0]: row for row in shipped("orders.csv").rows}

    assert rows["SO-4001"][1] == "Çelik Makine A.Ş."
    assert rows["SO-4001"][5] == (
        "4 x Bulb E27 (box of 10), delivery\nDeliver to gate 3, ask for Zoë"
    )
    assert rows["SO-4002"][5] == '2 x Tube 1200 mm, 4" clamp, delivery'
    assert rows["SO-4004"][1] == 'The "Blue Lantern" Ltd'


def test_line_ends_and_byte_order_mark_of_a_spreadsheet() -> None:
    """The mark is no part of the first name, CRLF ends rows, blank lines are none."""
    content = b'\xef\xbb\xbfid,note\r\n1,"two\r\nlines"\r\n\r\n'

    assert parse("t", content) == Table("t", ("id", "note"), (("1", "two\r\nlines"),))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(b"", "t is empty", id="empty"),
        pytest.param(b"id,amount\n1\n", "t, row 1: 1 fields under a header of 2", id="short row"),
        pytest.param(b'id\n"1', "t is not valid CSV", id="open quote"),
        pytest.param(b"id\n\xe4\n", "t is not in UTF-8", id="other encoding"),
    ],
)
def test_what_is_no_table_is_refused(content: bytes, message: str) -> None:
    """Half-read data never gets compared; the message names the file and the place."""
    with pytest.raises(TableError, match=message):
        parse("t", content)


@pytest.mark.parametrize("amount", ["", "n/a", "NaN", "Infinity", '"1,249.50"'])
def test_an_amount_that_is_no_number_is_refused(amount: str) -> None:
    """An unreadable amount is a fault of the file, not a difference."""
    with pytest.raises(TableError, match=r"p, row 2: .* is no amount like 1249\.50"):
        judged(table("o"), table("p", "p1,A,EUR,5", f"p2,B,EUR,{amount}"))


def test_a_missing_column_names_those_that_exist() -> None:
    """The message lists the columns to choose from."""
    with pytest.raises(
        TableError, match=r"o has no column 'total' \(it has id, order_id, currency"
    ):
        discrepancies.compare(
            table("o"), table("p"), Columns("order_id", "total", "currency"), CENT
        )
