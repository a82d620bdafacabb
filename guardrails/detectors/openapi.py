"""The schema of a component of an OpenAPI document, as JSON Schema; everything inside of it."""

from collections.abc import Iterator
from typing import Literal, NamedTuple, cast
from urllib.parse import quote

from pydantic import JsonValue

from holdfast.contracts.base import JsonObject
from holdfast.contracts.errors import AppError

SchemaDraft = Literal["4", "2020-12"]

_ONE = ("items", "additionalProperties", "not")
_SEVERAL = ("allOf", "anyOf", "oneOf")
_NAMED = ("properties", "patternProperties", "definitions")


class Component(NamedTuple):
    """The schema of a component and the draft of JSON Schema that it is written in."""

    schema: JsonObject
    draft: SchemaDraft


def build_component_schema(document: JsonObject, name: str) -> Component:
    """
    Return what a component of an OpenAPI document says; raises AppError where it says nothing.

    OpenAPI 3.0 has draft 4 with `nullable` in place of the type null, 3.1 has draft 2020-12.
    """
    version = str(document.get("openapi"))
    if not version.startswith(("3.0", "3.1")):
        raise AppError(f"OpenAPI {version!r} isn't known; give a document of 3.0 or 3.1")
    schemas = _object(_object(document.get("components")).get("schemas"))
    if name not in schemas:
        known = ", ".join(sorted(schemas)) or "none"
        raise AppError(f"the OpenAPI document has no component {name!r} (it has: {known})")
    is_old = version.startswith("3.0")
    if is_old:
        schemas = {key: _to_json_schema(value) for key, value in schemas.items()}
    pointer = quote(name.replace("~", "~0").replace("/", "~1"))
    schema: JsonObject = {
        "$ref": f"#/components/schemas/{pointer}",
        "components": {"schemas": schemas},
    }
    return Component(schema, "4" if is_old else "2020-12")


def find_outside_references(schema: JsonValue) -> Iterator[str]:
    """Find the references of a schema that lead out of it."""
    match schema:
        case dict():
            for name, value in schema.items():
                if name in ("$ref", "$dynamicRef") and isinstance(value, str):
                    if not value.startswith("#"):
                        yield value
                else:
                    yield from find_outside_references(value)
        case list():
            for value in schema:
                yield from find_outside_references(value)
        case _:
            pass


def _to_json_schema(schema: JsonValue) -> JsonValue:
    """Say in JSON Schema what may be null; `enum` has to name null itself (OpenAPI 3.0.3)."""
    if not isinstance(schema, dict):
        return schema
    found: JsonObject = dict(schema)
    for word in _ONE:
        if word in found:
            found[word] = _to_json_schema(found[word])
    for word in _SEVERAL:
        if isinstance(several := found.get(word), list):
            found[word] = [_to_json_schema(entry) for entry in several]
    for word in _NAMED:
        if isinstance(named := found.get(word), dict):
            found[word] = {name: _to_json_schema(entry) for name, entry in named.items()}
    if found.pop("nullable", False) is not True:
        return found
    if isinstance(found.get("type"), str):
        return {**found, "type": [found["type"], "null"]}
    return {"anyOf": [found, {"type": "null"}]}


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else cast("JsonObject", {})
