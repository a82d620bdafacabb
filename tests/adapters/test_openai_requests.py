"""What a request to OpenAI Responses says beside the conversation."""

import json
from itertools import takewhile

import pytest
from pydantic import JsonValue

from holdfast.adapters.openai import OpenAIAdapter
from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import ToolCall, ToolSuccess
from holdfast.contracts.model import ModelSettings, Prefix, Strategy
from holdfast.contracts.tools import HostedTool
from holdfast.contracts.transcript import AssistantTurn, ToolTurn, UserTurn
from tests.adapters import conversations as say
from tests.adapters.provider_server import ProviderServer
from tests.adapters.samples.openai_items import MODEL, ask, message, response

ORDER_TOOL: JsonObject = {
    "type": "function",
    "name": "find_order",
    "description": "Look it up.",
    "parameters": say.ORDER_SCHEMA,
    "strict": True,
}


def with_settings(**settings: JsonValue) -> Prefix:
    return say.PREFIX.model_copy(update={"settings": ModelSettings.model_validate(settings)})


def with_tools(*hosted: HostedTool, schema: JsonObject = say.ORDER_SCHEMA) -> Prefix:
    tool = say.PREFIX.tools[0].model_copy(update={"input_schema": schema})
    return say.PREFIX.model_copy(update={"tools": (tool,), "hosted": hosted})


def stable(body: JsonObject) -> bytes:
    """What stands before anything that may change within a run."""
    changing = {"tool_choice", "previous_response_id", "conversation", "input"}
    return json.dumps({n: body[n] for n in takewhile(lambda n: n not in changing, body)}).encode()


async def test_first_request(provider: ProviderServer) -> None:
    """Instructions, tools and goal; nothing is stored, and thoughts come sealed."""
    # AD-05, AD-06, LP-05, LP-07, TC-01, SS-01, SV-07
    provider.answer(response(message("ok")))

    await OpenAIAdapter().respond(ask())

    assert provider.requests[0].body == {
        "model": MODEL,
        "stream": True,
        "stream_options": {"include_obfuscation": False},
        "store": False,
        "prompt_cache_key": say.PREFIX.digest,
        "include": ["reasoning.encrypted_content"],
        "instructions": "Be brief.",
        "tools": [ORDER_TOOL],
        "input": [{"role": "user", "content": "Where are my orders?"}],
    }


async def test_all_settings_are_taken(provider: ProviderServer) -> None:
    """The real API takes every field that a setting becomes."""
    settings = ModelSettings(
        reasoning="high", max_output_tokens=500, tool_choice="find_order", parallel_calls=False
    )
    prefix = with_tools(HostedTool(name="web_search"), HostedTool(name="code_execution"))
    asked = {"settings": settings, "output_schema": say.ORDER_SCHEMA}
    provider.answer(response(message("{}")))

    reply = await OpenAIAdapter().respond(ask(prefix=prefix.model_copy(update=asked)))

    body = provider.requests[0].body
    assert body["reasoning"] == {"effort": "high", "summary": "auto"}
    assert body["max_output_tokens"] == 500
    assert body["parallel_tool_calls"] is False
    assert body["tool_choice"] == {"type": "function", "name": "find_order"}
    assert body["text"] == {
        "format": {
            "type": "json_schema",
            "name": "answer",
            "schema": say.ORDER_SCHEMA,
            "strict": True,
        }
    }
    assert body["tools"] == [
        ORDER_TOOL,
        {"type": "web_search"},
        {"type": "code_interpreter", "container": {"type": "auto"}},
    ]
    assert reply.notes == ()


def test_a_file_search_names_its_stores() -> None:
    """What only the app knows of a hosted tool goes into its declaration."""
    # HT-01
    stores: JsonObject = {"vector_store_ids": ["vs_1"]}
    prefix = with_tools(HostedTool(name="file_search", options=stores))

    tools = OpenAIAdapter().build_request(ask(prefix=prefix))["tools"]

    assert tools == [ORDER_TOOL, {"type": "file_search", "vector_store_ids": ["vs_1"]}]


