"""The table of limits: each limit has its row, and what the parts of a run use counts."""

from decimal import Decimal
from typing import Any

import pytest

from holdfast.contracts.base import Contract
from holdfast.contracts.budget import Budget, Ledger, Limits
from holdfast.contracts.usage import CallUsage
from holdfast.run.limits.budgets import OWN_COUNTS, add_child_usage, remaining
from holdfast.run.limits.table import LIMITS, LimitRow, build_worst_case_ledger

USED_UP = [row for row in LIMITS if row.share == "rest"]
by_name = pytest.mark.parametrize("row", USED_UP, ids=lambda row: row.name)


def filled(kind: type[Contract]) -> dict[str, Any]:
    """What makes one in which every counter counts, also one that is added tomorrow."""
    values: dict[str, Any] = {}
    for name, field in kind.model_fields.items():
        match field.get_default(call_default_factory=True):
            case bool():
                pass
            case int() | float() | Decimal():
                values[name] = 7
            case CallUsage():
                values[name] = filled(CallUsage)
            case _:
                pass
    return values


CHILD = Ledger.model_validate(filled(Ledger))


def used(row: LimitRow, ledger: Ledger) -> int | Decimal:
    assert row.used is not None
    count = row.used(ledger)
    assert count is not None
    return count


def test_every_limit_has_one_row() -> None:
    """Who adds a field to Limits adds a row, or fails here."""
    assert sorted(row.name for row in LIMITS) == sorted(Limits.model_fields)


def test_what_is_used_up_can_be_read_and_explained() -> None:
    """Such a row says how to count, in which unit, and what to do instead of raising it."""
    assert [row.name for row in USED_UP if not (row.used and row.unit and row.otherwise)] == []
    assert [row.name for row in LIMITS if row.share != "rest" and row.used] == []


@by_name
def test_what_parts_use_counts(row: LimitRow) -> None:
    """What parts of a run use, beside each other too, is used by the run."""
    once, twice = add_child_usage(Ledger(), CHILD), add_child_usage(Ledger(), CHILD, CHILD)

    assert used(row, CHILD) > 0
    assert (used(row, once), used(row, twice)) == (used(row, CHILD), 2 * used(row, CHILD))


@by_name
def test_of_a_part_that_tells_nothing_all_is_used(row: LimitRow) -> None:
    """What a part may have used is all that it was given, whichever limit that is."""
    assert used(row, build_worst_case_ledger(Budget.model_validate({row.name: 10}))) == 10


@by_name
def test_a_part_gets_what_is_left(row: LimitRow) -> None:
    """What one part has used is not there for the next."""
    whole = Budget.model_validate({row.name: 100})

    left = remaining(whole, add_child_usage(Ledger(), CHILD), 0)

    assert isinstance(left, Budget)
    assert getattr(left, row.name) == 100 - used(row, CHILD)


@pytest.mark.parametrize("row", LIMITS, ids=lambda row: row.name)
def test_a_part_has_what_its_row_says(row: LimitRow) -> None:
    """Of a run that has used nothing its part gets all, but for limits of its own."""
    left = remaining(Budget.model_validate({row.name: 10}), Ledger(), 0)

    assert isinstance(left, Budget)
    assert (row.name in left.model_fields_set) == (row.share != "own")


def test_what_a_run_shares_with_its_parts_can_be_added_up() -> None:
    """A field of the ledger that is no amount is the run's own, and is named as that."""
    shared = set(Ledger.model_fields) - OWN_COUNTS

    assert {name for name in shared if name not in filled(Ledger)} == set()
