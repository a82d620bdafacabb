"""The contract suite: what every adapter must pass."""

import inspect
import json

import pytest
from pydantic import JsonValue

from adapters.base import ModelAdapter, ProviderAdapter
from contracts.base import JsonObject
from contracts.model import FinalAnswer, ModelReply, ModelRequest, StopCause
from contracts.tools import ToolCall, ToolResult, ToolSuccess
from contracts.transcript import AssistantTurn, ToolTurn
from tests.adapters import conversations as say
from tests.adapters.dialects import ADAPTERS, Samples
from tests.adapters.provider_server import ProviderServer

FIRST = ToolCall(
    call_id="call_1", name="find_order", arguments={"order_id": 2**53 + 1, "max": 0.1}
)
SECOND = ToolCall(call_id="call_2", name="find_order", arguments={})

WHOLE = (
    "WORDS",
    "TWO_CALLS",
    "REASONING",
    "CACHED",
    "UNCOUNTED",
    "REFUSAL",
    "CUT_SHORT",
    "STRANGE",
)
"""The replies of the samples."""


def sample(samples: Samples, name: str) -> JsonObject:
    return getattr(samples, name)


def objects(value: JsonValue) -> list[JsonObject]:
    """Every object inside of a value, and itself."""
    match value:
        case dict():
            return [value, *(inner for part in value.values() for inner in objects(part))]
        case list():
            return [inner for part in value for inner in objects(part)]
        case _:
            return []


def holds(value: JsonValue, part: JsonObject) -> bool:
    """Whether an object inside of a value has all fields of *part*, as they are there."""
    return any(part.items() <= found.items() for found in objects(value))


def native_fields(reply: ModelReply) -> set[str]:
    """The names of all that a reply holds in its provider's own words."""
    return {name for part in reply.parts for name in part.native}


def untimed(reply: ModelReply) -> ModelReply:
    return reply.model_copy(update={"latency_ms": 0, "first_token_ms": 0})


def turn(model: str, reply: ModelReply) -> AssistantTurn:
    """A reply as a run keeps it."""
    return AssistantTurn(model=model, text=reply.text, calls=reply.calls, parts=reply.parts)


def answered(said: AssistantTurn) -> ToolTurn:
    """A result for each call."""
    return ToolTurn(
        results=tuple(
            ToolSuccess(call_id=call.call_id, name=call.name, summary=f"result of {call.call_id}")
            for call in said.calls
        )
    )


def flaws(adapter: object) -> list[str]:
    """What an adapter lacks of the interface: methods, or their parameters."""
    promised = {**vars(ModelAdapter), **vars(ProviderAdapter)}
    methods = {
        name: list(inspect.signature(method).parameters)[1:]
        for name, method in promised.items()
        if inspect.isfunction(method) and not name.startswith("_")
    }
    return [
        name
        for name, parameters in methods.items()
        if not callable(getattr(adapter, name, None))
        or list(inspect.signature(getattr(adapter, name)).parameters) != parameters
    ]


def test_interface_is_whole(adapter: ProviderAdapter) -> None:
    """Every adapter has all methods of the seam, with their parameters, and a name."""
    # AD-12
    assert flaws(adapter) == []
    assert adapter.provider in ADAPTERS


