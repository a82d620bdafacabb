"""What Anthropic Messages is asked."""

import json
from dataclasses import replace

import pytest

from holdfast.adapters.anthropic import AnthropicAdapter
from holdfast.adapters.anthropic.request import render as rendered_request
from holdfast.contracts.base import JsonObject
from holdfast.contracts.model import Prefix, Strategy
from holdfast.contracts.transcript import AssistantTurn, ToolTurn
from tests.adapters import conversations as say
from tests.adapters.anthropic_talk import (
    CACHED,
    SEARCH,
    SHAPE,
    heard,
    rendered,
    results,
    with_settings,
)
from tests.adapters.provider_server import ProviderServer
from tests.adapters.samples.anthropic import MODEL, WORDS, call, message, text


def test_first_request_is_golden() -> None:
    """The model sees instructions, the goal, and of a tool nothing but its schema."""
    # AD-05, AD-06, LP-05, LP-07, TC-01, SV-07
    assert rendered() == {
        "model": MODEL,
        "max_tokens": 32_000,
        "stream": True,
        "tools": [
            {
                "name": "find_order",
                "description": "Look it up.",
                "input_schema": say.ORDER_SCHEMA,
                "strict": True,
            }
        ],
        "system": [text("Be brief.") | CACHED],
        "messages": [{"role": "user", "content": [text("Where are my orders?") | CACHED]}],
    }


def test_answers_are_golden() -> None:
    """Results and errors go into the next user message, before what people said meanwhile."""
    # AD-05, AD-08, AD-14, LP-09
    said = rendered(say.GOAL, say.ASKED_TWICE, say.ANSWERED, say.STEERED)["messages"]

    assert said == [
        {"role": "user", "content": [text("Where are my orders?") | CACHED]},
        {
            "role": "assistant",
            "content": [
                text("Let me see."),
                call("c1", {"order_id": 2**53 + 1, "max": 0.1}),
                call("c2", {}),
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": say.FOUND_TEXT},
                {
                    "type": "tool_result",
                    "tool_use_id": "c2",
                    "content": say.NOT_FOUND_TEXT,
                    "is_error": True,
                },
                text("Hurry.") | CACHED,
            ],
        },
    ]


async def test_requests_are_taken(provider: ProviderServer) -> None:
    """What is built is what the server gets, in one request for each reply."""
    provider.answer(WORDS)
    request = say.request(MODEL, say.GOAL, say.ASKED_TWICE, say.ANSWERED, say.STEERED)

    reply = await AnthropicAdapter().respond(request)

    assert [received.body for received in provider.requests] == [
        AnthropicAdapter().build_request(request)
    ]
    assert (reply.text, reply.notes) == ("In Köln.", ())


def test_empty_turns_are_left_out() -> None:
    """The API refuses empty messages, so a turn without words and calls isn't sent."""
    silent = AssistantTurn(model=f"anthropic:{MODEL}", text=" ")
    turns = (say.GOAL, silent, ToolTurn(results=()), say.STEERED)

    body = rendered(*turns, prefix=Prefix(instructions=" ", tools=()))

    assert body == {
        "model": MODEL,
        "max_tokens": 32_000,
        "stream": True,
        "messages": [
            {"role": "user", "content": [text("Where are my orders?"), text("Hurry.") | CACHED]}
        ],
    }


def stable(body: JsonObject) -> bytes:
    """Return the bytes before the messages."""
    return json.dumps(body).encode().partition(b'"messages"')[0]


def test_prefix_stays_the_same() -> None:
    """Another run, another turn, other words, another container: the first bytes are the same."""
    # PP-03, PP-08, T-40
    prefix = with_settings(tool_choice="required", reasoning="high").model_copy(
        update={"hosted": (SEARCH,), "output_schema": SHAPE}
    )
    request = say.request(MODEL, prefix=prefix)
    later = replace(
        request,
        run_id="r2",
        turn=7,
        attempt=3,
        transcript=(say.GOAL, say.ASKED_TWICE, say.ANSWERED),
        provider_state={"container_id": "container_1"},
    )
    first, second = (AnthropicAdapter().build_request(each) for each in (request, later))

    assert b"find_order" in stable(first)
    assert stable(first) == stable(second)
    assert first["messages"] != second["messages"]


def marked(body: JsonObject) -> list[int]:
    """Return how many blocks of each message there are up to a mark of the cache."""
    said = body["messages"]
    assert isinstance(said, list)
    return [
        place + 1
        for message in said
        if isinstance(message, dict) and isinstance(message["content"], list)
        for place, block in enumerate(message["content"])
        if isinstance(block, dict) and "cache_control" in block
    ]


def test_cache_is_kept_up_to_the_last_turn_and_the_one_before() -> None:
    """A request ends one cache where the request before it did, and begins the next."""
    turn = heard(call("c1", {}), call("c2", {}), stop="tool_use")
    body = rendered(say.GOAL, turn, results(*turn.calls), say.ASKED_TWICE, say.ANSWERED)

    assert json.dumps(body).count("cache_control") == 3
    assert marked(body) == [2, 2]
    assert marked(rendered()) == [1]


@pytest.mark.parametrize(
    ("prefix", "place"),
    [
        pytest.param(say.PREFIX, "system", id="instructions"),
        pytest.param(say.PREFIX.model_copy(update={"instructions": ""}), "tools", id="tools only"),
    ],
)
def test_cache_of_the_prefix_ends_with_it(prefix: Prefix, place: str) -> None:
    """One mark covers the tools and the instructions."""
    body = rendered(prefix=prefix)
    blocks = body[place]

    assert isinstance(blocks, list)
    assert isinstance(blocks[-1], dict)
    assert blocks[-1]["cache_control"] == {"type": "ephemeral"}
    assert json.dumps(body).count("cache_control") == 2


async def test_container_is_asked_for_again(provider: ProviderServer) -> None:
    """The id of a container goes back in the next request, which the server knows it by."""
    # PS-13, AD-10
    container: JsonObject = {"id": "container_1", "expires_at": "2026-11-21T12:00:00Z"}
    provider.answer(message(text("ok"), container=container))
    provider.answer(WORDS)
    adapter = AnthropicAdapter()

    reply = await adapter.respond(say.request(MODEL))
    state = adapter.merge_state({}, reply.provider_state or {})
    await adapter.respond(replace(say.request(MODEL), provider_state=state))

    assert [received.body.get("container") for received in provider.requests] == [
        None,
        "container_1",
    ]


@pytest.mark.parametrize("strategy", ["previous_response_id", "conversation"])
def test_anthropic_keeps_no_conversation(strategy: Strategy) -> None:
    """Whoever asks for a chain is told that there is none; everything is sent all the same."""
    # PP-02
    request = say.request(MODEL)

    chained = rendered_request(replace(request, strategy=strategy))

    assert chained.body == rendered_request(request).body
    assert chained.notes == ("anthropic keeps no conversation: every turn sends all of it",)
