"""What the terminal shows: transcript lines, fields, tables. Colours on a terminal only."""

import json
from collections.abc import Sequence

from pydantic import JsonValue
from rich.console import Console
from rich.text import Text

from holdfast.trace.words import Line, Tone, plain

_STYLES: dict[Tone, str] = {
    "plain": "",
    "quiet": "dim",
    "good": "green",
    "bad": "red",
    "waiting": "yellow",
}


def console(*, errors: bool = False) -> Console:
    """
    Return standard output, or standard error.

    Nothing in a text is markup, and no line is cut or wrapped.
    """
    return Console(stderr=errors, highlight=False, markup=False, emoji=False, soft_wrap=True)


def show_line(out: Console, line: Line) -> None:
    """Print a line of a transcript."""
    out.print(Text(str(line), style=_STYLES[line.tone]))


def show_json(value: JsonValue) -> None:
    """Print a value as JSON, for programs: no colours, every character as it is."""
    print(json.dumps(value, ensure_ascii=False, indent=2))  # noqa: T201 -- rich would style it


def show_table(out: Console, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows in columns that are as wide as they need, on a terminal and into a pipe alike."""
    shown = [[plain(cell) for cell in row] for row in (header, *rows)]
    widths = [max(len(row[column]) for row in shown) for column in range(len(header))]
    for number, row in enumerate(shown):
        padded = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        out.print(Text(padded.rstrip(), style="" if number else "bold"))


def show_fields(out: Console, fields: Sequence[tuple[str, str]]) -> None:
    """Print names and values below each other; a value may have several lines."""
    width = max(len(name) for name, _ in fields)
    for name, value in fields:
        first, *more = plain_lines(value)
        out.print(Text.assemble((f"{name:<{width}}", "dim"), f"  {first}"))
        for line in more:
            out.print(Text(f"{' ' * width}  {line}"))


def field(value: JsonValue) -> str:
    """Return a field of a contract as text: words as they are, the rest as JSON."""
    match value:
        case str():
            return value or "-"
        case None:
            return "-"
        case _:
            return json.dumps(value, ensure_ascii=False)


def plain_lines(text: str) -> list[str]:
    """Return the lines of a text with every character visible; at least one."""
    return [plain(line) for line in text.splitlines()] or [""]
