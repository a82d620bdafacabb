"""The part of JSON Schema that OpenAI's strict mode takes: what lies outside is refused there."""

from collections.abc import Iterator

from pydantic import JsonValue

from holdfast.adapters.wire import as_list, as_object
from holdfast.contracts.base import JsonObject

_ANYWHERE = frozenset(
    {"type", "title", "description", "enum", "const", "anyOf", "$ref", "$defs", "definitions"}
)
_BY_TYPE = {
    "object": frozenset({"properties", "required", "additionalProperties"}),
    "array": frozenset({"items", "minItems", "maxItems"}),
    "string": frozenset({"pattern", "format"}),
    "number": frozenset(
        {"multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}
    ),
    "boolean": frozenset[str](),
    "null": frozenset[str](),
}
_BY_TYPE["integer"] = _BY_TYPE["number"]
_FORMATS = frozenset(
    {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}
)
_MAX_PROPERTIES = 5_000
_MAX_ENUM_VALUES = 1_000
_MAX_DEPTH = 10


def conforms(schema: JsonObject) -> bool:
    """
    Whether strict mode takes a schema as it is.

    It wants every object closed and all of its properties required, a type or a choice for every
    value, and no keyword that it doesn't know.
    """
    if schema.get("type") != "object" or "anyOf" in schema:
        return False
    parts = list(_parts(schema))
    properties = sum(len(as_object(part.get("properties"))) for part, _ in parts)
    choices = sum(len(as_list(part.get("enum"))) for part, _ in parts)
    return (
        all(_fits(part) and depth <= _MAX_DEPTH for part, depth in parts)
        and properties <= _MAX_PROPERTIES
        and choices <= _MAX_ENUM_VALUES
    )


def _parts(schema: JsonValue, depth: int = 0) -> Iterator[tuple[JsonObject, int]]:
    """Walk through a schema and all schemas inside of it, each with how many objects hold it."""
    if not isinstance(schema, dict):
        yield {"no": "schema"}, depth  # which fits nowhere
        return
    yield schema, depth
    inside = depth + ("properties" in schema)
    for holder in ("properties", "$defs", "definitions"):
        for part in as_object(schema.get(holder)).values():
            yield from _parts(part, inside)
    for part in as_list(schema.get("anyOf")):
        yield from _parts(part, depth)
    if "items" in schema:
        yield from _parts(schema["items"], depth)


def _fits(part: JsonObject) -> bool:
    """Whether one schema fits, whatever is inside of it."""
    if "$ref" in part:
        return part.keys() == {"$ref"}  # neighbours of a reference are refused
    types = part.get("type", [])
    named = types if isinstance(types, list) else [types]
    words = _ANYWHERE.union(*(_BY_TYPE.get(kind, ()) for kind in named if isinstance(kind, str)))
    said = bool(named) or any(word in part for word in ("anyOf", "enum", "const"))
    return (
        said
        and all(kind in _BY_TYPE for kind in named)
        and part.keys() <= words
        and part.get("format", "date") in _FORMATS
        and ("object" not in named or _is_strict_object(part))
        and ("array" not in named or "items" in part)
    )


def _is_strict_object(part: JsonObject) -> bool:
    required = [name for name in as_list(part.get("required")) if isinstance(name, str)]
    return (
        part.get("additionalProperties") is False
        and isinstance(part.get("properties"), dict)
        and set(required) == set(as_object(part.get("properties")))
    )
