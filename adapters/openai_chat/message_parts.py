"""What a message of a model consists of, whichever server it comes from."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

from pydantic import JsonValue

from holdfast.adapters import wire
from holdfast.adapters.openai_chat import deltas
from holdfast.adapters.wire import as_list, as_object, as_text
from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import AnyCall
from holdfast.contracts.transcript import Part

REFUSAL = "refusal"
"""The name of text parts in which a model refuses."""

_REASONING_FIELDS = ("reasoning_content", "reasoning", "reasoning_details")
_REASONING_TYPES = ("thinking", "reasoning")
_READABLE_FIELDS = ("text", "summary", "thinking", "content")
_TEXT_TYPES = ("text", "output_text")
_MESSAGE_FIELDS = frozenset(
    {"role", "name", "channel", "content", "refusal", "tool_calls", "function_call"}
    | {"executed_tools", *_REASONING_FIELDS}
)
_CALL_FIELDS = frozenset({"id", "type", "index", "function", "custom"})


class ParsedCall(NamedTuple):
    """
    A call, with what its server says of it beyond name and arguments.

    `complete`: its arguments can't have been cut off.
    """

    call: AnyCall
    native: JsonObject
    complete: bool


def parts(message: JsonObject) -> Iterator[Part]:
    """Return the pieces of a message but for its calls: thoughts first, then what was said."""
    yield from _reasoning(message)
    yield from _hosted_calls(message)
    yield from _merge_text(_content(message.get("content")))
    if refusal := as_text(message.get("refusal")):
        yield Part(kind="text", name=REFUSAL, text=refusal)
    for name, value in message.items():
        if name not in _MESSAGE_FIELDS and _has_content(value):
            yield Part(kind="other", name=name, native={name: value})


def parse_calls(message: JsonObject, turn: int) -> Iterator[ParsedCall]:
    """Return the calls of a message; one without an id is numbered by its turn and place."""
    for place, entry in enumerate(entries(message), start=1):
        call_id = as_text(entry.get("id")) or f"call_{turn}_{place}"
        native = {name: value for name, value in entry.items() if name not in _CALL_FIELDS}
        function = entry.get("function")
        if not isinstance(function, dict):
            custom = as_object(entry.get("custom"))
            function = {"name": custom.get("name"), "arguments": custom.get("input")}
        name, arguments = as_text(function.get("name")), function.get("arguments")
        call = _call(call_id, name, arguments)
        yield ParsedCall(
            call, native, complete=isinstance(arguments, str) and deltas.is_whole(arguments)
        )


def entries(message: JsonObject) -> list[JsonObject]:
    """Return the calls as they came; the one of an older kind if there are no others."""
    calls = message.get("tool_calls")
    if isinstance(calls, list) and calls:
        return [entry for entry in calls if isinstance(entry, dict)]
    older = as_object(message.get("function_call"))
    given = as_text(older.get("arguments")).strip()
    # Some servers send all fields, empty; but a call may lack nothing except its name.
    return [{"function": older}] if older.get("name") or given not in ("", "{}") else []


def _call(call_id: str, name: str, arguments: JsonValue) -> AnyCall:
    if arguments is None or (isinstance(arguments, str) and not arguments.strip()):
        arguments = {}
    if isinstance(arguments, str):
        return wire.call_from_text(call_id, name, arguments)
    return wire.call(call_id, name, arguments)


def _reasoning(message: JsonObject) -> Iterator[Part]:
    """Return the thoughts that stand in fields of their own beside the words."""
    native: JsonObject = {name: message[name] for name in _REASONING_FIELDS if message.get(name)}
    if native:
        said = (_readable(value) for value in native.values())
        yield Part(kind="reasoning", text=next(filter(None, said), ""), native=native)


def _hosted_calls(message: JsonObject) -> Iterator[Part]:
    """Return the tools that the server ran itself."""
    for entry in as_list(message.get("executed_tools")):
        if isinstance(entry, dict):
            name = as_text(entry.get("name")) or as_text(entry.get("type")) or "tool"
            shown = as_text(entry.get("arguments"))
            yield Part(kind="hosted_call", name=name, text=shown, native=entry)


def _content(content: JsonValue) -> Iterator[Part]:
    match content:
        case None | "":
            return
        case str():
            yield Part(kind="text", text=content)
        case list():
            yield from map(_piece, content)
        case _:
            yield Part(kind="text", text=wire.json_text(content))


def _piece(piece: JsonValue) -> Part:
    match piece:
        case str():
            return Part(kind="text", text=piece)
        case {"type": str(kind)} if kind in _TEXT_TYPES:
            extra = {name: value for name, value in piece.items() if name not in ("type", "text")}
            return Part(kind="text", text=as_text(piece.get("text")), native=extra)
        case {"type": "refusal"}:
            return Part(kind="text", name=REFUSAL, text=as_text(piece.get("refusal")))
        case {"type": str(kind)} if kind in _REASONING_TYPES:
            return Part(kind="reasoning", text=_readable(piece), native=piece)
        case dict():
            name = as_text(piece.get("type")) or "content"
            return Part(kind="other", name=name, native=piece)
        case _:
            return Part(kind="text", text=wire.json_text(piece))


def _merge_text(pieces: Iterable[Part]) -> Iterator[Part]:
    """Join neighbours that are nothing but words: a server may cut them anywhere."""
    before = ""
    for plain, group in groupby(pieces, _is_plain):
        for piece in _join(group) if plain else group:
            yield piece.with_(continues=True) if before == piece.kind == "text" else piece
            before = piece.kind


def _join(words: Iterable[Part]) -> Iterator[Part]:
    yield Part(kind="text", text="".join(part.text for part in words))


def _is_plain(part: Part) -> bool:
    return part.kind == "text" and not part.name and not part.native


def _readable(value: JsonValue) -> str:
    """Return what a person can read of a thought."""
    match value:
        case str():
            return value
        case list():
            return "".join(map(_readable, value))
        case dict():
            told = (_readable(value.get(name)) for name in _READABLE_FIELDS)
            return next(filter(None, told), "")
        case _:
            return ""


def _has_content(value: JsonValue) -> bool:
    """Whether there is anything in a field; some servers send all of them, empty."""
    match value:
        case dict():
            return any(map(_has_content, value.values()))
        case list():
            return any(map(_has_content, value))
        case _:
            return bool(value)
