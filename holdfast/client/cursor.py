"""Where somebody stands who reads the events of a run, and of the runs that do parts of it."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple, Self

from holdfast.contracts.errors import HoldfastError
from holdfast.contracts.texts import shorten

MAX_CURSOR_CHARS = 20_000
"""Characters; each run that goes on at the same time adds some forty."""

LIVE = "~"
"""What parts a cursor from the rest of an id of an event that passes."""

_EXECUTION_CHARS = 12
_MAX_DIGITS = 9


def shorten_execution(execution: str) -> str:
    """Return what tells an execution from others of that time: the random end of its id."""
    return execution.replace("-", "")[-_EXECUTION_CHARS:]


class Position(NamedTuple):
    """An execution, the number of an event in its history, and which of those that it brought."""

    execution: str
    event: int
    place: int

    def is_before(self, other: Self) -> bool:
        """Whether it stands before another one of the same execution."""
        return (self.event, self.place) < (other.event, other.place)


class Cursor:
    """
    What was told last of each run that goes on, by its first execution; the others have ended.

    As text it has letters, digits, `.` and `_` alone: it goes into addresses and headers.
    """

    def __init__(self, positions: Mapping[str, Position] | None = None) -> None:
        self._positions = dict(positions or {})

    @classmethod
    def parse(cls, text: str, run_id: str) -> Self:
        """Read one, or the id of an event that passes; HoldfastError for what is neither."""
        read = cls()
        parts = text.partition(LIVE)[0].split("_") if len(text) <= MAX_CURSOR_CHARS else ()
        for part in parts:
            match part.split("."):
                case [first, execution, event, place] if _are_numbers(event, place):
                    read.move(first, Position(execution, int(event), int(place)))
                case _:
                    raise refuse_cursor(text, run_id)
        if not parts:
            raise refuse_cursor(text, run_id)
        return read

    def copy(self) -> Self:
        """Return one that stays where this one stands now."""
        return type(self)(self._positions)

    def find(self, first: str) -> Position | None:
        """Return what was told last of a run; null where that is nothing."""
        return self._positions.get(first)

    def move(self, first: str, position: Position) -> None:
        """Keep what was told last of a run."""
        self._positions[first] = position

    def forget(self, ended: Iterable[str]) -> None:
        """Leave out runs that have ended."""
        for first in ended:
            self._positions.pop(first, None)

    def __str__(self) -> str:
        """Write it as the id of the event that was told last."""
        return "_".join(
            f"{first}.{at.execution}.{at.event}.{at.place}"
            for first, at in self._positions.items()
        )


def refuse_cursor(text: str, run_id: str) -> HoldfastError:
    """Say that a cursor is of no event of a run."""
    return HoldfastError(
        f"cursor {shorten(text)!r} is of no event of run {run_id!r} that is kept: leave it out to "
        "read from the beginning"
    )


def _are_numbers(*texts: str) -> bool:
    return all(text.isascii() and text.isdecimal() and len(text) <= _MAX_DIGITS for text in texts)
