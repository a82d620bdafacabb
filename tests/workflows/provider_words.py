"""What providers answer, in their own words: whole responses for the local server."""

import json

from pydantic import JsonValue

from holdfast.contracts.base import JsonObject

CLAUDE = "anthropic:claude-sonnet-5"
GPT = "openai:gpt-5.2"
CHAT = "openai-chat:gpt-4.1"


def anthropic(stop: str, *blocks: JsonObject) -> JsonObject:
    """A message of Anthropic's."""
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-5",
        "content": list(blocks),
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 5},
    }


def text(words: str) -> JsonObject:
    return {"type": "text", "text": words}


def thinking(words: str) -> JsonObject:
    return {"type": "thinking", "thinking": words, "signature": f"signed {words}"}


def tool_use(call_id: str, /, name: str = "add", **arguments: JsonValue) -> JsonObject:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def searched(query: str) -> tuple[JsonObject, JsonObject]:
    """A search that Anthropic ran itself, and what it found."""
    page: JsonObject = {
        "type": "web_search_result",
        "url": "https://example.com/weather",
        "title": "Weather",
        "encrypted_content": "abc",
        "page_age": None,
    }
    return (
        {
            "type": "server_tool_use",
            "id": "srvtoolu_1",
            "name": "web_search",
            "input": {"query": query},
        },
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [page]},
    )


def openai(*items: JsonObject) -> JsonObject:
    """A response of OpenAI's."""
    return {
        "id": "resp_1",
        "object": "response",
        "status": "completed",
        "model": "gpt-5.2",
        "output": list(items),
        "usage": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15},
    }


def message(words: str) -> JsonObject:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": words, "annotations": []}],
    }


def commentary(words: str) -> JsonObject:
    return message(words) | {"phase": "commentary"}


def reasoning(words: str) -> JsonObject:
    return {
        "id": f"rs_{words}",
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": words}],
        "encrypted_content": f"sealed {words}",
    }


def function_call(call_id: str, /, name: str = "add", **arguments: JsonValue) -> JsonObject:
    return {
        "id": f"fc_{call_id}",
        "type": "function_call",
        "call_id": call_id,
        "name": name,
        "arguments": json.dumps(arguments),
        "status": "completed",
    }


def chat(*calls: JsonObject, words: str | None = None) -> JsonObject:
    """A chat completion."""
    said: JsonObject = {"role": "assistant", "content": words, "refusal": None}
    if calls:
        said["tool_calls"] = [*calls]
    stop = "tool_calls" if calls else "stop"
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-4.1",
        "choices": [{"index": 0, "message": said, "finish_reason": stop, "logprobs": None}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    }


def chat_call(call_id: str, /, name: str = "add", **arguments: JsonValue) -> JsonObject:
    function: JsonObject = {"name": name, "arguments": json.dumps(arguments)}
    return {"id": call_id, "type": "function", "function": function}
