"""Anthropic Messages, through the real SDK and HTTP."""

from decimal import Decimal

import pytest

from adapters.anthropic import AnthropicAdapter
from contracts.base import JsonObject
from contracts.errors import ModelRejected
from contracts.model import FinalAnswer, Prefix
from contracts.tools import MalformedCall
from contracts.transcript import AssistantTurn
from tests.adapters import conversations as say
from tests.adapters.provider_server import ProviderServer

MODEL = "claude-sonnet-4-5"


def message(*content: JsonObject, stop: str = "end_turn", **more: JsonObject) -> JsonObject:
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


def tool_use(call_id: str, arguments: JsonObject | str) -> JsonObject:
    return {"type": "tool_use", "id": call_id, "name": "find_order", "input": arguments}


async def test_text_is_the_answer(provider: ProviderServer) -> None:
    """A reply without calls is the final answer, with its model, usage and latency."""
    # AD-07, AD-11, AD-18, AD-19, LP-08
    provider.answer(message(text("In "), text("Köln.")))

    reply = await AnthropicAdapter().respond(say.request(MODEL))

    assert reply.events == (FinalAnswer(content="In Köln."),)
    assert reply.stop == "end_turn"
    assert reply.model == "anthropic:claude-sonnet-4-5-20250929"
    assert reply.latency_ms > 0
    assert reply.usage.model_dump() == {
        "input_tokens": 1000,
        "cached_tokens": 0,
        "output_tokens": 100,
        "estimated_cost": Decimal("0.0045"),
    }


async def test_first_request_has_instructions_tools_and_goal(provider: ProviderServer) -> None:
    """The model sees instructions, the goal, and of a tool nothing but its schema."""
    # AD-05, AD-06, LP-05, LP-07, TC-01
    provider.answer(message(text("ok")))

    await AnthropicAdapter().respond(say.request(MODEL))

    assert provider.requests[0].body == {
        "model": MODEL,
        "max_tokens": 20_000,
        "system": "Be brief.",
        "tools": [
            {
                "name": "find_order",
                "description": "Look it up.",
                "input_schema": say.ORDER_SCHEMA,
            }
        ],
        "messages": [{"role": "user", "content": [text("Where are my orders?")]}],
    }


async def test_parallel_calls_are_answered_together(provider: ProviderServer) -> None:
    """All results of a turn go into the next user message, before what people said meanwhile."""
    # AD-05, AD-08, AD-13, AD-14, AD-16, LP-09
    arguments: JsonObject = {"order_id": 2**53 + 1, "max": 0.1}
    provider.answer(
        message(
            text("Let me see."), tool_use("c1", arguments), tool_use("c2", {}), stop="tool_use"
        )
    )
    provider.answer(message(text("done")))
    adapter = AnthropicAdapter()

    reply = await adapter.respond(say.request(MODEL))
    turn = AssistantTurn(model=reply.model, text=reply.text, calls=reply.calls)
    await adapter.respond(say.request(MODEL, say.GOAL, turn, say.ANSWERED, say.STEERED))

    assert reply.stop == "tool_use"
    assert reply.events == say.ASKED_TWICE.calls
    assert provider.requests[1].body["messages"] == [
        {"role": "user", "content": [text("Where are my orders?")]},
        {
            "role": "assistant",
            "content": [text("Let me see."), tool_use("c1", arguments), tool_use("c2", {})],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": say.FOUND_TEXT},
                {
                    "type": "tool_result",
                    "tool_use_id": "c2",
                    "content": say.NOT_FOUND_TEXT,
                    "is_error": True,
                },
                text("Hurry."),
            ],
        },
    ]


async def test_missing_result_is_the_providers_to_refuse(provider: ProviderServer) -> None:
    """The server of these tests takes no turn with a call that has no result."""
    with pytest.raises(ModelRejected, match="HTTP 400"):
        await AnthropicAdapter().respond(say.request(MODEL, say.GOAL, say.ASKED_TWICE))


async def test_cached_tokens_are_part_of_the_input(provider: ProviderServer) -> None:
    """Anthropic counts cached tokens apart; we count them as input, and as what they cost."""
    # AD-15, AD-19
    usage: JsonObject = {
        "input_tokens": 700,
        "cache_read_input_tokens": 200,
        "cache_creation_input_tokens": 100,
        "output_tokens": 50,
    }
    provider.answer(message(text("ok"), usage=usage))

    reply = await AnthropicAdapter().respond(say.request(MODEL))

    assert reply.usage.input_tokens == 1000
    assert reply.usage.cached_tokens == 200
    # 700 at 3 $, 200 at 0.30 $, 100 at 3.75 $ and 50 at 15 $ for a million
    assert reply.usage.estimated_cost == Decimal("0.003285")


