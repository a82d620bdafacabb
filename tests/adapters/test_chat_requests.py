"""Chat Completions at OpenAI's own server, through the real SDK and HTTP."""

from dataclasses import replace

import pytest
from pydantic import JsonValue

from holdfast.adapters.openai_chat import OpenAIChatAdapter
from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import ToolCall
from holdfast.contracts.errors import ModelRejected
from holdfast.contracts.model import ModelSettings, Prefix, Strategy, ToolSchema
from holdfast.contracts.tools import HostedTool
from holdfast.contracts.transcript import AssistantTurn, ToolTurn
from tests.adapters import conversations as say
from tests.adapters.provider_server import ProviderServer
from tests.adapters.samples.openai_chat import TWO_CALLS, WORDS, call

MODEL = "gpt-4.1"
LOOSE_SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"order_id": {"type": "integer"}, "note": {"type": "string"}},
    "required": ["order_id"],
    "additionalProperties": False,
}
CITY: JsonObject = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
FIND_ORDER: JsonObject = {
    "type": "function",
    "function": {
        "name": "find_order",
        "description": "Look it up.",
        "parameters": say.ORDER_SCHEMA,
        "strict": True,
    },
}


def asked(call_id: str, arguments: str) -> JsonObject:
    function: JsonObject = {"name": "find_order", "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def answered(call_id: str, text: str) -> JsonObject:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def settled(**settings: JsonValue) -> Prefix:
    """The usual prefix with other settings."""
    return say.PREFIX.model_copy(update={"settings": ModelSettings.model_validate(settings)})


async def test_first_request_has_instructions_tools_and_goal(provider: ProviderServer) -> None:
    """The model sees instructions, the goal, and of a tool nothing but its schema."""
    # AD-05, AD-06, LP-05, LP-07, SV-07, TC-01
    provider.answer(WORDS)

    await OpenAIChatAdapter().respond(say.request(MODEL))

    assert provider.requests[0].path == "/v1/chat/completions"
    assert provider.requests[0].body == {
        "model": MODEL,
        "stream": True,
        "stream_options": {"include_usage": True},
        "prompt_cache_key": say.PREFIX.digest,
        "tools": [FIND_ORDER],
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Where are my orders?"},
        ],
    }


async def test_parallel_calls_are_answered_together(provider: ProviderServer) -> None:
    """Every call gets its one tool message, before what people said meanwhile."""
    # AD-05, AD-08, AD-13, AD-14, AD-16, LP-09, PP-01
    provider.answer(TWO_CALLS)
    provider.answer(WORDS)
    adapter = OpenAIChatAdapter()

    reply = await adapter.respond(say.request(MODEL))
    turn = say.ASKED_TWICE.model_copy(
        update={"model": f"openai-chat:{MODEL}", "text": reply.text, "calls": reply.calls}
    )
    results = tuple(
        result.model_copy(update={"call_id": f"call_{number}"})
        for number, result in enumerate(say.ANSWERED.results, start=1)
    )
    await adapter.respond(
        say.request(MODEL, say.GOAL, turn, ToolTurn(results=results), say.STEERED)
    )

    assert provider.requests[1].body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Where are my orders?"},
        {
            "role": "assistant",
            "content": "Let me see.",
            "tool_calls": [call(1, '{"order_id":9007199254740993,"max":0.1}'), call(2, "{}")],
        },
        answered("call_1", say.FOUND_TEXT),
        answered("call_2", say.NOT_FOUND_TEXT),
        {"role": "user", "content": "Hurry."},
    ]


async def test_missing_result_is_the_servers_to_refuse(provider: ProviderServer) -> None:
    """The server of these tests takes no turn with a call that has no result."""
    with pytest.raises(ModelRejected, match=r"did not have response messages: \['c1', 'c2'\]"):
        await OpenAIChatAdapter().respond(say.request(MODEL, say.GOAL, say.ASKED_TWICE))


async def test_malformed_arguments_go_back_as_they_came(provider: ProviderServer) -> None:
    """The model sees its own mistake again, beside no words at all."""
    provider.answer(WORDS)

    await OpenAIChatAdapter().respond(say.request(MODEL, say.GOAL, say.MALFORMED, say.REFUSED))

    messages = provider.requests[0].body["messages"]
    assert isinstance(messages, list)
    assert messages[2] == {
        "role": "assistant",
        "content": None,
        "tool_calls": [asked("c1", '{"order_id": 4')],
    }


