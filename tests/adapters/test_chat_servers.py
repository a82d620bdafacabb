"""Servers other than OpenAI's own: what each is asked, what is left out, who gets which key."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from pydantic import ValidationError

from holdfast.adapters.openai_chat import OpenAIChatAdapter
from holdfast.adapters.openai_chat.servers import KNOWN_CHAT_SERVERS, ChatServer, Feature
from holdfast.contracts.errors import AppError, ModelNotHere, ModelRejected
from holdfast.contracts.model import ModelSettings, Prefix
from tests.adapters import conversations as say
from tests.adapters.dialects import DIALECTS
from tests.adapters.provider_server import ProviderServer, serving
from tests.adapters.rules.chat import BASE, OPENAI, ChatRules
from tests.adapters.samples.openai_chat import UNCOUNTED, WORDS

WIRE = Path(__file__).parents[3] / "shared" / "wire" / "openai_chat.jsonl"
Exchange: TypeAlias = dict[str, Any]

LOCAL_KEY = "the-key-of-the-local-server"
WANTED = Prefix(
    instructions="Be brief.",
    tools=say.PREFIX.tools,
    settings=ModelSettings(
        reasoning="low", max_output_tokens=9, tool_choice="required", parallel_calls=False
    ),
    output_schema=say.ORDER_SCHEMA,
)


def variables(**values: str) -> Callable[[str], str | None]:
    return values.get


def local(server: ProviderServer, *features: Feature, key: str | None = "LOCAL_KEY") -> ChatServer:
    return ChatServer(
        base_url=f"{server.address}/v1", key_variable=key, supports=frozenset(features)
    )


def adapter(server: ChatServer) -> OpenAIChatAdapter:
    return OpenAIChatAdapter({"local": server}, variables(LOCAL_KEY=LOCAL_KEY))


async def test_what_a_server_lacks_is_left_out_and_reported(provider: ProviderServer) -> None:
    """A server of which nothing is known is asked for nothing special, and the reply tells all."""
    # PP-02, SV-07
    provider.rules["/chat/completions"] = ChatRules(takes=BASE)
    provider.answer(UNCOUNTED)

    reply = await adapter(local(provider)).respond(say.request("local/m", prefix=WANTED))

    assert reply.text == "ok"
    assert provider.requests[0].body == {
        "model": "m",
        "stream": True,
        "max_tokens": 9,
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "find_order",
                    "description": "Look it up.",
                    "parameters": say.ORDER_SCHEMA,
                },
            }
        ],
        "messages": [
            {
                "role": "system",
                "content": "Be brief.\n\n"
                "Answer with nothing but JSON that fits this JSON Schema:\n"
                '{"type":"object","properties":{"order_id":{"type":"integer"}},'
                '"required":["order_id"],"additionalProperties":false}',
            },
            {"role": "user", "content": "Where are my orders?"},
        ],
    }
    assert reply.notes == (
        "local can't be told how hard to think: the reasoning effort is off",
        "local has no strict schemas: arguments are checked by Holdfast alone",
        "local can't be kept from calling several tools at once: parallel calls stay on",
        "local can't be held to the shape of an answer: the instructions ask for it",
        "local can't be told which tool to use: the choice is the model's",
        "local doesn't say what a call used: tokens and cost are unknown",
    )


@pytest.mark.parametrize(
    ("feature", "field"),
    [
        ("max_completion_tokens", "max_completion_tokens"),
        ("parallel_tool_calls", "parallel_tool_calls"),
        ("prompt_cache_key", "prompt_cache_key"),
        ("reasoning_effort", "reasoning_effort"),
        ("json_schema", "response_format"),
        ("stream_usage", "stream_options"),
        ("tool_choice", "tool_choice"),
    ],
)
async def test_each_feature_is_used_where_it_is_declared(
    provider: ProviderServer, feature: Feature, field: str
) -> None:
    """A server gets the field of a feature that it has, and no other but those of all servers."""
    # PP-02
    provider.rules["/chat/completions"] = ChatRules(takes=BASE | {field})
    provider.answer(WORDS)

    await adapter(local(provider, feature)).respond(say.request("local/m", prefix=WANTED))

    own = provider.requests[0].body.keys() - BASE
    assert own == {field}


@pytest.mark.parametrize(
    ("address", "gateway", "is_openai"),
    [
        pytest.param(None, None, True, id="OpenAI's own"),
        pytest.param("https://eu.api.openai.com/v1", None, True, id="in another region"),
        pytest.param("https://llm.example.com/v1", None, False, id="another server"),
        pytest.param("https://api.openai.com.example.com/v1", None, False, id="named alike"),
        pytest.param("http://[", None, False, id="no address"),
        pytest.param("https://llm.example.com/v1", "1", True, id="a gateway"),
    ],
)
def test_nothing_is_assumed_of_another_address(
    address: str | None, gateway: str | None, *, is_openai: bool
) -> None:
    """Not what OpenAI's server does, nor what it costs, unless somebody says that it is that."""
    # PP-02
    found = {"OPENAI_BASE_URL": address, "HOLDFAST_OPENAI_GATEWAY": gateway}
    chat = OpenAIChatAdapter(key=found.get)

    body = chat.build_request(say.request("gpt-4.1", prefix=WANTED))
    listing = chat.find_listing("gpt-4.1")

    assert ("parallel_tool_calls" in body, "prompt_cache_key" in body) == (is_openai, is_openai)
    assert ("strict" in json.dumps(body), listing is not None) == (is_openai, is_openai)


