"""
The readings of a text: with its escapes undone, as one run of hex digits, as one of base64. Pure.

What stands there in hex or base64 of its own is read in the same ways once more.

Each is made in time linear in the text, and knows where in the text it found what it shows.
"""

import base64
import html
import io
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, lru_cache
from itertools import accumulate
from string import ascii_letters, digits
from typing import NamedTuple, Protocol, TypeVar

from holdfast.contracts.bounds import MAX_PAYLOAD_BYTES
from holdfast.contracts.patterns import Pattern, Span

MAX_PIECES = MAX_PAYLOAD_BYTES
"""Escapes, and what else of a value is looked at one by one; no payload has so many."""

_ROUNDS = 3
"""How often a text may be quoted in another: JSON in JSON in JSON."""

_ESCAPE = Pattern(
    r"(?s)(?:%[0-9A-Fa-f]{2})+"
    r"|(?:%u[0-9A-Fa-f]{4})+"
    r"|&(?:#0*[0-9]{1,7}|#[xX]0*[0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});?"
    r"|\\[ux]\{0*[0-9A-Fa-f]{1,6}\}|\\o\{0*[0-7]{1,7}\}"
    r"|(?:\\x[0-9A-Fa-f]{2})+|(?:\\u[0-9A-Fa-f]{4})+|\\U[0-9A-Fa-f]{8}|(?:\\[0-3][0-7]{2})+|\\."
    r"|0x[0-9A-Fa-f]{2}(?:[,;\s]{0,3}0x[0-9A-Fa-f]{2})+"
)
_MARKS = ("\\", "%", "&", "0x")
_NUMBERED_BYTES = Pattern(r"(?:\\[0-9A-Fa-f]{2})+")
QUOTATION_MARK = "'"
_AS_ONE_MARK = str.maketrans(dict.fromkeys("'\"`\\", QUOTATION_MARK))
_QUOTATION_MARKS = Pattern(r"""['"`\\]+""")
_CONTROL = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_BETWEEN_DIGITS = str.maketrans("", "", ",; \t\r\n")
_LAST_CHARACTER = 0x10FFFF
_BLOCK = 2**16
_MAX_KEPT_ESCAPE_CHARS = 12

Found = TypeVar("Found")

_MIN_ENCODED_CHARS = 32
"""A run of base64 or hex is as long as the escapes of the shortest secret."""

_ENCODED = Pattern(rf"[A-Za-z0-9+/_-]{{{_MIN_ENCODED_CHARS},}}")

_HEX_DIGITS = frozenset("0123456789abcdefABCDEF")


class TooManyPieces(ValueError):
    """A value has more pieces than anybody looks at."""


class Effort:
    """How many pieces of a value may still be looked at."""

    def __init__(self) -> None:
        self._left = MAX_PIECES

    def each(self, found: Iterable[Found]) -> Iterator[Found]:
        """Pass on what was found, piece by piece; raises TooManyPieces."""
        for one in found:
            if self._left <= 0:
                raise TooManyPieces("it has more pieces than anybody looks at")
            self._left -= 1
            yield one


class _Alphabet(NamedTuple):
    """An encoding: what each byte reads as, and how many of its letters stand together."""

    letters: bytes
    shortest: int


def _alphabet(letters: str, read_as: str, shortest: int) -> _Alphabet:
    reading = dict(zip(letters.encode(), read_as.encode(), strict=True))
    return _Alphabet(bytes(reading.get(byte, ord(" ")) for byte in range(256)), shortest)


# Of 0x61, or a word between two bytes, a single digit is none of theirs.
_HEX = _alphabet(digits + "abcdefABCDEF", digits + "abcdefabcdef", 2)
_BASE64 = _alphabet(ascii_letters + digits + "+/-_", ascii_letters + digits + "+/+/", 1)


class View(Protocol):
    """A reading of a text."""

    @property
    def text(self) -> str: ...

    def source(self, start: int, end: int) -> tuple[int, int]:
        """Return where in the text that stands which the reading shows at a place."""
        ...


class Views(NamedTuple):
    """All readings of a text, by what can be found in them."""

    plain: tuple[View, ...]
    quoted: tuple[View, ...]
    hex: tuple[View, ...]
    base64: tuple[View, ...]


