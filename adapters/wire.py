"""What all dialects write and read as JSON: results of tools, arguments of calls, loose fields."""

import json
from string import ascii_letters, digits

from pydantic import JsonValue, TypeAdapter
from pydantic_core import to_json

from holdfast.adapters import meter
from holdfast.contracts.base import JsonObject, repair_surrogates, repair_surrogates_in
from holdfast.contracts.calls import (
    AnyCall,
    MalformedCall,
    ToolCall,
    ToolResult,
    ToolSuccess,
)

_OBJECT: TypeAdapter[JsonObject] = TypeAdapter(JsonObject)
_IN_NAMES = frozenset(ascii_letters + digits + "_-")
_MAX_NAME_CHARS = 64


def json_object(text: str | bytes) -> JsonObject:
    """Read a JSON object. Raises ValueError for anything else, and for a text beyond all."""
    if isinstance(text, str):
        meter.check_text(text)
        text = repair_surrogates(text)
    value = _OBJECT.validate_json(text)
    # Refuses NaN and infinities: this parser takes them, and history would keep them as null.
    json.dumps(value, allow_nan=False)
    return value


def json_text(value: JsonValue) -> str:
    """Write JSON on one line, as short as it gets."""
    try:
        return to_json(value).decode()
    except ValueError:
        return to_json(repair_surrogates_in(value)).decode()


def as_text(value: JsonValue) -> str:
    """Return a text as it is, and an empty one for anything else."""
    return value if isinstance(value, str) else ""


def as_list(value: JsonValue) -> list[JsonValue]:
    """Return a list as it is, and an empty one for anything else."""
    return value if isinstance(value, list) else []


def as_object(value: JsonValue) -> JsonObject:
    """Return an object as it is, and an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def call(call_id: str, name: str, arguments: JsonValue) -> AnyCall:
    """Make a call of what a model asks for; arguments that are no object stay as they came."""
    if isinstance(arguments, dict):
        return ToolCall(call_id=call_id, name=name, arguments=arguments)
    return MalformedCall(call_id=call_id, name=name, raw_arguments=json_text(arguments))


def call_from_text(call_id: str, name: str, arguments: str) -> AnyCall:
    """Make a call of what a model asks for with its arguments as text."""
    try:
        return ToolCall(call_id=call_id, name=name, arguments=json_object(arguments))
    except ValueError:
        return MalformedCall(call_id=call_id, name=name, raw_arguments=arguments)


def tool_name(name: str) -> str:
    """Return a name that every API takes; a model may have made one up that none does."""
    return "".join(c if c in _IN_NAMES else "_" for c in name[:_MAX_NAME_CHARS]) or "_"


def result_text(result: ToolResult) -> str:
    """Write what a model sees of a result."""
    if isinstance(result, ToolSuccess):
        return result.model_dump_json(include={"status", "summary", "data"})
    return result.model_dump_json(include={"status", "type", "reason", "next_valid_actions"})