async def test_servers_are_reached_by_their_names(provider: ProviderServer) -> None:
    """SERVER/NAME goes to that server with its key; a name alone goes where the SDK looks."""
    # AD-04
    with serving() as near, serving() as far:
        chat = OpenAIChatAdapter(
            {"near": local(near, key="NEAR"), "far": local(far, key="FAR")},
            variables(NEAR="near-key", FAR="far-key"),
        )
        for server in (provider, near, far, near):
            server.rules["/chat/completions"] = ChatRules(takes=OPENAI | BASE)
            server.answer(WORDS)

        replies = [
            await chat.respond(say.request(model))
            for model in ("gpt-4.1", "near/acme/m-1", "far/m", "near/m-2")
        ]

        seen = [
            [(asked.body["model"], asked.headers["authorization"]) for asked in server.requests]
            for server in (provider, near, far)
        ]
    assert seen == [
        [("gpt-4.1", f"Bearer {DIALECTS['openai-chat'].key}")],
        [("acme/m-1", "Bearer near-key"), ("m-2", "Bearer near-key")],
        [("m", "Bearer far-key")],
    ]
    assert [reply.model for reply in replies] == [
        "openai-chat:gpt-4.1-2025-04-14",
        "openai-chat:near/gpt-4.1-2025-04-14",
        "openai-chat:far/gpt-4.1-2025-04-14",
        "openai-chat:near/gpt-4.1-2025-04-14",
    ]


@pytest.mark.parametrize(
    ("address", "effort"),
    [("https://api.openai.com/v1/", "none"), ("https://models.acme.test/v1", None)],
)
def test_openais_own_rules_are_for_its_own_server(address: str, effort: str | None) -> None:
    """A model's name binds nobody but OpenAI, whatever its server is called here."""
    # facts 0.7
    server = ChatServer(base_url=address, supports=frozenset({"reasoning_effort"}))

    body = OpenAIChatAdapter({"it": server}).build_request(say.request("it/gpt-5.4"))

    assert body.get("reasoning_effort") == effort


async def test_unknown_server_is_named_in_one_line() -> None:
    """The line says which servers there are, and where another one is added."""
    chat = OpenAIChatAdapter({"b": ChatServer(base_url="x"), "a": ChatServer(base_url="x")})

    with pytest.raises(ModelNotHere) as failure:
        await chat.respond(say.request("acme/m"))

    assert failure.value.kind == "not_found"
    assert str(failure.value) == (
        "no chat server 'acme' for model openai-chat:acme/m (known servers: a, b): "
        "name it in the app's chat_servers"
    )


@pytest.mark.parametrize("name", ["", "a/b", "a:b", "-"])
def test_names_of_servers_fit_into_names_of_models(name: str) -> None:
    """A server whose models nobody could name is refused when the app is made."""
    with pytest.raises(AppError, match="use letters, digits"):
        OpenAIChatAdapter({name: ChatServer(base_url="x")})


def test_features_are_a_closed_list() -> None:
    """A misspelt feature is refused, not taken for one that is missing."""
    with pytest.raises(ValidationError, match="stream_usage"):
        ChatServer.model_validate({"base_url": "x", "supports": ["usage_in_streams"]})


