"""The contract suite's replies, as OpenAI Responses sends them."""

from decimal import Decimal

from pydantic import JsonValue

from holdfast.contracts.base import JsonObject
from tests.adapters.rules.strict import Event, Page

MODEL: str = "gpt-5.2"
REASONER: str = "gpt-5.2"

THOUGHT: JsonObject = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "Two orders."}],
    "encrypted_content": "c2VhbGVk",
}
UNKNOWN: JsonObject = {"type": "hologram", "id": "ho_1", "shape": {"edges": 12}}


def response(*output: JsonObject, **more: JsonValue) -> JsonObject:
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "gpt-5.2-2025-12-11",
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "output": list(output),
        "usage": {"input_tokens": 1000, "output_tokens": 100, "total_tokens": 1100},
        **more,
    }


def said(*content: JsonObject, status: str = "completed") -> JsonObject:
    return {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": status,
        "content": list(content),
    }


def text(words: str) -> JsonObject:
    return {"type": "output_text", "text": words, "annotations": []}


def call(number: int, arguments: str, status: str = "completed") -> JsonObject:
    return {
        "type": "function_call",
        "id": f"fc_{number}",
        "call_id": f"call_{number}",
        "name": "find_order",
        "arguments": arguments,
        "status": status,
    }


def many_calls(count: int) -> JsonObject:
    return response(*(call(n, "{}") for n in range(count)))


def error(status: int, kind: str, message: str, code: str) -> Page:
    return Page({"error": {"type": kind, "message": message, "code": code}}, status)


WORDS = response(said(text("In Köln.")))
TWO_CALLS = response(
    said(text("Let me see.")),
    call(1, '{"order_id":9007199254740993,"max":0.1}'),
    call(2, "{}"),
)
REASONING = response(THOUGHT, call(1, '{"order_id":4}'))
REASONED: JsonObject | None = THOUGHT
MALFORMED = response(call(1, "[4]"))
MARK: JsonObject = {"annotations": [{"type": "url_citation", "url": "https://koeln.example"}]}
MARKED = response(said({**text("In Köln."), **MARK}))
CACHED = response(
    said(text("ok")),
    usage={
        "input_tokens": 1000,
        "input_tokens_details": {"cached_tokens": 200, "cache_write_tokens": 50},
        "output_tokens": 100,
        "output_tokens_details": {"reasoning_tokens": 40},
        "total_tokens": 1100,
    },
)
CACHE_COUNTERS = {"cached_tokens": 200, "cache_write_tokens": 50}
CACHE_WRITTEN: int = 50
UNCOUNTED = response(said(text("ok")), usage=None)
USAGE: str = "usage"
COUNTERS: tuple[str, str] = ("input_tokens", "output_tokens")
SEARCHED: JsonObject | None = response(
    {
        "type": "web_search_call",
        "id": "ws_1",
        "status": "completed",
        "action": {"type": "search", "query": "?"},
    },
    said(text("In Köln.")),
)
SEARCH_PRICE: Decimal = Decimal("0.01")

