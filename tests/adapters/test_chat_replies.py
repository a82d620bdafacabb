"""What servers make of a reply, and what we make of that."""

from dataclasses import replace

import pytest
from pydantic import JsonValue

from holdfast.adapters.openai_chat import OpenAIChatAdapter
from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import MalformedCall, ToolCall
from holdfast.contracts.errors import ModelUnavailable
from holdfast.contracts.model import ModelReply
from holdfast.contracts.transcript import Part
from tests.adapters import conversations as say
from tests.adapters.provider_server import ProviderServer
from tests.adapters.samples.openai_chat import completion

TEXT_4 = '{"order_id": 4}'


def call(**fields: JsonValue) -> JsonObject:
    """A call as most servers write it; a field that is null is left out."""
    usual: JsonObject = {"id": "c1", "type": "function"}
    return {name: value for name, value in (usual | fields).items() if value is not None}


def function(arguments: JsonValue) -> JsonObject:
    return {"name": "find_order", "arguments": arguments}


def read(message: JsonObject, stop: str = "stop", **more: JsonValue) -> ModelReply:
    return OpenAIChatAdapter().parse_response(completion(message, stop, **more))


def found(call_id: str = "c1") -> ToolCall:
    return ToolCall(call_id=call_id, name="find_order", arguments={"order_id": 4})


@pytest.mark.parametrize(
    ("message", "calls"),
    [
        pytest.param(
            {"tool_calls": [call(function=function(TEXT_4))]}, (found(),), id="arguments as text"
        ),
        pytest.param(
            {"tool_calls": [call(function=function({"order_id": 4}))]},
            (found(),),
            id="arguments as an object",
        ),
        pytest.param(
            {"tool_calls": [call(function=function(""))]},
            (ToolCall(call_id="c1", name="find_order", arguments={}),),
            id="arguments empty",
        ),
        pytest.param(
            {"tool_calls": [call(function={"name": "find_order"})]},
            (ToolCall(call_id="c1", name="find_order", arguments={}),),
            id="no arguments",
        ),
        pytest.param(
            {"tool_calls": [call(function=function("[4]"))]},
            (MalformedCall(call_id="c1", name="find_order", raw_arguments="[4]"),),
            id="arguments that are a list",
        ),
        pytest.param(
            {"tool_calls": [call(function=function('{"order_id": 4'))]},
            (MalformedCall(call_id="c1", name="find_order", raw_arguments='{"order_id": 4'),),
            id="arguments that are no JSON",
        ),
        pytest.param(
            {
                "tool_calls": [
                    call(id=None, function=function(TEXT_4)),
                    call(id="", function=function(TEXT_4)),
                ]
            },
            (found("call_0_1"), found("call_0_2")),
            id="no ids",
        ),
        pytest.param(
            {"tool_calls": [call(type=None, index=0, function=function(TEXT_4))]},
            (found(),),
            id="no type",
        ),
        pytest.param(
            {"tool_calls": None, "function_call": function(TEXT_4)},
            (found("call_0_1"),),
            id="a function_call of old",
        ),
        pytest.param(
            {
                "tool_calls": [call(function=function(TEXT_4), custom={"input": "", "name": ""})],
                "function_call": {"arguments": "", "name": ""},
            },
            (found(),),
            id="every field there is, empty",
        ),
        pytest.param(
            {"tool_calls": [call(type="custom", custom={"name": "sql", "input": "SELECT 1"})]},
            (MalformedCall(call_id="c1", name="sql", raw_arguments="SELECT 1"),),
            id="a custom tool",
        ),
        pytest.param({"content": "ok", "tool_calls": []}, (), id="none"),
    ],
)
def test_calls_are_read_however_they_are_written(
    message: JsonObject, calls: tuple[ToolCall | MalformedCall, ...]
) -> None:
    """Arguments are an object for us, or a mistake that the model sees again."""
    # AD-07, AD-16, PP-02, T-27
    reply = read(message)

    assert reply.calls == calls
    assert reply.stop == ("tool_use" if calls else "end_turn")
    assert reply.parts == ()


async def test_calls_without_ids_are_told_apart_by_their_turn(provider: ProviderServer) -> None:
    """No two replies of a run give one id, and a repeated one gives the same again."""
    asked = completion({"tool_calls": [call(id=None, function=function(TEXT_4))]})
    request = say.request("gpt-4.1")
    for _ in range(3):
        provider.answer(asked)

    replies = [
        await OpenAIChatAdapter().respond(replace(request, turn=turn)) for turn in (1, 2, 2)
    ]

    assert [reply.calls[0].call_id for reply in replies] == ["call_1_1", "call_2_1", "call_2_1"]
    assert replies[0].notes == ("openai-chat gives its calls no ids: they are numbered here",)


