"""Tables fit the terminal on which they are read."""

import io
import os
from datetime import UTC, datetime, timedelta

import pytest
from rich.console import Console

from holdfast.cli.render import show_runs, show_table
from holdfast.cli.request_details import show_request
from holdfast.cli.screen import Screen
from holdfast.client import RunEntry
from tests.policy.reviews import a_review

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


def a_screen(monkeypatch: pytest.MonkeyPatch, columns: int) -> tuple[Screen, _Paper]:
    monkeypatch.setattr(os, "get_terminal_size", {0: os.terminal_size((columns, 24))}.__getitem__)
    paper = _Paper()
    console = Console(file=paper, width=columns, force_terminal=True, color_system=None)
    return Screen(console), paper


def shown(monkeypatch: pytest.MonkeyPatch, columns: int) -> str:
    screen, paper = a_screen(monkeypatch, columns)
    show_table(screen, HEADER, ROWS)
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


LISTED = """\
RUN          AGENT      STATUS   PENDING                   STARTED      TOOK
run-re98yy5  responder  waiting  approval:oncall:restart…  03-01 12:00  2m 3s
"""

LISTED_WIDE = """\
RUN          AGENT      STATUS   PENDING                          STARTED                  TOOK
run-re98yy5  responder  waiting  approval:oncall:restart_service  2026-03-01 12:00:00 UTC  2m 3s
"""


@pytest.mark.parametrize(("columns", "expected"), [(80, LISTED), (120, LISTED_WIDE)])
def test_times_of_a_list_are_told_shorter_before_they_are_cut(
    monkeypatch: pytest.MonkeyPatch, columns: int, expected: str
) -> None:
    """On 80 columns the day and the minute are there, and what is waited for is still read."""
    began = datetime(2026, 3, 1, 12, tzinfo=UTC)
    entry = RunEntry(
        run_id="run-re98yy5",
        agent="responder",
        tenant=None,
        status="waiting",
        pending=("approval:oncall:restart_service",),
        started_at=began,
        ended_at=began + timedelta(seconds=123),
    )
    screen, paper = a_screen(monkeypatch, columns)
    show_runs(screen, [entry])

    assert paper.getvalue() == expected


def test_a_command_is_copied_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """What stands beside a command goes below it where the terminal has no room for both."""
    screen, paper = a_screen(monkeypatch, 60)
    show_request(screen, "run-re98yy5", a_review())

    assert paper.getvalue().endswith(
        "    decide    holdfast approve run-re98yy5 req-1\n              (or: reject)\n"
    )
