"""Anthropic Messages in pieces, and in broken ones."""

import json
from datetime import timedelta

import pytest

from holdfast.adapters.anthropic import AnthropicAdapter
from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import MalformedCall
from holdfast.contracts.errors import ModelError
from holdfast.contracts.model import ModelReply
from tests.adapters import conversations as say
from tests.adapters.anthropic_talk import found, searching, thinking
from tests.adapters.dialects import PATIENCE
from tests.adapters.provider_server import NO_JSON, NO_UTF8, Break, Breaking, ProviderServer
from tests.adapters.rules.anthropic import AnthropicRules
from tests.adapters.rules.strict import Event
from tests.adapters.samples.anthropic import CACHED, MODEL, REFUSAL, call, message, text

CITED: JsonObject = {
    **text("Köln is old."),
    "citations": [{"url": "https://a.example"}, {"url": "https://b.example"}],
}
TRICKY: JsonObject = {"order_id": 2**53 + 1, "max": 0.1, "why": 'a "quote", \\ and \n', "é": "😀"}
COMPACTED: JsonObject = {"type": "compaction", "content": "We spoke of Köln."}
RICH = message(
    thinking("Let me think."),
    {"type": "redacted_thinking", "data": "c2VjcmV0"},
    text("I look."),
    searching(),
    found(),
    CITED,
    COMPACTED,
    {"type": "hologram", "edges": 12},
    call("c1", TRICKY),
    call("c2", {}),
    stop="tool_use",
    container={"id": "container_1", "expires_at": "2026-11-21T12:00:00Z"},
    context_management={"applied_edits": []},
    usage={
        "input_tokens": 700,
        "cache_creation_input_tokens": 12,
        "cache_read_input_tokens": 34,
        "output_tokens": 50,
        "output_tokens_details": {"thinking_tokens": 20},
        "server_tool_use": {"web_search_requests": 1, "web_fetch_requests": 0},
        "service_tier": "standard",
    },
)

LONG_CALL = message(call("c1", {"order_id": 1234567890}), stop="tool_use")

SILENCE = timedelta(seconds=1)
"""Longer than a busy machine takes for what isn't meant to be silent."""


def event(kind: str, **fields: object) -> Event:
    return Event({"type": kind, **json.loads(json.dumps(fields))}, kind)


async def asked(provider: ProviderServer) -> ModelReply:
    return await AnthropicAdapter().respond(say.request(MODEL))


async def failing(adapter: AnthropicAdapter) -> ModelError:
    """Return what a request ends with, which hides its cause."""
    with pytest.raises(ModelError) as raised:
        await adapter.respond(say.request(MODEL))
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__ or raised.value.__context__ is None
    assert say.KEY not in str(raised.value)
    return raised.value


@pytest.mark.parametrize(
    "whole",
    [
        pytest.param(RICH, id="all kinds"),
        pytest.param(REFUSAL, id="refusal"),
        pytest.param(CACHED, id="cache"),
        pytest.param(message(searching(), stop="pause_turn"), id="pause"),
        pytest.param(message(text("so"), call("c1", TRICKY), stop="max_tokens"), id="cut short"),
        pytest.param(message(), id="nothing"),
    ],
)
async def test_pieces_make_the_same_reply(provider: ProviderServer, whole: JsonObject) -> None:
    """Streamed or not, a reply is the same, but for the time that it took."""
    # AD-09
    provider.answer(whole)
    provider.answer(whole, headers={"x-unstreamed": "yes"})
    timeless = {"latency_ms": 0, "first_token_ms": 0}

    streamed, unstreamed = await asked(provider), await asked(provider)

    assert 0 < streamed.first_token_ms <= streamed.latency_ms
    assert streamed.model_copy(update=timeless) == unstreamed.model_copy(update=timeless)


def test_pieces_make_the_whole() -> None:
    """Not a field of a message is lost on the way."""
    # AD-09
    pieces = [each.data for each in AnthropicRules().events(RICH)]

    assert len(pieces) > 50
    assert AnthropicAdapter().assemble(pieces) == RICH


def arguments(*pieces: str) -> str:
    """Return a stream whose only block is a call with its arguments in *pieces*."""
    whole = list(AnthropicRules().events(message(call("c1", {}), stop="tool_use")))
    at = next(n for n, each in enumerate(whole) if each.name == "content_block_delta")
    grown = [
        event(
            "content_block_delta",
            index=0,
            delta={"type": "input_json_delta", "partial_json": piece},
        )
        for piece in pieces
    ]
    sent = [*whole[:at], *grown, *whole[at + 1 :]]
    return "".join(f"event: {each.name}\ndata: {json.dumps(each.data)}\n\n" for each in sent)


