"""How Anthropic Messages streams: every block in pieces, the counts as totals at the end."""

import json
from collections.abc import Iterator

from pydantic import JsonValue

from holdfast.contracts.base import JsonObject
from tests.adapters.rules.strict import Event

_AT_THE_END = ("stop_reason", "stop_sequence", "stop_details", "container")
_BESIDE_THE_END = "context_management"
_USED_AT_THE_END = ("output_tokens_details", "server_tool_use")
_SIZE = 5
"""Characters of a piece: few enough to cut words, strings and escapes."""


def events(response: JsonObject) -> Iterator[Event]:
    """Cut a whole response into its events."""
    for data in _data(response):
        yield Event(data, str(data["type"]))


def _data(response: JsonObject) -> Iterator[JsonObject]:
    content, used = response["content"], response.get("usage")
    assert isinstance(content, list)
    yield {"type": "message_start", "message": _start(response, used)}
    for index, block in enumerate(content):
        assert isinstance(block, dict)
        begun, deltas = _cut(block)
        yield {"type": "content_block_start", "index": index, "content_block": begun}
        if index == 0:
            yield {"type": "ping"}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    end: JsonObject = {key: response[key] for key in _AT_THE_END if key in response}
    beside: JsonObject = {key: response[key] for key in (_BESIDE_THE_END,) if key in response}
    yield {"type": "message_delta", "delta": end, "usage": used, **beside}
    yield {"type": "message_stop"}


def _start(response: JsonObject, used: JsonValue) -> JsonObject:
    started: JsonObject = {**response, "content": []}
    started |= {key: None for key in (*_AT_THE_END, _BESIDE_THE_END) if key in response}
    if isinstance(used, dict):
        known = {key: count for key, count in used.items() if key not in _USED_AT_THE_END}
        started["usage"] = known | {"output_tokens": 1}
    return started


def _cut(block: JsonObject) -> tuple[JsonObject, list[JsonObject]]:
    """Return how a block begins, and its deltas."""
    match block:
        case {"type": "text", "text": str(text)}:
            cited = block.get("citations")
            begun: JsonObject = {**block, "text": ""}
            begun |= {"citations": []} if cited else {}
            return begun, [*_citations(cited), *_deltas("text", text)]
        case {"type": "thinking", "thinking": str(text), "signature": signature}:
            sealed: JsonObject = {"type": "signature_delta", "signature": signature}
            begun = {**block, "thinking": "", "signature": ""}
            return begun, [*_deltas("thinking", text), sealed]
        case {"type": "compaction", "content": str(text)}:
            return {**block, "content": None}, [{"type": "compaction_delta", "content": text}]
        case {"type": str(kind), "input": asked} if kind.endswith("tool_use"):
            return {**block, "input": {}}, [*_arguments(asked)]
        case _:
            return block, []


def _citations(cited: JsonValue) -> Iterator[JsonObject]:
    for citation in cited if isinstance(cited, list) else []:
        yield {"type": "citations_delta", "citation": citation}


def _arguments(asked: JsonValue) -> Iterator[JsonObject]:
    """Cut arguments; a text in their place stands for what is no JSON object."""
    text = asked if isinstance(asked, str) else json.dumps(asked) if asked else ""
    for piece in ("", *_pieces(text)):
        yield {"type": "input_json_delta", "partial_json": piece}


def _deltas(field: str, text: str) -> Iterator[JsonObject]:
    for piece in _pieces(text):
        yield {"type": f"{field}_delta", field: piece}


def _pieces(text: str) -> list[str]:
    return [text[at : at + _SIZE] for at in range(0, len(text), _SIZE)]
