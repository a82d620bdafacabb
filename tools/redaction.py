"""Keeping secrets out of what leaves a worker: known ones in every usual guise, and lookalikes."""

import string
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from pydantic import JsonValue
from pydantic_core import from_json, to_json

from holdfast.contracts.base import repair_surrogates
from holdfast.contracts.bounds import MAX_REPLY_BYTES
from holdfast.contracts.patterns import Pattern
from holdfast.tools.credentials import SecretMatch, find_kinds, kind_of_field
from holdfast.tools.pieces import Pieces
from holdfast.tools.secret_encodings import MIN_SECRET_CHARS, encode_secrets, parts
from holdfast.tools.views import Effort, TooManyPieces, views

REDACTED = "[redacted]"
WITHHELD = "[withheld]"

_MIN_CREDENTIAL_CHARS = len("://a:b@")
_MIN_FOUND_CHARS = min(MIN_SECRET_CHARS, _MIN_CREDENTIAL_CHARS)
_ELLIPSES = ("...", "…", "..", "***")
_MAX_TAIL_CHARS, _MIN_TAIL_CHARS = 14, 4
"""Characters of a secret's end behind an ellipsis; a longer one is found by itself."""

_HELD_CHARS = 66
"""Characters by which a secret is known, each of them as an escape of six."""

_ESCAPED_CHARS, _MIN_REACH = 6, 4_000
"""What a character of a secret may be written with; what a long key has that nobody knows."""

_MAX_LOOKED_AT_CHARS = 100_000
"""Of a text that is looked through on the loop, however long a secret is."""

_KEPT_TEXTS, _MAX_KEPT_CHARS = 512, 2_000
"""
Texts of so many characters that are known to have no secret; when there are more, it begins anew.

Names of fields and of tools come again and again, and a result comes twice: it is cleared before
anything of it is cut, and with all else when it leaves.
"""

_IN_CREDENTIALS = string.digits + string.ascii_letters + string.punctuation
_MAX_HELD_CHARS = 2_000
"""Of a growing text its last word is held back, unless no credential is so long."""

_CONTEXT_CHARS = 2_000
"""
Behind so many characters a text is looked at that goes on: "password:" may stand there, or the
first letters of what is spelled with others between them.
"""

_OPEN_ESCAPE = Pattern(r"(?:\\+[a-zA-Z]?\{?[0-9A-Fa-f]*|&#?[0-9A-Za-z]*|%u?[0-9A-Fa-f]{0,3})$")

_MAX_TAKEN_CHARS = 8_000
"""Characters; to look through them is a matter of milliseconds, whatever they are."""


class _KnownSecrets:
    """All known secrets, as what is looked for in each reading of a text."""

    def __init__(self, secrets: Iterable[str]) -> None:
        values = {part for secret in secrets for part in parts(secret)}
        # A secret that is a piece of a mark would be found in every mark.
        found = encode_secrets(value for value in values if value not in REDACTED + WITHHELD)
        self._any = bool(values)
        self.reach = _ESCAPED_CHARS * max(map(len, values), default=0)
        self._plain = Pieces(found.plain | found.in_groups)
        self._quoted, self._hex, self._base64 = map(
            Pieces, (found.quoted, found.hex, found.base64)
        )
        self._have_signs = found.have_signs
        self._clean = set[str]()

    def __bool__(self) -> bool:
        return self._any

    def find_all_in(self, text: str, effort: Effort) -> tuple[SecretMatch, ...]:
        """Find all secrets of a text as it is; short ones without any are known again."""
        if not self._any or text in self._clean:
            return ()
        found = tuple(effort.each(self.find_in(text, effort, growing=False)))
        if not found and len(text) <= _MAX_KEPT_CHARS:
            if len(self._clean) >= _KEPT_TEXTS:
                self._clean.clear()
            self._clean.add(text)
        return found

    def find_in(self, text: str, effort: Effort, *, growing: bool) -> Iterator[SecretMatch]:
        """
        Find all secrets; some may be found more than once.

        Where a text is *growing*, what may become one is found up to its end.
        """
        if not self._any or len(text) < MIN_SECRET_CHARS:
            return
        known = text[: _find_open_escape(text)] if growing else text
        read = views(known, effort, signs=self._have_signs)
        for pieces, some in (
            (self._plain, read.plain),
            (self._quoted, read.quoted),
            (self._hex, read.hex),
            (self._base64, read.base64),
        ):
            for view in some:
                for piece in pieces.find_in(view.text, growing=growing):
                    start, after = view.source(piece.start, piece.end)
                    goes_on = growing and piece.open
                    end = len(text) if goes_on else _behind_ellipsis(text, after, piece.needle)
                    yield SecretMatch(start, end, "")


