"""A comparison as a Markdown page for a person. Pure: writes nothing."""

import re
from collections.abc import Iterator, Mapping

from examples.reconcile.discrepancies import Comparison, Discrepancy, Kind, Money, Total

_HEADING = re.compile(r"^## \d+ discrepancies$", re.MULTILINE)
_COUNT = re.compile(r"^\| ([a-z ]+) \| (\d+) \|$", re.MULTILINE)


def render(title: str, method: str, commentary: str, found: Comparison) -> str:
    """Write the page: the commentary first, then all figures from the comparison itself."""
    basis = f"{found.orders} order rows, {found.payments} payments, {found.agreeing} orders agree"
    return "\n".join(
        (
            f"# {_line(title)}",
            "",
            f"{method}. {basis}.",
            "",
            commentary.strip(),
            "",
            f"## {len(found.discrepancies)} discrepancies",
            "",
            *_table(
                ("kind", "number"), ((words(kind), str(n)) for kind, n in found.counts.items())
            ),
            "",
            *_table(
                ("kind", "order", "ordered", "paid", "detail"), map(_cells, found.discrepancies)
            ),
            "",
            "## Totals",
            "",
            *_table(("currency", "ordered", "paid", "outstanding"), map(_sums, found.totals)),
            "",
        )
    )


def counts(page: str) -> Mapping[str, int]:
    """Read the number per kind from a page. A commentary that looks like figures comes before."""
    *_, heading = _HEADING.finditer(page)
    return {kind: int(number) for kind, number in _COUNT.findall(page, heading.end())}


def words(kind: Kind) -> str:
    """Name a kind in prose."""
    return kind.value.replace("_", " ")


def _cells(found: Discrepancy) -> tuple[str, ...]:
    amounts = (_money(found.ordered), _money(found.paid))
    return words(found.kind), found.order_id or "(none)", *amounts, found.detail


def _sums(total: Total) -> tuple[str, ...]:
    return total.currency, f"{total.ordered:f}", f"{total.paid:f}", f"{total.outstanding:f}"


def _money(money: Money | None) -> str:
    return "" if money is None else str(money)


def _table(header: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> Iterator[str]:
    yield _row(header)
    yield _row(("---",) * len(header))
    yield from map(_row, rows)


def _row(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(_line(cell).replace('|', chr(92) + '|') for cell in cells)} |"


def _line(text: str) -> str:
    return " ".join(text.split())
