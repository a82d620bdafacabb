"""The contract suite's replies, as OpenAI Chat Completions sends them."""

from decimal import Decimal

from pydantic import JsonValue

from holdfast.contracts.base import JsonObject
from tests.adapters.rules.strict import Event, Page

MODEL: str = "gpt-4.1"
REASONER: str = "gpt-5.2"

UNKNOWN: JsonObject = {"type": "hologram", "shape": {"edges": 12}}


def completion(message: JsonObject, stop: str = "stop", **more: JsonValue) -> JsonObject:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-4.1-2025-04-14",
        "choices": [
            {"index": 0, "message": {"role": "assistant"} | message, "finish_reason": stop}
        ],
        "usage": {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100},
        **more,
    }


def said(words: str) -> JsonObject:
    return {"content": words, "refusal": None}


def call(number: int, arguments: str) -> JsonObject:
    return {
        "id": f"call_{number}",
        "type": "function",
        "function": {"name": "find_order", "arguments": arguments},
    }


def asking(*calls: JsonObject) -> JsonObject:
    return completion({"content": None, "tool_calls": [*calls]}, stop="tool_calls")


def many_calls(count: int) -> JsonObject:
    return asking(*(call(n, "{}") for n in range(count)))


def error(status: int, kind: str, message: str, code: str) -> Page:
    return Page({"error": {"type": kind, "message": message, "code": code}}, status)


WORDS = completion(said("In Köln."))
TWO_CALLS = completion(
    {
        "content": "Let me see.",
        "tool_calls": [call(1, '{"order_id":9007199254740993,"max":0.1}'), call(2, "{}")],
    },
    stop="tool_calls",
)
REASONING = completion(
    {
        "content": None,
        "reasoning_content": "Two orders.",
        "tool_calls": [call(1, '{"order_id":4}')],
    },
    stop="tool_calls",
)
REASONED: JsonObject | None = None
MALFORMED = asking(call(1, "[4]"))
MARK: JsonObject = {"extra_content": {"google": {"thought_signature": "c2lnbmVk"}}}
MARKED = asking({**call(1, "{}"), **MARK})
CACHED = completion(
    said("ok"),
    usage={
        "prompt_tokens": 1000,
        "prompt_tokens_details": {"cached_tokens": 200, "cache_write_tokens": 50},
        "completion_tokens": 100,
        "completion_tokens_details": {"reasoning_tokens": 40},
        "total_tokens": 1100,
    },
)
CACHE_COUNTERS = {"cached_tokens": 200, "cache_write_tokens": 50}
CACHE_WRITTEN: int = 50
UNCOUNTED = completion(said("ok"), usage=None)
USAGE: str = "usage"
COUNTERS: tuple[str, str] = ("prompt_tokens", "completion_tokens")
SEARCHED: JsonObject | None = None
SEARCH_PRICE: Decimal = Decimal(0)
REFUSAL: JsonObject | None = completion({"content": None, "refusal": "I can't help with that."})
FILTERED: JsonObject | None = completion(said("In K"), stop="content_filter")
PAUSED: JsonObject | None = None
OVERFULL: JsonObject | None = None
CUT_SHORT = completion(
    {"content": "Let me see.", "tool_calls": [call(1, '{"order_id":4')]}, stop="length"
)
STRANGE = completion({"content": "ok", "hologram": UNKNOWN})

WRONG_KEY = error(401, "invalid_request_error", "wrong", "invalid_api_key")
NO_MONEY = error(429, "insufficient_quota", "pay", "insufficient_quota")
TOO_FAST = error(429, "requests", "busy", "rate_limit_exceeded")
WAIT = {"retry-after-ms": "34000"}
TOO_LONG = error(400, "invalid_request_error", "too long", "context_length_exceeded")
FORBIDDEN = error(400, "invalid_request_error", "no", "content_filter")
OPTIONS: dict[str, JsonObject] = {}

OVERLOADED = Event({"error": {"code": 503, "message": "Overloaded"}})
HALVES: str = """\
data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,\
"model":"gpt-4.1-2025-04-14","choices":[{"index":0,"delta":{"role":"assistant","tool_calls":\
[{"index":0,"id":"call_1","type":"function","function":{"name":"pay","arguments":""}}]},\
"finish_reason":null}]}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,\
"model":"gpt-4.1-2025-04-14","choices":[{"index":0,"delta":{"tool_calls":\
[{"index":0,"function":{"arguments":"{\\"amount\\":1"}}]},"finish_reason":null}]}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,\
"model":"gpt-4.1-2025-04-14","choices":[{"index":0,"delta":{"tool_calls":\
[{"index":0,"function":{"arguments":"00}"}}]},"finish_reason":null}]}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,\
"model":"gpt-4.1-2025-04-14","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,\
"model":"gpt-4.1-2025-04-14","choices":[],"usage":{"prompt_tokens":1000,\
"completion_tokens":100,"total_tokens":1100}}

data: [DONE]

"""
