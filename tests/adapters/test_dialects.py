"""The contract suite, first half: what every adapter reads, and that it is one."""

from dataclasses import replace

import pytest

from holdfast.adapters.base import ProviderAdapter
from holdfast.adapters.contract import find_missing_methods
from holdfast.contracts.base import JsonObject
from holdfast.contracts.bounds import MAX_CALLS_PER_REPLY
from holdfast.contracts.calls import MalformedCall, ToolCall
from holdfast.contracts.model import ModelReply, ModelRequest, StopCause
from tests.adapters import conversations as say
from tests.adapters.dialects import DIALECTS, Dialect, Samples
from tests.adapters.provider_server import ProviderServer

MALFORMED = MalformedCall(call_id="call_1", name="find_order", raw_arguments="[4]")
FIRST = ToolCall(
    call_id="call_1", name="find_order", arguments={"order_id": 2**53 + 1, "max": 0.1}
)
SECOND = ToolCall(call_id="call_2", name="find_order", arguments={})

WHOLE = (
    "WORDS",
    "TWO_CALLS",
    "MALFORMED",
    "REASONING",
    "MARKED",
    "STRANGE",
    "REFUSAL",
    "FILTERED",
    "PAUSED",
    "OVERFULL",
    "CUT_SHORT",
    "CACHED",
    "UNCOUNTED",
    "SEARCHED",
)
"""The replies of the samples."""


def sample(samples: Samples, name: str) -> JsonObject | None:
    """Return a reply; null where the provider has no such thing."""
    return getattr(samples, name)


def native_fields(reply: ModelReply) -> set[str]:
    """The names of all that a reply holds in its provider's own words."""
    return {name for part in reply.parts for name in part.native}


def untimed(reply: ModelReply) -> ModelReply:
    return reply.model_copy(update={"latency_ms": 0, "first_token_ms": 0})


