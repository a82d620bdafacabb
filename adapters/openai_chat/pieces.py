"""What a message of a model consists of, whichever server it comes from."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

from pydantic import JsonValue

from adapters import wire
from adapters.openai_chat import growth
from contracts.base import JsonObject
from contracts.content import Part
from contracts.tools import AnyCall

REFUSAL = "refusal"
"""The name of the words that say no."""

_REASONING = ("reasoning_content", "reasoning", "reasoning_details")
_THOUGHTS = ("thinking", "reasoning")
_TOLD = ("text", "summary", "thinking", "content")
_TEXTS = ("text", "output_text")
_READ = frozenset(
    {"role", "name", "channel", "content", "refusal", "tool_calls", "function_call"}
    | {"executed_tools", *_REASONING}
)
_OF_A_CALL = frozenset({"id", "type", "index", "function", "custom"})


class Asked(NamedTuple):
    """
    A call, with what its server says of it beyond name and arguments.

    `complete`: its arguments can't have been cut off.
    """

    call: AnyCall
    native: JsonObject
    complete: bool


def parts(message: JsonObject) -> Iterator[Part]:
    """Return the pieces of a message but for its calls: thoughts first, then what was said."""
    yield from _thought(message)
    yield from _ran(message)
    yield from _merged(_content(message.get("content")))
    if refusal := word(message.get("refusal")):
        yield Part(kind="text", name=REFUSAL, text=refusal)
    for name, value in message.items():
        if name not in _READ and _holds(value):
            yield Part(kind="other", name=name, native={name: value})


def asked(message: JsonObject, turn: int) -> Iterator[Asked]:
    """Return the calls of a message; one without an id is numbered by its turn and place."""
    for place, entry in enumerate(entries(message), start=1):
        call_id = word(entry.get("id")) or f"call_{turn}_{place}"
        native = {name: value for name, value in entry.items() if name not in _OF_A_CALL}
        function = entry.get("function")
        if not isinstance(function, dict):
            custom = entry.get("custom")
            said = custom if isinstance(custom, dict) else {}
            function = {"name": said.get("name"), "arguments": said.get("input")}
        name, arguments = word(function.get("name")), function.get("arguments")
        call = _call(call_id, name, arguments)
        yield Asked(
            call, native, complete=isinstance(arguments, str) and growth.is_whole(arguments)
        )


def entries(message: JsonObject) -> list[JsonObject]:
    """Return the calls as they came; the one of an older kind if there are no others."""
    calls = message.get("tool_calls")
    if isinstance(calls, list) and calls:
        return [entry for entry in calls if isinstance(entry, dict)]
    older = message.get("function_call")
    return [{"function": older}] if isinstance(older, dict) and older.get("name") else []


def word(value: JsonValue) -> str:
    """Return a text; what is none is an empty one."""
    return value if isinstance(value, str) else ""


def _call(call_id: str, name: str, arguments: JsonValue) -> AnyCall:
    if arguments is None or (isinstance(arguments, str) and not arguments.strip()):
        arguments = {}
    if isinstance(arguments, str):
        return wire.call_from_text(call_id, name, arguments)
    return wire.call(call_id, name, arguments)


def _thought(message: JsonObject) -> Iterator[Part]:
    """Return the thoughts beside the words, in the fields that they came in."""
    native: JsonObject = {name: message[name] for name in _REASONING if message.get(name)}
    if native:
        said = (_readable(value) for value in native.values())
        yield Part(kind="reasoning", text=next(filter(None, said), ""), native=native)


def _ran(message: JsonObject) -> Iterator[Part]:
    """Return the tools that the server ran itself."""
    ran = message.get("executed_tools")
    for entry in ran if isinstance(ran, list) else []:
        if isinstance(entry, dict):
            name = word(entry.get("name")) or word(entry.get("type")) or "tool"
            shown = word(entry.get("arguments"))
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
        case {"type": str(kind)} if kind in _TEXTS:
            extra = {name: value for name, value in piece.items() if name not in ("type", "text")}
            return Part(kind="text", text=word(piece.get("text")), native=extra)
        case {"type": "refusal"}:
            return Part(kind="text", name=REFUSAL, text=word(piece.get("refusal")))
        case {"type": str(kind)} if kind in _THOUGHTS:
            return Part(kind="reasoning", text=_readable(piece), native=piece)
        case dict():
            name = word(piece.get("type")) or "content"
            return Part(kind="other", name=name, native=piece)
        case _:
            return Part(kind="text", text=wire.json_text(piece))


def _merged(pieces: Iterable[Part]) -> Iterator[Part]:
    """Join neighbours that are nothing but words: a server may cut them anywhere."""
    after_words = False
    for plain, group in groupby(pieces, key=_is_plain):
        text = "".join(part.text for part in group) if plain else ""
        for part in [Part(kind="text", text=text)] if plain else group:
            is_words = part.kind == "text"
            continues = {"continues": True} if is_words and after_words else {}
            yield part.model_copy(update=continues)
            after_words = is_words


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
            told = (_readable(value.get(name)) for name in _TOLD)
            return next(filter(None, told), "")
        case _:
            return ""


def _holds(value: JsonValue) -> bool:
    """Whether there is anything in a field; some servers send all of them, empty."""
    match value:
        case dict():
            return any(map(_holds, value.values()))
        case list():
            return any(map(_holds, value))
        case _:
            return bool(value)