@pytest.mark.parametrize(
    ("wanted", "sent"),
    [
        pytest.param("required", "required", id="any tool"),
        pytest.param("none", "none", id="no tool"),
        pytest.param("find_order", {"type": "function", "name": "find_order"}, id="ours"),
        pytest.param("web_search", {"type": "web_search"}, id="hosted"),
        pytest.param("auto", None, id="free"),
        pytest.param("web_fetch", None, id="left out"),
    ],
)
def test_only_the_first_turn_is_told_what_to_call(wanted: str, sent: JsonValue) -> None:
    """A model that must call a tool in every turn never answers."""
    prefix = with_tools(HostedTool(name="web_search"), HostedTool(name="web_fetch"))
    prefix = prefix.model_copy(update={"settings": ModelSettings(tool_choice=wanted)})
    adapter = OpenAIAdapter()

    assert adapter.build_request(ask(prefix=prefix)).get("tool_choice") == sent
    assert "tool_choice" not in adapter.build_request(ask(prefix=prefix, turn=2))


def test_without_tools_nothing_is_said_of_calls() -> None:
    """The API refuses to be told how to use tools that aren't there."""
    prefix = with_settings(tool_choice="required", parallel_calls=False)

    body = OpenAIAdapter().build_request(ask(prefix=prefix.model_copy(update={"tools": ()})))

    assert body.keys().isdisjoint({"tools", "tool_choice", "parallel_tool_calls"})


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        pytest.param(say.ORDER_SCHEMA, True, id="closed"),
        pytest.param(say.ORDER_SCHEMA | {"required": []}, False, id="optional argument"),
        pytest.param(say.ORDER_SCHEMA | {"minProperties": 1}, False, id="unknown keyword"),
    ],
)
async def test_strict_only_where_the_schema_allows(
    provider: ProviderServer, schema: JsonObject, *, strict: bool
) -> None:
    """Strict mode holds for schemas that it takes as they are; the others stay as they are too."""
    # SV-07, AD-06
    provider.answer(response(message("ok")))
    prefix = with_tools(schema=schema).model_copy(update={"output_schema": schema})

    await OpenAIAdapter().respond(ask(prefix=prefix))

    body = provider.requests[0].body
    assert body["tools"] == [ORDER_TOOL | {"parameters": schema, "strict": strict}]
    assert body["text"] == {
        "format": {"type": "json_schema", "name": "answer", "schema": schema, "strict": strict}
    }


def test_hosted_tools_have_their_options() -> None:
    """What an app says of a hosted tool goes into its declaration."""
    # HT-01
    filters: JsonObject = {"filters": {"allowed_domains": ["example.com"]}}
    prefix = with_tools(HostedTool(name="web_search", options=filters))

    tools = OpenAIAdapter().build_request(ask(prefix=prefix))["tools"]

    assert tools == [ORDER_TOOL, {"type": "web_search"} | filters]


@pytest.mark.parametrize(
    ("prefix", "model", "note"),
    [
        pytest.param(
            with_tools(HostedTool(name="web_fetch")),
            MODEL,
            "no hosted tool 'web_fetch'",
            id="tool",
        ),
        pytest.param(
            with_settings(reasoning_tokens=9), MODEL, "bounds no reasoning by tokens", id="tokens"
        ),
        pytest.param(
            with_settings(reasoning="low"), "gpt-4.1", "gpt-4.1 doesn't reason", id="effort"
        ),
        pytest.param(
            say.PREFIX.model_copy(update={"output_schema": {"type": "array"}}),
            MODEL,
            "the shape of objects only",
            id="shape",
        ),
    ],
)
async def test_what_is_left_out_is_reported(
    provider: ProviderServer, prefix: Prefix, model: str, note: str
) -> None:
    """A wish that can't be fulfilled never makes a request that is refused, nor goes unsaid."""
    # PP-02
    provider.answer(response(message("ok")))

    reply = await OpenAIAdapter().respond(ask(prefix=prefix, model=model))

    assert note in "".join(reply.notes)
    assert provider.requests[0].body.keys().isdisjoint({"reasoning", "text"})


