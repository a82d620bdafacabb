"""Which schemas strict mode takes as they are."""

import pytest
from pydantic import JsonValue

from holdfast.adapters import strict_schema
from holdfast.contracts.base import JsonObject


def closed(required: list[JsonValue] | None = None, /, **properties: JsonValue) -> JsonObject:
    """An object with these properties and no others, all of them required by default."""
    return {
        "type": "object",
        "properties": properties,
        "required": [*properties] if required is None else required,
        "additionalProperties": False,
    }


def nested(levels: int) -> JsonObject:
    return closed(inner=nested(levels - 1)) if levels > 1 else closed(leaf={"type": "string"})


CHOICES: list[JsonValue] = [str(number) for number in range(1001)]
POINT = closed(x={"type": "number"})


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param(closed(), id="no arguments"),
        pytest.param(closed(a={"type": "string", "description": "a", "title": "A"}), id="text"),
        pytest.param(closed(a={"type": ["string", "null"]}), id="may be null"),
        pytest.param(closed(a={"type": "integer", "minimum": 1, "maximum": 9}), id="bounds"),
        pytest.param(closed(a={"type": "string", "pattern": "^a", "format": "date"}), id="form"),
        pytest.param(closed(a={"enum": ["x", "y"]}), id="choice"),
        pytest.param(closed(a={"const": 1}), id="constant"),
        pytest.param(closed(a={"anyOf": [{"type": "string"}, POINT]}), id="alternatives"),
        pytest.param(closed(a={"type": "array", "items": POINT, "maxItems": 3}), id="list"),
        pytest.param(closed(a={"$ref": "#/$defs/P"}) | {"$defs": {"P": POINT}}, id="reference"),
        pytest.param(nested(10), id="ten levels"),
    ],
)
def test_what_strict_mode_takes(schema: JsonObject) -> None:
    """Closed objects with nothing left open, and keywords that it knows."""
    # SV-07
    assert strict_schema.conforms(schema)


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param({"type": "string"}, id="no object"),
        pytest.param({"anyOf": [POINT]}, id="alternatives at the root"),
        pytest.param(POINT | {"additionalProperties": True}, id="open"),
        pytest.param({"type": "object", "properties": {}, "required": []}, id="not closed"),
        pytest.param(closed([], a={"type": "string"}), id="optional"),
        pytest.param(closed(["a", "b"], a={"type": "string"}), id="required but unknown"),
        pytest.param(closed(a={"type": "object"}), id="free object inside"),
        pytest.param(closed(a={"type": "array"}), id="list of anything"),
        pytest.param(closed(a={}), id="anything"),
        pytest.param(closed(a=True), id="anything, in short"),
        pytest.param(closed(a={"type": "string", "minLength": 1}), id="length"),
        pytest.param(closed(a={"type": "string", "default": "x"}), id="default"),
        pytest.param(closed(a={"type": "string", "format": "uri"}), id="format"),
        pytest.param(closed(a={"type": "string", "minimum": 1}), id="keyword of another type"),
        pytest.param(closed(a={"type": "any"}), id="unknown type"),
        pytest.param(closed(a={"allOf": [POINT]}), id="all of"),
        pytest.param(closed(a={"oneOf": [POINT]}), id="one of"),
        pytest.param(closed(a={"type": "array", "items": {"type": "object"}}), id="inside a list"),
        pytest.param(closed(a={"anyOf": [{"type": "object"}]}), id="inside an alternative"),
        pytest.param(closed(a={"$ref": "#/$defs/P", "title": "P"}), id="beside a reference"),
        pytest.param(closed() | {"$defs": {"P": {"type": "object"}}}, id="inside a definition"),
        pytest.param(closed(a={"enum": CHOICES}), id="too many choices"),
        pytest.param(nested(11), id="eleven levels"),
    ],
)
def test_what_strict_mode_refuses(schema: JsonObject) -> None:
    """Whatever it would refuse, or change, goes out without it."""
    # SV-07
    assert not strict_schema.conforms(schema)
