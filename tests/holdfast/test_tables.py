"""Tables fit the terminal on which they are read."""

import io
import os

import pytest
from rich.console import Console

from holdfast.cli.render import show_table
from holdfast.cli.screen import Screen

HEADER = ("RUN", "STATUS", "STARTED", "TOOK")
ROWS = [
    ("run-a", "waiting", "2026-03-01 12:00:00 UTC", "2m 3s"),
    ("refund-17", "done", "2026-03-01 12:00:01 UTC", "1 d"),
]


class _Paper(io.StringIO):
    """What a terminal of so many columns shows."""

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return 0


def shown(monkeypatch: pytest.MonkeyPatch, columns: int) -> str:
    monkeypatch.setattr(os, "get_terminal_size", {0: os.terminal_size((columns, 24))}.__getitem__)
    paper = _Paper()
    console = Console(file=paper, width=columns, force_terminal=True, color_system=None)
    show_table(Screen(console), HEADER, ROWS)
    return paper.getvalue()


WIDE = """\
RUN        STATUS   STARTED                  TOOK
run-a      waiting  2026-03-01 12:00:00 UTC  2m 3s
refund-17  done     2026-03-01 12:00:01 UTC  1 d
"""

CUT = """\
RUN        STATUS   STARTED           TOOK
run-a      waiting  2026-03-01 12:0…  2m 3s
refund-17  done     2026-03-01 12:0…  1 d
"""

BLOCKS = """\
RUN        run-a
  STATUS   waiting
  STARTED  2026-03-01 12:00:00 UTC
  TOOK     2m 3s
RUN        refund-17
  STATUS   done
  STARTED  2026-03-01 12:00:01 UTC
  TOOK     1 d
"""


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        pytest.param(80, WIDE, id="wide"),
        pytest.param(45, CUT, id="cut"),
        pytest.param(40, BLOCKS, id="blocks"),
    ],
)
def test_a_table_is_read_on_any_terminal(
    monkeypatch: pytest.MonkeyPatch, columns: int, expected: str
) -> None:
    """Cells are cut first, but no name of a run; then each row is a block, whole."""
    assert shown(monkeypatch, columns) == expected
