"""What a call used, as servers count it, and what it cost."""

from decimal import Decimal

import pytest

from holdfast.adapters.openai_chat import OpenAIChatAdapter
from holdfast.adapters.openai_chat.servers import KNOWN_CHAT_SERVERS, ChatServer, Target
from holdfast.adapters.openai_chat.usage import usage
from holdfast.adapters.pricing import ModelPrice
from holdfast.contracts.base import JsonObject
from tests.adapters.samples.openai_chat import completion

CHEAP = ModelPrice(input=Decimal("0.2"), output=Decimal(1))


@pytest.mark.parametrize(
    ("counters", "figures", "native"),
    [
        pytest.param(
            {
                "prompt_tokens": 1000,
                "prompt_tokens_details": {"cached_tokens": 200, "cache_write_tokens": 50},
                "completion_tokens": 100,
                "completion_tokens_details": {"reasoning_tokens": 40, "audio_tokens": 0},
            },
            (1000, 200, 50, 100, 40),
            {
                "prompt_tokens": 1000,
                "completion_tokens": 100,
                "cached_tokens": 200,
                "cache_write_tokens": 50,
                "reasoning_tokens": 40,
            },
            id="openai",
        ),
        pytest.param(
            {
                "prompt_tokens": 1000,
                "completion_tokens": 100,
                "prompt_cache_hit_tokens": 200,
                "prompt_cache_miss_tokens": 800,
            },
            (1000, 200, 0, 100, 0),
            {
                "prompt_tokens": 1000,
                "completion_tokens": 100,
                "prompt_cache_hit_tokens": 200,
                "prompt_cache_miss_tokens": 800,
            },
            id="deepseek",
        ),
        pytest.param(
            {"prompt_tokens": 1000, "completion_tokens": 100, "num_cached_tokens": 200},
            (1000, 200, 0, 100, 0),
            {"prompt_tokens": 1000, "completion_tokens": 100, "num_cached_tokens": 200},
            id="mistral",
        ),
        pytest.param(
            {
                "prompt_tokens": 1000,
                "prompt_tokens_details": None,
                "completion_tokens": None,
                "queue_time": 0.2,
                "is_byok": True,
            },
            (1000, 0, 0, 0, 0),
            {"prompt_tokens": 1000},
            id="with gaps",
        ),
    ],
)
def test_usage_is_read_wherever_it_stands(
    counters: JsonObject, figures: tuple[int, ...], native: dict[str, int]
) -> None:
    """Cached, written and reasoning tokens are parts of the sums; the own counters are kept."""
    # AD-15, AD-19, PP-07, PS-14, PS-15, T-26
    used = OpenAIChatAdapter().extract_usage(completion({}, usage=counters))

    assert figures == (
        used.input_tokens,
        used.cached_tokens,
        used.cache_write_tokens,
        used.output_tokens,
        used.reasoning_tokens,
    )
    assert used.native == {"openai-chat": native}


def test_missing_usage_is_no_usage_of_nothing() -> None:
    """Without counters nothing is counted, the price is unknown instead of 0, and it is said."""
    # AD-15, PP-02
    reply = OpenAIChatAdapter().parse_response(completion({"content": "ok"}, usage=None))

    assert (reply.usage.total_tokens, reply.usage.estimated_cost) == (0, None)
    assert reply.notes == (
        "openai-chat doesn't say what a call used: tokens and cost are unknown",
    )


@pytest.mark.parametrize(
    ("server", "model", "cost"),
    [
        pytest.param(
            KNOWN_CHAT_SERVERS["groq"], "llama-3.3-70b-versatile", Decimal("0.000669"), id="groq"
        ),
        pytest.param(ChatServer(base_url="http://127.0.0.1/v1"), "gpt-4.1", None, id="nobody's"),
        pytest.param(
            ChatServer(base_url="http://127.0.0.1/v1", price=CHEAP),
            "gpt-4.1",
            Decimal("0.0003"),
            id="one price for all its models",
        ),
        pytest.param(
            KNOWN_CHAT_SERVERS["groq"].with_(price={"llama-3.3-70b-versatile": CHEAP}),
            "llama-3.3-70b-versatile",
            Decimal("0.0003"),
            id="a price that the list has too",
        ),
        pytest.param(
            ChatServer(base_url="http://127.0.0.1/v1", price={"llama": CHEAP}),
            "gpt-4.1",
            None,
            id="another model's",
        ),
    ],
)
def test_price_is_that_of_the_server(server: ChatServer, model: str, cost: Decimal | None) -> None:
    """The same model costs something else elsewhere; of an unknown server no price is known."""
    # AD-11
    raw: JsonObject = {"model": model, "usage": {"prompt_tokens": 1000, "completion_tokens": 100}}

    used = usage(raw, Target("it", server, model))

    assert used.estimated_cost == cost
    assert used.native == {"openai-chat:it": {"prompt_tokens": 1000, "completion_tokens": 100}}
