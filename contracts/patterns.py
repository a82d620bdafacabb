"""Patterns in time linear in the text, whatever it holds: RE2."""

from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol, cast

import re2  # pyright: ignore[reportMissingTypeStubs] -- it has none

from holdfast.contracts.bounds import MAX_RUN_ID_CHARS


class Span(NamedTuple):
    """A place in a text, or in its bytes, from `start` up to `end`."""

    start: int
    end: int


WORD = r"\pL\pN_"
"""Inside of brackets: what `\\w` is in Python, letters and digits of all languages."""

SPACE = r"\s\v\x1c-\x1f\x{85}\pZ"
"""Inside of brackets: what `\\s` is in Python, and what `str.split` divides at."""

BadPattern = cast("type[Exception]", re2.error)  # pyright: ignore[reportUnknownMemberType] -- it has no types

_QUIET = re2.Options()
_QUIET.log_errors = False


class Match(NamedTuple):
    """What was found in a text: all of it, then its groups; one that holds nothing is empty."""

    start: int
    end: int
    groups: tuple[str, ...]


class _Match(Protocol):
    def span(self, group: int = 0) -> tuple[int, int]: ...


class _Compiled(Protocol):
    @property
    def groups(self) -> int: ...

    def search(self, text: bytes | str) -> _Match | None: ...

    def match(self, text: str) -> _Match | None: ...

    def fullmatch(self, text: str) -> _Match | None: ...

    def finditer(self, text: bytes | str) -> Iterator[_Match]: ...


class Pattern:
    """
    A compiled pattern in RE2's syntax; capitals and small letters are the same on request.

    Its classes and the ends of its words know ASCII alone: for others see `WORD` and `SPACE`.
    A group called `it` is what `spans` finds. Raises BadPattern.
    """

    def __init__(self, form: str, *, any_case: bool = False) -> None:
        shown = f"(?i){form}" if any_case else form
        self._compiled = cast("_Compiled", re2.compile(shown.encode(), _QUIET))  # pyright: ignore[reportUnknownMemberType] -- it has no types
        self._group = 1 if "(?P<it>" in form else 0

    def spans(self, text: bytes) -> Iterator[Span]:
        """Find all places, from left to right; none overlaps another."""
        for match in self._compiled.finditer(text):
            yield Span(*match.span(self._group))

    def spans_in(self, text: str) -> Iterator[Span]:
        """Find all places as `spans` does, in characters."""
        for match in self._compiled.finditer(_replace_surrogates(text)):
            yield Span(*match.span(self._group))

    def beginning(self, text: str) -> int:
        """Return the end of what a text begins with; 0 where it begins otherwise."""
        match = self._compiled.match(_replace_surrogates(text))
        return match.span()[1] if match else 0

    def found_in(self, text: bytes | str) -> bool:
        """Whether it stands anywhere in a text."""
        said = _replace_surrogates(text) if isinstance(text, str) else text
        return self._compiled.search(said) is not None

    def fits(self, text: str) -> bool:
        """Whether a text is this from its beginning to its end."""
        return self._compiled.fullmatch(_replace_surrogates(text)) is not None

    def fullmatch(self, text: str) -> Match | None:
        """Read a text that is this from its beginning to its end."""
        match = self._compiled.fullmatch(_replace_surrogates(text))
        return self._read(match, text) if match else None

    def match(self, text: str) -> Match | None:
        """Read what a text begins with."""
        match = self._compiled.match(_replace_surrogates(text))
        return self._read(match, text) if match else None

    def matches(self, text: str) -> Iterator[Match]:
        """Read all that stands in a text, from left to right; none overlaps another."""
        for match in self._compiled.finditer(_replace_surrogates(text)):
            yield self._read(match, text)

    def sub(self, by: Callable[[Match], str] | str, text: str) -> str:
        """Put something else in all places; a text is taken as it is written."""
        pieces: list[str] = []
        end = 0
        for match in self.matches(text):
            pieces += (text[end : match.start], by if isinstance(by, str) else by(match))
            end = match.end
        return "".join((*pieces, text[end:]))

    def _read(self, match: _Match, text: str) -> Match:
        spans = [match.span(group) for group in range(self._compiled.groups + 1)]
        # A group that takes no part lies from -1 to -1.
        return Match(*spans[0], tuple(text[max(start, 0) : max(end, 0)] for start, end in spans))


def _replace_surrogates(text: str) -> str:
    """Put a question mark where half of a surrogate pair stands, which has no bytes."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def encode_text(text: str) -> bytes:
    """Return the bytes that patterns look at."""
    return text.encode("utf-8", "surrogatepass")


def decode_text(text: bytes) -> str:
    """Return the text of such bytes."""
    return text.decode("utf-8", "surrogatepass")


RUN_ID_RULE = (
    "an id is made of letters, digits and . _ : - alone, begins with a letter or a digit, "
    f"and has at most {MAX_RUN_ID_CHARS} characters"
)

_RUN_ID = Pattern(rf"[A-Za-z0-9][A-Za-z0-9._:\-]{{0,{MAX_RUN_ID_CHARS - 1}}}")


def is_run_id(name: object) -> bool:
    """Whether a run may have this id: it is shown, quoted and handed on in many places."""
    return isinstance(name, str) and _RUN_ID.fits(name)
