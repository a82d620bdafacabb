"""A model that is asked for words alone, for a summary: its tools stay, but it may call none."""

import json
from dataclasses import replace

import pytest
from pydantic import JsonValue

from holdfast.adapters.anthropic import AnthropicAdapter
from holdfast.adapters.base import ProviderAdapter
from holdfast.adapters.openai import OpenAIAdapter
from holdfast.adapters.openai_chat import OpenAIChatAdapter
from holdfast.adapters.openai_chat.servers import ChatServer, Feature
from holdfast.contracts.base import JsonObject
from holdfast.contracts.model import ModelReply, ModelRequest, ModelSettings, Prefix, Strategy
from holdfast.contracts.tools import HostedTool
from holdfast.contracts.transcript import UserTurn
from tests.adapters import conversations as say
from tests.adapters.dialects import Samples
from tests.adapters.provider_server import ProviderServer
from tests.adapters.rules.chat import BASE, ChatRules
from tests.adapters.samples import anthropic, openai, openai_chat

SUMMARISE = UserTurn(text="Sum it up.", origin="notice")
ANSWER: JsonObject = {
    "type": "object",
    "properties": {"the_city": {"type": "string"}},
    "required": ["the_city"],
    "additionalProperties": False,
}
SHAPED = say.PREFIX.model_copy(update={"output_schema": ANSWER})


def summary_of(
    adapter: ProviderAdapter, model: str, reply: ModelReply, prefix: Prefix = SHAPED
) -> ModelRequest:
    """Ask what is to be kept of a run, after a reply and its results."""
    turn = say.turn(f"{adapter.provider}:{model}", reply)
    items = (say.GOAL, turn, say.answered(turn), SUMMARISE)
    return replace(say.request(model, *items, prefix=prefix), turn=2, without_tools=True)


def apart(model: str = "gpt-5.2", prefix: Prefix = SHAPED, **more: object) -> ModelRequest:
    asked = say.request(model, say.GOAL, SUMMARISE, prefix=prefix)
    return replace(asked, without_tools=True, **more)


def hosting(*names: str) -> Prefix:
    tools = tuple(HostedTool(name=name) for name in names)
    return say.PREFIX.model_copy(update={"hosted": tools})


def without_marks(value: JsonValue) -> JsonValue:
    """Leave out where a cache ends: that moves along with the conversation."""
    if isinstance(value, list):
        return [without_marks(part) for part in value]
    if not isinstance(value, dict):
        return value
    return {name: without_marks(v) for name, v in value.items() if name != "cache_control"}


async def test_tools_stay_declared_and_none_may_be_called(
    provider: ProviderServer, adapter: ProviderAdapter, samples: Samples
) -> None:
    """A strict server takes a transcript with calls; what a cache holds of the tools stays."""
    # PS-12 BY-22
    provider.answer(samples.TWO_CALLS)
    provider.answer(samples.WORDS)

    first = await adapter.respond(say.request(samples.MODEL, prefix=SHAPED))
    reply = await adapter.respond(summary_of(adapter, samples.MODEL, first))

    assert reply.text == "In Köln."
    turn, summary = (received.body for received in provider.requests)
    assert summary["tools"] == turn["tools"]
    assert provider.understand(provider.requests[1]).tools == frozenset()
    assert "Sum it up." in json.dumps(summary)


async def test_words_alone_have_no_shape(
    provider: ProviderServer, adapter: ProviderAdapter, samples: Samples
) -> None:
    """The shape of an answer is asked for with every turn, but not with a summary."""
    provider.answer(samples.WORDS)

    await adapter.respond(replace(say.request(samples.MODEL, prefix=SHAPED), without_tools=True))

    usual = adapter.build_request(say.request(samples.MODEL, prefix=SHAPED))
    assert "the_city" in json.dumps(usual)
    assert "the_city" not in json.dumps(provider.requests[0].body)


async def test_without_any_tools_nothing_is_said_of_them(
    provider: ProviderServer, adapter: ProviderAdapter, samples: Samples
) -> None:
    """Servers refuse a choice among no tools."""
    provider.answer(samples.WORDS)
    prefix = Prefix(instructions="Be brief.", tools=())

    await adapter.respond(replace(say.request(samples.MODEL, prefix=prefix), without_tools=True))

    assert provider.understand(provider.requests[0]).tools == frozenset()


async def test_none_outdoes_what_the_first_turn_must_call(
    provider: ProviderServer, adapter: ProviderAdapter, samples: Samples
) -> None:
    """An agent that must begin with a tool can be asked for words all the same."""
    provider.answer(samples.WORDS)
    settings = ModelSettings(tool_choice="required")
    prefix = say.PREFIX.model_copy(update={"settings": settings})

    await adapter.respond(replace(say.request(samples.MODEL, prefix=prefix), without_tools=True))

    asked = provider.understand(provider.requests[0])
    assert (asked.tools, asked.must_call) == (frozenset(), False)