def views(text: str, effort: Effort, *, signs: bool) -> Views:
    """
    Read a text in every way; raises TooManyPieces.

    Some readings nobody needs unless what is looked for has *signs* that others write otherwise.
    """
    plain = _readings(_Whole(text), effort)
    inner = (
        _readings(decoded, effort) for end in _ends(plain) for decoded in _decode_runs(end, effort)
    )
    found = [plain, *inner]
    ends = [end for readings in found for end in _ends(readings)]
    escaped = [view for readings in found for view in readings]
    numbered = (_undo_numbered_bytes(view, effort) for view in escaped if signs)
    return Views(
        (*escaped, *filter(None, numbered)),
        tuple(_Marked(view, effort) for view in ends if signs),
        tuple(_Compact(view, _HEX) for view in ends),
        tuple(_Compact(view, _BASE64) for view in ends),
    )


def unescape_stepwise(text: str) -> Iterator[str]:
    """Return a text with its escapes, and without them; each once."""
    for view in _readings(_Whole(text), Effort()):
        yield view.text


def _readings(view: View, effort: Effort) -> list[View]:
    """Return a reading, and those with its escapes undone once, twice and so on."""
    found = [view]
    while len(found) <= _ROUNDS and (undone := _undo_escapes(found[-1], effort)):
        found.append(undone)
    return found


def _ends(readings: list[View]) -> list[View]:
    return readings if len(readings) == 1 else [readings[0], readings[-1]]


def unite_marks(text: str) -> str:
    """
    Return a text with one mark in the place of what quotes, however often it stands there.

    CSV and SQL double a quotation mark; a shell ends one quotation and begins others.
    """
    text = text.translate(_AS_ONE_MARK)
    while (twice := 2 * QUOTATION_MARK) in text:  # as often as the longest run can be halved
        text = text.replace(twice, QUOTATION_MARK)
    return text


def bytewise(text: str) -> str:
    """Return a text as it reads where each of its bytes was escaped, and is taken for a letter."""
    return text.encode("utf-8", "surrogateescape").decode("latin-1")


class _Whole:
    def __init__(self, text: str) -> None:
        self.text = text

    def source(self, start: int, end: int) -> tuple[int, int]:
        return start, end


class _Marked:
    """A reading as `unite_marks` has it; where something stood is found when somebody asks."""

    def __init__(self, below: View, effort: Effort) -> None:
        self._below = below
        self._effort = effort
        self.text = unite_marks(below.text)

    def source(self, start: int, end: int) -> tuple[int, int]:
        return self._places.source(start, end)

    @cached_property
    def _places(self) -> "_Unescaped":
        marks = self._effort.each(_spans(_QUOTATION_MARKS, self._below.text))
        return _Unescaped(self._below, marks, lambda _: QUOTATION_MARK)


class _Unescaped:
    """A reading with escapes undone: each is a run of characters for a run of the text below."""

    def __init__(self, below: View, escapes: Iterable[Span], read: Callable[[str], str]) -> None:
        self._below = below
        self._escape_starts, self._escape_ends = array("q"), array("q")
        self._starts, self._ends = array("q"), array("q")
        text = io.StringIO()
        written = 0
        for start, end in escapes:
            text.write(below.text[written:start])
            self._starts.append(text.tell())
            text.write(read(below.text[start:end]))
            self._ends.append(text.tell())
            self._escape_starts.append(start)
            self._escape_ends.append(end)
            written = end
        text.write(below.text[written:])
        self.text = text.getvalue()

    def __bool__(self) -> bool:
        return bool(self._starts)

    def source(self, start: int, end: int) -> tuple[int, int]:
        return self._below.source(self._place(start)[0], self._place(end - 1)[1])

    def _place(self, place: int) -> tuple[int, int]:
        """Return what a character was below: the whole escape, or itself."""
        before = bisect_right(self._starts, place) - 1
        if before < 0:
            return place, place + 1
        if place < self._ends[before]:
            return self._escape_starts[before], self._escape_ends[before]
        own = self._escape_ends[before] + place - self._ends[before]
        return own, own + 1


class _Compact:
    """A reading of nothing but the letters of an encoding, whatever stands between them."""

    def __init__(self, below: View, alphabet: _Alphabet) -> None:
        self._below = below
        self._shortest = alphabet.shortest
        self._letters = below.text.encode("ascii", "replace").translate(alphabet.letters)
        self.text = b"".join(self._read_blocks()).decode()

    def source(self, start: int, end: int) -> tuple[int, int]:
        return self._below.source(self._positions[start], self._positions[end - 1] + 1)

    def _read_blocks(self) -> Iterator[bytes]:
        """Read a large text part by part: its runs are as many objects."""
        for start, end in self._blocks():
            runs = self._letters[start:end].split(b" ")
            yield b"".join(run for run in runs if len(run) >= self._shortest)

    def _blocks(self) -> Iterator[tuple[int, int]]:
        start = 0
        while (end := self._letters.find(b" ", start + _BLOCK)) >= 0:
            yield start, end
            start = end
        yield start, len(self._letters)

    @cached_property
    def _positions(self) -> "array[int]":
        kept = array("q")
        for start, end in self._blocks():
            place = start
            for run in self._letters[start:end].split(b" "):
                if len(run) >= self._shortest:
                    kept.extend(range(place, place + len(run)))
                place += len(run) + 1
        return kept


