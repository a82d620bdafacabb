"""How a trace is worded."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Literal, NamedTuple, TypeAlias

from holdfast.contracts.texts import escape_invisible, escape_invisible_lines, shorten
from holdfast.run.texts.figures import duration, split_seconds
from holdfast.trace.entries import Timed

Tone: TypeAlias = Literal["plain", "quiet", "good", "bad", "waiting"]

MAX_LINE_CHARS = 200
"""Characters of a line's text; the whole of everything is in the spans."""

_WIDTH = 8

_ROUNDS_TO_A_MINUTE = 59.95


class Line(NamedTuple):
    """
    A line of the transcript: what it is about, and the text.

    A text of several lines stands beside the label, so that none of them looks like another. `at`
    is when it was known: a reply or a result was there, somebody had decided.
    """

    label: str
    text: str
    tone: Tone = "plain"
    indented: bool = False
    at: datetime | None = None

    def __str__(self) -> str:
        text = f"\n{' ' * _WIDTH}".join(escape_invisible_lines(self.text))
        return (
            f"{'  ' if self.indented else ''}{escape_invisible(self.label):<{_WIDTH - 1}} {text}"
        )


def with_time(lines: Iterable[Line], at: datetime | None) -> Iterator[Line]:
    """Write lines with a time, but for those that have one of their own."""
    for line in lines:
        yield line if line.at is not None else line._replace(at=at)


def short(text: str) -> str:
    """Write a text on one line."""
    return shorten(text, MAX_LINE_CHARS)


def offset(time: timedelta) -> str:
    """Write how long after a beginning something was, in 7 columns at most: `+12.3s`, `+3h04m`."""
    seconds = max(time.total_seconds(), 0.0)
    if seconds < _ROUNDS_TO_A_MINUTE:
        return f"+{seconds:.1f}s"
    days, hours, minutes, rest = split_seconds(seconds)
    if days:
        return f"+{days}d{hours:02}h"
    return f"+{hours}h{minutes:02}m" if hours else f"+{minutes}m{rest:02}s"


def describe_timing(ran: Timed) -> str:
    """Write how long something ran: ` (12 ms, 2 attempts)`, or nothing where it didn't."""
    if ran.elapsed_ms is None:
        return ""
    more = f", {ran.attempts} attempts" if ran.attempts > 1 else ""
    return f" ({duration(timedelta(milliseconds=ran.elapsed_ms))}{more})"
