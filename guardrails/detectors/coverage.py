"""What share of the code tests reach, as a report or the output of a program tells it. Pure."""

from holdfast.contracts.patterns import Match, Pattern

_NUMBER = r"([0-9]{1,3}(?:\.[0-9]+)?)"

_SHARE = Pattern(r'<coverage\b[^>]*\bline-rate="([01](?:\.[0-9]+)?)"')
"""Cobertura, at the beginning of its report."""

_PERCENTS = (
    Pattern(rf'"percent_covered"\s*:\s*{_NUMBER}'),
    Pattern(rf"(?m)^TOTAL\b.*\s{_NUMBER}%\s*$"),
    Pattern(rf"(?m)^All files\s*\|(?:[^|\n]*\|){{3}}\s*{_NUMBER}\s*\|"),
    Pattern(rf"(?m)\bcoverage: {_NUMBER}% of statements"),
    Pattern(rf"\A\s*{_NUMBER}%?\s*\z"),
)
"""As coverage.py writes it in JSON and as a table, Istanbul (of lines), Go, and a bare number."""


def read_coverage(text: str) -> float | None:
    """Return the share from 0 to 1 that a text tells last; null where it tells none."""
    rates = [float(_first_group(one)) for one in _SHARE.matches(text)]
    found = [one for pattern in _PERCENTS for one in pattern.matches(text)]
    if not rates and found:
        last = max(found, key=lambda one: one.start)
        rates = [float(_first_group(last)) / 100]
    return rates[-1] if rates and rates[-1] <= 1 else None


def _first_group(match: Match) -> str:
    return match.groups[1]
