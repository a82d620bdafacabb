"""What the tests of OpenAI Responses ask, and items as that API puts them out."""

from dataclasses import replace

from pydantic import JsonValue

from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import ToolResult, ToolSuccess
from holdfast.contracts.model import ModelReply, ModelRequest, Prefix
from holdfast.contracts.transcript import AssistantTurn, ToolTurn, TranscriptItem
from tests.adapters import conversations as say
from tests.adapters.samples.openai import call, response, said, text

MODEL = "gpt-5.2"

__all__ = ["MODEL", "call", "message", "response", "said", "text", "thought"]


def message(words: str, number: int = 1, **more: JsonValue) -> JsonObject:
    """A message with one piece of text."""
    return said(text(words)) | {"id": f"msg_{number}"} | more


def thought(number: int = 1, **more: JsonValue) -> JsonObject:
    """Reasoning, sealed."""
    return {
        "type": "reasoning",
        "id": f"rs_{number}",
        "summary": [{"type": "summary_text", "text": "Two orders."}],
        "encrypted_content": f"sealed-{number}",
        **more,
    }


def turn(reply: ModelReply, model: str = f"openai:{MODEL}") -> AssistantTurn:
    """A reply in its place in the transcript, under the name that the run asked for."""
    return AssistantTurn(model=model, text=reply.text, calls=reply.calls, parts=reply.parts)


def found(reply: ModelReply) -> ToolTurn:
    """A result for each call of a reply."""
    return ToolTurn(results=tuple(result(call.call_id, call.name) for call in reply.calls))


def result(call_id: str, name: str = "find_order") -> ToolResult:
    return ToolSuccess(call_id=call_id, name=name, summary="sent")


def ask(
    *items: TranscriptItem, model: str = MODEL, prefix: Prefix = say.PREFIX, **more: object
) -> ModelRequest:
    """Ask for what follows *items*; *more* are fields of the request."""
    return replace(say.request(model, *items, prefix=prefix), **more)


def entries(body: JsonObject) -> list[JsonObject]:
    """The input of a request."""
    sent = body["input"]
    assert isinstance(sent, list)
    return [entry for entry in sent if isinstance(entry, dict)]
