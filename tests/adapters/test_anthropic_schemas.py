"""Which schemas Anthropic can hold a model to."""

import pytest

from holdfast.adapters.anthropic.schemas import SchemaBudget
from holdfast.contracts.base import JsonObject

WORD: JsonObject = {"type": "string"}
NOTHING: JsonObject = {"type": "null"}
LEAF: JsonObject = {"$ref": "#/$defs/Leaf"}


def shape(leaf: JsonObject, defined: JsonObject | None = None) -> JsonObject:
    """Return the schema of an object with one field; *defined* is what LEAF refers to."""
    schema: JsonObject = {
        "type": "object",
        "title": "Shape",
        "properties": {"leaf": leaf},
        "required": ["leaf"],
        "additionalProperties": False,
    }
    return schema if defined is None else {**schema, "$defs": {"Leaf": defined}}


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param({"type": "object", "additionalProperties": False}, id="without fields"),
        pytest.param(shape({**WORD, "description": "x", "default": "y"}), id="explained"),
        pytest.param(shape({"enum": ["a", 1, None]}), id="choices"),
        pytest.param(shape({"const": "a"}), id="constant"),
        pytest.param(shape({**WORD, "format": "date-time"}), id="format"),
        pytest.param(shape({"type": "array", "items": WORD, "minItems": 1}), id="list"),
        pytest.param(shape({"anyOf": [WORD, NOTHING]}), id="union"),
        pytest.param(shape({"type": ["string", "null"]}), id="types"),
        pytest.param(shape(shape(WORD)), id="nested"),
        pytest.param(shape(LEAF, WORD), id="reference"),
    ],
)
def test_plain_schemas_are_enforced(schema: JsonObject) -> None:
    """Types, choices and closed objects make a grammar."""
    # SV-07
    assert SchemaBudget().takes(schema)


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param(WORD, id="no object"),
        pytest.param({"type": "object"}, id="open"),
        pytest.param(shape({"type": "object"}), id="open inside"),
        pytest.param(shape({"type": "array", "items": {"type": "object"}}), id="list of open"),
        pytest.param(shape({"anyOf": [WORD, {"type": "object"}]}), id="union with open"),
        pytest.param(shape({"type": "integer", "minimum": 1}), id="bounds"),
        pytest.param(shape({**WORD, "pattern": "a"}), id="pattern"),
        pytest.param(shape({**WORD, "format": "iban"}), id="unknown format"),
        pytest.param(shape({"type": "array", "items": WORD, "minItems": 2}), id="two at least"),
        pytest.param(shape({"enum": [["a"]]}), id="choice of lists"),
        pytest.param(shape({"const": {}}), id="constant object"),
        pytest.param(shape({}), id="anything"),
        pytest.param(shape({"type": "file"}), id="unknown type"),
        pytest.param(shape({"$ref": "https://a.example/leaf"}), id="reference elsewhere"),
        pytest.param(shape(LEAF, {"type": "array", "items": LEAF}), id="endless"),
        pytest.param(shape(LEAF, {"type": "object"}), id="reference to open"),
    ],
)
def test_other_schemas_are_left_to_the_loop(schema: JsonObject) -> None:
    """What the API would refuse isn't sent as strict; the loop checks arguments all the same."""
    # SV-07, SV-08
    assert not SchemaBudget().takes(schema)


@pytest.mark.parametrize(
    ("leaf", "limit"),
    [
        pytest.param({**shape(WORD), "required": []}, 24, id="optional fields"),
        pytest.param({"anyOf": [WORD, NOTHING]}, 16, id="unions"),
        pytest.param({"type": ["string", "null"]}, 16, id="types"),
    ],
)
def test_a_request_has_room_for_so_much(leaf: JsonObject, limit: int) -> None:
    """What is too much for one request is left out, and what is smaller still fits."""
    # SV-07
    grammar = SchemaBudget()

    taken = [grammar.takes(shape(leaf)) for _ in range(30)]

    assert taken == [True] * limit + [False] * (30 - limit)
    assert grammar.takes(shape(WORD))
