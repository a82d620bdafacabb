"""An answer in a declared shape: read as data, and checked against its schema. Pure."""

import json
import re

from pydantic import JsonValue
from pydantic_core import from_json

from contracts.base import JsonObject
from contracts.model import ModelReply
from tools.schema import SchemaCheck

_FENCED = re.compile(r"```(?:json)?\s(?P<content>.*)```", re.DOTALL)
"""
Models without structured output like to put JSON into a block of Markdown.

Nothing in it can match in two ways, or an answer of nothing but line breaks would take hours.
"""

_MOST_OBJECTIONS = 20
_LONGEST_OBJECTION = 500


def checked(reply: ModelReply, schema: JsonObject | None) -> ModelReply:
    """Return a reply with its answer as data, or with what the schema objects to."""
    if schema is None or reply.calls or reply.stop != "end_turn":
        return reply
    said = reply.text.strip()
    fenced = _FENCED.fullmatch(said)
    try:
        output: JsonValue = from_json(fenced["content"] if fenced else said)
        # The other parser lets a number through that is larger than any: history would lose it.
        json.dumps(output, allow_nan=False)
    except ValueError:
        return reply.model_copy(update={"objections": ("it is no JSON",)})
    if objections := SchemaCheck(schema).objections(output):
        # An objection quotes what it objects to, which may be all of the answer.
        told = tuple(each[:_LONGEST_OBJECTION] for each in objections[:_MOST_OBJECTIONS])
        return reply.model_copy(update={"objections": told})
    return reply.model_copy(update={"output": output})
