"""OpenAI Responses, through the real SDK and HTTP."""

from decimal import Decimal

import pytest
from pydantic import JsonValue

from adapters.openai import OpenAIAdapter
from contracts.base import JsonObject
from contracts.errors import ModelRejected, ModelUnavailable
from contracts.model import FinalAnswer
from contracts.transcript import AssistantTurn
from tests.adapters import conversations as say
from tests.adapters.provider_server import ProviderServer

MODEL = "gpt-5.2"


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


def said(*parts: JsonObject) -> JsonObject:
    return {"type": "message", "role": "assistant", "content": list(parts)}


def text(words: str) -> JsonObject:
    return {"type": "output_text", "text": words, "annotations": []}


def function_call(call_id: str, arguments: str, status: str | None = "completed") -> JsonObject:
    call: JsonObject = {
        "type": "function_call",
        "call_id": call_id,
        "name": "find_order",
        "arguments": arguments,
    }
    return call | ({"id": "fc_1", "status": status} if status else {})


async def test_text_is_the_answer(provider: ProviderServer) -> None:
    """A reply without calls is the final answer, with its model, usage and latency."""
    # AD-07, AD-11, AD-18, AD-19, LP-08
    provider.answer(
        response({"type": "reasoning", "summary": []}, said(text("In "), text("Köln.")))
    )

    reply = await OpenAIAdapter().respond(say.request(MODEL))

    assert reply.events == (FinalAnswer(content="In Köln."),)
    assert reply.stop == "end_turn"
    assert reply.model == "openai:gpt-5.2-2025-12-11"
    assert reply.latency_ms > 0
    assert reply.usage.model_dump() == {
        "input_tokens": 1000,
        "cached_tokens": 0,
        "output_tokens": 100,
        "estimated_cost": Decimal("0.00315"),
    }


async def test_first_request_has_instructions_tools_and_goal(provider: ProviderServer) -> None:
    """The model sees instructions, the goal, and of a tool nothing but its schema."""
    # AD-05, AD-06, LP-05, LP-07, TC-01
    provider.answer(response(said(text("ok"))))

    await OpenAIAdapter().respond(say.request(MODEL))

    assert provider.requests[0].body == {
        "model": MODEL,
        "store": False,
        "instructions": "Be brief.",
        "tools": [
            {
                "type": "function",
                "name": "find_order",
                "description": "Look it up.",
                "parameters": say.ORDER_SCHEMA,
                "strict": False,
            }
        ],
        "input": [{"role": "user", "content": "Where are my orders?"}],
    }


async def test_parallel_calls_are_answered_together(provider: ProviderServer) -> None:
    """Every function_call gets its function_call_output, before what people said meanwhile."""
    # AD-05, AD-08, AD-13, AD-14, AD-16, AD-21, LP-09
    arguments = '{"order_id":9007199254740993,"max":0.1}'
    provider.answer(
        response(
            said(text("Let me see.")),
            function_call("c1", arguments),
            function_call("c2", "{}", None),
        )
    )
    provider.answer(response(said(text("done"))))
    adapter = OpenAIAdapter()

    reply = await adapter.respond(say.request(MODEL))
    turn = AssistantTurn(model=reply.model, text=reply.text, calls=reply.calls)
    await adapter.respond(say.request(MODEL, say.GOAL, turn, say.ANSWERED, say.STEERED))

    assert reply.stop == "tool_use"
    assert reply.events == say.ASKED_TWICE.calls
    assert provider.requests[1].body["input"] == [
        {"role": "user", "content": "Where are my orders?"},
        {"role": "assistant", "content": "Let me see."},
        function_call("c1", arguments, status=None),
        function_call("c2", "{}", status=None),
        {"type": "function_call_output", "call_id": "c1", "output": say.FOUND_TEXT},
        {"type": "function_call_output", "call_id": "c2", "output": say.NOT_FOUND_TEXT},
        {"role": "user", "content": "Hurry."},
    ]


async def test_missing_result_is_the_providers_to_refuse(provider: ProviderServer) -> None:
    """The server of these tests takes no turn with a call that has no result."""
    with pytest.raises(ModelRejected, match="No tool output found"):
        await OpenAIAdapter().respond(say.request(MODEL, say.GOAL, say.ASKED_TWICE))


