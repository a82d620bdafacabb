"""Recorded exchanges with the real APIs, where they are at hand."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from adapters.anthropic import AnthropicAdapter
from adapters.openai import OpenAIAdapter
from contracts.model import ModelReply
from contracts.tools import ToolCall

WIRE = Path(__file__).parents[3] / "shared" / "wire"
Body: TypeAlias = dict[str, Any]

pytestmark = pytest.mark.skipif(not WIRE.is_dir(), reason="the recorded exchanges are not here")


def recorded(name: str) -> Iterator[Body]:
    """Whole replies: of a good status, and not streamed."""
    for line in (WIRE / name).read_text(encoding="utf-8").splitlines():
        exchange: Body = json.loads(line)
        if exchange["status"] == 200 and isinstance(exchange["body"], dict):
            yield exchange["body"]


def words(text: str) -> str:
    """The text without the white space that keeps its parts apart."""
    return "".join(text.split())


def calls(reply: ModelReply) -> list[tuple[str, str, Body]]:
    return [(c.call_id, c.name, c.arguments) for c in reply.calls if isinstance(c, ToolCall)]


def test_recorded_messages_are_read() -> None:
    """Text, calls and tokens of every recorded message are those that it holds."""
    # AD-07, AD-13, AD-15
    bodies = list(recorded("anthropic_messages.jsonl"))

    assert len(bodies) > 100
    for body in bodies:
        reply = AnthropicAdapter().parse_response(body)
        asked = [block for block in body["content"] if block["type"] == "tool_use"]
        said = [block["text"] for block in body["content"] if block["type"] == "text"]
        used = body["usage"]
        assert calls(reply) == [(use["id"], use["name"], use["input"]) for use in asked]
        assert words(reply.text) == words("".join(said))
        assert reply.stop == body["stop_reason"].replace("pause_turn", "other")
        assert reply.usage.cached_tokens == used["cache_read_input_tokens"]
        assert reply.usage.output_tokens == used["output_tokens"]
        assert reply.usage.input_tokens == (
            used["input_tokens"]
            + used["cache_read_input_tokens"]
            + used["cache_creation_input_tokens"]
        )


def test_recorded_responses_are_read() -> None:
    """Text, calls and tokens of every recorded response are those that it holds."""
    # AD-07, AD-13, AD-15
    bodies = list(recorded("openai_responses.jsonl"))

    assert len(bodies) > 100
    for body in bodies:
        reply = OpenAIAdapter().parse_response(body)
        asked = [item for item in body["output"] if item["type"] == "function_call"]
        messages = [item for item in body["output"] if item["type"] == "message"]
        said = [part["text"] for item in messages for part in item["content"]]
        used = body["usage"] or {"input_tokens": 0, "output_tokens": 0}
        assert calls(reply) == [
            (item["call_id"], item["name"], json.loads(item["arguments"])) for item in asked
        ]
        assert words(reply.text) == words("".join(said))
        assert reply.stop == (
            "other" if body["status"] == "queued" else "tool_use" if asked else "end_turn"
        )
        assert reply.usage.input_tokens == used["input_tokens"]
        assert reply.usage.output_tokens == used["output_tokens"]
