"""The output items of OpenAI Responses, read one by one: nothing that a model put out is lost."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from pydantic import JsonValue

from holdfast.adapters import base, wire
from holdfast.adapters.openai.errors import PROVIDER
from holdfast.contracts.base import Contract, JsonObject
from holdfast.contracts.calls import AnyCall, ToolCall
from holdfast.contracts.transcript import Part

CALLS = frozenset({"function_call", "custom_tool_call", "mcp_approval_request"})
"""What the run has to answer."""

HOSTED_CALLS: Mapping[str, tuple[str, ...]] = {
    "apply_patch_call": ("operation.type", "operation.path"),
    "code_interpreter_call": ("code",),
    "computer_call": ("action", "actions"),
    "file_search_call": ("queries",),
    "image_generation_call": ("revised_prompt",),
    "local_shell_call": ("action.command",),
    "mcp_call": ("server_label", "name", "arguments", "error"),
    "program": ("code",),
    "shell_call": ("action.commands",),
    "tool_search_call": ("arguments",),
    "web_search_call": ("action.query", "action.url", "action.pattern"),
}
"""Calls that aren't the run's to answer, and what a person reads of each."""

HOSTED_RESULTS: Mapping[str, tuple[str, ...]] = {
    "apply_patch_call_output": ("output",),
    "computer_call_output": ("output.type",),
    "custom_tool_call_output": ("output",),
    "function_call_output": ("output",),
    "local_shell_call_output": ("output",),
    "mcp_approval_response": ("approve", "reason"),
    "mcp_list_tools": ("server_label", "tools.name", "error"),
    "program_output": ("result",),
    "shell_call_output": ("output.stdout", "output.stderr"),
    "tool_search_output": ("tools.name",),
}
"""What came of such calls."""

TOOL_BLOCK_TYPES = (
    base.TOOL_BLOCK_TYPES | CALLS | {"function_result"} | {*HOSTED_CALLS, *HOSTED_RESULTS}
)
TEXT_BLOCK_TYPES = base.TEXT_BLOCK_TYPES | {"output_text"}

CUT_SHORT = ("incomplete", "in_progress", "queued", "cancelled")
"""The states in which a response or an item may end in the middle."""

_NAMES = {"code_interpreter_call": "code_execution"}
_WORDS = {"output_text": "text", "text": "text", "refusal": "refusal"}
"""The pieces of a message that hold words, and under which name."""


class _Message(Contract):
    """What is needed of a message; the rest is kept as it is."""

    content: tuple[JsonObject, ...]


class _Item(Contract):
    """What every item has: one of another kind than a text has no meaning, and can't go back."""

    type: str


class _CallFields(Contract):
    """What is needed of a call."""

    call_id: str
    name: str
    arguments: str


class Piece(NamedTuple):
    """One item: what is kept of it, and what it means."""

    type: str
    part: Part
    call: AnyCall | None = None
    refusal: str = ""
    commentary: bool = False
    unread: str = ""


def pieces(items: tuple[JsonObject, ...], *, whole: bool) -> Iterator[Piece]:
    """
    Read the items of a response, which is *whole* unless something cut it short.

    Calls that may have been cut are left out. Raises pydantic's ValidationError for an item, a
    message or call that is none.
    """
    for item in items:
        kind = _Item.model_validate(item).type
        if kind == "message":
            yield _message(item)
        elif kind == "reasoning":
            yield Piece(kind, Part(kind="reasoning", text=_thoughts(item), native=item))
        elif kind not in CALLS:
            yield _parse_other_item(kind, item)
        elif item.get("status") not in CUT_SHORT and (whole or item.get("status") == "completed"):
            yield _call(kind, item)


def _message(item: JsonObject) -> Piece:
    content = _Message.model_validate(item).content
    native = _without(item, "type", "role", "content")
    match content:
        case ({"type": "output_text", **rest},) if not rest.get("logprobs"):
            native |= {"annotations": rest["annotations"]} if rest.get("annotations") else {}
        case _:
            native["content"] = [*content]
    unread = [_type(piece) for piece in content if _type(piece) not in _WORDS]
    return Piece(
        "message",
        Part(kind="text", text="".join(map(_words, content)), native=native),
        refusal="".join(_words(piece) for piece in content if _type(piece) == "refusal"),
        commentary=item.get("phase") == "commentary",
        unread=_describe_unknown("a message with a piece", unread[0]) if unread else "",
    )


def _type(thing: JsonObject) -> str:
    return str(thing.get("type"))


def _words(piece: JsonObject) -> str:
    return wire.as_text(piece.get(_WORDS.get(_type(piece), "")))


def _thoughts(item: JsonObject) -> str:
    return "\n\n".join(
        filter(None, (_read_text(item, "summary.text"), _read_text(item, "content.text")))
    )


def _call(kind: str, item: JsonObject) -> Piece:
    match kind:
        case "mcp_approval_request":
            # No tool can have this name, so whoever asks what it may do is told: nothing.
            name = f"mcp.{item.get('server_label')}.{item.get('name')}"
            asked = _CallFields.model_validate({**item, "call_id": item.get("id"), "name": name})
            call, native = _parse_call(asked), item
        case "custom_tool_call":
            # Its input is text of any kind: an object with one field is what can be checked.
            asked = _CallFields.model_validate({**item, "arguments": item.get("input") or ""})
            given: JsonObject = {"input": asked.arguments}
            call = ToolCall(call_id=asked.call_id, name=asked.name, arguments=given)
            native = item
        case _:
            call = _parse_call(_CallFields.model_validate(item))
            native = _without(item, "type", "call_id", "name", "arguments")
    return Piece(kind, Part(kind="call", native=native), call)


def _parse_call(asked: _CallFields) -> AnyCall:
    return wire.call_from_text(asked.call_id, asked.name, asked.arguments)


def _parse_other_item(kind: str, item: JsonObject) -> Piece:
    name = _NAMES.get(kind, kind.removesuffix("_call"))
    if kind in HOSTED_CALLS:
        text = _render_fields(item, HOSTED_CALLS[kind])
        return Piece(kind, Part(kind="hosted_call", text=text, name=name, native=item))
    if kind in HOSTED_RESULTS:
        text = _render_fields(item, HOSTED_RESULTS[kind])
        return Piece(kind, Part(kind="hosted_result", text=text, name=name, native=item))
    part = Part(kind="other", name=kind, native=item)
    return Piece(kind, part, unread=_describe_unknown("an item", kind))


def _describe_unknown(what: str, kind: str) -> str:
    return f"{PROVIDER.name} sent {what} of type {kind!r}, which this release keeps unread"


def _without(item: JsonObject, *names: str) -> JsonObject:
    """Return what else an item has, but for what says nothing."""
    return {
        name: value
        for name, value in item.items()
        if name not in names and value is not None and (name, value) != ("status", "completed")
    }


def _render_fields(item: JsonObject, paths: tuple[str, ...]) -> str:
    return " ".join(filter(None, (_read_text(item, path) for path in paths)))


def _read_text(value: JsonValue, path: str) -> str:
    """Return what stands at a path of fields, as text; of a list, what each entry has there."""
    name, _, rest = path.partition(".")
    match value:
        case list():
            return "\n\n".join(filter(None, (_read_text(entry, path) for entry in value)))
        case dict() if name:
            return _read_text(value.get(name), rest)
        case str():
            return value
        case None:
            return ""
        case _:
            return wire.json_text(value)
