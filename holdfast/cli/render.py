"""What the terminal shows: transcript lines, fields, tables."""

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from pydantic import JsonValue

from holdfast.cli.screen import Screen
from holdfast.client import RunEntry
from holdfast.contracts.control import GoalReport
from holdfast.contracts.texts import clip_chars, escape_invisible, escape_invisible_lines
from holdfast.run.texts.figures import duration, moment
from holdfast.trace.words import Line, Tone, offset, short

_STYLES: dict[Tone, str] = {
    "plain": "",
    "quiet": "dim",
    "good": "green",
    "bad": "red",
    "waiting": "yellow",
}

_MAX_CELL_CHARS = 60
"""On a terminal, where a stranger's word would push all others out of their rows."""

_CELL_CHARS = (_MAX_CELL_CHARS, 40, 24, 16)
"""What cells are cut to, but for the first and the last, until a table fits a terminal."""

_LAST_CELL_CHARS = 20
"""Of the last cell so much stands beside the others; the rest goes on below."""

_GAP = "  "

_WHOLE_TIMES_COLUMNS = 100
"""A terminal with fewer has times of a list without year and seconds: cut they say less."""


_ELAPSED_COLUMNS = len("+59m59s")
_CLOCK_COLUMNS = len("11-25 17:42:09")
_HANG = 4


def show_line(out: Screen, line: Line) -> None:
    """Print a line of a transcript."""
    for part in str(line).split("\n"):
        out.line(part, _STYLES[line.tone])


def show_timed_line(out: Screen, line: Line, began: datetime | None) -> None:
    """
    Print a line of a transcript behind its time: since it *began*, or else by the clock in UTC.

    On a narrow terminal it goes on beside the column of times.
    """
    width = _ELAPSED_COLUMNS if began else _CLOCK_COLUMNS
    time = ""
    if line.at is not None:
        time = offset(line.at - began) if began else f"{line.at:%m-%d %H:%M:%S}"
    for part in str(line).split("\n"):
        out.line(part, _STYLES[line.tone], head=f"{time:>{width}}  ", hang=width + _HANG)
        time = ""


def show_json(value: JsonValue) -> None:
    """Print a value as JSON, for programs."""
    Screen().json(json.dumps(value, ensure_ascii=False, indent=2))


def show_table(out: Screen, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """
    Print rows in columns that are as wide as they need; a terminal has cells of less.

    Where it is too narrow for them all the same, each row is a block of names and values.
    """
    whole = [[escape_invisible(cell) for cell in row] for row in (header, *rows)]
    shown = _fit(whole, out.find_width()) if out.is_terminal else whole
    if shown is None:
        names = [header[0], *(f"{_GAP}{name}" for name in header[1:])]
        for row in rows:
            show_fields(out, list(zip(names, row, strict=True)))
        return
    *widths, _ = _find_widths(shown)
    for number, row in enumerate(shown):
        padded = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        line = _GAP.join([*padded, row[-1]]).rstrip()
        out.line(line, "" if number else "bold", hang=_find_last_column(widths))


def _fit(rows: Sequence[Sequence[str]], columns: int) -> list[list[str]] | None:
    """Cut cells until rows fit a terminal of so many columns; null if they never do."""
    for most in _CELL_CHARS:
        cut = [
            [clip_chars(row[0], _MAX_CELL_CHARS), *(clip_chars(cell, most) for cell in row[1:-1])]
            for row in rows
        ]
        shown = [[*cells, row[-1]] for cells, row in zip(cut, rows, strict=True)]
        *widths, last = _find_widths(shown)
        if _find_last_column(widths) + min(last, _LAST_CELL_CHARS) <= columns:
            return shown
    return None


def _find_widths(rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(len, column)) for column in zip(*rows, strict=True)]


def _find_last_column(widths: Sequence[int]) -> int:
    return sum(width + len(_GAP) for width in widths)


def show_fields(out: Screen, fields: Sequence[tuple[str, str]]) -> None:
    """Print names and values below each other; a value may have several lines."""
    width = max(len(name) for name, _ in fields) + 2
    for name, value in fields:
        for number, line in enumerate(escape_invisible_lines(value)):
            out.line(line, head=f"{'' if number else name:<{width}}", hang=width)


def show_runs(out: Screen, entries: Sequence[RunEntry]) -> None:
    """Print runs as a table, with the reasons of those that ended without an answer."""
    narrow = out.is_terminal and out.find_width() < _WHOLE_TIMES_COLUMNS
    why = any(entry.reason is not None for entry in entries)
    rows = [
        (
            entry.run_id,
            entry.agent or "-",
            entry.status,
            (entry.reason if why else ", ".join(entry.pending)) or "-",
            f"{entry.started_at.astimezone(UTC):%m-%d %H:%M}"
            if narrow
            else moment(entry.started_at),
            duration((entry.ended_at or datetime.now(UTC)) - entry.started_at),
        )
        for entry in entries
    ]
    what = "REASON" if why else "PENDING"
    show_table(out, ("RUN", "AGENT", "STATUS", what, "STARTED", "TOOK"), rows)


def describe_goal(goal: GoalReport) -> Iterator[tuple[str, str]]:
    """Say which checks decide that it is done, and how far its model says it is."""
    for check in goal.done_when:
        found = f": {short(check.found)}" if check.found else ""
        yield "done when", f"{check.name} ({check.state}{found})"
    if goal.progress:
        yield "progress", short(goal.progress)