async def test_ids_of_other_providers_are_shortened_alike(provider: ProviderServer) -> None:
    """An id that the server would refuse is another one, the same for call and result."""
    # AD-04
    long = "toolu_" + 40 * "0"
    turn = AssistantTurn(
        model="other:model",
        calls=(ToolCall(call_id=long, name="find_order", arguments={"order_id": 1}),),
    )
    found = say.FOUND.model_copy(update={"call_id": long})
    provider.answer(WORDS)

    await OpenAIChatAdapter().respond(
        say.request(MODEL, say.GOAL, turn, ToolTurn(results=(found,)))
    )

    assert provider.requests[0].body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Where are my orders?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [asked("cd02013cc", '{"order_id":1}')],
        },
        answered("cd02013cc", say.FOUND_TEXT),
    ]


@pytest.mark.parametrize(
    ("settings", "fields"),
    [
        pytest.param({"max_output_tokens": 9}, {"max_completion_tokens": 9}, id="limit"),
        pytest.param({"parallel_calls": False}, {"parallel_tool_calls": False}, id="one by one"),
        pytest.param({"tool_choice": "required"}, {"tool_choice": "required"}, id="any tool"),
        pytest.param({"tool_choice": "none"}, {"tool_choice": "none"}, id="no tool"),
        pytest.param(
            {"tool_choice": "find_order"},
            {"tool_choice": {"type": "function", "function": {"name": "find_order"}}},
            id="that tool",
        ),
        pytest.param({"reasoning": "high"}, {"reasoning_effort": "high"}, id="reasoning"),
    ],
)
async def test_settings_are_sent_in_their_fields(
    provider: ProviderServer, settings: JsonObject, fields: JsonObject
) -> None:
    """What an agent asks of its model has a field of its own; nothing is left out."""
    provider.answer(WORDS)

    plain = OpenAIChatAdapter().build_request(say.request("o3"))
    reply = await OpenAIChatAdapter().respond(say.request("o3", prefix=settled(**settings)))

    body = provider.requests[0].body
    assert {name: value for name, value in body.items() if plain.get(name) != value} == {
        **fields,
        "prompt_cache_key": body["prompt_cache_key"],
    }
    assert reply.notes == ()


def test_choice_of_tool_is_for_the_first_turn() -> None:
    """Afterwards the model is free, or it would never come to an answer."""
    first = say.request(MODEL, prefix=settled(tool_choice="required"))

    body = OpenAIChatAdapter().build_request(replace(first, turn=2))

    assert "tool_choice" not in body


async def test_answer_has_its_declared_shape(provider: ProviderServer) -> None:
    """An agent's output schema is the server's to enforce, strictly where it can be."""
    # SV-06, SV-07
    provider.answer(WORDS)
    prefix = Prefix(instructions="Be brief.", tools=(), output_schema=CITY)

    await OpenAIChatAdapter().respond(say.request(MODEL, prefix=prefix))

    assert provider.requests[0].body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": CITY, "strict": True},
    }


def test_schema_that_cant_be_strict_stays_as_it_is() -> None:
    """Strict mode takes a part of JSON Schema only; no promise of a tool is changed for it."""
    # AD-06, SV-07
    tool = ToolSchema(name="note", description="", input_schema=LOOSE_SCHEMA)
    prefix = Prefix(instructions="", tools=(tool,), output_schema=LOOSE_SCHEMA)

    body = OpenAIChatAdapter().build_request(say.request(MODEL, prefix=prefix))

    assert body["tools"] == [
        {
            "type": "function",
            "function": {"name": "note", "description": "", "parameters": LOOSE_SCHEMA},
        }
    ]
    assert body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": LOOSE_SCHEMA},
    }


async def test_answer_that_is_no_object_is_asked_for_in_words(provider: ProviderServer) -> None:
    """The API holds objects alone to their shape; any other answer is checked by Holdfast."""
    # SV-06
    provider.answer(WORDS)
    prefix = Prefix(instructions="", tools=(), output_schema={"type": "array"})

    reply = await OpenAIChatAdapter().respond(say.request(MODEL, prefix=prefix))

    messages = provider.requests[0].body["messages"]
    assert isinstance(messages, list)
    assert messages[0] == {
        "role": "system",
        "content": 'Answer with nothing but JSON that fits this JSON Schema:\n{"type":"array"}',
    }
    assert "response_format" not in provider.requests[0].body
    assert reply.notes == (
        "openai-chat holds objects alone to their shape: for this answer the instructions ask",
    )


