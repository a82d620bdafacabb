"""The contract suite's replies, as Anthropic Messages sends them."""

from decimal import Decimal

from pydantic import JsonValue

from holdfast.contracts.base import JsonObject
from tests.adapters.rules.strict import Event, Page

MODEL: str = "claude-sonnet-4-5"
REASONER: str = "claude-opus-4-6"

THINKING: JsonObject = {"type": "thinking", "thinking": "Two orders.", "signature": "c2lnbmVk"}
UNKNOWN: JsonObject = {"type": "hologram", "shape": {"edges": 12}}


def message(*content: JsonObject, stop: str = "end_turn", **more: JsonValue) -> JsonObject:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5-20250929",
        "content": list(content),
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 1000, "output_tokens": 100},
        **more,
    }


def text(words: str) -> JsonObject:
    return {"type": "text", "text": words}


def call(call_id: str, arguments: JsonObject) -> JsonObject:
    return {"type": "tool_use", "id": call_id, "name": "find_order", "input": arguments}


def many_calls(count: int) -> JsonObject:
    return message(*(call(f"call_{n}", {"n": n}) for n in range(count)), stop="tool_use")


def error(status: int, kind: str, text: str, **more: JsonValue) -> Page:
    return Page({"type": "error", "error": {"type": kind, "message": text, **more}}, status)


WORDS = message(text("In Köln."))
TWO_CALLS = message(
    text("Let me see."),
    call("call_1", {"order_id": 2**53 + 1, "max": 0.1}),
    call("call_2", {}),
    stop="tool_use",
)
REASONING = message(THINKING, call("call_1", {"order_id": 4}), stop="tool_use")
REASONED: JsonObject | None = THINKING
REDACTED: JsonObject = {"type": "redacted_thinking", "data": "c2VhbGVk"}
UNSIGNED: JsonObject = {**THINKING, "signature": ""}
THOUGHTS: tuple[JsonObject, ...] = (
    message(THINKING, text("Let me see."), REDACTED, call("call_1", {}), stop="tool_use"),
    message(THINKING, REDACTED, call("call_1", {}), call("call_2", {}), stop="tool_use"),
    message(THINKING, text("In Köln.")),
    message(text("In Köln."), THINKING),
    message(THINKING),
    message(UNSIGNED, call("call_1", {}), stop="tool_use"),
    message(THINKING, text("In K"), stop="max_tokens"),
    message(THINKING, stop="max_tokens"),
    message(THINKING, stop="refusal"),
)
"""Where thoughts may stand: before words and calls, at an end, alone, unsigned, cut."""
MALFORMED = message({**call("call_1", {}), "input": [4]}, stop="tool_use")
MARK: JsonObject = {"citations": [{"type": "char_location", "cited_text": "Köln"}]}
MARKED = message({**text("In Köln."), **MARK})
CACHED = message(
    text("ok"),
    usage={
        "input_tokens": 750,
        "cache_read_input_tokens": 200,
        "cache_creation_input_tokens": 50,
        "output_tokens": 100,
        "output_tokens_details": {"thinking_tokens": 40},
    },
)
CACHE_COUNTERS = {"cache_read_input_tokens": 200, "cache_creation_input_tokens": 50}
CACHE_WRITTEN: int = 50
UNCOUNTED = message(text("ok"), usage=None)
USAGE: str = "usage"
COUNTERS: tuple[str, str] = ("input_tokens", "output_tokens")
SEARCHED: JsonObject | None = message(
    text("I'll look."),
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "?"}},
    {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
    text("In Köln."),
    usage={
        "input_tokens": 1000,
        "output_tokens": 100,
        "server_tool_use": {"web_search_requests": 1},
    },
)
SEARCH_PRICE: Decimal = Decimal("0.01")
REFUSAL: JsonObject | None = message(
    text("I can't help with that."),
    stop="refusal",
    stop_details={"type": "refusal", "category": "cyber", "explanation": "It does harm."},
)
FILTERED: JsonObject | None = None
PAUSED: JsonObject | None = message(text("Let me see."), stop="pause_turn")
OVERFULL: JsonObject | None = message(text("Let me"), stop="model_context_window_exceeded")
CUT_SHORT = message(text("Let me see."), call("call_1", {"order_id": 4}), stop="max_tokens")
STRANGE = message(UNKNOWN, text("ok"))

WRONG_KEY = error(401, "authentication_error", "invalid x-api-key")
NO_MONEY = error(
    429, "rate_limit_error", "pay", details={"error_code": "enforced_spend_limit_reached"}
)
TOO_FAST = error(429, "rate_limit_error", "busy")
WAIT = {"retry-after": "34"}
TOO_LONG = error(400, "invalid_request_error", "prompt is too long: 2 tokens > 1 maximum")
FORBIDDEN = error(400, "invalid_request_error", "Output blocked by content filtering policy")
OPTIONS: dict[str, JsonObject] = {}

OVERLOADED = Event(
    {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, "error"
)
HALVES: str = """\
event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant",\
"model":"claude-sonnet-4-5-20250929","content":[],"stop_reason":null,"stop_sequence":null,\
"usage":{"input_tokens":1000,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"call_1",\
"name":"pay","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta",\
"partial_json":"{\\"amount\\":1"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta",\
"partial_json":"00}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},\
"usage":{"output_tokens":100}}

event: message_stop
data: {"type":"message_stop"}

"""
