"""Finding words, or pieces of them, in a text: in one pass, however many words there are. Pure."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

_SMALL, _LARGE = 4, 6
"""Characters of a gram: each found piece of twice as many, but one, has a gram in step with it."""


class Needle(NamedTuple):
    """What is looked for, and how many characters of it in a row must be there to be found."""

    text: str
    shortest: int


class Piece(NamedTuple):
    """
    What of a needle stands in a text, from `start` up to `end`.

    It is `open` where the text ends and the needle doesn't: more of it may come.
    """

    start: int
    end: int
    needle: str
    open: bool


class Pieces:
    """
    Finds needles in texts.

    A text is looked at gram by gram, and further only where a needle has that gram. So the time
    depends on the length of a text, not on what it says or on how many needles there are.
    """

    def __init__(self, needles: Iterable[Needle]) -> None:
        self._grams: dict[int, dict[str, list[tuple[Needle, int]]]] = {}
        for needle in needles:
            size = _LARGE if needle.shortest >= 2 * _LARGE - 1 else _SMALL
            grams = self._grams.setdefault(size, {})
            # Where a needle counts only whole, one of its first grams is in step.
            whole = needle.shortest == len(needle.text)
            for place in range(size if whole else len(needle.text) - size + 1):
                gram = needle.text[place : place + size]
                grams.setdefault(gram, []).append((needle, place))

    def find_in(self, text: str, *, growing: bool = False) -> Iterator[Piece]:
        """
        Find all pieces; some may be found more than once.

        Of a text that is *growing* its end is one, too, where it may become one.
        """
        for size, grams in self._grams.items():
            yield from _find(text, size, grams, growing=growing)


def _find(
    text: str, size: int, grams: Mapping[str, list[tuple[Needle, int]]], *, growing: bool
) -> Iterator[Piece]:
    # In step with the end of the text: there the shortest beginning of a piece is a gram.
    for place in range(len(text) % size, len(text) - size + 1, size):
        if (gram := text[place : place + size]) not in grams:
            continue
        for needle, offset in grams[gram]:
            before = _agreeing_before(text, place, needle.text, offset)
            behind = _agreeing_behind(text, place, needle.text, offset)
            start, end = place - before, place + behind
            is_open = end == len(text) and offset + behind < len(needle.text)
            begins = before == offset or needle.shortest < len(needle.text)
            if end - start >= needle.shortest or (growing and is_open and begins):
                yield Piece(start, end, needle.text, is_open)


def _agreeing_behind(text: str, place: int, needle: str, offset: int) -> int:
    """Return how many characters agree from two places on."""
    return bisect_left(
        range(1, min(len(text) - place, len(needle) - offset) + 1),
        1,
        key=lambda length: text[place : place + length] != needle[offset : offset + length],
    )


def _agreeing_before(text: str, place: int, needle: str, offset: int) -> int:
    """Return how many characters agree up to two places."""
    return bisect_left(
        range(1, min(place, offset) + 1),
        1,
        key=lambda length: text[place - length : place] != needle[offset - length : offset],
    )
