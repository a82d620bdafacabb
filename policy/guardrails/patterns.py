"""Patterns in time linear in the text, whatever it holds: RE2, on bytes."""

from collections.abc import Iterator
from typing import NamedTuple, Protocol, cast

import re2  # pyright: ignore[reportMissingTypeStubs] -- it has none


class Span(NamedTuple):
    """A place in a text's bytes, from `start` up to `end`."""

    start: int
    end: int


class _Match(Protocol):
    def span(self, group: int = 0) -> tuple[int, int]: ...


class _Compiled(Protocol):
    def search(self, text: bytes) -> _Match | None: ...

    def finditer(self, text: bytes) -> Iterator[_Match]: ...


class Pattern:
    """
    A compiled pattern in RE2's syntax; capitals and small letters are the same on request.

    Words end where letters of ASCII do. With a group, what stands in it is what is found.
    """

    def __init__(self, form: str, *, any_case: bool = False) -> None:
        shown = f"(?i){form}" if any_case else form
        self._compiled = cast("_Compiled", re2.compile(shown.encode()))  # pyright: ignore[reportUnknownMemberType] -- it has no types
        self._group = 1 if "(?P<it>" in form else 0

    def spans(self, text: bytes) -> Iterator[Span]:
        """Find all places, from left to right; none overlaps another."""
        for match in self._compiled.finditer(text):
            yield Span(*match.span(self._group))

    def found_in(self, text: bytes) -> bool:
        """Whether it stands anywhere in a text."""
        return self._compiled.search(text) is not None


def encoded(text: str) -> bytes:
    """Return the bytes that patterns look at."""
    return text.encode("utf-8", "surrogatepass")


def decoded(text: bytes) -> str:
    """Return the text of such bytes."""
    return text.decode("utf-8", "surrogatepass")