@pytest.mark.parametrize("raw", ['{"amount": 1', '{"amount": 1}}', "[1]", '"{}"', "NaN"])
async def test_whole_arguments_that_are_no_object(provider: ProviderServer, raw: str) -> None:
    """What a closed block holds in their place stays as it came, and is never executed."""
    # AD-16
    provider.stream(arguments(raw))

    reply = await asked(provider)

    assert reply.calls == (MalformedCall(call_id="c1", name="find_order", raw_arguments=raw),)


@pytest.mark.parametrize(
    ("how", "last", "kind"),
    [
        pytest.param("cut", b"", "cut_off", id="connection drops"),
        pytest.param("end", b"", "cut_off", id="stream ends"),
        pytest.param("stall", b"", "stalled", id="nothing more comes"),
        pytest.param("end", NO_JSON, "unreadable", id="no JSON"),
        pytest.param("end", NO_UTF8, "unreadable", id="no text"),
        pytest.param(
            "end", event("content_block_stop", index=7), "unreadable", id="no such block"
        ),
        pytest.param(
            "end",
            event("error", error={"type": "overloaded_error", "message": "Overloaded"}),
            "overloaded",
            id="overloaded",
        ),
        pytest.param(
            "end",
            event("error", error={"type": "rate_limit_error", "message": "slow"}),
            "rate_limited",
            id="rate limit",
        ),
        pytest.param(
            "end",
            event("error", error={"type": "api_error", "message": "oops"}),
            "unavailable",
            id="fault",
        ),
        pytest.param(
            "end",
            event("error", error={"type": "error_of_tomorrow"}),
            "unavailable",
            id="unknown error",
        ),
    ],
)
@pytest.mark.parametrize("after", [1, 6], ids=["at once", "amid arguments"])
async def test_broken_stream_is_an_error_of_its_kind(
    provider: ProviderServer, how: Breaking, last: Event | bytes, kind: str, after: int
) -> None:
    """No call of it is heard of, but what it cost so far is: its input, and who knows what."""
    # SM-02, issue 3 item 6
    provider.answer(LONG_CALL, breaks=Break(how, after, last))

    failure = await failing(AnthropicAdapter(SILENCE if how == "stall" else PATIENCE))

    assert failure.kind == kind
    assert failure.usage
    assert (failure.usage.input_tokens, failure.usage.output_tokens) == (1000, 0)
    assert (failure.usage.tokens_known, failure.usage.estimated_cost) == (False, None)
    assert len(provider.requests) == 1


@pytest.mark.parametrize(
    ("counted", "known"), [(-1, True), (2, False)], ids=["behind all", "before more"]
)
async def test_a_count_is_the_last_one_behind_all_that_was_said(
    provider: ProviderServer, counted: int, *, known: bool
) -> None:
    """What a message says that it used is all of it only where nothing more was said."""
    sent = list(AnthropicRules().events(LONG_CALL))[:-1]
    sent.insert(counted % len(sent), sent.pop())
    provider.stream(
        "".join(f"event: {each.name}\ndata: {json.dumps(each.data)}\n\n" for each in sent)
    )

    failure = await failing(AnthropicAdapter())

    assert failure.usage
    assert (failure.usage.output_tokens > 1, failure.usage.tokens_known) == (known, known)


async def test_end_amid_a_block_is_none(provider: ProviderServer) -> None:
    """A message that is said to be whole before its last block is can't be read."""
    provider.answer(LONG_CALL, breaks=Break("end", 6, event("message_stop")))

    assert (await failing(AnthropicAdapter())).kind == "unreadable"


async def test_nothing_is_known_of_a_stream_that_says_nothing(provider: ProviderServer) -> None:
    """A stream that breaks before its first event has no usage."""
    provider.answer(message(text("ok")), breaks=Break("cut"))

    failure = await failing(AnthropicAdapter())

    assert (failure.kind, failure.usage) == ("cut_off", None)


async def test_unknown_events_are_told_of(provider: ProviderServer) -> None:
    """An event that nobody knows changes nothing, and a delta of a new kind grows its field."""
    # T-27
    sent = list(AnthropicRules().events(message({"type": "hologram", "edges": 1})))
    news = [
        event("weather_report", sun=True),
        event("content_block_delta", index=0, delta={"type": "light_delta", "light": "re"}),
        event(
            "content_block_delta", index=0, delta={"type": "light_delta", "light": "d", "nm": 7}
        ),
    ]
    sent[2:2] = news
    provider.stream(
        "".join(f"event: {each.name}\ndata: {json.dumps(each.data)}\n\n" for each in sent)
    )

    reply = await asked(provider)

    assert reply.parts[0].native == {"type": "hologram", "edges": 1, "light": "red", "nm": 7}
    assert "anthropic sent an event of type 'weather_report', which this release doesn't read" in (
        reply.notes
    )
