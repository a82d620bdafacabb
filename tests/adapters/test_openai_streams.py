"""Streams of OpenAI Responses: read to their end before anything of them counts."""

import pytest

from holdfast.adapters.openai import OpenAIAdapter
from holdfast.contracts.base import JsonObject
from holdfast.contracts.errors import FailureKind, ModelError, ModelUnavailable
from holdfast.contracts.model import ModelReply
from holdfast.contracts.usage import UNKNOWN_USAGE
from tests.adapters.provider_server import (
    Break,
    Breaking,
    ProviderServer,
)
from tests.adapters.rules import responses_stream
from tests.adapters.rules.strict import Event
from tests.adapters.samples.openai_items import ask, call, message, response, said, text, thought

EVERYTHING = response(
    thought(),
    message("Let me see: \U0001f9d0 \\u00e9 “Köln”.", phase="commentary"),
    {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"query": "a"}},
    {"type": "hologram", "id": "ho_1", "edges": 12},
    call(1, '{"order_id": 4, "note": "a \\"quoted\\" \\u00e9 \\\\ \U0001f9d0"}'),
    call(2, "{}"),
    {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c3", "name": "sql", "input": "a\nb"},
)
HALF = response(
    message("So far", status="incomplete"),
    status="incomplete",
    incomplete_details={"reason": "max_output_tokens"},
)
REFUSED = response(said({"type": "refusal", "refusal": "I can't help with that."}))
ANSWER = response(said(text("In Köln.")))
DONE_SECOND = ("response.output_item.done", 1)


def untimed(reply: ModelReply) -> ModelReply:
    return reply.model_copy(update={"latency_ms": 0, "first_token_ms": 0})


def events(raw: JsonObject) -> list[JsonObject]:
    return [event.data for event in responses_stream.events(raw)]


def emptied(raw: JsonObject) -> list[JsonObject]:
    """The events of a response, the last of which leaves its output out."""
    *told, last = events(raw)
    empty: JsonObject = {"response": {**raw, "output": []}}
    return [*told, last | empty]


async def failure(provider: ProviderServer) -> ModelError:
    """Ask, and return how that failed."""
    with pytest.raises(ModelError) as raised:
        await OpenAIAdapter().respond(ask())
    return raised.value


@pytest.mark.parametrize("raw", [EVERYTHING, HALF, REFUSED, ANSWER])
async def test_streamed_is_unstreamed(provider: ProviderServer, raw: JsonObject) -> None:
    """The same response gives the same reply, whether it comes in pieces or as a whole."""
    # AD-09
    provider.answer(raw)
    provider.answer(raw, headers={"x-unstreamed": "yes"})
    adapter = OpenAIAdapter()

    streamed, whole = await adapter.respond(ask()), await adapter.respond(ask())

    assert untimed(streamed) == untimed(whole) == adapter.parse_response(raw)
    assert streamed.latency_ms >= streamed.first_token_ms > 0


def test_output_may_come_with_its_items_only() -> None:
    """Some servers leave the output of the last event empty; the items were all there."""
    # AD-09
    assert OpenAIAdapter().assemble(emptied(EVERYTHING)) == EVERYTHING


def test_items_stand_where_they_began() -> None:
    """Items that are done in another order keep the order of their numbers."""
    # SM-03, AD-09
    told = emptied(EVERYTHING)
    done = [event for event in told if event["type"] == DONE_SECOND[0]]
    others = [event for event in told if event not in done]

    raw = OpenAIAdapter().assemble([*others[:-1], *reversed(done), others[-1]])

    assert raw == EVERYTHING


def test_item_without_its_end_is_no_item() -> None:
    """What was begun and never done was cut, and nobody acts on it."""
    # SM-01, SM-02
    told = emptied(response(call(1, "{}"), call(2, "{}")))
    cut = [event for event in told if (event["type"], event.get("output_index")) != DONE_SECOND]

    reply = OpenAIAdapter().parse_response(OpenAIAdapter().assemble(cut))

    assert [asked.call_id for asked in reply.calls] == ["call_1"]


@pytest.mark.parametrize("how", ["cut", "end"])
@pytest.mark.parametrize("after", range(len(events(response(call(1, '{"a":1}'))))))
async def test_stream_without_its_last_event_is_cut_off(
    provider: ProviderServer, how: Breaking, after: int
) -> None:
    """Wherever it breaks, nothing of it is a reply, and nobody knows what one that began used."""
    # SM-01, SM-02
    provider.answer(response(call(1, '{"a":1}')), breaks=Break(how, after))

    error = await failure(provider)

    assert (error.kind, type(error)) == ("cut_off", ModelUnavailable)
    assert error.usage == (UNKNOWN_USAGE if after else None)
    assert len(provider.requests) == 1


async def test_stream_may_break_behind_its_last_event(provider: ProviderServer) -> None:
    """All was said by then."""
    whole = len(events(ANSWER))
    provider.answer(ANSWER, breaks=Break("cut", whole))

    assert (await OpenAIAdapter().respond(ask())).text == "In Köln."


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        pytest.param({"code": "server_error"}, "unavailable", id="server"),
        pytest.param({"code": "rate_limit_exceeded"}, "rate_limited", id="rate"),
        pytest.param({"code": "insufficient_quota"}, "quota", id="quota"),
        pytest.param({"code": "context_length_exceeded"}, "context_overflow", id="context"),
        pytest.param({"code": "server_is_overloaded"}, "overloaded", id="overloaded"),
        pytest.param({"error": {"code": "slow_down"}}, "overloaded", id="nested"),
        pytest.param({"type": None, "error": {"code": "slow_down"}}, "overloaded", id="untyped"),
        pytest.param({"error": {"type": "invalid_request_error"}}, "invalid_request", id="type"),
        pytest.param({"code": None}, "unavailable", id="no code"),
    ],
)
async def test_error_in_the_middle_is_sorted(
    provider: ProviderServer, error: JsonObject, kind: FailureKind
) -> None:
    """An error inside of a good answer means what it means with a status of its own."""
    event = Event({"type": "error", "sequence_number": 4, "message": "so it is"} | error, "error")
    provider.answer(ANSWER, breaks=Break("end", 4, event))

    error_of_it = await failure(provider)

    assert (error_of_it.kind, error_of_it.usage) == (kind, UNKNOWN_USAGE)
    assert len(provider.requests) == 1
