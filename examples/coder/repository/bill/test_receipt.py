"""What a receipt shows."""
# ruff: noqa: S101 -- these are tests

from .receipt import receipt


def test_the_total_is_what_was_eaten():
    """Guests who divide 10.00 read 10.00."""
    assert "total: 10.00" in receipt(1000, ["Ada", "Ben", "Cleo"])


def test_a_receipt_is_signed():
    """The last line signs the others."""
    assert receipt(900, ["Ada"]).splitlines()[-1].startswith("signed: ")
