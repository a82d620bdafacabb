"""From a transcript to the messages of Chat Completions."""

import hashlib
from collections.abc import Iterator

from pydantic import JsonValue

from holdfast.adapters import wire
from holdfast.adapters.openai_chat.servers import OPENAI_CHAT, Target
from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import AnyCall, ToolCall, ToolResult
from holdfast.contracts.model import ModelRequest
from holdfast.contracts.patterns import Pattern
from holdfast.contracts.transcript import AssistantTurn, Part, ToolTurn, UserTurn


def render(request: ModelRequest, target: Target, instructions: str) -> list[JsonValue]:
    """Render instructions and transcript."""
    spoken: list[JsonValue] = [*_conversation(request, target)]
    return [{"role": "system", "content": instructions}, *spoken] if instructions else spoken


def has_reasoning(request: ModelRequest) -> bool:
    """Whether the model reasoned in an earlier turn, where it could be seen."""
    return any(
        part.kind == "reasoning"
        for item in request.transcript
        if isinstance(item, AssistantTurn) and _is_own(item, request)
        for part in item.parts
    )


def tool_result(result: ToolResult, call_id: str) -> JsonObject:
    """Render the answer to one call."""
    return {"role": "tool", "tool_call_id": call_id, "content": wire.result_text(result)}


def _conversation(request: ModelRequest, target: Target) -> Iterator[JsonObject]:
    ids: dict[str, str] = {}
    for item in request.transcript:
        match item:
            case UserTurn():
                yield {"role": "user", "content": item.text}
            case AssistantTurn():
                own = _is_own(item, request)
                ids = {
                    call.call_id: call.call_id if own else _call_id(call.call_id, target)
                    for call in item.calls
                }
                yield from (
                    _render_own_turn(item, target) if own else _render_foreign_turn(item, ids)
                )
            case ToolTurn():
                for result in item.results:
                    yield tool_result(result, ids.get(result.call_id, result.call_id))


def _is_own(turn: AssistantTurn, request: ModelRequest) -> bool:
    return turn.model == f"{OPENAI_CHAT}:{request.model}"


def _call_id(call_id: str, target: Target) -> str:
    """Return an id that the server takes; another server's may have to become a digest."""
    if Pattern(target.server.call_ids).fits(call_id):
        return call_id
    return hashlib.sha256(call_id.encode()).hexdigest()[:9]


def _render_foreign_turn(turn: AssistantTurn, ids: dict[str, str]) -> Iterator[JsonObject]:
    """Render what another model said: its words and calls are all that this one can take."""
    yield from _render_message(turn.words, [_call(call, ids[call.call_id]) for call in turn.calls])


def _render_own_turn(turn: AssistantTurn, target: Target) -> Iterator[JsonObject]:
    """Render what this model said, with what its server wants to see again."""
    calls = [_call(call, call.call_id) for call in turn.calls]
    extras = [part.native for part in turn.parts if part.kind == "call"]
    if extras:
        calls = [call | extra for call, extra in zip(calls, extras, strict=True)]
    thought = [part for part in turn.parts if part.kind == "reasoning"]
    if not thought or not target.has("reasoning_history"):
        yield from _render_message(turn.words, calls)
        return
    in_place = any("type" in part.native for part in thought)
    content: JsonValue = _pieces(turn.parts) if in_place else turn.words
    for message in _render_message(content, calls):
        beside = [part.native for part in thought if "type" not in part.native]
        yield {name: value for native in beside for name, value in native.items()} | message


def _pieces(parts: tuple[Part, ...]) -> list[JsonValue]:
    """Render words and thoughts as the pieces that they came in."""
    pieces: list[JsonValue] = []
    for part in parts:
        match part.kind:
            case "text":
                pieces.append({"type": "text", "text": part.text})
            case "reasoning" if "type" in part.native:
                pieces.append(part.native)
            case "reasoning" | "call" | "hosted_call" | "hosted_result" | "other":
                pass  # stand beside the content, or are taken back by no server
    return pieces


def _render_message(content: JsonValue, calls: list[JsonObject]) -> Iterator[JsonObject]:
    """Render one message; servers refuse one with neither words nor calls."""
    message: JsonObject = {"role": "assistant", "content": content or None}
    if calls:
        message["tool_calls"] = [*calls]
    if content or calls:
        yield message


def _call(call: AnyCall, call_id: str) -> JsonObject:
    asked = isinstance(call, ToolCall)
    arguments = wire.json_text(call.arguments) if asked else call.raw_arguments
    function: JsonObject = {"name": wire.tool_name(call.name), "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}