def test_missing_method_is_noticed() -> None:
    """An adapter without one of the methods, or with another one of that name, doesn't pass."""
    # AD-12

    class Half:
        def build_request(self, request: ModelRequest) -> None: ...

        def extract_usage(self) -> None: ...

    assert set(flaws(Half())) == {
        "respond",
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

    assert reply.events == (FinalAnswer(content="In Köln."),)
    assert native_fields(reply) <= {"id"}
    assert reply.notes == ()
    assert reply.model.startswith(f"{adapter.provider}:")


def test_words_and_calls_come_in_order(adapter: ProviderAdapter, samples: Samples) -> None:
    """Text and several calls of one reply become as many events, equal for all providers."""
    # AD-07, AD-13, AD-16
    reply = adapter.parse_response(samples.TWO_CALLS)

    assert reply.events == (FinalAnswer(content="Let me see."), FIRST, SECOND)
    assert native_fields(reply) <= {"id"}


@pytest.mark.parametrize(
    ("name", "stop"),
    [
        ("WORDS", "end_turn"),
        ("TWO_CALLS", "tool_use"),
        ("REASONING", "tool_use"),
        ("REFUSAL", "refusal"),
        ("CUT_SHORT", "max_tokens"),
    ],
)
def test_stop_is_told_in_our_words(
    adapter: ProviderAdapter, samples: Samples, name: str, stop: StopCause
) -> None:
    """Why a reply ended is the same word for all providers; only an end is taken for one."""
    # LP-08, T-48
    assert adapter.parse_response(sample(samples, name)).stop == stop


@pytest.mark.parametrize("name", ["REFUSAL", "CUT_SHORT"])
def test_partial_call_is_never_told(adapter: ProviderAdapter, samples: Samples, name: str) -> None:
    """A call that may not be whole is nowhere in a reply."""
    # SM-01, SM-02
    reply = adapter.parse_response(sample(samples, name))

    assert reply.calls == ()
    assert [part for part in reply.parts if part.kind == "call"] == []
    assert reply.text


def test_usage_is_counted_alike(adapter: ProviderAdapter, samples: Samples) -> None:
    """What a cache had to do with it is told for each provider, and its own counters are kept."""
    # AD-15, AD-19, PP-07, T-26
    usage = adapter.extract_usage(samples.CACHED)

    assert (usage.input_tokens, usage.cached_tokens, usage.cache_write_tokens) == (1000, 200, 50)
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
    assert holds(kept[0].native, samples.UNKNOWN)
    assert [note for note in reply.notes if "hologram" in note]


@pytest.mark.parametrize("name", WHOLE)
async def test_streamed_is_as_unstreamed(
    provider: ProviderServer, adapter: ProviderAdapter, samples: Samples, name: str
) -> None:
    """The same reply is the same, whether it comes in pieces, at once, or from a file."""
    # AD-09
    raw = sample(samples, name)
    provider.answer(raw)
    provider.answer(raw, headers={"x-unstreamed": "yes"})

    streamed = await adapter.respond(say.request(samples.MODEL))
    at_once = await adapter.respond(say.request(samples.MODEL))

    assert untimed(streamed) == untimed(at_once)
    assert streamed.events == adapter.parse_response(raw).events
    assert 0 < streamed.first_token_ms <= streamed.latency_ms
    assert all(received.body["stream"] is True for received in provider.requests)


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


async def test_results_go_back_to_their_calls(
    provider: ProviderServer, adapter: ProviderAdapter, samples: Samples
) -> None:
    """A strict server takes the turn that answers what it asked: each call once, in order."""
    # AD-05, AD-08, AD-21, PP-01, T-21
    provider.answer(samples.TWO_CALLS)
    provider.answer(samples.WORDS)

    first = await adapter.respond(say.request(samples.MODEL))
    asked = turn(f"{adapter.provider}:{samples.MODEL}", first)
    results = answered(asked)
    second = await adapter.respond(
        say.request(samples.MODEL, say.GOAL, asked, results, say.STEERED)
    )

    assert second.events == (FinalAnswer(content="In Köln."),)
    sent = json.dumps(provider.requests[1].body)
    assert all(
        holds(provider.requests[1].body, adapter.build_tool_result(result))
        for result in results.results
    )
    assert sent.index("result of call_1") < sent.index("result of call_2") < sent.index("Hurry.")


async def test_thoughts_go_back_whole_or_not_at_all(
    provider: ProviderServer, adapter: ProviderAdapter, samples: Samples
) -> None:
    """Reasoning goes back unchanged to the model that it came from, if the API takes it."""
    # T-25; facts B.19
    provider.answer(samples.REASONING)
    provider.answer(samples.WORDS)

    reply = await adapter.respond(say.request(samples.MODEL))
    thought = turn(f"{adapter.provider}:{samples.MODEL}", reply)
    await adapter.respond(say.request(samples.MODEL, say.GOAL, thought, answered(thought)))

    assert [part.kind for part in reply.parts] == ["reasoning", "call"]
    assert "Two orders." in reply.parts[0].model_dump_json()
    if samples.REASONED is None:
        assert "Two orders." not in json.dumps(provider.requests[1].body)
    else:
        assert holds(provider.requests[1].body, samples.REASONED)


def test_thoughts_of_another_model_stay_away(adapter: ProviderAdapter, samples: Samples) -> None:
    """What only the model understands that wrote it is shown to no other."""
    # AD-04, T-25
    reply = adapter.parse_response(samples.REASONING)
    thought = turn("other:model", reply)

    sent = json.dumps(
        adapter.build_request(say.request(samples.MODEL, say.GOAL, thought, answered(thought)))
    )

    assert "result of call_1" in sent
    assert "Two orders." not in sent


@pytest.mark.parametrize(
    ("result", "text"),
    [
        pytest.param(say.FOUND, say.FOUND_TEXT, id="success"),
        pytest.param(say.NOT_FOUND, say.NOT_FOUND_TEXT, id="failure"),
    ],
)
def test_result_keeps_its_call_id(adapter: ProviderAdapter, result: ToolResult, text: str) -> None:
    """A result names its call in the provider's own field, and says the same to every model."""
    # AD-08, AD-14, AD-17
    rendered = adapter.build_tool_result(result)

    assert result.call_id in rendered.values()
    assert text in rendered.values()


def test_schema_is_the_same_for_every_model(adapter: ProviderAdapter, samples: Samples) -> None:
    """A tool's schema reaches every provider as it is."""
    # AD-06, TC-01
    tools = adapter.build_request(say.request(samples.MODEL))["tools"]

    assert say.ORDER_SCHEMA in objects(tools)


@pytest.mark.parametrize(
    "ids",
    [
        pytest.param(("c1", "c2"), id="plain"),
        pytest.param(("functions.find:0", "functions.find:1"), id="punctuation"),
        pytest.param(("a.b", "a:b"), id="alike but for what isn't allowed"),
        pytest.param(("é" * 9, "ö" * 9), id="letters from elsewhere"),
        pytest.param(("x" * 99 + "1", "x" * 99 + "2"), id="long"),
    ],
)
async def test_turns_of_another_provider_are_understood(
    provider: ProviderServer, adapter: ProviderAdapter, samples: Samples, ids: tuple[str, str]
) -> None:
    """A run that changes its model in the middle sends the new one everything there was."""
    # AD-04, LP-09
    calls = tuple(ToolCall(call_id=name, name="find_order", arguments={}) for name in ids)
    asked = AssistantTurn(model="other:model", text="Let me see.", calls=calls)
    provider.answer(samples.WORDS)

    reply = await adapter.respond(
        say.request(samples.MODEL, say.GOAL, asked, answered(asked), say.STEERED)
    )

    assert reply.text == "In Köln."
    sent = json.dumps(provider.requests[0].body, ensure_ascii=False)
    assert sent.count(f"result of {ids[0]}") == sent.count(f"result of {ids[1]}") == 1
