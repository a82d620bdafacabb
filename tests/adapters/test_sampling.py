"""How a model draws its words: what each provider is sent, and which model takes what."""

import pytest
from pydantic import ValidationError

from holdfast import Agent, App, AppError, ChatServer
from holdfast.adapters.openai_chat.servers import Feature
from holdfast.adapters.registry import Setup, build_adapters
from holdfast.contracts.base import JsonObject
from holdfast.contracts.model import SAMPLING_SETTINGS, ModelSettings
from tests.adapters import conversations as say
from tests.adapters.dialects import Samples
from tests.adapters.provider_server import ProviderServer
from tests.adapters.rules.chat import BASE, ChatRules
from tests.adapters.samples import anthropic, openai, openai_chat

WHOLE: JsonObject = {
    "temperature": 0.2,
    "top_p": 0.9,
    "top_k": 40,
    "seed": 7,
    "stop_sequences": ["END", "\n\nUser:"],
    "frequency_penalty": 0.5,
    "presence_penalty": -0.5,
}
"""A value for each of them."""

EVERYTHING: frozenset[Feature] = frozenset(SAMPLING_SETTINGS)


def settings(*names: str, **more: str) -> ModelSettings:
    """Some of the settings of WHOLE, and others."""
    return ModelSettings.model_validate({name: WHOLE[name] for name in names} | more)


@pytest.mark.parametrize(
    ("provider_name", "model", "samples", "wanted", "body"),
    [
        pytest.param(
            "anthropic",
            anthropic.MODEL,
            anthropic,
            settings("stop_sequences"),
            {"stop_sequences": ["END", "\n\nUser:"]},
            id="anthropic",
        ),
        pytest.param(
            "openai",
            "gpt-4.1",
            openai,
            settings("temperature", "top_p"),
            {"temperature": 0.2, "top_p": 0.9},
            id="openai",
        ),
        pytest.param(
            "openai",
            "gpt-5.2",
            openai,
            settings("temperature", reasoning="none"),
            {"temperature": 0.2},
            id="openai, told not to reason",
        ),
        pytest.param(
            "openai-chat",
            "gpt-4.1",
            openai_chat,
            settings(
                *("temperature", "top_p", "seed", "stop_sequences"),
                *("frequency_penalty", "presence_penalty"),
            ),
            {
                "temperature": 0.2,
                "top_p": 0.9,
                "seed": 7,
                "stop": ["END", "\n\nUser:"],
                "frequency_penalty": 0.5,
                "presence_penalty": -0.5,
            },
            id="openai-chat",
        ),
    ],
)
async def test_each_provider_is_sent_what_it_takes(
    provider: ProviderServer,
    provider_name: str,
    model: str,
    samples: Samples,
    wanted: ModelSettings,
    body: JsonObject,
) -> None:
    """Under its own names, beside all else; nothing is noted, because nothing is left out."""
    provider.answer(samples.WORDS)
    provider.answer(samples.WORDS)
    adapter = build_adapters(Setup())[provider_name]
    usual = ModelSettings(reasoning=wanted.reasoning)

    for given in (usual, wanted):
        prefix = say.PREFIX.model_copy(update={"settings": given})
        reply = await adapter.respond(say.request(model, prefix=prefix))
        assert [note for note in reply.notes if "left out" in note] == []

    plain, asked = (one.body for one in provider.requests)
    fresh = {name: value for name, value in asked.items() if plain.get(name) != value}
    fresh.pop("prompt_cache_key", None)  # another prefix has another key
    assert fresh == body
    assert adapter.find_refused_settings(model, wanted) in ({}, None)


async def test_a_server_is_sent_what_it_supports(provider: ProviderServer) -> None:
    """All of it goes to a server that is said to take it, and nothing to one that isn't."""
    takes = BASE | {*WHOLE} - {"stop_sequences"} | {"stop"}
    provider.rules["/chat/completions"] = ChatRules(takes=takes)
    servers = {
        "able": ChatServer(
            base_url=f"{provider.address}/v1", key_variable="LOCAL_KEY", supports=EVERYTHING
        ),
        "plain": ChatServer(base_url=f"{provider.address}/v1", key_variable="LOCAL_KEY"),
    }
    setup = Setup(chat_servers=servers, variable={"LOCAL_KEY": "the-key"}.get)
    chat = build_adapters(setup)["openai-chat"]
    prefix = say.PREFIX.model_copy(update={"settings": settings(*WHOLE)})
    provider.answer(openai_chat.WORDS)
    provider.answer(openai_chat.WORDS)

    await chat.respond(say.request("able/m", prefix=prefix))
    left_out = await chat.respond(say.request("plain/m", prefix=prefix))

    able, plain = (one.body for one in provider.requests)
    assert {name: able.get(name, able["stop"]) for name in WHOLE} == WHOLE
    assert not plain.keys() & (takes - BASE)
    noted = [note for note in left_out.notes if "is left out" in note]
    assert noted == [
        f"`{name}` is left out: chat server 'plain' has no {name!r} in its supports"
        for name in WHOLE
    ]


