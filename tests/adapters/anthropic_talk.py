"""What the tests of Anthropic Messages ask and hear, beyond what all dialects do."""

from dataclasses import replace

from holdfast.adapters.anthropic import AnthropicAdapter
from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import AnyCall, ToolSuccess
from holdfast.contracts.model import ModelReply, ModelSettings, Prefix
from holdfast.contracts.tools import HostedTool
from holdfast.contracts.transcript import AssistantTurn, ToolTurn, TranscriptItem
from tests.adapters import conversations as say
from tests.adapters.samples.anthropic import MODEL

NEWER = "claude-opus-5-5"

SEARCH = HostedTool(name="web_search", options={"max_uses": 3})
SHAPE: JsonObject = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
CACHED: JsonObject = {"cache_control": {"type": "ephemeral"}}


def rendered(
    *items: TranscriptItem,
    model: str = MODEL,
    prefix: Prefix = say.PREFIX,
    turn: int = 1,
    state: JsonObject | None = None,
) -> JsonObject:
    """Return the request that asks for what follows *items*."""
    request = say.request(model, *items, prefix=prefix)
    return AnthropicAdapter().build_request(
        replace(request, turn=turn, provider_state=state or {})
    )


def messages(*items: TranscriptItem, model: str = MODEL) -> list[tuple[str, list[JsonObject]]]:
    """Return what is said in a request, without the marks of its cache."""
    said = rendered(*items, model=model)["messages"]
    assert isinstance(said, list)
    turns: list[tuple[str, list[JsonObject]]] = []
    for message in said:
        assert isinstance(message, dict)
        assert isinstance(message["content"], list)
        blocks = [block for block in message["content"] if isinstance(block, dict)]
        bare = [{k: v for k, v in block.items() if k != "cache_control"} for block in blocks]
        turns.append((str(message["role"]), bare))
    return turns


def with_settings(**settings: object) -> Prefix:
    """Return the usual prefix of an agent that asks for more than words."""
    return say.PREFIX.model_copy(update={"settings": ModelSettings.model_validate(settings)})


def kept(reply: ModelReply, model: str = MODEL) -> AssistantTurn:
    """Return a reply as the transcript keeps it."""
    name = f"anthropic:{model}"
    return AssistantTurn(model=name, text=reply.text, calls=reply.calls, parts=reply.parts)


def heard(*content: JsonObject, stop: str = "end_turn") -> AssistantTurn:
    """Return a turn of the usual model that said *content*."""
    return kept(read(*content, stop=stop))


def read(*content: JsonObject, stop: str | None = "end_turn", **more: JsonObject) -> ModelReply:
    """Read a message of *content*."""
    return AnthropicAdapter().parse_response(
        {"model": MODEL, "content": list(content), "stop_reason": stop, **more}
    )


def results(*calls: AnyCall) -> ToolTurn:
    """Answer each call."""
    return ToolTurn(
        results=tuple(
            ToolSuccess(call_id=call.call_id, name=call.name, summary="sent") for call in calls
        )
    )


def result(call_id: str) -> JsonObject:
    """Return the answer to a call as the API gets it."""
    content = '{"status":"ok","summary":"sent","data":null}'
    return {"type": "tool_result", "tool_use_id": call_id, "content": content}


def thinking(thought: str, signature: str = "c2lnbmVk") -> JsonObject:
    return {"type": "thinking", "thinking": thought, "signature": signature}


def searching(call_id: str = "srvtoolu_1", query: str = "Köln") -> JsonObject:
    return {
        "type": "server_tool_use",
        "id": call_id,
        "name": "web_search",
        "input": {"query": query},
    }


def found(call_id: str = "srvtoolu_1") -> JsonObject:
    page: JsonObject = {"type": "web_search_result", "url": "https://koeln.example", "title": "K"}
    return {"type": "web_search_tool_result", "tool_use_id": call_id, "content": [page]}


def programmed(call_id: str) -> JsonObject:
    """Return a call that code at Anthropic makes."""
    return {
        "type": "tool_use",
        "id": call_id,
        "name": "find_order",
        "input": {"order_id": 4},
        "caller": {"type": "code_execution_20260120", "tool_id": "srvtoolu_9"},
    }
