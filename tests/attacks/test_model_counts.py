"""Attacks by numbers: what a model's provider says that it counted, and any other number of it."""

import json
from collections.abc import Iterator

import pytest
from pydantic import JsonValue
from temporalio.contrib.pydantic import pydantic_data_converter

from holdfast import Agent, App, Budget
from holdfast.adapters import wire
from holdfast.adapters.anthropic import AnthropicAdapter
from holdfast.adapters.base import ProviderAdapter
from holdfast.contracts.base import JsonObject
from holdfast.contracts.bounds import MAX_FAILURE_BYTES, size
from holdfast.contracts.errors import ModelError
from holdfast.contracts.model import ModelReply
from holdfast.contracts.usage import CallUsage
from tests.adapters import conversations as say
from tests.adapters.dialects import DIALECTS, Dialect
from tests.adapters.provider_server import Break, ProviderServer
from tests.adapters.rules.strict import Event
from tests.memory.runs import MemoryRuns

HUGE = 10**400
LIES: dict[str, JsonValue] = {
    "beyond all": HUGE,
    "a trillion": 10**12,
    "negative": -1,
    "infinite": float("inf"),
    "no number": float("nan"),
    "a fraction": 0.5,
    "a text": "12",
    "nothing": None,
    "yes": True,
    "a list": [1],
}


async def outcome(adapter: ProviderAdapter, dialect: Dialect) -> ModelReply | ModelError:
    try:
        return await adapter.respond(say.request(dialect.samples.MODEL))
    except ModelError as error:
        return error


def counting(dialect: Dialect, counter: int, value: JsonValue) -> JsonObject:
    """A reply whose provider counts like this."""
    names = dialect.samples.COUNTERS
    usage: JsonObject = {**dict.fromkeys(names, 1), names[counter]: value}
    return {**dialect.samples.WORDS, dialect.samples.USAGE: usage}


@pytest.mark.parametrize("counter", [0, 1], ids=["input", "output"])
@pytest.mark.parametrize("lie", LIES.values(), ids=list(LIES))
async def test_a_count_that_can_be_none_is_unknown(
    provider: ProviderServer,
    dialect: Dialect,
    adapter: ProviderAdapter,
    counter: int,
    lie: JsonValue,
) -> None:
    """The reply counts, what it used is unknown: neither its tokens nor its price are 0."""
    provider.answer(counting(dialect, counter, lie), headers={"x-unstreamed": "yes"})
    provider.answer(counting(dialect, counter, lie))

    for _ in range(2):
        came = await outcome(adapter, dialect)
        if isinstance(came, ModelError):  # no JSON has such a number: the whole answer is none
            assert isinstance(lie, float)
            assert came.kind == "unreadable"
        else:
            assert came.text == "In Köln."
            assert (came.usage.tokens_known, came.usage.estimated_cost) == (False, None)
            assert max(came.usage.input_tokens, came.usage.output_tokens) <= 1


def many(what: str) -> JsonObject:
    """Two megabytes of counters; the names say *what* they are of."""
    names = (f"{what}{number}" * 12 for number in range(20_000))
    return {"\x1b": 1, "x" * 1000: 1, **dict.fromkeys(names, 1)}


async def test_usage_is_small_whatever_is_counted(
    provider: ProviderServer, dialect: Dialect, adapter: ProviderAdapter
) -> None:
    """It stands in heartbeats, failures, states and results, and sums of it do."""
    total = CallUsage()
    for turn in range(4):
        short: JsonObject = {f"c{turn}_{number}": 1 for number in range(1000)}
        usage = wire.as_object(counting(dialect, 0, 1)[dialect.samples.USAGE])
        details = ("prompt_tokens_details", "completion_tokens_details", "server_tool_use")
        fields: JsonObject = dict.fromkeys(details, short)
        raw: JsonObject = {
            **dialect.samples.WORDS,
            dialect.samples.USAGE: {**many(f"k{turn}"), **fields, **usage},
        }
        provider.answer(raw, headers={"x-unstreamed": "yes"})
        came = await outcome(adapter, dialect)
        assert isinstance(came, ModelReply)
        total += came.usage

    assert (total.input_tokens, total.output_tokens, total.tokens_known) == (4, 4, True)
    assert size(total) < MAX_FAILURE_BYTES