@pytest.mark.parametrize(
    ("model", "wanted", "refusal"),
    [
        pytest.param(
            "anthropic:claude-sonnet-5",
            settings("temperature"),
            "temperature, and model 'anthropic:claude-sonnet-5' can't have it: the API of "
            "claude-sonnet-5 takes no temperature",
            id="anthropic",
        ),
        pytest.param(
            "openai:gpt-5",
            settings("top_p", reasoning="none"),
            "top_p, and model 'openai:gpt-5' can't have it: gpt-5 reasons, and takes no top_p",
            id="always reasons",
        ),
        pytest.param(
            "openai:gpt-5.2",
            settings("temperature"),
            "temperature, and model 'openai:gpt-5.2' can't have it: gpt-5.2 takes it only with "
            "reasoning='none'",
            id="reasons",
        ),
        pytest.param(
            "openai:gpt-5.2-codex",
            settings("temperature", reasoning="none"),
            "temperature, and model 'openai:gpt-5.2-codex' can't have it: gpt-5.2-codex reasons, "
            "and takes no temperature",
            id="codex",
        ),
        pytest.param(
            "openai:gpt-4.1",
            settings("seed"),
            "seed, and model 'openai:gpt-4.1' can't have it: OpenAI's Responses take no seed",
            id="responses",
        ),
        pytest.param(
            "openai-chat:o3",
            settings("stop_sequences"),
            "stop_sequences, and model 'openai-chat:o3' can't have it: o3 reasons, and takes no "
            "stop_sequences",
            id="chat, reasons",
        ),
        pytest.param(
            "openai-chat:gpt-5.2",
            settings("presence_penalty", reasoning="none"),
            "presence_penalty, and model 'openai-chat:gpt-5.2' can't have it: gpt-5.2 reasons, "
            "and takes no presence_penalty",
            id="chat, told not to reason",
        ),
        pytest.param(
            "openai-chat:gpt-4.1",
            settings("top_k"),
            "top_k, and model 'openai-chat:gpt-4.1' can't have it: OpenAI's Chat Completions "
            "take no top_k",
            id="chat",
        ),
        pytest.param(
            "openai-chat:house/llama",
            settings("seed"),
            "seed, and model 'openai-chat:house/llama' can't have it: chat server 'house' has no "
            "'seed' in its supports",
            id="chat elsewhere",
        ),
    ],
)
def test_what_a_model_doesnt_take_is_refused_when_the_app_is_made(
    model: str, wanted: ModelSettings, refusal: str
) -> None:
    """Also where it is only the second model of an agent; one line says which, and why."""
    agent = Agent(name="it", instructions="Do it.", models=["scripted:it", model], settings=wanted)

    with pytest.raises(AppError) as refused:
        App(
            agents=[agent],
            scripts={"it": []},
            chat_servers={"house": ChatServer(base_url="http://127.0.0.1/v1")},
        )

    assert str(refused.value) == f"agent 'it': its settings have {refusal}"


@pytest.mark.parametrize(
    "model", ["openai:gpt-4o", "openai:house-model", "openai:ft:gpt-4.1:me", "scripted:it"]
)
def test_of_other_models_nothing_is_known(model: str) -> None:
    """A name that says nothing may be that of a model behind a gateway: it is asked."""
    provider, _, name = model.partition(":")
    adapter = build_adapters(Setup())[provider]

    assert not adapter.find_refused_settings(name, settings("temperature", "top_p"))


@pytest.mark.parametrize(
    "flaw",
    [
        {"temperature": 2.1},
        {"temperature": -0.1},
        {"temperature": float("nan")},
        {"top_p": 0},
        {"top_p": 1.5},
        {"top_k": 0},
        {"seed": -1},
        {"seed": 2**60},
        {"stop_sequences": ["a"] * 5},
        {"stop_sequences": [" \n"]},
        {"stop_sequences": "END"},
        {"frequency_penalty": 2.5},
        {"presence_penalty": -3},
    ],
    ids=str,
)
def test_what_no_provider_takes_is_refused_at_once(flaw: JsonObject) -> None:
    """The bounds are those that all providers have which take the setting."""
    with pytest.raises(ValidationError):
        ModelSettings.model_validate(flaw)


def test_what_isnt_said_isnt_recorded() -> None:
    """A run records what its agent asks for; where that is nothing, nothing is added."""
    agent = Agent(name="it", instructions="Do it.", models=["scripted:it"])
    asking = Agent(
        name="it", instructions="Do it.", models=["scripted:it"], settings=settings(*WHOLE)
    )
    kept = asking.snapshot().model_dump(mode="json")["settings"]

    assert not agent.snapshot().model_dump(mode="json")["settings"].keys() & {*WHOLE}
    assert {name: kept[name] for name in WHOLE} == WHOLE
    assert asking.snapshot().prefix_digest != agent.snapshot().prefix_digest
