"""Streams of Chat Completions, as OpenAI sends them and as others do."""

import json
from datetime import timedelta

import pytest
from pydantic import JsonValue

from holdfast.adapters.openai_chat import OpenAIChatAdapter
from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import ToolCall
from holdfast.contracts.errors import ModelUnavailable
from holdfast.contracts.model import ModelReply
from tests.adapters import conversations as say
from tests.adapters.dialects import PATIENCE
from tests.adapters.provider_server import Break, Breaking, ProviderServer
from tests.adapters.samples.openai_chat import WORDS, completion

MODEL = "gpt-4.1"
UNSTREAMED = {"x-unstreamed": "yes"}
USAGE: JsonObject = {"prompt_tokens": 1000, "completion_tokens": 100}
COUNTED: JsonObject = {"choices": [], "usage": USAGE}


def chunk(delta: JsonObject, reason: str | None = None, **more: JsonValue) -> JsonObject:
    choice: JsonObject = {"index": 0, "delta": delta, "finish_reason": reason}
    return {"object": "chat.completion.chunk", "model": MODEL, "choices": [choice], **more}


def piece(
    arguments: JsonValue = None,
    *,
    index: int | None = 0,
    call_id: str | None = None,
    name: str | None = None,
) -> JsonObject:
    """A piece of a call; what is null is left out."""
    function = {"name": name, "arguments": arguments}
    told: JsonObject = {name: value for name, value in function.items() if value is not None}
    fields: JsonObject = {"index": index, "id": call_id, "function": told}
    return chunk({"tool_calls": [{name: v for name, v in fields.items() if v is not None}]})


def assembled(*chunks: JsonObject) -> ModelReply:
    adapter = OpenAIChatAdapter()
    return adapter.parse_response(adapter.assemble(chunks))


def pay(call_id: str, amount: int) -> ToolCall:
    return ToolCall(call_id=call_id, name="pay", arguments={"amount": amount})


def look(call_id: str) -> ToolCall:
    return ToolCall(call_id=call_id, name="look", arguments={})


async def test_reply_is_the_same_streamed_or_not(provider: ProviderServer) -> None:
    """Thoughts, words, calls and usage don't depend on how they travel."""
    # AD-09
    message: JsonObject = {
        "reasoning": "Two orders.",
        "reasoning_details": [{"index": 0, "type": "reasoning.text", "text": "Two orders."}],
        "content": "Let me see.",
        "tool_calls": [
            {
                "id": f"c{amount}",
                "type": "function",
                "function": {"name": "pay", "arguments": f'{{"amount": {amount}}}'},
                "extra_content": {"signature": "s"},
            }
            for amount in (1, 20000000)
        ],
    }
    whole = completion(message, "tool_calls")
    provider.answer(whole)
    provider.answer(whole, headers=UNSTREAMED)
    adapter = OpenAIChatAdapter()

    streamed = await adapter.respond(say.request(MODEL))
    unstreamed = await adapter.respond(say.request(MODEL))

    untimed = {"latency_ms": 0, "first_token_ms": 0}
    assert streamed.calls == (pay("c1", 1), pay("c20000000", 20000000))
    assert [part.kind for part in streamed.parts] == ["reasoning", "text", "call", "call"]
    assert streamed.model_copy(update=untimed) == unstreamed.model_copy(update=untimed)


