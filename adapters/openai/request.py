"""From contracts to a request of OpenAI Responses."""

from pydantic import JsonValue

from adapters import wire
from contracts.base import JsonObject
from contracts.model import ModelRequest, ToolSchema
from contracts.tools import AnyCall, ToolCall, ToolResult
from contracts.transcript import AssistantTurn, ToolTurn, TranscriptItem, UserTurn


def payload(request: ModelRequest) -> JsonObject:
    """Render the whole context of a call; the provider keeps nothing of it."""
    body: JsonObject = {"model": request.model, "store": False}
    if request.prefix.instructions.strip():
        body["instructions"] = request.prefix.instructions
    if request.prefix.tools:
        body["tools"] = [_tool(tool) for tool in request.prefix.tools]
    body["input"] = [entry for item in request.transcript for entry in _entries(item)]
    return body


def tool_result(result: ToolResult) -> JsonObject:
    """Render the answer to one call."""
    return {
        "type": "function_call_output",
        "call_id": result.call_id,
        "output": wire.result_text(result),
    }


def _tool(tool: ToolSchema) -> JsonObject:
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.input_schema,
        # Strict takes a part of JSON Schema only, so it would change what a tool promises.
        "strict": False,
    }


def _entries(item: TranscriptItem) -> list[JsonValue]:
    match item:
        case UserTurn():
            return [{"role": "user", "content": item.text}]
        case AssistantTurn():
            return [*_said(item.text), *map(_call, item.calls)]
        case ToolTurn():
            return [tool_result(result) for result in item.results]


def _said(text: str) -> list[JsonValue]:
    return [{"role": "assistant", "content": text}] if text else []


def _call(call: AnyCall) -> JsonObject:
    return {
        "type": "function_call",
        "call_id": call.call_id,
        "name": call.name,
        "arguments": wire.json_text(call.arguments)
        if isinstance(call, ToolCall)
        else call.raw_arguments,
    }
