"""What the terminal shows: transcript lines, fields, tables."""

import json
from collections.abc import Sequence
from datetime import datetime

from pydantic import JsonValue

from holdfast.cli.screen import Screen
from holdfast.contracts.texts import clip_chars, escape_invisible, escape_invisible_lines
from holdfast.trace.words import Line, Tone, offset

_STYLES: dict[Tone, str] = {
    "plain": "",
    "quiet": "dim",
    "good": "green",
    "bad": "red",
    "waiting": "yellow",
}

_MAX_CELL_CHARS = 60
"""On a terminal, where a stranger's word would push all others out of their rows."""


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
    """Print rows in columns that are as wide as they need; a terminal has cells of less."""
    shown = [_cells(out, row) for row in (header, *rows)]
    widths = [max(len(row[column]) for row in shown) for column in range(len(header))]
    for number, row in enumerate(shown):
        padded = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        out.line(padded.rstrip(), "" if number else "bold")


def _cells(out: Screen, row: Sequence[str]) -> list[str]:
    """Return what shows of a row; nothing stands behind its last cell, which is whole."""
    *cells, last = map(escape_invisible, row)
    if out.is_terminal:
        cells = [clip_chars(cell, _MAX_CELL_CHARS) for cell in cells]
    return [*cells, last]


def show_fields(out: Screen, fields: Sequence[tuple[str, str]]) -> None:
    """Print names and values below each other; a value may have several lines."""
    width = max(len(name) for name, _ in fields) + 2
    for name, value in fields:
        for number, line in enumerate(escape_invisible_lines(value)):
            out.line(line, head=f"{'' if number else name:<{width}}", hang=width)


def field(value: JsonValue) -> str:
    """Return a field of a contract as text: words as they are, the rest as JSON."""
    match value:
        case str():
            return value or "-"
        case None:
            return "-"
        case _:
            return json.dumps(value, ensure_ascii=False)