def test_usage_may_be_missing() -> None:
    """Without usage nothing is counted, and the price is unknown instead of 0."""
    # AD-15
    raw = message(text("ok"))
    del raw["usage"]

    usage = AnthropicAdapter().extract_usage(raw)

    assert (usage.total_tokens, usage.estimated_cost) == (0, None)


@pytest.mark.parametrize(
    ("provider_word", "stop"),
    [
        ("end_turn", "end_turn"),
        ("stop_sequence", "end_turn"),
        ("max_tokens", "max_tokens"),
        ("refusal", "refusal"),
        ("model_context_window_exceeded", "context_overflow"),
        ("pause_turn", "other"),
        ("a_word_of_tomorrow", "other"),
    ],
)
def test_stop_reasons_become_ours(provider_word: str, stop: str) -> None:
    """A reply that ended for any reason but its own end is never taken for a normal answer."""
    # LP-08
    reply = AnthropicAdapter().parse_response(message(text("so far"), stop=provider_word))

    assert (reply.stop, reply.text) == (stop, "so far")


def test_call_that_was_cut_short_is_dropped() -> None:
    """The last block of a reply that hit its limit may be half a call."""
    raw = message(tool_use("c1", {"order_id": 1}), tool_use("c2", {}), stop="max_tokens")

    reply = AnthropicAdapter().parse_response(raw)

    assert [call.call_id for call in reply.calls] == ["c1"]


def test_refusal_says_why_and_calls_nothing() -> None:
    """A refused reply has no calls; where it has no words, the reason takes their place."""
    details: JsonObject = {"type": "refusal", "category": "bio", "explanation": "not this"}
    raw = message(tool_use("c1", {}), stop="refusal", stop_details=details)

    reply = AnthropicAdapter().parse_response(raw)

    assert (reply.calls, reply.text, reply.stop) == ((), "not this", "refusal")


def test_paragraphs_apart_from_other_blocks() -> None:
    """Words before and after a block that isn't text don't run into each other."""
    raw = message(text("I look."), {"type": "server_tool_use", "text": {}}, text("Found."))

    assert AnthropicAdapter().parse_response(raw).text == "I look.\n\nFound."


async def test_malformed_arguments_go_both_ways(provider: ProviderServer) -> None:
    """Arguments that are no object stay text, and go back as the object that the API wants."""
    # AD-16
    provider.answer(message(tool_use("c1", '{"order_id": 4'), stop="tool_use"))
    provider.answer(message(text("sorry")))
    adapter = AnthropicAdapter()

    reply = await adapter.respond(say.request(MODEL))
    await adapter.respond(say.request(MODEL, say.GOAL, say.MALFORMED, say.REFUSED))

    assert reply.calls == (
        MalformedCall(call_id="c1", name="find_order", raw_arguments='"{\\"order_id\\": 4"'),
    )
    messages = provider.requests[1].body["messages"]
    assert isinstance(messages, list)
    assert messages[1] == {"role": "assistant", "content": [tool_use("c1", {})]}


async def test_empty_turns_are_left_out(provider: ProviderServer) -> None:
    """The API refuses empty messages, so a turn without words and calls isn't sent."""
    provider.answer(message(text("ok")))
    silent = AssistantTurn(model="anthropic:x", text=" ")

    await AnthropicAdapter().respond(
        say.request(
            MODEL, say.GOAL, silent, say.STEERED, prefix=Prefix(instructions=" ", tools=())
        )
    )

    assert provider.requests[0].body == {
        "model": MODEL,
        "max_tokens": 20_000,
        "messages": [{"role": "user", "content": [text("Where are my orders?"), text("Hurry.")]}],
    }


async def test_profile_that_cannot_be_read_is_named(
    provider: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The SDK also takes credentials from a profile; what is wrong with one is told."""
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    monkeypatch.setenv("ANTHROPIC_PROFILE", "no-such")

    with pytest.raises(ModelRejected, match=r"anthropic can't be asked: .*no-such"):
        await AnthropicAdapter().respond(say.request(MODEL))