@pytest.mark.parametrize("value", [None, "", "two\nlines"])
async def test_missing_key_is_named_by_its_variable(
    provider: ProviderServer, value: str | None
) -> None:
    """Without a key that can be sent nothing is sent, OpenAI's least of all."""
    # PP-04
    chat = OpenAIChatAdapter({"local": local(provider)}, lambda _: value)

    with pytest.raises(
        ModelRejected, match="set LOCAL_KEY for the worker: local wants"
    ) as failure:
        await chat.respond(say.request("local/m"))

    assert failure.value.kind == "auth"
    assert provider.requests == []


async def test_server_without_keys_gets_none(provider: ProviderServer) -> None:
    """Where no key is wanted, none is sent."""
    # PP-04
    chat = OpenAIChatAdapter({"local": local(provider, key=None)}, variables())

    with pytest.raises(ModelRejected, match="no key"):  # these tests' server wants one
        await chat.respond(say.request("local/m"))

    assert "authorization" not in provider.requests[0].headers


async def test_what_is_meant_for_openai_goes_to_no_other(
    provider: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The SDK's own variables may hold secrets of OpenAI's or of a gateway to it."""
    # PP-04
    ambient = {
        "OPENAI_ORG_ID": "org-1",
        "OPENAI_PROJECT_ID": "proj-1",
        "OPENAI_CUSTOM_HEADERS": "X-Gateway: hush\nAuthorization: Bearer gateway",
    }
    for name, value in ambient.items():
        monkeypatch.setenv(name, value)
    provider.rules["/chat/completions"] = ChatRules(takes=OPENAI | BASE)
    provider.answer(WORDS)
    provider.answer(WORDS)
    chat = adapter(local(provider))

    await chat.respond(say.request("gpt-4.1"))
    await chat.respond(say.request("local/m"))

    own, other = (asked.headers for asked in provider.requests)
    secrets = {"org-1", "proj-1", "hush", "Bearer gateway"}
    assert secrets <= set(own.values())
    assert not secrets & set(other.values())
    assert other["authorization"] == f"Bearer {LOCAL_KEY}"
    assert "x-stainless-os" not in other


async def test_key_is_never_told(provider: ProviderServer) -> None:
    """No error and no text about an adapter shows a key, even where the server quotes it."""
    # PP-04
    provider.answer({"error": {"message": f"what is {LOCAL_KEY}?"}}, 400)
    chat = adapter(local(provider))

    with pytest.raises(ModelRejected, match=r"what is \[key\]\?") as failure:
        await chat.respond(say.request("local/m"))

    told = (repr(failure.value), repr(chat), repr(vars(chat)), repr(local(provider)))
    assert [text for text in told if LOCAL_KEY in text] == []
    assert failure.value.__cause__ is None


def recorded(host: str) -> Iterator[Exchange]:
    """What a server was asked, and took."""
    for line in WIRE.read_text(encoding="utf-8").splitlines():
        exchange: Exchange = json.loads(line)
        if exchange["status"] == 200 and exchange["host"] == host:
            yield exchange["request"]


def shows(request: Exchange, feature: Feature) -> bool:
    """Whether a request made use of a feature."""
    match feature:
        case "strict":
            return any(t.get("function", {}).get("strict") for t in request.get("tools", ()))
        case "json_schema":
            return request.get("response_format", {}).get("type") == "json_schema"
        case "reasoning_history":
            fields = ("reasoning", "reasoning_content", "reasoning_details")
            return any(
                message["role"] == "assistant"
                and (any(map(message.get, fields)) or "thinking" in str(message.get("content")))
                for message in request["messages"]
            )
        case "stream_usage":
            return "stream_options" in request
        case "stop_sequences":
            return "stop" in request
        case _:
            return feature in request


@pytest.mark.recorded
@pytest.mark.skipif(not WIRE.exists(), reason="the recorded exchanges are not here")
@pytest.mark.parametrize(
    ("name", "feature"),
    [
        (name, feature)
        for name, server in KNOWN_CHAT_SERVERS.items()
        for feature in sorted(server.supports)
    ],
)
def test_known_server_was_seen_to_take_it(name: str, feature: Feature) -> None:
    """Nothing is said of a well-known server that it wasn't seen to do."""
    # PP-02
    host = KNOWN_CHAT_SERVERS[name].base_url.split("/")[2]

    assert any(shows(request, feature) for request in recorded(host))
