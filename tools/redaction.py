"""Keeping secrets out of what leaves a worker: known ones in every usual guise, and lookalikes."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from pydantic import JsonValue
from pydantic_core import from_json, to_json

from tools.credentials import FIELD_WORDS, Found, Shape, field, shapes_in
from tools.guises import encoded, guises, parts

REDACTED = "[redacted]"
WITHHELD = "[withheld]"
TOO_DEEP = "[redacted: nested too deeply to be checked]"

_HEAD = 12
"""Characters by which the beginning of a secret is known, where a text cuts it short."""

_TAIL = 4
_ELLIPSIS = re.compile(r"\.{2,3}|…")


class _Wanted(NamedTuple):
    """
    What is looked for: forms of secrets, whole secrets that a text may cut short, and shapes.

    `broken` are those forms that a text may break into lines.
    """

    forms: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    shapes: tuple[Shape, ...] = ()
    fields: bool = False


class _Known:
    """All forms of all known secrets, each with what it becomes inside of JSON."""

    def __init__(self, secrets: Iterable[str]) -> None:
        values = {part for secret in secrets for part in parts(secret)}
        # A secret that is a piece of a mark would be found in every mark.
        values = {value for value in values if value not in REDACTED + WITHHELD}
        self._forms = _in_json(form for value in values for form in guises(value))
        self._broken = tuple({form for value in values for form in encoded(value)})
        self._secrets = _in_json(value for value in values if len(value) >= 2 * _HEAD)
        self._heads = tuple((secret, inner[:_HEAD]) for secret, inner in self._secrets)

    def in_text(self, text: str) -> _Wanted:
        """Return what may be in a text."""
        return _Wanted(
            tuple(form for form, _ in self._forms if form in text),
            self._lines_of(text.split()),
            tuple(secret for secret, _ in self._secrets if secret[:_HEAD] in text),
            shapes_in(text),
        )

    def in_json(self, content: str) -> _Wanted:
        """Return what may be in the strings of a JSON text."""
        small = content.lower()
        return _Wanted(
            tuple(form for form, inner in self._forms if inner in content),
            self._lines_of(re.split(r"(?:\\[nrt]|\s)+", content)),
            tuple(secret for secret, head in self._heads if head in content),
            shapes_in(content),
            any(word in small for word in FIELD_WORDS),
        )

    def _lines_of(self, lines: list[str]) -> tuple[str, ...]:
        if not self._broken or len(lines) < 2:  # noqa: PLR2004 -- one line isn't broken
            return ()
        whole = "".join(lines)
        return tuple(form for form in self._broken if form in whole)


class Redactor:
    """
    Replaces secrets by `[redacted]`, and what looks like a credential by its kind.

    *known* gives the values that must not leave; it is asked each time, and should answer with the
    same set as long as nothing has changed.
    """

    def __init__(self, known: Callable[[], frozenset[str]]) -> None:
        self._source = known
        self._secrets: frozenset[str] = frozenset()
        self._known = _Known(())

    def learn(self) -> None:
        """Take note of what is secret now."""
        self._current()

    def text(self, text: str) -> str:
        """Return a text without secrets."""
        return _redacted(text, self._current().in_text(text))

    def json(self, content: bytes) -> bytes:
        """Return JSON without secrets, also in names of fields; without any, the same bytes."""
        text = content.decode()
        try:
            if "\\u" in text or "\\/" in text:
                # Written by others than us: so that each letter stands for itself.
                text = to_json(from_json(content)).decode()
            wanted = self._current().in_json(text)
            if wanted == _Wanted():
                return content
            value: JsonValue = from_json(content)
        except ValueError:
            return to_json(TOO_DEEP)
        redacted = _walked(value, wanted)
        return content if redacted == value else to_json(redacted)

    def value(self, value: JsonValue) -> JsonValue:
        """Return a value without secrets."""
        content = to_json(value)
        redacted = self.json(content)
        return value if redacted == content else from_json(redacted)

    def _current(self) -> _Known:
        secrets = self._source()
        if secrets != self._secrets:
            self._secrets, self._known = secrets, _Known(secrets)
        return self._known


def withheld(content: bytes) -> bytes:
    """Return JSON with each text and number replaced; names of fields, truth and nothing stay."""
    try:
        return to_json(_without_values(from_json(content)))
    except ValueError:
        return to_json(TOO_DEEP)


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


def _walked(value: JsonValue, wanted: _Wanted) -> JsonValue:
    match value:
        case str():
            return _redacted(value, wanted)
        case list():
            return [_walked(entry, wanted) for entry in value]
        case dict():
            found: dict[str, JsonValue] = {}
            for name, entry in value.items():
                kind = field(name) if wanted.fields and isinstance(entry, str) else None
                shown = _walked(entry, wanted) if kind is None else f"[redacted: {kind}]"
                found[_unique(_redacted(name, wanted), found)] = shown
            return found
        case _:
            return value


def _unique(name: str, taken: dict[str, JsonValue]) -> str:
    """Let no two fields become one, which would lose the value of the first."""
    number, unique = 1, name
    while unique in taken:
        number += 1
        unique = f"{name} {number}"
    return unique


def _redacted(text: str, wanted: _Wanted) -> str:
    found = sorted(_found(text, wanted))
    if not found:
        return text
    pieces: list[str] = []
    written = place = 0
    while place < len(found):
        start, end, name = found[place]
        # What overlaps is one secret, and a known one has no name.
        while place < len(found) and found[place].start < end:
            end = max(end, found[place].end)
            name = min(name, found[place].name)
            place += 1
        pieces += (text[written:start], f"[redacted: {name}]" if name else REDACTED)
        written = end
    return "".join((*pieces, text[written:]))


def _found(text: str, wanted: _Wanted) -> Iterator[Found]:
    for form in wanted.forms:
        place = text.find(form)
        while place >= 0:
            yield Found(place, place + len(form), "")
            place = text.find(form, place + len(form))
    for form in wanted.broken:
        # Each letter may be followed by the end of a line, and the next line be indented.
        for match in re.finditer(r"\s*+".join(map(re.escape, form)), text):
            yield Found(*match.span(), "")
    for secret in wanted.secrets:
        yield from _cut_short(text, secret)
    for shape in wanted.shapes:
        yield from shape.find(text)


def _cut_short(text: str, secret: str) -> Iterator[Found]:
    """Find a secret of which a text shows beginning and end, as messages of errors do."""
    place = text.find(secret[:_HEAD])
    while place >= 0:
        end = place + _HEAD
        while end - place < len(secret) and text.startswith(secret[end - place], end):
            end += 1
        if gap := _ELLIPSIS.match(text, end):
            end = gap.end() + _tail(text, gap.end(), secret)
            yield Found(place, end, "")
        place = text.find(secret[:_HEAD], end)


def _tail(text: str, place: int, secret: str) -> int:
    for length in range(len(secret) - _HEAD, _TAIL - 1, -1):
        if text.startswith(secret[-length:], place):
            return length
    return 0


def _in_json(forms: Iterable[str]) -> tuple[tuple[str, str], ...]:
    unique = sorted(set(forms), key=len, reverse=True)
    return tuple((form, json.dumps(form, ensure_ascii=False)[1:-1]) for form in unique)
