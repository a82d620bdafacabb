"""How the fields of a message grow while they are streamed."""

from pydantic import JsonValue

from adapters import wire
from contracts.base import JsonObject

_TEXTS = frozenset(
    {"refusal", "reasoning_content", "reasoning", "text", "summary", "data", "transcript", "input"}
)
"""Fields whose text comes in pieces; any other field is as it was said last."""

_GROWING_TYPES = ("text", "thinking")
"""Pieces of content of which neighbours are one."""


def grown(name: str, before: JsonValue, more: JsonValue) -> JsonValue:
    """Return the field of this name with *more* of it; how it grows depends on the name."""
    if more is None or (more == "" and before is not None):
        return before
    if name == "content":
        return _content(before, more)
    if name == "arguments":
        return _arguments(before, more)
    match before, more:
        case str(), str():
            return before + more if name in _TEXTS else more
        case dict(), dict():
            return before | {key: grown(key, before.get(key), more[key]) for key in more}
        case list(), list():
            return _joined(before, more)
        case _:
            return more


def is_whole(arguments: JsonValue) -> bool:
    """Whether arguments end where an object does, so that nothing of them can be missing."""
    if not isinstance(arguments, str):
        return isinstance(arguments, dict)
    try:
        wire.json_object(arguments)
    except ValueError:
        return False
    return True


def _arguments(before: JsonValue, more: JsonValue) -> JsonValue:
    """Add a piece of a call's arguments; what begins behind their end is all of them anew."""
    if not isinstance(before, str) or not isinstance(more, str):
        return more
    ended = more.lstrip().startswith("{") and before.endswith("}") and is_whole(before)
    return more if ended else before + more


def _content(before: JsonValue, more: JsonValue) -> JsonValue:
    """Add to what is said: text, or a list of pieces, or first the one and then the other."""
    if isinstance(before, str) and isinstance(more, str):
        return before + more
    if before is None and isinstance(more, str):
        return more
    said = _listed(before)
    for piece in _listed(more):
        last = said[-1] if said else None
        if isinstance(last, dict) and isinstance(piece, dict) and _same_kind(last, piece):
            kind = str(piece["type"])
            said[-1] = last | piece | {kind: _content(last.get(kind), piece.get(kind))}
        else:
            said.append(piece)
    return said


def _listed(content: JsonValue) -> list[JsonValue]:
    match content:
        case list():
            return list(content)
        case str() if content:
            return [{"type": "text", "text": content}]
        case _:
            return []


def _same_kind(last: JsonObject, piece: JsonObject) -> bool:
    return last.get("type") == piece.get("type") and piece.get("type") in _GROWING_TYPES


def _joined(before: list[JsonValue], more: list[JsonValue]) -> list[JsonValue]:
    """Add entries to a list; one with the number and kind of an earlier one is more of that."""
    entries = list(before)
    for entry in more:
        place = next((at for at, known in enumerate(entries) if _is_more_of(known, entry)), None)
        if place is None:
            entries.append(entry)
        else:
            entries[place] = grown("", entries[place], entry)
    return entries


def _is_more_of(known: JsonValue, entry: JsonValue) -> bool:
    match known, entry:
        case {"index": int(one)}, {"index": int(other)}:
            return one == other and known.get("type") == entry.get("type", known.get("type"))
        case _:
            return False