async def test_no_provider_is_asked_with_the_key_of_another(
    provider: ProviderServer, dialect: Dialect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server of these tests refuses such a key, so an adapter that looks elsewhere fails."""
    keys = {one.key for one in DIALECTS.values()} - {dialect.key}
    for key in keys:
        monkeypatch.setenv(dialect.key_variable, key)
        failure = await say.failure(dialect.adapter(), dialect.samples.MODEL)
        assert "the key of another provider" in str(failure)

    assert keys


def test_interface_is_whole(adapter: ProviderAdapter) -> None:
    """Every adapter has all methods of the seam, with their parameters."""
    # AD-12
    assert find_missing_methods(adapter) == []


def test_missing_method_is_noticed() -> None:
    """An adapter without one of the methods, or with another one of that name, doesn't pass."""
    # AD-12

    class Half:
        def build_request(self, request: ModelRequest) -> None: ...

        def extract_usage(self) -> None: ...

    assert set(find_missing_methods(Half())) == {
        "provider",
        "credentials",
        "hosted_tools",
        "respond",
        "find_listing",
        "find_refused_settings",
        "merge_state",
        "build_tool_result",
        "assemble",
        "parse_response",
        "extract_usage",
    }


def test_words_are_the_answer(adapter: ProviderAdapter, samples: Samples) -> None:
    """A reply of nothing but words is the same for all; of its provider it has an id at most."""
    # AD-07
    reply = adapter.parse_response(samples.WORDS)

    assert (reply.text, reply.calls) == ("In Köln.", ())
    assert native_fields(reply) <= {"id"}
    assert reply.notes == ()
    assert reply.model.startswith(f"{adapter.provider}:")


def test_words_and_calls_come_in_order(adapter: ProviderAdapter, samples: Samples) -> None:
    """Text and several calls of one reply become as many events, equal for all providers."""
    # AD-07, AD-13, AD-16
    reply = adapter.parse_response(samples.TWO_CALLS)

    assert (reply.text, reply.calls) == ("Let me see.", (FIRST, SECOND))
    assert native_fields(reply) <= {"id"}


@pytest.mark.parametrize(
    ("name", "stop"),
    [
        ("WORDS", "end_turn"),
        ("TWO_CALLS", "tool_use"),
        ("REASONING", "tool_use"),
        ("MALFORMED", "tool_use"),
        ("REFUSAL", "refusal"),
        ("FILTERED", "content_filter"),
        ("PAUSED", "pause"),
        ("OVERFULL", "context_overflow"),
        ("CUT_SHORT", "max_tokens"),
    ],
)
def test_stop_is_told_in_our_words(
    adapter: ProviderAdapter, samples: Samples, name: str, stop: StopCause
) -> None:
    """Why a reply ended is the same word for all providers; only an end is taken for one."""
    # LP-08, T-48
    raw = sample(samples, name)

    assert raw is None or adapter.parse_response(raw).stop == stop


@pytest.mark.parametrize("name", ["REFUSAL", "FILTERED", "OVERFULL", "CUT_SHORT"])
def test_partial_call_is_never_told(adapter: ProviderAdapter, samples: Samples, name: str) -> None:
    """A call that may not be whole is nowhere in a reply."""
    # SM-01, SM-02
    if raw := sample(samples, name):
        reply = adapter.parse_response(raw)

        assert reply.calls == ()
        assert [part for part in reply.parts if part.kind == "call"] == []
        assert reply.text


def test_arguments_that_are_none_are_told(adapter: ProviderAdapter, samples: Samples) -> None:
    """A call whose arguments are no object has what came in their place."""
    # AD-16
    assert adapter.parse_response(samples.MALFORMED).calls == (MALFORMED,)


@pytest.mark.parametrize("form", [{}, {"x-unstreamed": "yes"}], ids=["stream", "whole"])
async def test_calls_are_bounded(
    provider: ProviderServer, adapter: ProviderAdapter, samples: Samples, form: dict[str, str]
) -> None:
    """As many calls as a reply may have are taken; one more is refused, and paid for."""
    for count in (MAX_CALLS_PER_REPLY, MAX_CALLS_PER_REPLY + 1):
        provider.answer(samples.many_calls(count), headers=form)

    reply = await adapter.respond(say.request(samples.MODEL))
    error = await say.failure(adapter, samples.MODEL)

    assert len({call.call_id for call in reply.calls}) == MAX_CALLS_PER_REPLY
    assert (error.kind, error.usage) == ("unreadable", reply.usage)
    assert f"more than {MAX_CALLS_PER_REPLY} calls" in str(error)


def test_usage_is_counted_alike(adapter: ProviderAdapter, samples: Samples) -> None:
    """What a cache had to do with it is told for each provider, and its own counters are kept."""
    # AD-15, AD-19, PP-07, T-26
    usage = adapter.extract_usage(samples.CACHED)

    assert (usage.input_tokens, usage.cached_tokens) == (1000, 200)
    assert usage.cache_write_tokens == samples.CACHE_WRITTEN
    assert (usage.output_tokens, usage.reasoning_tokens) == (100, 40)
    assert usage.native[adapter.provider].items() >= samples.CACHE_COUNTERS.items()
    assert adapter.parse_response(samples.CACHED).usage == usage


def test_unknown_usage_is_no_usage(adapter: ProviderAdapter, samples: Samples) -> None:
    """A reply without usage counts nothing, and its price is unknown instead of 0."""
    # AD-15
    usage = adapter.extract_usage(samples.UNCOUNTED)

    assert (usage.total_tokens, usage.estimated_cost) == (0, None)


def test_what_nobody_knows_is_kept_and_told(adapter: ProviderAdapter, samples: Samples) -> None:
    """A piece of an unknown kind is neither fatal nor lost, and the run is told of it."""
    # T-27
    reply = adapter.parse_response(samples.STRANGE)

    kept = [part for part in reply.parts if part.kind == "other"]
    assert reply.text == "ok"
    assert [part.name for part in kept] == ["hologram"]
    assert say.holds(kept[0].native, samples.UNKNOWN)
    assert [note for note in reply.notes if "hologram" in note]


@pytest.mark.parametrize("name", WHOLE)
async def test_streamed_is_as_unstreamed(
    provider: ProviderServer, adapter: ProviderAdapter, samples: Samples, name: str
) -> None:
    """The same reply is the same, whether it comes in pieces, at once, or from a file."""
    # AD-09
    raw = sample(samples, name)
    if raw is None:
        return
    provider.answer(raw)
    provider.answer(raw, headers={"x-unstreamed": "yes"})

    streamed = await adapter.respond(say.request(samples.MODEL))
    at_once = await adapter.respond(say.request(samples.MODEL))
    read = adapter.parse_response(raw)

    assert untimed(streamed) == untimed(at_once)
    assert (streamed.text, streamed.calls) == (read.text, read.calls)
    assert 0 < streamed.first_token_ms <= streamed.latency_ms
    assert all(map(provider.asks_for_stream, provider.requests))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("WORDS", "In Köln."),
        ("TWO_CALLS", "Let me see."),
        ("REASONING", ""),
        ("MALFORMED", ""),
        ("STRANGE", "ok"),
    ],
)
async def test_words_are_heard_while_they_come(
    adapter: ProviderAdapter, samples: Samples, provider: ProviderServer, name: str, words: str
) -> None:
    """No thoughts, and nothing of calls; and the reply is the same as if nobody listened."""
    # T-32
    heard: list[str] = []
    asked = say.request(samples.MODEL)
    response = sample(samples, name)
    assert response is not None
    provider.answer(response)
    unheard = await adapter.respond(asked)
    provider.answer(response)
    reply = await adapter.respond(replace(asked, on_text=heard.append))

    assert untimed(reply) == untimed(unheard)
    assert "".join(heard) == words


@pytest.mark.parametrize("kind", ["text/plain", "application/octet-stream", ""])
async def test_stream_needs_no_label(
    provider: ProviderServer, adapter: ProviderAdapter, samples: Samples, kind: str
) -> None:
    """Servers that stream without saying so are understood."""
    provider.stream(samples.HALVES, kind)

    assert (await adapter.respond(say.request(samples.MODEL))).stop == "tool_use"


@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", "application/x+JSON"])
async def test_whole_reply_is_understood(
    provider: ProviderServer, adapter: ProviderAdapter, samples: Samples, kind: str
) -> None:
    """Servers that don't stream although they were asked to are understood."""
    provider.answer(samples.WORDS, headers={"x-unstreamed": "yes", "content-type": kind})

    assert (await adapter.respond(say.request(samples.MODEL))).text == "In Köln."


async def test_arguments_count_when_they_are_whole(
    provider: ProviderServer, adapter: ProviderAdapter, samples: Samples
) -> None:
    """Pieces of arguments that look like an end are none: 1 and then 00 is 100."""
    # PP-06
    provider.stream(samples.HALVES)

    reply = await adapter.respond(say.request(samples.MODEL))

    assert reply.calls == (ToolCall(call_id="call_1", name="pay", arguments={"amount": 100}),)
