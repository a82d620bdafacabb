"""What a share is."""
# ruff: noqa: S101, PLR2004 -- these are tests

from .shares import shares


def test_an_amount_that_can_be_divided():
    """Everybody pays the same."""
    assert shares(900, 3) == [300, 300, 300]


def test_nothing_is_lost():
    """Shares add up to the amount, also where it can't be divided."""
    assert sum(shares(1000, 3)) == 1000


def test_nobody_pays_much_more():
    """No share is more than a cent above another."""
    parts = shares(1000, 3)

    assert max(parts) - min(parts) <= 1