@pytest.mark.parametrize(
    ("reason", "stop", "detail"),
    [
        ("stop", "end_turn", ""),
        ("", "end_turn", ""),
        (None, "end_turn", ""),
        ("STOP", "end_turn", ""),
        ("eos_token", "end_turn", ""),
        ("length", "max_tokens", "length"),
        ("model_length", "max_tokens", "model_length"),
        ("content_filter", "content_filter", "content_filter"),
        ("tool_calls", "tool_use", ""),
        ("abort", "other", "abort"),
    ],
)
def test_reasons_become_stop_causes(reason: str | None, stop: str, detail: str) -> None:
    """A reply that ended for any reason but its own end is never taken for a normal answer."""
    # BY-49, T-48
    raw = completion({"content": "so far"})
    raw["choices"] = [{"index": 0, "message": {"content": "so far"}, "finish_reason": reason}]

    reply = OpenAIChatAdapter().parse_response(raw)

    assert (reply.stop, reply.stop_detail, reply.text) == (stop, detail, "so far")


def test_servers_own_reason_is_the_detail() -> None:
    """A server between us and the model may know more than the word of this API."""
    # BY-49
    raw = completion({})
    raw["choices"] = [
        {
            "message": {"content": "so far"},
            "finish_reason": "length",
            "native_finish_reason": "MAX_TOKENS",
        }
    ]

    assert OpenAIChatAdapter().parse_response(raw).stop_detail == "MAX_TOKENS"


@pytest.mark.parametrize(
    ("reason", "last", "ids"),
    [
        pytest.param("length", '{"order_id": 4}', ["c1", "c2"], id="limit behind a whole call"),
        pytest.param("length", '{"order_id": 4', ["c1"], id="limit inside of a call"),
        pytest.param("length", "", ["c1"], id="limit before any argument"),
        pytest.param("length", {}, ["c1"], id="limit, and who knows"),
        pytest.param("abort", '{"order_id"', ["c1"], id="unknown reason"),
        pytest.param("stop", '{"order_id": 4}', ["c1", "c2"], id="normal end"),
        pytest.param("content_filter", '{"order_id": 4}', [], id="filter"),
    ],
)
def test_call_that_may_be_cut_short_is_dropped(
    reason: str, last: JsonValue, ids: list[str]
) -> None:
    """Of a reply that was cut short the last call counts only if nothing of it can be missing."""
    # SM-01, SM-02, PP-06, T-48
    calls: JsonValue = [call(function=function(TEXT_4)), call(id="c2", function=function(last))]

    reply = read({"reasoning": "Two.", "tool_calls": calls}, reason)

    assert [asked.call_id for asked in reply.calls] == ids
    assert [part.kind for part in reply.parts] == ["reasoning", *["call"] * len(ids)]


def test_refusal_says_why_and_calls_nothing() -> None:
    """A refused reply has the refusal as its text, and no calls."""
    # BY-49
    reply = read({"refusal": "not this", "tool_calls": [call(function=function(TEXT_4))]})

    assert (reply.text, reply.calls, reply.stop) == ("not this", (), "refusal")


@pytest.mark.parametrize(
    ("message", "parts"),
    [
        pytest.param(
            {"reasoning_content": "Hm.", "content": "ok"},
            [Part(kind="reasoning", text="Hm.", native={"reasoning_content": "Hm."})],
            id="reasoning_content",
        ),
        pytest.param(
            {
                "reasoning": None,
                "reasoning_details": [{"type": "reasoning.encrypted", "data": "gAAA"}],
                "content": "ok",
            },
            [
                Part(
                    kind="reasoning",
                    native={
                        "reasoning_details": [{"type": "reasoning.encrypted", "data": "gAAA"}]
                    },
                )
            ],
            id="reasoning_details",
        ),
        pytest.param(
            {
                "content": [
                    {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]},
                    {"type": "text", "text": "o"},
                    {"type": "text", "text": "k"},
                ]
            },
            [
                Part(
                    kind="reasoning",
                    text="Hm.",
                    native={"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]},
                )
            ],
            id="thinking beside text",
        ),
        pytest.param(
            {
                "executed_tools": [{"type": "search", "arguments": "{}", "output": "x"}],
                "content": "ok",
            },
            [
                Part(
                    kind="hosted_call",
                    name="search",
                    text="{}",
                    native={"type": "search", "arguments": "{}", "output": "x"},
                )
            ],
            id="a tool of the server's own",
        ),
    ],
)
def test_what_is_beside_the_words_is_kept(message: JsonObject, parts: list[Part]) -> None:
    """Thoughts and the server's own tools stay as they came, in front of the answer."""
    # HT-01, PS-20, PS-22, T-28
    reply = read(message)

    assert list(reply.parts) == [*parts, Part(kind="text", text="ok")]
    assert (reply.text, reply.words, reply.notes) == ("ok", "ok", ())


