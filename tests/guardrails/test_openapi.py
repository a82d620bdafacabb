"""Components of OpenAPI documents become JSON Schemas that hold everything they need."""

import pytest

from holdfast.contracts.base import JsonObject
from holdfast.contracts.errors import AppError
from holdfast.guardrails.detectors.openapi import build_component_schema, find_outside_references


def document(version: str, **schemas: JsonObject) -> JsonObject:
    return {"openapi": version, "info": {}, "components": {"schemas": {**schemas}}}


def test_nullable_is_said_in_json_schema() -> None:
    """In 3.0 what is nullable may be null, at any depth; a field named so is a field."""
    order: JsonObject = {
        "type": "object",
        "properties": {
            "nullable": {"type": "string"},
            "note": {"type": "string", "nullable": True},
            "lines": {"type": "array", "items": {"$ref": "#/x", "nullable": True}},
        },
    }

    schema, draft = build_component_schema(document("3.0.3", Order=order), "Order")

    assert draft == "4"
    assert schema["components"] == {
        "schemas": {
            "Order": {
                "type": "object",
                "properties": {
                    "nullable": {"type": "string"},
                    "note": {"type": ["string", "null"]},
                    "lines": {
                        "type": "array",
                        "items": {"anyOf": [{"$ref": "#/x"}, {"type": "null"}]},
                    },
                },
            }
        }
    }


def test_a_newer_document_is_taken_as_it_is() -> None:
    """OpenAPI 3.1 is JSON Schema already."""
    order: JsonObject = {"type": ["object", "null"]}

    schema, draft = build_component_schema(document("3.1.0", Order=order), "Order")

    assert draft == "2020-12"
    assert schema == {
        "$ref": "#/components/schemas/Order",
        "components": {"schemas": {"Order": order}},
    }


@pytest.mark.parametrize(
    ("given", "name", "said"),
    [
        pytest.param(document("2.0"), "Order", "give a document of 3.0 or 3.1", id="version"),
        pytest.param({}, "Order", "OpenAPI 'None' isn't known", id="no document"),
        pytest.param(document("3.1.0", A={}, B={}), "C", "(it has: A, B)", id="component"),
        pytest.param(document("3.1.0"), "C", "(it has: none)", id="no components"),
    ],
)
def test_what_says_nothing_is_refused(given: JsonObject, name: str, said: str) -> None:
    """The error names what there is instead."""
    with pytest.raises(AppError) as raised:
        build_component_schema(given, name)

    assert said in str(raised.value)


def test_references_outside_are_found() -> None:
    """Whatever isn't `#...` leads out, wherever it stands."""
    schema: JsonObject = {
        "allOf": [{"$ref": "#/a"}, {"items": {"$ref": "https://example.com/s.json"}}],
        "properties": {"x": {"$dynamicRef": "other.json#y"}},
    }

    assert [*find_outside_references(schema)] == ["https://example.com/s.json", "other.json#y"]