@pytest.mark.parametrize(
    ("chunks", "calls"),
    [
        pytest.param(
            [piece("", call_id="c1", name="pay"), piece('{"amount":1'), piece("00}")],
            (pay("c1", 100),),
            id="id and name first",
        ),
        pytest.param(
            [piece(part, call_id="c1", name="pay") for part in ("", '{"amount":1', "00}")],
            (pay("c1", 100),),
            id="id and name always",
        ),
        pytest.param(
            [piece('{"amount":1', call_id="c1", name="pay"), piece("00}", call_id="", name="")],
            (pay("c1", 100),),
            id="id and name empty afterwards",
        ),
        pytest.param(
            [piece(part, call_id=part, name="pay") for part in ('{"amount":1', "00}")],
            (pay("00}", 100),),
            id="another id for each piece",
        ),
        pytest.param(
            [
                piece('{"amount":1', call_id="c1", name="pay"),
                piece('{"amount":2', index=1, call_id="c2", name="pay"),
                piece("}"),
                piece("}", index=1),
            ],
            (pay("c1", 1), pay("c2", 2)),
            id="two at once",
        ),
        pytest.param(
            [
                piece('{"amount":1}', call_id="c1", name="pay"),
                piece('{"amount":', call_id="c2", name="pay"),
                piece("2}"),
            ],
            (pay("c1", 1), pay("c2", 2)),
            id="all of them number 0",
        ),
        pytest.param(
            [piece("", call_id="c1", name="look"), piece("", call_id="c2", name="look")],
            (look("c1"), look("c2")),
            id="all of them number 0, and without arguments",
        ),
        pytest.param(
            [
                piece('{"amount":', index=None, call_id="c1", name="pay"),
                piece("1}", index=None),
                piece('{"amount":2}', index=None, call_id="c2", name="pay"),
            ],
            (pay("c1", 1), pay("c2", 2)),
            id="no numbers",
        ),
        pytest.param(
            [
                piece('{"amount":1', index=None, call_id="c1", name="pay"),
                piece('{"amount":2', index=None, call_id="c2", name="pay"),
                piece("}", index=None, call_id="c1"),
                piece("}", index=None, call_id="c2"),
            ],
            (pay("c1", 1), pay("c2", 2)),
            id="no numbers, but ids",
        ),
        pytest.param(
            [
                piece('{"amount":', call_id="c1", name="pay"),
                piece("1}"),
                piece('{"amount":1}', call_id="c1", name="pay"),
            ],
            (pay("c1", 1),),
            id="the whole call once more",
        ),
        pytest.param(
            [piece("{}", call_id="c1", name="pay"), piece('{"amount"'), piece(":1}")],
            (pay("c1", 1),),
            id="an empty object first",
        ),
        pytest.param(
            [piece({"amount": 1}, call_id="c1", name="pay")],
            (pay("c1", 1),),
            id="arguments as an object",
        ),
        pytest.param(
            [
                piece('{"amount":1}', call_id="c1", name="pay"),
                chunk({"role": None, "content": None, "tool_calls": None, "refusal": None}),
            ],
            (pay("c1", 1),),
            id="nulls",
        ),
        pytest.param(
            [
                chunk({"function_call": {"name": "pay", "arguments": ""}}),
                chunk({"function_call": {"arguments": '{"amount":1'}}),
                chunk({"function_call": {"arguments": "}"}}),
            ],
            (pay("call_0_1", 1),),
            id="a function_call of old",
        ),
    ],
)
def test_calls_are_put_together_however_they_come(
    chunks: list[JsonObject], calls: tuple[ToolCall, ...]
) -> None:
    """Servers differ in how they tell the pieces of calls apart; no amount is ever half read."""
    # AD-09, PP-02, PP-06, SM-01
    reply = assembled(*chunks, chunk({}, "tool_calls", usage=USAGE))

    assert reply.calls == calls
    assert reply.stop == "tool_use"


DETAIL: JsonObject = {"index": 0, "type": "reasoning.text"}


@pytest.mark.parametrize(
    ("deltas", "message"),
    [
        pytest.param(
            [
                {"content": "", "reasoning_content": "H"},
                {"reasoning_content": "m."},
                {"content": "ok"},
            ],
            {"content": "ok", "reasoning_content": "Hm."},
            id="thoughts first",
        ),
        pytest.param(
            [
                {"reasoning_details": [{**DETAIL, "text": "H", "signature": None}]},
                {"reasoning_details": [{**DETAIL, "text": "m.", "signature": "s"}]},
                {"reasoning_details": [{"index": 0, "type": "reasoning.encrypted", "data": "g"}]},
                {"content": "ok"},
            ],
            {
                "content": "ok",
                "reasoning_details": [
                    {**DETAIL, "text": "Hm.", "signature": "s"},
                    {"index": 0, "type": "reasoning.encrypted", "data": "g"},
                ],
            },
            id="numbered thoughts",
        ),
        pytest.param(
            [
                {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "H"}]}]},
                {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "m."}]}]},
                {"content": "o"},
                {"content": "k"},
            ],
            {
                "content": [
                    {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]},
                    {"type": "text", "text": "ok"},
                ]
            },
            id="thoughts among the words",
        ),
        pytest.param(
            [
                {"annotations": [{"url": "a"}], "channel": "final"},
                {"content": "o", "annotations": [{"url": "b"}], "channel": "final"},
                {"content": "k", "channel": "final"},
            ],
            {"content": "ok", "channel": "final", "annotations": [{"url": "a"}, {"url": "b"}]},
            id="lists and labels",
        ),
    ],
)
def test_fields_grow_as_they_are_meant(deltas: list[JsonObject], message: JsonObject) -> None:
    """What comes in pieces is what would have come whole."""
    # AD-09
    streamed = assembled(*map(chunk, deltas), chunk({}, "stop", usage=USAGE))

    whole = completion(message, usage=USAGE, model=MODEL)
    assert streamed == OpenAIChatAdapter().parse_response(whole)


