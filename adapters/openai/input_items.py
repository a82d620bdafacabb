"""From the transcript to input items of OpenAI Responses."""

import hashlib
from collections.abc import Iterator

from holdfast.adapters import wire
from holdfast.adapters.openai.errors import PROVIDER
from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import (
    AnyCall,
    ToolCall,
    ToolResult,
    ToolSuccess,
)
from holdfast.contracts.model import ModelRequest
from holdfast.contracts.transcript import AssistantTurn, Part, ToolTurn, UserTurn

_MAX_ID_CHARS = 64


def render(request: ModelRequest, begin: int = 0) -> Iterator[JsonObject]:
    """Render the transcript from *begin* on, which is its start or right behind a model's turn."""
    own = f"{PROVIDER.name}:{request.model}"
    before = request.transcript[begin - 1] if begin else None
    forms = _forms(before) if isinstance(before, AssistantTurn) else {}
    for item in request.transcript[begin:]:
        match item:
            case UserTurn():
                yield {"role": "user", "content": item.text}
            case AssistantTurn() if item.model == own and _can_replay(item):
                forms = _forms(item)
                yield from _render_own_turn(item)
            case AssistantTurn():
                forms = {}
                yield from _render_foreign_turn(item)
            case ToolTurn():
                yield from (tool_result(one, forms.get(one.call_id)) for one in item.results)


def tool_result(result: ToolResult, form: JsonObject | None = None) -> JsonObject:
    """Render the answer to a call; *form* is what the call had beyond name and arguments."""
    form = form or {}
    if form.get("type") == "mcp_approval_request":
        return _approval(result)
    custom = form.get("type") == "custom_tool_call"
    answer: JsonObject = {
        "type": "custom_tool_call_output" if custom else "function_call_output",
        "call_id": _call_id(result.call_id),
        "output": wire.result_text(result),
    }
    return answer | {name: form[name] for name in ("caller",) if name in form}


def _approval(result: ToolResult) -> JsonObject:
    """Approve nothing but what the run itself has done: all else says why not."""
    answer: JsonObject = {
        "type": "mcp_approval_response",
        "approval_request_id": result.call_id,
        "approve": isinstance(result, ToolSuccess),
    }
    return answer if isinstance(result, ToolSuccess) else answer | {"reason": result.reason}


def _can_replay(turn: AssistantTurn) -> bool:
    """
    Whether the pieces of a turn can be sent as they came.

    Reasoning that is neither encrypted nor readable can't, nor can what came with it alone.
    """
    return bool(turn.parts) and all(
        part.native.get("encrypted_content") or part.native.get("content")
        for part in turn.parts
        if part.kind == "reasoning"
    )


def _forms(turn: AssistantTurn) -> dict[str, JsonObject]:
    """Return what each call had beyond name and arguments: it says how its result looks."""
    parts = (part for part in turn.parts if part.kind == "call")
    return {call.call_id: part.native for call, part in zip(turn.calls, parts, strict=False)}


def _render_own_turn(turn: AssistantTurn) -> Iterator[JsonObject]:
    """Render a turn of the same model, piece by piece; reasoning only with what came of it."""
    calls = iter(turn.calls)
    parts = list(turn.parts)
    while parts and parts[-1].kind == "reasoning":
        parts.pop()
    for part in parts:
        match part.kind:
            case "text":
                yield _message(part)
            case "call":
                yield _call(next(calls), part.native)
            case "reasoning" | "hosted_call" | "hosted_result" | "other":
                yield part.native


def _render_foreign_turn(turn: AssistantTurn) -> Iterator[JsonObject]:
    """Render a turn of another model: what it said and what it asked for."""
    if words := turn.words:
        yield {"role": "assistant", "content": words}
    for call in turn.calls:
        yield _call(call, {})


def _message(part: Part) -> JsonObject:
    if "id" not in part.native:
        short: JsonObject = {"role": "assistant", "content": part.text}
        return short | {name: part.native[name] for name in ("phase",) if name in part.native}
    piece: JsonObject = {
        "type": "output_text",
        "text": part.text,
        "annotations": part.native.get("annotations", []),
    }
    message: JsonObject = {"type": "message", "role": "assistant", "status": "completed"}
    message["content"] = [piece]
    return message | {n: value for n, value in part.native.items() if n != "annotations"}


def _call(call: AnyCall, form: JsonObject) -> JsonObject:
    arguments = (
        wire.json_text(call.arguments) if isinstance(call, ToolCall) else call.raw_arguments
    )
    match form.get("type"):
        case "mcp_approval_request":
            return {**form, "id": call.call_id}
        case "custom_tool_call":
            return {"input": "", **form, "call_id": _call_id(call.call_id)}
        case _:
            return {
                "type": "function_call",
                "call_id": _call_id(call.call_id),
                "name": wire.tool_name(call.name),
                "arguments": arguments,
                **form,
            }


def _call_id(call_id: str) -> str:
    """Return an id that the API takes; one that is empty or too long becomes a digest."""
    if 1 <= len(call_id) <= _MAX_ID_CHARS:
        return call_id
    return f"call_{hashlib.sha256(call_id.encode()).hexdigest()[:32]}"
