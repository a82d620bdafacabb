"""What an answer of Anthropic Messages says."""

import json
from collections.abc import Iterable, Iterator

from tests.adapters.recordings import expected
from tests.adapters.recordings.exchanges import Exchange
from tests.adapters.recordings.expected import Counts, Failed, Outcome, Said, count
from tests.adapters.recordings.values import Body, Value

STOPS = {
    "end_turn": "end_turn",
    "stop_sequence": "end_turn",
    "tool_use": "tool_use",
    "max_tokens": "max_tokens",
    "refusal": "refusal",
    "pause_turn": "pause",
    "compaction": "pause",
    "model_context_window_exceeded": "context_overflow",
}
CUT_SHORT = {"max_tokens", "model_context_window_exceeded"}


def outcome(exchange: Exchange) -> Outcome:
    message = whole(exchange)
    return message if isinstance(message, Failed) else said(message)


def whole(exchange: Exchange) -> Body | Failed:
    """The answer as it would have come unstreamed."""
    answer = expected.received(exchange)
    return _assembled(answer) if isinstance(answer, list) else answer


def said(message: Body) -> Outcome:
    if not isinstance(message.get("content"), list):
        return expected.UNREADABLE
    blocks = _complete(message)
    container: Body = message.get("container") or {}
    return Said(
        pieces=tuple(block["text"] for block in blocks if block["type"] == "text"),
        answer="".join(_answer(blocks)),
        calls=tuple(
            (block["id"], block["name"], block["input"])
            for block in blocks
            if block["type"] == "tool_use"
        ),
        stop=STOPS.get(message["stop_reason"], "other"),
        counts=_counts(message.get("usage")),
        model=message["model"],
        output=blocks,
        thoughts=tuple(block["thinking"] for block in blocks if block["type"] == "thinking"),
        verbatim=tuple(b for b in blocks if b["type"] not in {"text", "tool_use"}),
        state=(container["id"],) if container else (),
    )


def _complete(message: Body) -> list[Body]:
    """The blocks without the call that a limit of length cut in two."""
    blocks: list[Body] = message["content"]
    if message["stop_reason"] == "refusal":
        return [block for block in blocks if block["type"] != "tool_use"]
    ends_in_a_call = blocks and blocks[-1]["type"] == "tool_use"
    cut = ends_in_a_call and message["stop_reason"] in CUT_SHORT
    return blocks[:-1] if cut else blocks


def _answer(blocks: list[Body]) -> Iterator[str]:
    """The words behind the last block that has to do with a tool."""
    tools = [n for n, block in enumerate(blocks) if "tool_" in block["type"]]
    for block in blocks[tools[-1] + 1 if tools else 0 :]:
        if block["type"] == "text":
            yield block["text"]


def _counts(usage: Body | None) -> Counts:
    cached = count(usage, "cache_read_input_tokens")
    written = count(usage, "cache_creation_input_tokens")
    return Counts(
        input=count(usage, "input_tokens") + cached + written,
        cached=cached,
        cache_write=written,
        output=count(usage, "output_tokens"),
        reasoning=count(usage, "output_tokens_details", "thinking_tokens"),
    )


def _assembled(events: list[Body]) -> Body | Failed:
    for event in events:
        if event["type"] == "error":
            return expected.failure(500, event)
    if not any(event["type"] == "message_stop" for event in events):
        return expected.CUT_OFF
    return _joined(events)


def _joined(events: Iterable[Body]) -> Body:
    message: Body = {}
    blocks: dict[int, Body] = {}
    for event in events:
        match event["type"]:
            case "message_start":
                message = event["message"]
            case "content_block_start":
                blocks[event["index"]] = dict(event["content_block"])
            case "content_block_delta":
                _grow(blocks[event["index"]], event["delta"])
            case "message_delta":
                known = {k: v for k, v in event.get("usage", {}).items() if v is not None}
                message |= {"usage": message["usage"] | known} | event["delta"]
            case _:
                pass
    return message | {"content": [_closed(blocks[index]) for index in sorted(blocks)]}


def _grow(block: Body, delta: Body) -> None:
    """Add a delta: text grows, a citation joins a list, whatever else is set."""
    for name, value in delta.items():
        if name == "type":
            continue
        if name == "citation":
            block["citations"] = [*(block.get("citations") or []), value]
        elif isinstance(value, str):
            block[name] = (block.get(name) or "") + value
        else:
            block[name] = value


def _closed(block: Body) -> Body:
    """The block with its input, which came as pieces of JSON."""
    pieces: Value = block.pop("partial_json", "")
    return block | {"input": json.loads(pieces)} if pieces else block
