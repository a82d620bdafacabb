"""An answer in a declared shape: read as data, and checked against its schema. Pure."""

import re

from pydantic import JsonValue
from pydantic_core import from_json

from contracts.base import JsonObject
from contracts.model import ModelReply
from tools.schema import SchemaCheck

_FENCED = re.compile(r"\s*```(?:json)?\s*\n(?P<content>.*?)\n\s*```\s*", re.DOTALL)
"""Models without structured output like to put JSON into a block of Markdown."""


def checked(reply: ModelReply, schema: JsonObject | None) -> ModelReply:
    """Return a reply with its answer as data, or with what the schema objects to."""
    if schema is None or reply.calls or reply.stop != "end_turn":
        return reply
    fenced = _FENCED.fullmatch(reply.text)
    text = fenced["content"] if fenced else reply.text
    try:
        output: JsonValue = from_json(text, allow_inf_nan=False)
    except ValueError:
        return reply.model_copy(update={"objections": ("it is no JSON",)})
    if objections := SchemaCheck(schema).objections(output):
        return reply.model_copy(update={"objections": objections})
    return reply.model_copy(update={"output": output})
