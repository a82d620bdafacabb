"""What each guest pays, on a signed page."""

from .shares import shares
from .signing import sign


def receipt(cents: int, guests: list[str]) -> str:
    """Write the receipt of a table."""
    parts = shares(cents, len(guests))
    lines = [f"{guest}: {money(part)}" for guest, part in zip(guests, parts, strict=True)]
    page = "\n".join([*lines, f"total: {money(sum(parts))}"])
    return f"{page}\nsigned: {sign(page)}"


def money(cents: int) -> str:
    """Write an amount as 10.00."""
    return f"{cents // 100}.{cents % 100:02}"