@pytest.mark.parametrize("model", ["gpt-5.4", "gpt-5.6-mini", "gpt-6", "ft:gpt-5.4:acme::1"])
async def test_newest_models_use_tools_without_reasoning(
    provider: ProviderServer, model: str
) -> None:
    """They refuse tools unless reasoning is off; the run says so, and what can do both."""
    # facts 0.7
    provider.answer(WORDS)

    reply = await OpenAIChatAdapter().respond(say.request(model))

    assert provider.requests[0].body["reasoning_effort"] == "none"
    assert reply.notes == (
        f"openai-chat lets {model} use tools only unthinking: openai:{model} thinks beside tools",
    )


async def test_reasoning_beside_tools_is_refused_aloud(provider: ProviderServer) -> None:
    """What can't be had in this API isn't silently dropped: nothing is sent."""
    # facts 0.7
    with pytest.raises(
        ModelRejected, match=r"use openai:gpt-5\.4, or set reasoning to 'none'"
    ) as it:
        await OpenAIChatAdapter().respond(say.request("gpt-5.4", prefix=settled(reasoning="low")))

    assert it.value.kind == "invalid_request"
    assert provider.requests == []


@pytest.mark.parametrize(
    ("model", "effort", "with_tools"),
    [
        pytest.param("gpt-5.4", "none", True, id="reasoning is off"),
        pytest.param("gpt-5.4", "high", False, id="no tools"),
        pytest.param("gpt-5.3", "high", True, id="older"),
        pytest.param("gpt-5", "high", True, id="much older"),
    ],
)
async def test_other_reasoning_goes_as_it_is_asked(
    provider: ProviderServer, model: str, effort: str, *, with_tools: bool
) -> None:
    """Only tools together with reasoning are the newest models' trouble."""
    provider.answer(WORDS)
    prefix = settled(reasoning=effort)

    reply = await OpenAIChatAdapter().respond(
        say.request(
            model, prefix=prefix if with_tools else prefix.model_copy(update={"tools": ()})
        )
    )

    assert provider.requests[0].body["reasoning_effort"] == effort
    assert reply.notes == ()


@pytest.mark.parametrize(
    ("settings", "hosted", "strategy", "note"),
    [
        pytest.param(
            {"reasoning_tokens": 9},
            (),
            "stateless",
            "openai-chat doesn't count thinking tokens: their limit is off",
            id="thinking tokens",
        ),
        pytest.param(
            {"reasoning": "low"},
            (),
            "stateless",
            "openai-chat knows no reasoning of gpt-4.1: the reasoning effort is off",
            id="a model without reasoning",
        ),
        pytest.param(
            {},
            (HostedTool(name="web_search"),),
            "stateless",
            "openai-chat runs no tools of its own here: web_search is off",
            id="hosted tool",
        ),
        pytest.param(
            {},
            (),
            "previous_response_id",
            "openai-chat keeps no conversation: every turn sends all of it",
            id="chain",
        ),
        pytest.param(
            {},
            (),
            "conversation",
            "openai-chat keeps no conversation: every turn sends all of it",
            id="conversation",
        ),
    ],
)
async def test_what_this_api_lacks_is_reported(
    provider: ProviderServer,
    settings: JsonObject,
    hosted: tuple[HostedTool, ...],
    strategy: Strategy,
    note: str,
) -> None:
    """A feature is switched off in words, and the call goes on without it."""
    # HT-01, PP-02, SS-01
    provider.answer(WORDS)
    prefix = settled(**settings).model_copy(update={"hosted": hosted})

    reply = await OpenAIChatAdapter().respond(
        replace(say.request(MODEL, prefix=prefix), strategy=strategy)
    )

    assert reply.notes == (note,)
    assert provider.requests[0].body.keys() == {
        "model",
        "stream",
        "stream_options",
        "prompt_cache_key",
        "tools",
        "messages",
    }


def test_prefix_comes_first_and_stays_the_same() -> None:
    """What is constant in a run precedes what is said in it, byte by byte."""
    # PP-03, PP-08
    adapter = OpenAIChatAdapter()
    prefix = settled(reasoning="low", tool_choice="required", max_output_tokens=9)
    first = adapter.build_request(say.request("o3", prefix=prefix))
    later = adapter.build_request(
        replace(
            say.request("o3", say.GOAL, say.ASKED_TWICE, say.ANSWERED, prefix=prefix),
            run_id="r2",
            turn=2,
            attempt=3,
        )
    )

    names = list(first)
    constant = names[: names.index("messages")]

    assert [(name, first[name]) for name in constant] == [
        (name, later[name]) for name in list(later)[: len(constant)]
    ]
    assert names[len(constant) :] == ["messages", "tool_choice"]
