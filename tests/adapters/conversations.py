"""What the tests of all adapters ask."""

import pytest
from pydantic import JsonValue

from holdfast.adapters.base import ModelAdapter
from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import (
    ArtifactRef,
    MalformedCall,
    ToolCall,
    ToolFailure,
    ToolSuccess,
)
from holdfast.contracts.errors import ModelError
from holdfast.contracts.model import ModelReply, ModelRequest, Prefix, ToolSchema
from holdfast.contracts.transcript import AssistantTurn, ToolTurn, TranscriptItem, UserTurn

KEY = "a-key-that-nobody-may-see"

ORDER_SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"order_id": {"type": "integer"}},
    "required": ["order_id"],
    "additionalProperties": False,
}
PREFIX = Prefix(
    instructions="Be brief.",
    tools=(ToolSchema(name="find_order", description="Look it up.", input_schema=ORDER_SCHEMA),),
)
GOAL = UserTurn(text="Where are my orders?")

ASKED_TWICE = AssistantTurn(
    model="other:model",
    text="Let me see.",
    calls=(
        ToolCall(call_id="c1", name="find_order", arguments={"order_id": 2**53 + 1, "max": 0.1}),
        ToolCall(call_id="c2", name="find_order", arguments={}),
    ),
)
FOUND = ToolSuccess(
    call_id="c1",
    name="find_order",
    summary="sent",
    data={"at": "Köln"},
    artifact=ArtifactRef(path="a/1", characters=9, digest="d"),
)
NOT_FOUND = ToolFailure(
    status="denied",
    call_id="c2",
    name="find_order",
    type="permission_denied",
    reason="not yours",
    next_valid_actions=("ask",),
)
FOUND_TEXT = '{"status":"ok","summary":"sent","data":{"at":"Köln"}}'
NOT_FOUND_TEXT = (
    '{"status":"denied","type":"permission_denied","reason":"not yours",'
    '"next_valid_actions":["ask"]}'
)
ANSWERED = ToolTurn(results=(FOUND, NOT_FOUND))
STEERED = UserTurn(text="Hurry.", origin="steer")

MALFORMED = AssistantTurn(
    model="other:model",
    calls=(MalformedCall(call_id="c1", name="find_order", raw_arguments='{"order_id": 4'),),
)
REFUSED = ToolTurn(
    results=(
        ToolFailure(
            status="error",
            call_id="c1",
            name="find_order",
            type="invalid_arguments",
            reason="no JSON object",
        ),
    )
)


def request(model: str, *items: TranscriptItem, prefix: Prefix = PREFIX) -> ModelRequest:
    """Ask for the reply that follows *items*."""
    return ModelRequest(
        run_id="r1",
        turn=1,
        attempt=1,
        model=model,
        prefix=prefix,
        transcript=items or (GOAL,),
        provider_state={},
    )


async def failure(adapter: ModelAdapter, model: str) -> ModelError:
    """Ask, and return what that raises."""
    with pytest.raises(ModelError) as raised:
        await adapter.respond(request(model))
    return raised.value


def turn(model: str, reply: ModelReply) -> AssistantTurn:
    """A reply as a run keeps it."""
    return AssistantTurn(model=model, text=reply.text, calls=reply.calls, parts=reply.parts)


def answered(said: AssistantTurn) -> ToolTurn:
    """A result for each call."""
    return ToolTurn(
        results=tuple(
            ToolSuccess(call_id=call.call_id, name=call.name, summary=f"result of {call.call_id}")
            for call in said.calls
        )
    )


def objects(value: JsonValue) -> list[JsonObject]:
    """Every object inside of a value, and itself."""
    match value:
        case dict():
            return [value, *(inner for part in value.values() for inner in objects(part))]
        case list():
            return [inner for part in value for inner in objects(part)]
        case _:
            return []


def holds(value: JsonValue, part: JsonObject) -> bool:
    """Whether an object inside of a value has all fields of *part*, as they are there."""
    return any(part.items() <= found.items() for found in objects(value))