class Part(NamedTuple):
    """A part of a text, without secrets, and how many characters of the text are left out."""

    text: str
    left_out: int


class Redactor:
    """
    Replaces secrets by `[redacted]`, and what looks like a credential by its kind.

    *known* gives the values that must not leave; it is asked each time, and should answer with the
    same set as long as nothing has changed.
    """

    def __init__(self, known: Callable[[], frozenset[str]]) -> None:
        self._source = known
        # One value: several threads use it.
        self._known = frozenset[str](), _KnownSecrets(())

    def find_growing(self, text: str) -> tuple[SecretMatch, ...]:
        """
        Find what of a text that grows is secret, or looks like it; raises TooManyPieces.

        What reaches to its end may still become a secret, or a longer one.
        """
        return _Redaction(self._current(), lookalikes=True).find(text, growing=True)

    def part(self, text: str, most: int, *, last: bool = False) -> Part:
        """
        Return the first characters of a text, or its *last*, as many as *most*, without secrets.

        As much more is looked at as a secret may have, and none of it is told: half of a secret,
        at its end, is none that anybody knows.
        """
        reach = min(max(_MIN_REACH, self._current().reach), _MAX_LOOKED_AT_CHARS - most)
        looked_at = most + reach
        if len(text) <= looked_at:
            return Part(self.text(text), 0)
        text, left_out = text[-looked_at:] if last else text[:looked_at], len(text) - most
        try:
            found = _Redaction(self._current(), lookalikes=True).find(text)
        except TooManyPieces:
            return Part(WITHHELD, left_out)
        if last:
            return Part(_replace_secrets(text, found, reach), left_out)
        found = [one for one in found if one.start < most]
        end = max((most, *(one.end for one in found)))
        return Part(_replace_secrets(text[:end], found), left_out)

    def learn(self) -> None:
        """Take note of what is secret now."""
        self._current()

    def text(self, text: str) -> str:
        """Return a text without secrets; of one with too many pieces to be looked at, a mark."""
        try:
            return _Redaction(self._current(), lookalikes=True).text(text)
        except TooManyPieces:
            return WITHHELD

    def json(self, content: bytes, *, lookalikes: bool = True) -> bytes:
        """
        Return JSON without secrets, also in names of fields; without any, the same bytes.

        Without *lookalikes* nothing but what is known is replaced. Raises ValueError for what is
        nested too deeply to be read, and TooManyPieces, which is one.
        """
        value: JsonValue = from_json(content)
        known = self._current()
        if not (known or lookalikes):
            return content
        redacted = _Redaction(known, lookalikes=lookalikes).value(value)
        return content if redacted == value else to_json(redacted)

    def _current(self) -> _KnownSecrets:
        secrets = self._source()
        before, known = self._known
        if secrets != before:
            known = _KnownSecrets(secrets)
            self._known = secrets, known
        return known


class _Redaction:
    """Takes secrets out of one value, and of all that is in it."""

    def __init__(self, known: _KnownSecrets, *, lookalikes: bool) -> None:
        self._known = known
        self._lookalikes = lookalikes
        self._effort = Effort()

    def value(self, value: JsonValue) -> JsonValue:
        match value:
            case str():
                return self.text(value)
            case list():
                return [self.value(entry) for entry in value]
            case dict():
                return self._fields(value)
            case bool() | None:
                return value
            case int() | float():
                return REDACTED if any(self._find_known(str(value))) else value

    def text(self, text: str) -> str:
        found = self.find(text)
        return _replace_secrets(text, found) if found else text

    def find(self, text: str, *, growing: bool = False) -> tuple[SecretMatch, ...]:
        """Find all secrets, from left to right; none overlaps another."""
        if len(text) < _MIN_FOUND_CHARS:
            return ()
        found = list(self._find_known(text, growing=growing))
        if self._lookalikes and len(text) >= _MIN_CREDENTIAL_CHARS:
            alike = (one for shape in find_kinds(text) for one in shape.find(text))
            found += self._effort.each(alike)
        return tuple(_merge_overlaps(sorted(found)))

    def _find_known(self, text: str, *, growing: bool = False) -> Iterable[SecretMatch]:
        if not growing:
            return self._known.find_all_in(text, self._effort)
        return self._effort.each(self._known.find_in(text, self._effort, growing=True))

    def _fields(self, value: dict[str, JsonValue]) -> JsonValue:
        found: dict[str, JsonValue] = {}
        numbers: dict[str, int] = {}
        for name, entry in value.items():
            held = self._lookalikes and isinstance(entry, str) and entry
            kind = kind_of_field(name) if held else None
            shown = self.value(entry) if kind is None else f"[redacted: {kind}]"
            found[_unique(self.text(name), found, numbers)] = shown
        return found


