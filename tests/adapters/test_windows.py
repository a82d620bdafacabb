"""Whether a provider tells how much context its models take, and what becomes of what it says."""

import pytest
from pydantic import JsonValue

from holdfast.adapters.openai_chat import OpenAIChatAdapter
from holdfast.adapters.openai_chat.servers import ChatServer
from holdfast.contracts.base import JsonObject
from holdfast.contracts.errors import ModelError
from holdfast.probes.endpoint import Endpoint
from tests.adapters.dialects import DIALECTS
from tests.adapters.provider_server import ProviderServer
from tests.adapters.rules.anthropic import AnthropicRules
from tests.adapters.rules.chat import ChatRules

KEY = "a-key-of-mine"


def listing(*models: JsonObject) -> ChatRules:
    """What a server takes that lists these models."""
    rules = ChatRules()
    rules.models += models
    return rules


def an_adapter(provider: ProviderServer) -> OpenAIChatAdapter:
    server = ChatServer(base_url=f"{provider.address}/v1", key_variable="K")
    return OpenAIChatAdapter({"local": server}, lambda _: KEY)


async def test_anthropic_tells_it_of_one_model(provider: ProviderServer) -> None:
    """It is asked with the key and the version of the API, for whatever name an agent has."""
    # BY-32
    from anthropic.types import ModelInfo

    dialect = DIALECTS["anthropic"]
    tokens = await Endpoint(dialect.adapter(), "claude-x/1?").ask_window()
    (asked,) = provider.requests
    page = AnthropicRules().page(asked.method, asked.path, {})

    assert tokens == 200_000
    assert (asked.method, asked.path) == ("GET", "/v1/models/claude-x%2F1%3F")
    assert asked.headers["authorization"] == f"Bearer {dialect.key}"
    assert asked.headers["anthropic-version"] == "2026-10-21"
    assert page is not None
    assert ModelInfo.model_validate(page.body).max_input_tokens == tokens  # as its SDK has it


async def test_openai_is_not_asked(provider: ProviderServer) -> None:
    """What it tells of a model has no window."""
    # BY-32
    assert await Endpoint(DIALECTS["openai"].adapter(), "gpt-5.2").ask_window() is None
    assert provider.requests == []


@pytest.mark.parametrize(
    "name", ["max_model_len", "context_length", "context_window", "max_context_length"]
)
async def test_servers_have_several_names_for_it(
    provider: ProviderServer, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asked is the server that the model is at, with its own key; what is OpenAI's stays here."""
    # BY-32
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    provider.rules["/chat/completions"] = listing(
        {"id": "other", "object": "model", name: 1},
        {"id": "meta/llama-4", "object": "model", name: 8_192},
    )

    tokens = await an_adapter(provider).find_window("local/meta/llama-4")
    (asked,) = provider.requests

    assert tokens == 8_192
    assert (asked.method, asked.path) == ("GET", "/v1/models")
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert not [header for header in asked.headers if header.startswith("openai")]


@pytest.mark.parametrize("said", [None, 0, -1, True, "8192", 10**30, [8_192]])
async def test_what_is_no_window_is_none(provider: ProviderServer, said: JsonValue) -> None:
    """A server may say anything."""
    # BY-32
    provider.rules["/chat/completions"] = listing({"id": "m", "max_model_len": said})

    assert await an_adapter(provider).find_window("local/m") is None


async def test_a_server_without_a_list_says_so(provider: ProviderServer) -> None:
    """That is a failure like any other, without the key that it quotes."""
    # BY-32, PP-04
    server = ChatServer(base_url=f"{provider.address}/{KEY}", key_variable="K")
    adapter = OpenAIChatAdapter({"local": server}, lambda _: KEY)

    with pytest.raises(ModelError) as failed:
        await adapter.find_window("local/m")

    assert failed.value.kind == "not_found"
    assert "nothing at GET /[" in str(failed.value)
    assert KEY not in str(failed.value)