@pytest.mark.parametrize(
    ("message", "name", "native"),
    [
        pytest.param(
            {"content": "ok", "annotations": [{"type": "url_citation"}]},
            "annotations",
            {"annotations": [{"type": "url_citation"}]},
            id="a field",
        ),
        pytest.param(
            {"content": ["ok", {"type": "hologram", "edges": 12}]},
            "hologram",
            {"type": "hologram", "edges": 12},
            id="a piece",
        ),
    ],
)
def test_unknown_is_kept_and_reported(message: JsonObject, name: str, native: JsonObject) -> None:
    """What this release doesn't know is neither lost nor fatal."""
    # AD-03, T-27
    reply = read(message)

    assert reply.parts[-1] == Part(kind="other", name=name, native=native)
    assert reply.notes == (f"openai-chat sent {name!r}, which this release keeps unread",)
    assert reply.text == "ok"


def test_empty_fields_are_nothing_to_report() -> None:
    """Some servers send every field there is; one that holds nothing says nothing."""
    audio: JsonObject = {"data": "", "expires_at": 0, "id": "", "transcript": ""}

    older: JsonObject = {"arguments": "", "name": ""}

    reply = read({"content": "ok", "annotations": [], "audio": audio, "function_call": older})

    assert (reply.calls, reply.parts, reply.notes) == ((), (), ())


def test_words_behind_the_last_tool_are_the_answer() -> None:
    """What was said before a tool ran is no answer."""
    # PS-20, PS-22, PS-23
    content: JsonValue = [
        {"type": "text", "text": "A"},
        {"type": "function_call", "name": "find_order"},
        {"type": "function_result", "result": 4},
        {"type": "output_text", "text": "B"},
        {"type": "text", "text": "C"},
    ]

    reply = read({"content": content})

    assert reply.text == "BC"
    assert reply.words == "A\n\nBC"


def test_first_of_several_choices_counts() -> None:
    """One question has one answer."""
    raw = completion({"content": "one"})
    raw["choices"] = [{"message": {"content": "one"}}, {"message": {"content": "two"}}]

    reply = OpenAIChatAdapter().parse_response(raw)

    assert reply.text == "one"
    assert reply.notes == ("openai-chat sent several choices: the first one counts",)


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"choices": []}, id="no choice"),
        pytest.param({"choices": [{"finish_reason": "stop"}]}, id="no message"),
        pytest.param({"choices": "ok"}, id="no list"),
    ],
)
def test_what_is_no_reply_is_unreadable(raw: JsonObject) -> None:
    """A good status alone makes no reply."""
    with pytest.raises(ModelUnavailable, match="no reply of a model") as failure:
        OpenAIChatAdapter().parse_response(raw)

    assert failure.value.kind == "unreadable"


def test_block_types_are_class_attributes() -> None:
    """A kind of its own stands before the answer where an adapter counts it among its tools."""
    # PS-20, PS-22, PS-23

    class Listening(OpenAIChatAdapter):
        TOOL_BLOCK_TYPES = OpenAIChatAdapter.TOOL_BLOCK_TYPES | {"hologram"}

    class Deaf(OpenAIChatAdapter):
        TEXT_BLOCK_TYPES = frozenset[str]()

    pieces: list[JsonValue] = [
        {"type": "text", "text": "A"},
        {"type": "hologram"},
        {"type": "text", "text": "B"},
    ]
    raw = completion({"role": "assistant", "content": pieces}, "stop")

    assert OpenAIChatAdapter().parse_response(raw).text == "AB"
    assert Listening().parse_response(raw).text == "B"
    assert Deaf().parse_response(raw).text == ""
