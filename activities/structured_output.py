"""An answer in a declared shape: read as data, and checked by schema and model. Pure."""

import json
from collections.abc import Mapping
from typing import TypeAlias

from pydantic import JsonValue, TypeAdapter, ValidationError
from pydantic_core import from_json

from holdfast.contracts.base import JsonObject, digest
from holdfast.contracts.model import ModelReply
from holdfast.contracts.transcript import strip_fence
from holdfast.tools.schema import SchemaCheck, lines

Shapes: TypeAlias = Mapping[str, TypeAdapter[object]]
"""The models of answers that a worker has, by the digests of their schemas."""

UNKNOWN_SHAPE = (
    "this worker's app has another shape for the answer than the run: "
    "its schema was checked, and no validators of its model"
)


def validate(reply: ModelReply, schema: JsonObject | None, shapes: Shapes) -> ModelReply:
    """
    Return a reply with its answer as data, or with what its schema and its model object to.

    Where the app has changed since the run began, the model may be gone: a note says so.
    """
    if schema is None or reply.calls or reply.stop != "end_turn":
        return reply
    said = strip_fence(reply.text)
    try:
        output: JsonValue = from_json(said)
        # The other parser lets a number through that is larger than any: history would lose it.
        json.dumps(output, allow_nan=False)
    except ValueError:
        return reply.with_(objections=("it is no JSON",))
    shape = shapes.get(digest(schema))
    notes = reply.notes if shape else (*reply.notes, UNKNOWN_SHAPE)
    if objections := SchemaCheck(schema).objections(output) or _objections(shape, said):
        return reply.with_(objections=objections, notes=notes)
    return reply.with_(output=output, notes=notes)


def _objections(shape: TypeAdapter[object] | None, said: str) -> tuple[str, ...]:
    if shape is None:
        return ()
    try:
        shape.validate_json(said)
    except ValidationError as error:
        return lines(error)
    return ()
