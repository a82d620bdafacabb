"""Which JSON Schemas Anthropic can hold a model to."""

from collections.abc import Iterator

from pydantic import JsonValue

from holdfast.adapters.wire import as_list, as_object
from holdfast.contracts.base import JsonObject

_KEYWORDS = frozenset(
    {"type", "properties", "required", "additionalProperties", "items", "minItems", "enum"}
    | {"const", "anyOf", "allOf", "$ref", "$defs", "format", "title", "description", "default"}
)
_TYPES = frozenset({"object", "array", "string", "integer", "number", "boolean", "null"})
_FORMATS = frozenset(
    {"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}
)
_TYPED_BY = frozenset({"type", "enum", "const", "anyOf", "allOf"})
_DEFINITION = "#/$defs/"

_MAX_TOOLS = 20
_MAX_OPTIONAL_FIELDS = 24
_MAX_UNIONS = 16


class SchemaBudget:
    """
    What one request may hold a model to: so many tools, optional fields and unions, no more.

    Schemas are taken in the order in which they are offered, so that equal prefixes are held to
    the same ones.
    """

    def __init__(self) -> None:
        self._tools = self._optional = self._unions = 0

    def takes_tool(self, schema: JsonObject) -> bool:
        """Take the schema of a tool, or leave it."""
        if self._tools == _MAX_TOOLS or not self.takes(schema):
            return False
        self._tools += 1
        return True

    def takes(self, schema: JsonObject) -> bool:
        """Take a schema, or leave it."""
        reading = _Reading(schema)
        if schema.get("type") != "object" or not reading.fits(schema):
            return False
        optional = self._optional + reading.optional
        unions = self._unions + reading.unions
        if optional > _MAX_OPTIONAL_FIELDS or unions > _MAX_UNIONS:
            return False
        self._optional, self._unions = optional, unions
        return True


class _Reading:
    """One schema, and what was counted of it so far."""

    def __init__(self, schema: JsonObject) -> None:
        self._definitions = as_object(schema.get("$defs"))
        self._inside: list[str] = []
        self.optional = 0
        self.unions = 0

    def fits(self, schema: JsonValue) -> bool:
        """Whether a schema keeps to what can be enforced: bounds and patterns can't."""
        if not isinstance(schema, dict) or not _KEYWORDS.issuperset(schema):
            return False
        if "$ref" in schema:
            return self._refers(str(schema["$ref"]))
        self._count(schema)
        return (
            _has_known_type(schema)
            and _forbids_extra_fields(schema)
            and _lists_plain_values(schema)
            and schema.get("format", "date") in _FORMATS
            and schema.get("minItems", 0) in (0, 1)
            and all(map(self.fits, _inner(schema)))
        )

    def _refers(self, reference: str) -> bool:
        """Follow a reference within the schema; what refers to itself has no end."""
        name = reference.removeprefix(_DEFINITION)
        if name in self._inside or name not in self._definitions:
            return False
        self._inside.append(name)
        fits = self.fits(self._definitions[name])
        self._inside.pop()
        return fits

    def _count(self, schema: JsonObject) -> None:
        required = as_list(schema.get("required"))
        self.optional += sum(name not in required for name in as_object(schema.get("properties")))
        self.unions += isinstance(schema.get("type"), list) or "anyOf" in schema


def _has_known_type(schema: JsonObject) -> bool:
    kind = schema.get("type", [])
    known = all(each in _TYPES for each in (kind if isinstance(kind, list) else [kind]))
    return known and not _TYPED_BY.isdisjoint(schema)


def _forbids_extra_fields(schema: JsonObject) -> bool:
    return schema.get("type") != "object" or schema.get("additionalProperties") is False


def _lists_plain_values(schema: JsonObject) -> bool:
    values = schema.get("enum", [])
    listed = values if isinstance(values, list) else [values]
    return not any(isinstance(value, dict | list) for value in [*listed, schema.get("const")])


def _inner(schema: JsonObject) -> Iterator[JsonValue]:
    """Return the schemas that stand directly in a schema."""
    yield from as_object(schema.get("properties")).values()
    for keyword in ("items", "anyOf", "allOf"):
        value = schema.get(keyword, [])
        yield from value if isinstance(value, list) else [value]