OTHER_THOUGHT: JsonObject = {**THOUGHT, "id": "rs_2", "encrypted_content": "c2VhbGVkIHRvbw"}
UNSEALED: JsonObject = {**THOUGHT, "id": "rs_3", "encrypted_content": None}
COMMENTARY: JsonObject = said(text("Let me see.")) | {"phase": "commentary"}
THOUGHTS: tuple[JsonObject, ...] = (
    response(THOUGHT, COMMENTARY, OTHER_THOUGHT, call(1, "{}")),
    response(THOUGHT, OTHER_THOUGHT, call(1, "{}"), call(2, "{}")),
    response(
        THOUGHT, {"type": "web_search_call", "id": "ws_1", "status": "completed"}, COMMENTARY
    ),
    response(THOUGHT, said(text("In Köln."))),
    response(said(text("In Köln.")), THOUGHT),
    response(THOUGHT),
    response(UNSEALED, call(1, "{}")),
    response(THOUGHT, COMMENTARY, UNSEALED, call(1, "{}")),
    response(
        *(THOUGHT, COMMENTARY, OTHER_THOUGHT, call(1, '{"or', status="incomplete")),
        status="incomplete",
        incomplete_details={"reason": "max_output_tokens"},
    ),
)
"""Where thoughts may stand: before words, calls and searches, at an end, alone, unsealed, cut."""
REFUSAL: JsonObject | None = response(
    said({"type": "refusal", "refusal": "I can't help with that."})
)
FILTERED: JsonObject | None = response(
    said(text("In K"), status="incomplete"),
    status="incomplete",
    incomplete_details={"reason": "content_filter"},
)
PAUSED: JsonObject | None = response(said(text("Let me see.")) | {"phase": "commentary"})
OVERFULL: JsonObject | None = None
CUT_SHORT = response(
    said(text("Let me see.")),
    call(1, '{"order_id":4', status="incomplete"),
    status="incomplete",
    incomplete_details={"reason": "max_output_tokens"},
)
STRANGE = response(UNKNOWN, said(text("ok")))

WRONG_KEY = error(401, "invalid_request_error", "wrong", "invalid_api_key")
NO_MONEY = error(429, "insufficient_quota", "pay", "insufficient_quota")
TOO_FAST = error(429, "requests", "busy", "rate_limit_exceeded")
WAIT = {"retry-after-ms": "34000"}
TOO_LONG = error(400, "invalid_request_error", "too long", "context_length_exceeded")
FORBIDDEN = error(400, "invalid_request_error", "no", "content_policy_violation")
OPTIONS: dict[str, JsonObject] = {"file_search": {"vector_store_ids": ["vs_1"]}}

OVERLOADED = Event(
    {
        "type": "error",
        "sequence_number": 1,
        "code": "server_is_overloaded",
        "message": "Overloaded",
        "param": None,
    },
    "error",
)
HALVES: str = """\
event: response.created
data: {"type":"response.created","sequence_number":0,"response":{"id":"resp_1",\
"object":"response","created_at":1,"model":"gpt-5.2-2025-12-11","status":"in_progress",\
"error":null,"incomplete_details":null,"output":[],"usage":null}}

event: response.output_item.added
data: {"type":"response.output_item.added","sequence_number":1,"output_index":0,\
"item":{"type":"function_call","id":"fc_1","call_id":"call_1","name":"pay","arguments":"",\
"status":"in_progress"}}

event: response.function_call_arguments.delta
data: {"type":"response.function_call_arguments.delta","sequence_number":2,"item_id":"fc_1",\
"output_index":0,"delta":"{\\"amount\\":1"}

event: response.function_call_arguments.delta
data: {"type":"response.function_call_arguments.delta","sequence_number":3,"item_id":"fc_1",\
"output_index":0,"delta":"00}"}

event: response.function_call_arguments.done
data: {"type":"response.function_call_arguments.done","sequence_number":4,"item_id":"fc_1",\
"output_index":0,"arguments":"{\\"amount\\":100}"}

event: response.output_item.done
data: {"type":"response.output_item.done","sequence_number":5,"output_index":0,\
"item":{"type":"function_call","id":"fc_1","call_id":"call_1","name":"pay",\
"arguments":"{\\"amount\\":100}","status":"completed"}}

event: response.completed
data: {"type":"response.completed","sequence_number":6,"response":{"id":"resp_1",\
"object":"response","created_at":1,"model":"gpt-5.2-2025-12-11","status":"completed",\
"error":null,"incomplete_details":null,"output":[{"type":"function_call","id":"fc_1",\
"call_id":"call_1","name":"pay","arguments":"{\\"amount\\":100}","status":"completed"}],\
"usage":{"input_tokens":1000,"output_tokens":100,"total_tokens":1100}}}

"""