@pytest.mark.parametrize(
    ("adapter", "model"),
    [
        pytest.param(AnthropicAdapter(), anthropic.MODEL, id="anthropic"),
        pytest.param(OpenAIAdapter(), openai.MODEL, id="openai"),
    ],
)
def test_hosted_tools_stay_for_the_cache(adapter: ProviderAdapter, model: str) -> None:
    """Where the choice holds for tools that run at the provider, they stay declared and rest."""
    prefix = hosting("web_search")

    summary = adapter.build_request(apart(model, prefix))

    assert summary["tools"] == adapter.build_request(say.request(model, prefix=prefix))["tools"]


@pytest.mark.parametrize("model", ["claude-opus-5-5", "claude-3-7-sonnet-latest"])
def test_anthropic_keeps_all_that_a_cache_begins_with(model: str) -> None:
    """Tools and instructions are the same, byte by byte; a shape told in words isn't told."""
    adapter = AnthropicAdapter()

    usual = adapter.build_request(say.request(model, prefix=SHAPED))
    summary = adapter.build_request(apart(model))
    plain = adapter.build_request(say.request(model))

    assert json.dumps(without_marks(summary["tools"])) == json.dumps(without_marks(usual["tools"]))
    assert summary["system"] == plain["system"]


def test_anthropic_holds_tools_to_as_much_as_ever() -> None:
    """The answer's shape has its part of what may be enforced, even where it isn't asked for."""
    optional: JsonObject = {f"field_{number}": {"type": "string"} for number in range(24)}
    wide: JsonObject = {**ANSWER, "properties": optional, "required": []}
    tool = say.PREFIX.tools[0].model_copy(
        update={"input_schema": say.ORDER_SCHEMA | {"required": []}}
    )
    prefix = Prefix(instructions="Go.", tools=(tool,), output_schema=wide)
    adapter = AnthropicAdapter()

    usual = adapter.build_request(say.request("claude-opus-5-5", prefix=prefix))
    summary = adapter.build_request(apart("claude-opus-5-5", prefix))

    assert summary["tools"] == usual["tools"]
    assert "strict" not in json.dumps(summary["tools"])


def test_openai_caches_under_the_same_key() -> None:
    """Leaving the shape out doesn't send a request to another cache."""
    summary = OpenAIAdapter().build_request(apart())

    assert summary["prompt_cache_key"] == SHAPED.digest
    assert "text" not in summary


def local(provider: ProviderServer, *features: Feature) -> OpenAIChatAdapter:
    server = ChatServer(
        base_url=f"{provider.address}/v1", key_variable="KEY", supports=frozenset(features)
    )
    return OpenAIChatAdapter({"local": server}, lambda _: say.KEY)


async def test_a_server_without_the_choice_gets_no_tools(provider: ProviderServer) -> None:
    """Where nothing keeps a model from calling tools they are left out, and the reply says so."""
    provider.rules["/chat/completions"] = ChatRules(takes=BASE)
    provider.answer(openai_chat.TWO_CALLS)
    provider.answer(openai_chat.WORDS)
    adapter = local(provider)

    first = await adapter.respond(say.request("local/m"))
    reply = await adapter.respond(summary_of(adapter, "local/m", first))

    body = provider.requests[1].body
    assert body.keys() == {"model", "stream", "messages"}
    assert "local can't be kept from calling tools: they are left out" in reply.notes
    assert not any("shape" in note for note in reply.notes)


async def test_a_server_with_the_choice_keeps_its_tools(provider: ProviderServer) -> None:
    """One that knows the field is told, and nothing is left out."""
    provider.rules["/chat/completions"] = ChatRules(takes=BASE | {"tool_choice", "strict"})
    provider.answer(openai_chat.WORDS)

    reply = await local(provider, "tool_choice", "strict").respond(apart("local/m", say.PREFIX))

    assert provider.requests[0].body["tool_choice"] == "none"
    assert not any("left out" in note for note in reply.notes)


@pytest.mark.parametrize(
    ("strategy", "name"),
    [("previous_response_id", "previous_response_id"), ("conversation", "conversation_id")],
)
async def test_nothing_goes_on_from_a_summary(
    provider: ProviderServer, strategy: Strategy, name: str
) -> None:
    """The state of a summary is kept, but the next turn is sent whole: it is shown otherwise."""
    # PS-12 SS-02 SS-03
    provider.answer(openai.WORDS)
    provider.answer(openai.WORDS)
    adapter = OpenAIAdapter()

    reply = await adapter.respond(apart(openai.MODEL, strategy=strategy))
    state = reply.provider_state
    assert state is not None
    turn = say.turn(f"openai:{openai.MODEL}", reply)
    following = say.request(openai.MODEL, say.GOAL, SUMMARISE, turn, say.STEERED)
    await adapter.respond(replace(following, strategy=strategy, provider_state=state))

    assert isinstance(state[name], str)
    last = provider.requests[-1].body
    assert "previous_response_id" not in last
    assert last.get("conversation") != state[name]
    assert isinstance(last["input"], list)
    assert len(last["input"]) == 4
