"""What is known of models before they are asked."""

import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest

from holdfast.adapters.catalogue import PriceList
from holdfast.adapters.openai_chat.servers import KNOWN_CHAT_SERVERS, ChatServer
from holdfast.adapters.pricing import ModelPrice
from holdfast.adapters.registry import Setup, build_adapters
from holdfast.contracts.control import ModelFacts

SERVERS = {
    "groq": KNOWN_CHAT_SERVERS["groq"],
    "mine": ChatServer(base_url="http://127.0.0.1:1/v1"),
    "house": ChatServer(
        base_url="http://127.0.0.1:1/v1",
        price=ModelPrice(input=Decimal("0.2"), output=Decimal("0.8")),
    ),
    "cheaper": KNOWN_CHAT_SERVERS["groq"].with_(
        price={"llama-3.3-70b-versatile": ModelPrice(input=Decimal("0.1"), output=Decimal(0))}
    ),
}


def price_list() -> PriceList:
    return PriceList(build_adapters(Setup(chat_servers=SERVERS)))


@pytest.mark.parametrize(
    ("model", "window", "input_price", "output_price"),
    [
        pytest.param("openai:gpt-4o", 128_000, "2.5", "10", id="openai"),
        pytest.param("anthropic:claude-opus-5-5", 1_000_000, "4", "20", id="anthropic"),
        pytest.param("anthropic:claude-sonnet-4-5", 200_000, "3", "15", id="dearer when long"),
        pytest.param("openai-chat:gpt-4o", 128_000, "2.5", "10", id="chat at openai"),
        pytest.param(
            "openai-chat:groq/llama-3.3-70b-versatile", None, "0.59", "0.79", id="chat elsewhere"
        ),
        pytest.param("openai-chat:house/llama", None, "0.2", "0.8", id="as the app says"),
        pytest.param(
            "openai-chat:cheaper/llama-3.3-70b-versatile", None, "0.1", "0", id="the app knows"
        ),
        pytest.param(
            "openai-chat:cheaper/llama-3.1-8b-instant",
            None,
            "0.05",
            "0.08",
            id="the app says nothing",
        ),
    ],
)
async def test_known_models_have_a_window_and_prices(
    model: str, window: int | None, input_price: str, output_price: str
) -> None:
    """Prices are dollars for a million tokens; what the library doesn't know is null."""
    assert await price_list().facts([model]) == (
        ModelFacts(
            model=model,
            context_tokens=window,
            input_price=Decimal(input_price),
            output_price=Decimal(output_price),
        ),
    )


@pytest.mark.parametrize(
    "model",
    [
        "scripted:it",
        "openai:no-such-model",
        "openai-chat:mine/gpt-4o",
        "openai-chat:nowhere/gpt-4o",
        "nobody:gpt-4o",
        "gpt-4o",
        "",
    ],
)
async def test_of_other_models_nothing_is_known(model: str) -> None:
    """An unknown window or price is null, never a guess by the model's name."""
    assert await price_list().facts([model]) == (ModelFacts(model=model),)


async def test_facts_come_in_the_order_of_the_models() -> None:
    """Each model has its facts, the unknown ones too."""
    models = ["openai:gpt-4o", "scripted:it", "anthropic:claude-opus-5-5"]

    assert [facts.model for facts in await price_list().facts(models)] == models


@pytest.mark.slow
def test_prices_are_loaded_when_they_are_needed() -> None:
    """A worker whose models are scripted never loads the prices of all providers."""
    program = (
        "import asyncio, sys\n"
        "from holdfast.adapters.catalogue import PriceList\n"
        "from holdfast.adapters.registry import Setup, build_adapters\n"
        "asyncio.run(PriceList(build_adapters(Setup())).facts(['scripted:it']))\n"
        "print('genai_prices' in sys.modules)\n"
    )

    ran = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )

    assert ran.stdout == "False\n"
