"""Which coverage a report or the output of a program tells."""

# ES-02

import pytest

from holdfast.guardrails.detectors.coverage import read_coverage

TABLE = """
Name      Stmts   Miss  Cover
-----------------------------
shop.py      20      2    90%
TOTAL        40     11  72.5%
1 passed in 0.1 s
"""
ISTANBUL = """
File      | % Stmts | % Branch | % Funcs | % Lines | Uncovered
All files |   91.2  |     50   |    80   |   88.4  |
"""


@pytest.mark.parametrize(
    ("text", "share"),
    [
        pytest.param(TABLE, 0.725, id="coverage.py, table"),
        pytest.param('{"totals": {"percent_covered": 87.5, "x": 1}}', 0.875, id="JSON"),
        pytest.param('<?xml?><coverage version="7" line-rate="0.69">', 0.69, id="Cobertura"),
        pytest.param('<coverage line-rate="1">\n<class line-rate="0.2"/>', 1.0, id="all of it"),
        pytest.param("ok  shop  0.1s  coverage: 64.2% of statements", 0.642, id="Go"),
        pytest.param("90", 0.9, id="a bare number"),
        pytest.param("TOTAL 1 1 10%\nagain\nTOTAL 1 0 99%", 0.99, id="the last of several"),
        pytest.param("", None, id="nothing"),
        pytest.param("3 passed", None, id="no coverage"),
        pytest.param("TOTAL 1 1 999%", None, id="more than all"),
        pytest.param("a coverage of 90", None, id="words"),
    ],
)
def test_what_is_told_is_read(text: str, share: float | None) -> None:
    """The total counts, in each form that is known, and nothing is made up."""
    assert read_coverage(text) == (None if share is None else pytest.approx(share))


def test_istanbul_tells_lines() -> None:
    """Of the shares that it names that of lines counts: its fourth."""
    assert read_coverage(ISTANBUL) == pytest.approx(0.884)