@pytest.mark.parametrize(
    ("model", "sealed"),
    [
        ("gpt-5", True),
        ("gpt-5.6-sol", True),
        ("gpt-5-mini-2025-08-07", True),
        ("o3-mini", True),
        ("openai.gpt-5.5", True),
        ("openai/gpt-5.6-sol", True),
        ("ft:o4-mini:house", True),
        ("gpt-5-chat-latest", False),
        ("gpt-4.1", False),
        ("gpt-4o", False),
        ("openai.gpt-oss-120b", False),
        ("deepseek-v4-flash", False),
    ],
)
def test_thoughts_are_asked_for_where_they_can_be_had(model: str, *, sealed: bool) -> None:
    """Models that don't seal their reasoning refuse to be asked for it."""
    body = OpenAIAdapter().build_request(ask(model=model))

    assert ("include" in body) is sealed


@pytest.mark.parametrize("strategy", ["stateless", "previous_response_id", "conversation"])
def test_prefix_is_the_same_bytes_in_every_run(strategy: Strategy) -> None:
    """Two runs a day apart, and all their turns, begin alike: caches live on that."""
    # PP-03, PP-08, T-40
    state: JsonObject = {"previous_response_id": "resp_1", "conversation_id": "conv_1"}
    state["_pruned_before"] = 0
    prefix = with_settings(tool_choice="required", reasoning="low")
    first = ask(prefix=prefix, run_id="monday", strategy=strategy)
    later = ask(
        UserTurn(text="Something else."),
        AssistantTurn(model=f"openai:{MODEL}", text="Yes?"),
        UserTurn(text="Go on."),
        prefix=prefix,
        run_id="tuesday",
        turn=7,
        attempt=3,
        strategy=strategy,
        provider_state=state,
    )

    one, other = (stable(OpenAIAdapter().build_request(request)) for request in (first, later))

    assert one == other
    assert b"find_order" in one
    assert b"monday" not in one


def test_chain_is_left_where_nothing_follows_its_reply() -> None:
    """A model that pauses in a later turn is sent everything: its chain holds that reply."""
    asked = ToolCall(call_id="call_1", name="find_order", arguments={})
    found = ToolSuccess(call_id="call_1", name="find_order", summary="sent")
    request = ask(
        UserTurn(text="Where?"),
        AssistantTurn(model=f"openai:{MODEL}", calls=(asked,)),
        ToolTurn(results=(found,)),
        AssistantTurn(model=f"openai:{MODEL}", text="I am about to look."),
        strategy="previous_response_id",
        provider_state={"previous_response_id": "resp_2", "_pruned_before": 0},
    )

    body = OpenAIAdapter().build_request(request)

    assert "previous_response_id" not in body
    assert isinstance(body["input"], list)
    assert len(body["input"]) == 4


@pytest.mark.parametrize(("call_id", "goes_on"), [("call_1", True), ("call_1-2-1", False)])
def test_chain_is_left_where_a_call_was_renamed(call_id: str, *, goes_on: bool) -> None:
    """The chain holds the call under the id that it had: a result under another is refused."""
    asked = ToolCall(call_id=call_id, name="find_order", arguments={})
    request = ask(
        UserTurn(text="Where?"),
        AssistantTurn(model=f"openai:{MODEL}", calls=(asked,)),
        ToolTurn(results=(ToolSuccess(call_id=call_id, name="find_order", summary="sent"),)),
        strategy="previous_response_id",
        provider_state={
            "previous_response_id": "resp_1",
            "_pruned_before": 0,
            "_calls": ["call_1"],
        },
    )

    assert ("previous_response_id" in OpenAIAdapter().build_request(request)) is goes_on


def test_cache_key_is_the_agents() -> None:
    """It fits into the 64 characters that there are, and changes with the prefix alone."""
    key = OpenAIAdapter().build_request(ask())["prompt_cache_key"]
    other = OpenAIAdapter().build_request(ask(prefix=with_settings(reasoning="low")))

    assert isinstance(key, str)
    assert len(key) <= 64
    assert other["prompt_cache_key"] != key
