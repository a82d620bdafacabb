"""The contract suite's replies, as Anthropic Messages sends them."""

from pydantic import JsonValue

from holdfast.contracts.base import JsonObject
from tests.adapters.rules.strict import Event

MODEL: str = "claude-sonnet-4-5"

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


WORDS = message(text("In Köln."))
TWO_CALLS = message(
    text("Let me see."),
    call("call_1", {"order_id": 2**53 + 1, "max": 0.1}),
    call("call_2", {}),
    stop="tool_use",
)
REASONING = message(THINKING, call("call_1", {"order_id": 4}), stop="tool_use")
REASONED: JsonObject | None = THINKING
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
UNCOUNTED = message(text("ok"), usage=None)
REFUSAL = message(
    text("I can't help with that."),
    stop="refusal",
    stop_details={"type": "refusal", "category": "cyber", "explanation": "It does harm."},
)
CUT_SHORT = message(text("Let me see."), call("call_1", {"order_id": 4}), stop="max_tokens")
STRANGE = message(UNKNOWN, text("ok"))

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
