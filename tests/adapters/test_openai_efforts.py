"""How little OpenAI's models can be asked to reason, where a task wants no reasoning."""

import pytest

from holdfast.adapters.base import ProviderAdapter
from holdfast.adapters.openai import OpenAIAdapter
from holdfast.adapters.openai_chat import OpenAIChatAdapter
from holdfast.contracts.model import Effort, ModelRequest, ModelSettings, Prefix
from tests.adapters import conversations as say
from tests.adapters.provider_server import ProviderServer
from tests.adapters.samples import openai, openai_chat

MODELS: list[tuple[str, Effort]] = [
    ("gpt-5", "minimal"),
    ("gpt-5-mini", "minimal"),
    ("gpt-5-nano-2025-08-07", "minimal"),
    ("gpt-5-codex", "low"),
    ("codex-mini-latest", "low"),
    ("o4-mini", "low"),
    ("ft:o3:acme", "low"),
    ("gpt-5-pro", "high"),
    ("gpt-5.1", "none"),
    ("gpt-5.2", "none"),
    ("gpt-6-astra", "none"),
    ("a-model-of-tomorrow", "none"),
]


def silent(model: str, reasoning: Effort = "none") -> ModelRequest:
    prefix = Prefix(instructions="Go.", tools=(), settings=ModelSettings(reasoning=reasoning))
    return say.request(model, prefix=prefix)


@pytest.mark.parametrize(("model", "least"), MODELS)
async def test_a_model_that_always_reasons_is_asked_for_little(
    provider: ProviderServer, model: str, least: Effort
) -> None:
    """Models from before gpt-5.1 refuse "none"; what they get instead is told."""
    # RS-09 RS-10 RS-11 RS-12 RS-13
    provider.answer(openai.WORDS)
    provider.answer(openai_chat.WORDS)

    responses = await OpenAIAdapter().respond(silent(model))
    chat = await OpenAIChatAdapter().respond(silent(model))

    one, other = (received.body for received in provider.requests)
    assert one["reasoning"] == {"effort": least, "summary": "auto"}
    assert other["reasoning_effort"] == least
    for reply in (responses, chat):
        assert any("asked for little" in note for note in reply.notes) is (least != "none")


@pytest.mark.parametrize("adapter", [OpenAIAdapter(), OpenAIChatAdapter()])
def test_whoever_reasons_is_asked_as_ever(adapter: ProviderAdapter) -> None:
    """Any other effort goes out as it is."""
    # RS-01
    body = adapter.build_request(silent("gpt-5", "high"))

    assert body.get("reasoning_effort", body.get("reasoning")) in (
        "high",
        {"effort": "high", "summary": "auto"},
    )
