"""Where somebody stands who reads the events of a run, and of the runs that do parts of it."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple, Self

from holdfast.client.live_fold import LivePosition
from holdfast.contracts.errors import HoldfastError
from holdfast.contracts.texts import shorten

MAX_CURSOR_CHARS = 20_000
"""Characters; each run that goes on at the same time adds some forty."""

LIVE = "~"
"""What parts a cursor from what was told of replies under way, which history hasn't yet."""

_EXECUTION_CHARS = 12
_LIVE_NUMBERS = 4
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

    def __init__(
        self,
        positions: Mapping[str, Position] | None = None,
        live: Mapping[str, LivePosition] | None = None,
    ) -> None:
        self._positions = dict(positions or {})
        self._live = dict(live or {})

    @classmethod
    def parse(cls, text: str, run_id: str) -> Self:
        """Read one; HoldfastError for what is none."""
        read = cls()
        lasting, _, passing = text[: MAX_CURSOR_CHARS + 1].partition(LIVE)
        parts = lasting.split("_") if len(text) <= MAX_CURSOR_CHARS else ()
        for part in filter(None, passing.split("_")):
            match part.split("."):
                case [first, execution, *numbers] if len(
                    numbers
                ) == _LIVE_NUMBERS and _are_numbers(*numbers):
                    read.move_live(first, LivePosition(execution, *map(int, numbers)))
                case _:
                    raise refuse_cursor(text, run_id)
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
        return type(self)(self._positions, self._live)

    def find(self, first: str) -> Position | None:
        """Return what was told last of a run; null where that is nothing."""
        return self._positions.get(first)

    def move(self, first: str, position: Position) -> None:
        """Keep what was told last of a run."""
        self._positions[first] = position

    def find_live(self, first: str) -> LivePosition | None:
        """Return how far the reply was told that a run was getting."""
        return self._live.get(first)

    def move_live(self, first: str, position: LivePosition | None) -> None:
        """Keep how far a reply was told; nothing where it has come, or is void."""
        if position is None:
            self._live.pop(first, None)
        else:
            self._live[first] = position

    def forget(self, ended: Iterable[str]) -> None:
        """Leave out runs that have ended."""
        for first in ended:
            self._positions.pop(first, None)
            self._live.pop(first, None)

    def __str__(self) -> str:
        """Write it as the id of the event that was told last."""
        lasting = "_".join(
            f"{first}.{at.execution}.{at.event}.{at.place}"
            for first, at in self._positions.items()
        )
        passing = "_".join(
            f"{first}.{at.execution}.{at.event}.{at.attempt}.{at.seq}.{at.end}"
            for first, at in self._live.items()
        )
        return f"{lasting}{LIVE}{passing}" if passing else lasting


def refuse_cursor(text: str, run_id: str) -> HoldfastError:
    """Say that a cursor is of no event of a run."""
    return HoldfastError(
        f"cursor {shorten(text)!r} is of no event of run {run_id!r} that is kept: leave it out to "
        "read from the beginning"
    )


def _are_numbers(*texts: str) -> bool:
    return all(text.isascii() and text.isdecimal() and len(text) <= _MAX_DIGITS for text in texts)