async def test_cached_tokens_are_part_of_the_input(provider: ProviderServer) -> None:
    """Tokens from a cache are input that costs less."""
    # AD-15, AD-19
    details: JsonObject = {"cached_tokens": 200}
    usage: JsonObject = {
        "input_tokens": 1000,
        "input_tokens_details": details,
        "output_tokens": 100,
    }
    provider.answer(response(said(text("ok")), usage=usage))

    reply = await OpenAIAdapter().respond(say.request(MODEL))

    assert reply.usage.input_tokens == 1000
    assert reply.usage.cached_tokens == 200
    # 800 at 1.75 $, 200 at 0.175 $ and 100 at 14 $ for a million
    assert reply.usage.estimated_cost == Decimal("0.002835")


def test_usage_may_be_missing() -> None:
    """Without usage nothing is counted, and the price is unknown instead of 0."""
    # AD-15
    usage = OpenAIAdapter().extract_usage(response(usage=None))

    assert (usage.total_tokens, usage.estimated_cost) == (0, None)


@pytest.mark.parametrize(
    ("status", "reason", "stop"),
    [
        pytest.param("completed", None, "end_turn", id="completed"),
        pytest.param("incomplete", "max_output_tokens", "max_tokens", id="limit"),
        pytest.param("incomplete", "content_filter", "content_filter", id="filter"),
        pytest.param("incomplete", "steered", "other", id="steered"),
        pytest.param("incomplete", None, "other", id="no reason"),
        pytest.param("cancelled", None, "other", id="cancelled"),
        pytest.param("queued", None, "other", id="queued"),
        pytest.param("complete", None, "end_turn", id="a compatible server"),
    ],
)
def test_statuses_become_stop_causes(status: str, reason: str | None, stop: str) -> None:
    """A reply that ended for any reason but its own end is never taken for a normal answer."""
    # LP-08
    details: JsonObject | None = {"reason": reason} if reason else None
    raw = response(said(text("so far")), status=status, incomplete_details=details)

    reply = OpenAIAdapter().parse_response(raw)

    assert (reply.stop, reply.text) == (stop, "so far")


@pytest.mark.parametrize("status", ["incomplete", "in_progress", None])
def test_call_that_was_cut_short_is_dropped(status: str | None) -> None:
    """Of a response that hit its limit only those calls count that say they are complete."""
    raw = response(
        function_call("c1", "{}"),
        function_call("c2", '{"order_id":1', status),
        status="incomplete",
        incomplete_details={"reason": "max_output_tokens"},
    )

    reply = OpenAIAdapter().parse_response(raw)

    assert [call.call_id for call in reply.calls] == ["c1"]
    assert reply.stop == "max_tokens"


def test_refusal_says_why_and_calls_nothing() -> None:
    """A refused reply has the refusal as its text, and no calls."""
    refusal: JsonObject = {"type": "refusal", "refusal": "not this"}

    reply = OpenAIAdapter().parse_response(response(said(refusal), function_call("c1", "{}")))

    assert (reply.calls, reply.text, reply.stop) == ((), "not this", "refusal")


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("server_error", ModelUnavailable),
        ("rate_limit_exceeded", ModelUnavailable),
        ("invalid_prompt", ModelRejected),
        ("bio_policy", ModelRejected),
    ],
)
async def test_failed_response_raises_by_its_code(
    provider: ProviderServer, code: str, error: type[Exception]
) -> None:
    """A response may fail although its HTTP status is 200."""
    provider.answer(response(status="failed", error={"code": code, "message": "so it is"}))

    with pytest.raises(error, match=rf"openai failed the response \({code}\): so it is"):
        await OpenAIAdapter().respond(say.request(MODEL))


async def test_malformed_arguments_go_back_as_they_came(provider: ProviderServer) -> None:
    """The model sees its own mistake again."""
    provider.answer(response(said(text("sorry"))))

    await OpenAIAdapter().respond(say.request(MODEL, say.GOAL, say.MALFORMED, say.REFUSED))

    entries = provider.requests[0].body["input"]
    assert isinstance(entries, list)
    assert entries[1] == function_call("c1", '{"order_id": 4', status=None)


async def test_administrators_key_is_no_key_for_models(
    provider: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The SDK is content with OPENAI_ADMIN_KEY, but no model can be asked with it."""
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.setenv("OPENAI_ADMIN_KEY", say.KEY)

    with pytest.raises(ModelRejected, match="set OPENAI_API_KEY"):
        await OpenAIAdapter().respond(say.request(MODEL))