def withhold_values(content: bytes) -> bytes:
    """Return JSON with each text and number replaced; names of fields, truth and nothing stay."""
    return to_json(_without_values(from_json(content)))


def _without_values(value: JsonValue) -> JsonValue:
    match value:
        case bool() | None:
            return value
        case str() | int() | float():
            return WITHHELD
        case list():
            return [_without_values(entry) for entry in value]
        case dict():
            return {name: _without_values(entry) for name, entry in value.items()}


def _unique(name: str, taken: dict[str, JsonValue], numbers: dict[str, int]) -> str:
    """Let no two fields become one, which would lose the value of the first."""
    unique = name
    while unique in taken:
        numbers[name] = numbers.get(name, 1) + 1
        unique = f"{name} {numbers[name]}"
    return unique


def _replace_secrets(text: str, found: Iterable[SecretMatch], begin: int = 0) -> str:
    """Return a text from a place on, without what was found; what ends before that is done."""
    pieces: list[str] = []
    for start, end, name in found:
        if end > begin:
            pieces += (text[begin:start], f"[redacted: {name}]" if name else REDACTED)
            begin = end
    return "".join((*pieces, text[begin:]))


class GrowingText:
    """
    A text that comes in pieces, without secrets; what was told of it is never taken back.

    So its end is held back: it may be the beginning of a secret, or of one written as its escapes.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._pieces = deque[str]()
        self._text = ""
        self._told = 0
        self._room = MAX_REPLY_BYTES

    def add(self, piece: str) -> None:
        """Take what comes next; behind what is longer than any reply nothing is told."""
        self._room -= len(piece)
        if self._room >= 0:
            self._pieces.append(piece)

    def take(self) -> str:
        """Return what can be told by now and wasn't yet; of a flood a part, and the rest later."""
        # Another thread may add some meanwhile: each is taken once.
        self._text += "".join(self._pieces.popleft() for _ in range(len(self._pieces)))
        text, begin = self._text[: self._told + _MAX_TAKEN_CHARS], self._told
        end = max(begin, len(text) - _count_held(text))
        try:
            found = self._redactor.find_growing(text) if end > begin else ()
            # What reaches into the end may go on there.
            end = next((max(begin, one.start) for one in found if one.end > end > one.start), end)
            if _is_first_half(text[end - 1 : end]):
                end = max(begin, end - 1)
            ready = _replace_secrets(text[:end], (one for one in found if one.end <= end), begin)
        except TooManyPieces:
            ready = WITHHELD
        kept = max(0, end - _CONTEXT_CHARS)
        self._text, self._told = self._text[kept:], end - kept
        return repair_surrogates(ready)


def _count_held(text: str) -> int:
    """Return how many characters at the end may be the beginning of a secret."""
    word = len(text) - len(text.rstrip(_IN_CREDENTIALS))
    return max(word if word <= _MAX_HELD_CHARS else 0, _HELD_CHARS)


def _find_open_escape(text: str) -> int:
    """Return where an escape begins at the end of a text, of which more may come; else its end."""
    return next((span.start for span in _OPEN_ESCAPE.spans_in(text)), len(text))


def _is_first_half(character: str) -> bool:
    """Whether it is half a character, as JSON writes one, whose other half is to come."""
    return "\ud800" <= character <= "\udbff"


def _merge_overlaps(found: list[SecretMatch]) -> list[SecretMatch]:
    """Make one secret of those that overlap; a known one has no name, nor do pieces touch."""
    apart: list[SecretMatch] = []
    for each in found:
        last = apart[-1] if apart else SecretMatch(0, -1, "")
        if each.start < last.end or (each.start == last.end and last.name == each.name == ""):
            name = min(last.name, each.name)
            apart[-1] = SecretMatch(last.start, max(last.end, each.end), name)
        else:
            apart.append(each)
    return apart


def _behind_ellipsis(text: str, place: int, needle: str) -> int:
    """Return the end of a secret of which a text may show beginning and end, as errors do."""
    for ellipsis in _ELLIPSES:
        if text.startswith(ellipsis, place):
            place += len(ellipsis)
            for length in range(_MAX_TAIL_CHARS, _MIN_TAIL_CHARS - 1, -1):
                if text.startswith(needle[-length:], place):
                    return place + length
            return place
    return place
