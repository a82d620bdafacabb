"""From contracts to a request of Anthropic Messages."""

from itertools import groupby
from operator import itemgetter

from pydantic import JsonValue

from adapters import wire
from contracts.base import JsonObject
from contracts.model import ModelRequest, ToolSchema
from contracts.tools import AnyCall, ToolCall, ToolFailure, ToolResult
from contracts.transcript import AssistantTurn, ToolTurn, TranscriptItem, UserTurn

MAX_TOKENS = 20_000
"""Of one reply. The API wants everything beyond 21,333 tokens (ten minutes) streamed."""


def payload(request: ModelRequest) -> JsonObject:
    """Render the whole context of a call."""
    body: JsonObject = {"model": request.model, "max_tokens": MAX_TOKENS}
    if request.prefix.instructions.strip():
        body["system"] = request.prefix.instructions
    if request.prefix.tools:
        body["tools"] = [_tool(tool) for tool in request.prefix.tools]
    body["messages"] = _messages(request.transcript)
    return body


def tool_result(result: ToolResult) -> JsonObject:
    """Render the answer to one call."""
    block: JsonObject = {
        "type": "tool_result",
        "tool_use_id": result.call_id,
        "content": wire.result_text(result),
    }
    return block | {"is_error": True} if isinstance(result, ToolFailure) else block


def _tool(tool: ToolSchema) -> JsonObject:
    return {
        "name": tool.name,
        "description": tool.description,
        "input_schema": tool.input_schema,
    }


def _messages(transcript: tuple[TranscriptItem, ...]) -> list[JsonValue]:
    """Join neighbours of one role: results and the words after them are one message."""
    turns = [(_role(item), _blocks(item)) for item in transcript]
    spoken = [turn for turn in turns if turn[1]]  # an empty message is refused
    return [
        {"role": role, "content": [block for _, blocks in group for block in blocks]}
        for role, group in groupby(spoken, key=itemgetter(0))
    ]


def _role(item: TranscriptItem) -> str:
    return "assistant" if isinstance(item, AssistantTurn) else "user"


def _blocks(item: TranscriptItem) -> list[JsonValue]:
    match item:
        case UserTurn():
            return _text(item.text)
        case AssistantTurn():
            return [*_text(item.text), *map(_call, item.calls)]
        case ToolTurn():
            return [tool_result(result) for result in item.results]


def _text(text: str) -> list[JsonValue]:
    return [{"type": "text", "text": text}] if text.strip() else []


def _call(call: AnyCall) -> JsonObject:
    # The API takes nothing but an object here; the result says what was wrong.
    arguments = call.arguments if isinstance(call, ToolCall) else {}
    return {"type": "tool_use", "id": call.call_id, "name": call.name, "input": arguments}