@pytest.mark.parametrize(
    "last",
    [
        pytest.param([chunk({}, "stop"), COUNTED], id="openai"),
        pytest.param([chunk({}, "stop", usage=USAGE)], id="with the reason"),
        pytest.param([chunk({}, "stop"), chunk({}, usage=USAGE)], id="behind the reason"),
        pytest.param([chunk({}, "stop", x_groq={"usage": USAGE})], id="groq"),
        pytest.param([COUNTED], id="no reason at all"),
        pytest.param(
            [{"choices": [{"index": 0, "delta": {}, "finish_reason": "stop", "usage": USAGE}]}],
            id="in the choice",
        ),
    ],
)
def test_stream_may_end_in_many_ways(last: list[JsonObject]) -> None:
    """A stream is whole when it says why it ends, or what it cost."""
    reply = assembled(chunk({"role": "assistant", "content": "ok"}), *last)

    assert (reply.text, reply.stop, reply.usage.input_tokens) == ("ok", "end_turn", 1000)


def test_stream_of_one_message_is_read() -> None:
    """A server may put its whole reply into one event."""
    assert assembled(WORDS).text == "In Köln."


@pytest.mark.parametrize(
    ("chunks", "used"),
    [
        pytest.param([], 0, id="nothing"),
        pytest.param([chunk({"content": "so far"})], 0, id="words"),
        pytest.param([piece('{"amount":1}', call_id="c1", name="pay")], 0, id="a whole call"),
        pytest.param([chunk({"content": "so far"}, usage=USAGE)], 1000, id="counted"),
        pytest.param([COUNTED, chunk({"content": "so far"})], 1000, id="counted before"),
        pytest.param([COUNTED], 1000, id="counted alone"),
    ],
)
def test_stream_without_an_end_is_cut_off(chunks: list[JsonObject], used: int) -> None:
    """Nothing of it counts, but what it cost."""
    # SM-01, SM-02
    with pytest.raises(ModelUnavailable) as failure:
        OpenAIChatAdapter().assemble(chunks)

    assert failure.value.kind == "cut_off"
    assert failure.value.usage is not None
    assert failure.value.usage.input_tokens == used


@pytest.mark.parametrize("how", ["cut", "stall"])
async def test_reply_that_has_ended_counts(provider: ProviderServer, how: Breaking) -> None:
    """What breaks behind the end of a reply costs its figures at most; it isn't paid again."""
    provider.answer(completion({"content": "ok"}), breaks=Break(how, after=3))

    idle = timedelta(seconds=1) if how == "stall" else PATIENCE
    reply = await OpenAIChatAdapter(idle=idle).respond(say.request(MODEL))

    assert (reply.text, reply.stop, reply.usage.estimated_cost) == ("ok", "end_turn", None)


async def test_comments_and_pings_are_no_events(provider: ProviderServer) -> None:
    """Some servers keep the line open with words that mean nothing."""
    lines = (
        ": PROCESSING",
        f"data: {json.dumps(chunk({'content': 'ok'}))}",
        'data: {"type": "ping"}',
        f"data: {json.dumps(chunk({}, 'stop', usage=USAGE))}",
        "data: [DONE]",
    )
    provider.stream("".join(f"{line}\n\n" for line in lines))

    reply = await OpenAIChatAdapter().respond(say.request(MODEL))

    assert (reply.text, reply.notes) == ("ok", ())
