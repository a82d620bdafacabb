"""Which JSON Schemas Anthropic can hold a model to."""

from pydantic import JsonValue

from contracts.base import JsonObject

_KEYWORDS = frozenset(
    {"type", "properties", "required", "additionalProperties", "items", "minItems", "enum"}
    | {"const", "anyOf", "allOf", "$ref", "$defs", "format", "title", "description", "default"}
)
_TYPES = frozenset({"object", "array", "string", "integer", "number", "boolean", "null"})
_FORMATS = frozenset(
    {"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}
)
_DEFINITION = "#/$defs/"

_MOST_TOOLS = 20
_MOST_OPTIONAL = 24
_MOST_UNIONS = 16


class Grammar:
    """
    What one request may hold a model to: so many tools, optional fields and unions, no more.

    Schemas are taken in the order in which they are offered, so that equal prefixes are held to
    the same ones.
    """

    def __init__(self) -> None:
        self._tools = self._optional = self._unions = 0

    def takes_tool(self, schema: JsonObject) -> bool:
        """Take the schema of a tool, or leave it."""
        if self._tools == _MOST_TOOLS or not self.takes(schema):
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
        if optional > _MOST_OPTIONAL or unions > _MOST_UNIONS:
            return False
        self._optional, self._unions = optional, unions
        return True


class _Reading:
    """One schema, and what was counted of it so far."""

    def __init__(self, schema: JsonObject) -> None:
        definitions = schema.get("$defs")
        self._definitions = definitions if isinstance(definitions, dict) else {}
        self._inside: tuple[str, ...] = ()
        self.optional = 0
        self.unions = 0

    def fits(self, schema: JsonValue) -> bool:
        """Whether a schema keeps to what can be enforced: bounds and patterns can't."""
        if not isinstance(schema, dict) or not _KEYWORDS.issuperset(schema):
            return False
        if "$ref" in schema:
            return self._refers(schema["$ref"])
        return (
            self._is_typed(schema)
            and self._is_closed(schema)
            and _lists_plain_values(schema)
            and schema.get("format", "date") in _FORMATS
            and schema.get("minItems", 0) in (0, 1)
            and all(self.fits(schema[key]) for key in ("items",) if key in schema)
        )

    def _refers(self, reference: JsonValue) -> bool:
        """Follow a reference within the schema; what refers to itself has no end."""
        name = str(reference).removeprefix(_DEFINITION)
        if name in self._inside or name not in self._definitions:
            return False
        self._inside += (name,)
        fits = self.fits(self._definitions[name])
        self._inside = self._inside[:-1]
        return fits

    def _is_typed(self, schema: JsonObject) -> bool:
        kind, variants = schema.get("type"), schema.get("anyOf") or schema.get("allOf")
        self.unions += isinstance(kind, list) or "anyOf" in schema
        if isinstance(variants, list):
            return all(map(self.fits, variants))
        kinds = kind if isinstance(kind, list) else [kind]
        literal = "enum" in schema or "const" in schema
        return all(k in _TYPES for k in kinds) or (literal and kind is None)

    def _is_closed(self, schema: JsonObject) -> bool:
        properties, required = schema.get("properties", {}), schema.get("required", [])
        if not isinstance(properties, dict) or not isinstance(required, list):
            return False
        if schema.get("type") == "object" and schema.get("additionalProperties") is not False:
            return False
        self.optional += len(properties.keys() - set(map(str, required)))
        return all(map(self.fits, properties.values()))


def _lists_plain_values(schema: JsonObject) -> bool:
    values = schema.get("enum", [])
    listed = values if isinstance(values, list) else [values]
    return not any(isinstance(value, dict | list) for value in [*listed, schema.get("const")])