async def test_no_usage_hides_a_failed_attempt(
    memory_runs: MemoryRuns, provider: ProviderServer
) -> None:
    """What a failed attempt used travels in its heartbeat, as does that it has failed."""
    # BY-09
    used: JsonObject = {"prompt_tokens": 1, "completion_tokens": 1, **many("k")}
    chunks: list[JsonObject] = [
        {"choices": [], "usage": used},
        {"error": {"message": "overloaded", "code": "overloaded_error"}},
    ]
    budget = Budget(max_model_retries=1, max_wall_time=30)
    model = f"openai-chat:{DIALECTS['openai-chat'].samples.MODEL}"
    app = App(agents=[Agent(name="it", instructions="x", models=[model], budget=budget)])
    for _ in range(5):
        provider.stream("".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks))
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        result = await run.result()

    assert (result.answer, len(provider.requests)) == (None, 2)


def places(value: JsonValue, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Where numbers stand in an answer."""
    match value:
        case dict():
            for name, entry in value.items():
                yield from places(entry, (*path, name))
        case list():
            for place, entry in enumerate(value):
                yield from places(entry, (*path, place))
        case int() | float() if not isinstance(value, bool):
            yield path
        case _:
            pass


def changed(value: JsonValue, path: tuple[str | int, ...], number: JsonValue) -> JsonValue:
    """Return an answer with another number in one place."""
    if not path:
        return number
    copied = json.loads(json.dumps(value))
    inner = copied
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = number
    return copied


@pytest.mark.parametrize(
    "number",
    [HUGE, -HUGE, -1, 2**64, 1e308],
    ids=["huge", "minus huge", "negative", "64 bits", "a float"],
)
@pytest.mark.parametrize("streamed", [True, False], ids=["stream", "whole"])
async def test_no_number_wedges_a_run(
    provider: ProviderServer,
    dialect: Dialect,
    adapter: ProviderAdapter,
    number: float,
    *,
    streamed: bool,
) -> None:
    """Whichever number of an answer is another: it is a reply that history keeps, or an error."""
    for sample in (dialect.samples.CACHED, dialect.samples.TWO_CALLS):
        provider.answer(sample)
        await adapter.respond(say.request(dialect.samples.MODEL))
        events = list(provider.events(provider.requests[-1].path, sample))
        for attack in streams(events, number) if streamed else wholes(sample, number):
            if isinstance(attack, str):
                provider.stream(attack)
            else:
                provider.answer(attack, headers={"x-unstreamed": "yes"})
            came = await outcome(adapter, dialect)
            if isinstance(came, ModelError):
                assert came.kind in {"unreadable", "cut_off"}
            else:
                await kept(came)


def wholes(sample: JsonObject, number: float) -> Iterator[JsonObject]:
    """A reply with another number in each place."""
    for place in places(sample):
        attack = changed(sample, place, number)
        assert isinstance(attack, dict)
        yield attack


def streams(events: list[Event], number: float) -> Iterator[str]:
    """The same as a stream, in which each event is wrong once in each place."""
    for wrong, event in enumerate(events):
        for place in places(event.data):
            bad = event._replace(data=changed(event.data, place, number))
            yield "".join(map(sse, [*events[:wrong], bad, *events[wrong + 1 :]]))


async def kept(reply: ModelReply) -> None:
    """Have history keep a reply, and read it again."""
    (payload,) = await pydantic_data_converter.encode([reply])
    (again,) = await pydantic_data_converter.decode([payload], [ModelReply])
    assert again == reply
    assert (again.usage + again.usage).model_dump_json()


def sse(event: Event) -> str:
    name = f"event: {event.name}\n" if event.name else ""
    data = json.dumps(event.data) if event.text is None else event.text
    return f"{name}data: {data}\n\n"


def limited(dialect: Dialect, budget: JsonObject) -> App:
    """Return an app whose one agent asks this provider within a budget."""
    model = f"{dialect.name}:{dialect.samples.MODEL}"
    limits = Budget.model_validate(budget)
    return App(agents=[Agent(name="it", instructions="x", models=[model], budget=limits)])


@pytest.mark.parametrize(
    ("lie", "limit", "stop"),
    [
        (HUGE, {"max_tokens": 100}, "max_tokens (100) can't be kept"),
        (-1, {"max_tokens": 100}, "max_tokens (100) can't be kept"),
        (None, {"max_tokens": 100}, "max_tokens (100) can't be kept"),
        (HUGE, {"max_input_tokens": 100}, "max_input_tokens (100) can't be kept"),
        (HUGE, {"max_output_tokens": 100}, "max_output_tokens (100) can't be kept"),
        (HUGE, {"max_cost": "1.5"}, "max_cost (1.5) can't be kept"),
        (HUGE, {"max_steps": 2}, "max_steps (2) reached"),
    ],
)
async def test_a_limit_that_nobody_can_keep_stops_the_run(
    memory_runs: MemoryRuns,
    provider: ProviderServer,
    dialect: Dialect,
    limit: JsonObject,
    stop: str,
    lie: JsonValue,
) -> None:
    """A server that lies about what it used, or keeps silent, gets no more than one turn."""
    app = limited(dialect, limit)
    name = dialect.samples.USAGE
    usage = counting(dialect, 1, lie)[name]
    for _ in range(2):
        provider.answer({**dialect.samples.TWO_CALLS, name: usage})
    async with memory_runs.working(app):
        result = await (await memory_runs.start("it")).result()

    assert result.stop is not None
    assert (result.status, result.stop.reason) == ("stopped", stop)
    assert result.steps == (2 if "max_steps" in limit else 1)


@pytest.mark.parametrize("limit", ["max_tokens", "max_output_tokens", "max_cost"])
async def test_no_limit_outlives_a_reply_that_was_cut(
    memory_runs: MemoryRuns, provider: ProviderServer, dialect: Dialect, limit: str
) -> None:
    """What a stream used that began and broke is unsaid: no other attempt is made."""
    app = limited(dialect, {limit: 10**6})
    provider.answer(dialect.samples.WORDS, breaks=Break("cut", after=3))
    async with memory_runs.working(app):
        result = await (await memory_runs.start("it")).result()

    assert result.stop is not None
    assert result.status == "stopped"
    assert result.stop.reason.startswith(limit)
    assert result.stop.reason.endswith("can't be kept")
    assert len(provider.requests) == 1


@pytest.mark.parametrize("headers", [{}, {"x-unstreamed": "yes"}], ids=["stream", "whole"])
async def test_a_reply_that_nobody_can_read_was_paid_for(
    provider: ProviderServer, dialect: Dialect, adapter: ProviderAdapter, headers: dict[str, str]
) -> None:
    """What it used counts, or is unsaid; it is never nothing."""
    unnamed: JsonObject = {**dialect.samples.WORDS, "model": {"no": "name"}, "choices": [1]}
    provider.answer(unnamed, headers=headers)
    error = await outcome(adapter, dialect)

    assert isinstance(error, ModelError)
    assert error.kind in {"unreadable", "cut_off"}
    assert error.usage is not None


def test_a_block_that_nobody_can_read_takes_nothing_from_what_was_used() -> None:
    """The message around it says that."""
    used: JsonObject = {"input_tokens": 7, "output_tokens": 5}
    raw: JsonObject = {"model": "it", "content": [{"type": "text", "text": 1}], "usage": used}

    with pytest.raises(ModelError) as raised:
        AnthropicAdapter().parse_response(raw)

    assert raised.value.usage is not None
    assert raised.value.usage.total_tokens == 12
