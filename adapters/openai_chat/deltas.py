"""
How the fields of a message grow while they are streamed.

A node is a value as it came until there is more of it. Then it is one that takes a piece in a time
that doesn't depend on what it holds; `whole` makes a value of it again.
"""

from collections.abc import Mapping
from typing import TypeAlias

from pydantic import JsonValue

from holdfast.adapters import wire
from holdfast.contracts.base import JsonObject

_TEXTS = frozenset(
    {"refusal", "reasoning_content", "reasoning", "text", "summary", "data", "transcript", "input"}
)
"""Fields whose text comes in pieces; any other field is as it was said last."""

_THOUGHTS = ("reasoning.text", "reasoning.summary")
"""Entries of `reasoning_details` that people may read; what is encrypted comes whole."""

_GROWING_TYPES = ("text", "thinking")
"""Pieces of content of which neighbours are one."""

_MAX_PARSE_ATTEMPTS = 20
"""
How often arguments are read while they grow, to see whether they are whole.

It takes two objects of which one follows the other's brace, or calls that share a number.
"""

Node: TypeAlias = "JsonValue | Text | Fields | Entries"


class Text:
    """A text that grows."""

    def __init__(self, begun: str) -> None:
        self._pieces = [begun]
        self._parse_attempts = 0
        self._is_whole: bool | None = None

    def add(self, more: str) -> None:
        self._pieces.append(more)
        self._is_whole = None

    def goes_on_with(self, more: str) -> bool:
        """Whether a piece belongs to these arguments; behind their end others begin."""
        begins = more.lstrip().startswith("{")
        return not (begins and self._pieces[-1].endswith("}") and self.is_whole())

    def is_whole(self) -> bool:
        """Whether it is an object, as far as that was looked at: nobody reads it for ever."""
        if self._is_whole is None:
            self._parse_attempts += 1
            self._is_whole = self._parse_attempts <= _MAX_PARSE_ATTEMPTS and is_whole(self.join())
        return self._is_whole

    def join(self) -> str:
        return "".join(self._pieces)


class Fields:
    """An object that grows."""

    def __init__(self, begun: Mapping[str, JsonValue] | None = None) -> None:
        self._fields: dict[str, Node] = dict(begun or {})

    def __bool__(self) -> bool:
        return bool(self._fields)

    def get(self, name: str) -> Node:
        return self._fields.get(name)

    def add(self, more: JsonObject) -> None:
        for name, value in more.items():
            self._fields[name] = grow(name, self._fields.get(name), value)

    def add_content(self, piece: JsonObject, name: str) -> None:
        """Add a piece of content, of which the field of this *name* grows; others are replaced."""
        said = _content(self._fields.get(name), piece.get(name))
        self._fields |= piece
        self._fields[name] = said

    def join(self) -> JsonObject:
        return {name: whole(node) for name, node in self._fields.items()}


class Entries:
    """
    A list that grows; an entry with the number and kind of an earlier one is more of that.

    So is a piece of a thought without a number, until its thought is signed: what goes back must
    be the thoughts that were signed, and not the pieces.
    """

    def __init__(self, begun: list[JsonValue]) -> None:
        self._nodes: list[Node] = []
        self._places: dict[tuple[int, str], int] = {}
        for entry in begun:
            self._append(entry)

    def add(self, more: list[JsonValue]) -> None:
        for entry in more:
            place = self._place(entry)
            if place is None:
                self._append(entry)
            else:
                self._nodes[place] = grow("", self._nodes[place], entry)

    def add_content(self, more: list[JsonValue]) -> None:
        """Add pieces of content; a piece of the same kind as the last one goes on with it."""
        for piece in more:
            last = _growing(self._nodes[-1]) if self._nodes else None
            if isinstance(last, Fields) and isinstance(piece, dict) and _same_kind(last, piece):
                last.add_content(piece, str(piece["type"]))
                self._nodes[-1] = last
            else:
                self._nodes.append(piece)

    def join(self) -> list[JsonValue]:
        return [whole(node) for node in self._nodes]

    def _append(self, entry: JsonValue) -> None:
        if isinstance(entry, dict) and isinstance(number := entry.get("index"), int):
            place = len(self._nodes)
            self._places.setdefault((number, ""), place)
            self._places.setdefault((number, repr(entry.get("type"))), place)
        self._nodes.append(entry)

    def _place(self, entry: JsonValue) -> int | None:
        """Return where an entry belongs that is more of an earlier one."""
        if not isinstance(entry, dict):
            return None
        if self._nodes and _goes_on(self._nodes[-1], entry):
            return len(self._nodes) - 1
        number = entry.get("index")
        kind = repr(entry["type"]) if "type" in entry else ""
        return self._places.get((number, kind)) if isinstance(number, int) else None


def grow(name: str, before: Node, more: JsonValue) -> Node:
    """Return the field of this name with *more* of it; how it grows depends on the name."""
    if more is None or (more == "" and before is not None):
        return before
    if name == "content":
        return _content(before, more)
    if name == "arguments":
        return _arguments(before, more)
    match _growing(before), more:
        case Text() as text, str() if name in _TEXTS:
            text.add(more)
            return text
        case Fields() as fields, dict():
            fields.add(more)
            return fields
        case Entries() as entries, list():
            entries.add(more)
            return entries
        case _:
            return more


def whole(node: Node) -> JsonValue:
    """Return the value that a node has grown to."""
    return node.join() if isinstance(node, Text | Fields | Entries) else node


def is_whole(arguments: Node) -> bool:
    """Whether arguments end where an object does, so that nothing of them can be missing."""
    if isinstance(arguments, Text):
        return arguments.is_whole()
    if not isinstance(arguments, str):
        return isinstance(arguments, dict | Fields)
    try:
        wire.json_object(arguments)
    except ValueError:
        return False
    return True


def _growing(node: Node) -> Node:
    """Return a node that can grow, if this one is of a kind that does."""
    match node:
        case str():
            return Text(node)
        case dict():
            return Fields(node)
        case list():
            return Entries(node)
        case _:
            return node


def _same_kind(last: Fields, piece: JsonObject) -> bool:
    return last.get("type") == piece.get("type") and piece.get("type") in _GROWING_TYPES


def _goes_on(last: Node, entry: JsonObject) -> bool:
    """Whether an entry without a number is more of the last thought."""
    if "index" in entry or entry.get("type") not in _THOUGHTS:
        return False
    if not isinstance(last, dict | Fields) or last.get("type") != entry.get("type"):
        return False
    signed = last.get("signature")
    return last.get("index") is None and not signed and last.get("id") == entry.get("id")


def _arguments(before: Node, more: JsonValue) -> Node:
    """Add a piece of a call's arguments; what begins behind their end is all of them anew."""
    text = _growing(before)
    if isinstance(text, Text) and isinstance(more, str) and text.goes_on_with(more):
        text.add(more)
        return text
    return more


def _content(before: Node, more: JsonValue) -> Node:
    """Add to what is said: text, or a list of pieces, or first the one and then the other."""
    if before is None and isinstance(more, str):
        return more
    said = _growing(before)
    if isinstance(said, Text) and isinstance(more, str):
        said.add(more)
        return said
    if not isinstance(said, Entries):
        said = Entries(_as_pieces(said.join() if isinstance(said, Text) else None))
    said.add_content(_as_pieces(more))
    return said


def _as_pieces(content: JsonValue) -> list[JsonValue]:
    match content:
        case list():
            return content
        case str() if content:
            return [{"type": "text", "text": content}]
        case _:
            return []