class _Decoded:
    """A reading of nothing but what runs of an encoding say; each is found as a whole."""

    def __init__(self, below: View, runs: list[Span], decode: Callable[[str], bytes]) -> None:
        self._below = below
        self._runs = runs
        said = [decode(below.text[start:end]).decode("latin-1") for start, end in runs]
        self._starts = list(accumulate(map(len, said), initial=0))[:-1]
        self.text = "".join(said)

    def source(self, start: int, end: int) -> tuple[int, int]:
        return self._below.source(self._run(start).start, self._run(end - 1).end)

    def _run(self, place: int) -> Span:
        return self._runs[bisect_right(self._starts, place) - 1]


def _decode_runs(view: View, effort: Effort) -> Iterable[View]:
    """Read the runs of base64 and of hex in a text."""
    if len(view.text) < _MIN_ENCODED_CHARS:
        return
    runs = list(effort.each(_spans(_ENCODED, view.text)))
    if not runs:
        return
    yield _Decoded(view, runs, _from_base64)
    if numbers := [run for run in runs if _HEX_DIGITS.issuperset(view.text[run.start : run.end])]:
        yield _Decoded(view, numbers, _from_hex)


def _from_base64(run: str) -> bytes:
    whole = run[: len(run) - (len(run) % 4 == 1)]
    return base64.urlsafe_b64decode(whole.replace("+", "-").replace("/", "_") + "==")


def _from_hex(run: str) -> bytes:
    return bytes.fromhex(run[: len(run) // 2 * 2])


def _undo_escapes(view: View, effort: Effort) -> View | None:
    if not any(mark in view.text for mark in _MARKS):
        return None
    return _Unescaped(view, effort.each(_spans(_ESCAPE, view.text)), _letters) or None


def _undo_numbered_bytes(view: View, effort: Effort) -> View | None:
    """Read a backslash and two digits as a byte, as LDAP has it: elsewhere they are others."""
    if "\\" not in view.text:
        return None
    spans = effort.each(_spans(_NUMBERED_BYTES, view.text))
    return _Unescaped(view, spans, _from_numbered_bytes) or None


def _from_numbered_bytes(escapes: str) -> str:
    return bytes.fromhex(escapes.replace("\\", "")).decode("latin-1")


def _spans(pattern: Pattern, text: str) -> Iterator[Span]:
    """Find what is written in ASCII; a byte stands for each character, so places stay the same."""
    return pattern.spans(text.encode("ascii", "replace"))


def _letters(escape: str) -> str:
    """
    Return what an escape, or a run of them, stands for.

    Nothing tells whether a number is a letter's or a byte's: who looks for a secret looks for both
    (`bytewise`).
    """
    return _short(escape) if len(escape) <= _MAX_KEPT_ESCAPE_CHARS else _read_escape(escape)


@lru_cache(maxsize=4096)
def _short(escape: str) -> str:
    return _read_escape(escape)


def _read_escape(escape: str) -> str:
    if len(escape) == len("\\n"):
        return _CONTROL.get(escape[1], escape[1])
    match escape[:2]:
        case "\\u" | "\\x" | "\\o" if escape[2] == "{":
            return _letter(int(escape[3:-1], 8 if escape[1] == "o" else 16))
        case "%u":
            return bytes.fromhex(escape.replace("%u", "")).decode("utf-16-be", "replace")
        case "\\u":
            return bytes.fromhex(escape.replace("\\u", "")).decode("utf-16-be", "replace")
        case "\\U":
            return _letter(int.from_bytes(bytes.fromhex(escape[2:])))
        case "\\x" | "0x":
            numbers = escape.replace("0x", "").replace("\\x", "").translate(_BETWEEN_DIGITS)
            return bytes.fromhex(numbers).decode("latin-1")
        case octal if octal[0] == "\\":
            codes = (int(number, 8) for number in escape.split("\\")[1:])
            return bytes(codes).decode("latin-1")
        case url if url[0] == "%":
            return bytes.fromhex(escape.replace("%", "")).decode("latin-1")
        case "&#":
            base, number = (16, escape[3:]) if escape[2] in "xX" else (10, escape[2:])
            return _letter(int(number.rstrip(";").lstrip("0") or "0", base))
        case _:
            return html.unescape(escape)


def _letter(code: int) -> str:
    return chr(code) if code <= _LAST_CHARACTER else ""
