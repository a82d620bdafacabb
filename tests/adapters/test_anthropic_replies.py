"""What a response of Anthropic Messages means."""

from decimal import Decimal

import pytest
from pydantic import JsonValue

from holdfast.adapters import base
from holdfast.adapters.anthropic import AnthropicAdapter
from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import MalformedCall
from holdfast.contracts.errors import ModelError
from holdfast.contracts.transcript import Part
from tests.adapters.anthropic_talk import found, programmed, read, searching, thinking
from tests.adapters.samples.anthropic import MODEL, call, message, text


def ran(kind: str) -> JsonObject:
    """Return the result of a tool that ran at Anthropic."""
    return {"type": kind, "tool_use_id": "srvtoolu_1", "content": []}


@pytest.mark.parametrize(
    ("content", "answer"),
    [
        pytest.param([text("In "), text("Köln.")], "In Köln.", id="all of it"),
        pytest.param(
            [text("A"), searching(), found(), text("B"), text("C")], "BC", id="behind a search"
        ),
        pytest.param([text("A"), ran("code_execution_tool_result"), text("B")], "B", id="code"),
        pytest.param([text("A"), ran("web_fetch_tool_result"), text("B")], "B", id="a page"),
        pytest.param([text("A"), ran("mcp_tool_result"), text("B")], "B", id="MCP"),
        pytest.param([text("A"), ran("tool_of_tomorrow_tool_result"), text("B")], "B", id="new"),
        pytest.param([text("A"), thinking("Hm."), text("B")], "AB", id="thinking is no tool"),
        pytest.param([text("A"), {"type": "hologram"}, text("B")], "AB", id="nor is the unknown"),
        pytest.param([text("A"), searching(), found()], "", id="nothing behind it"),
    ],
)
def test_answer_stands_behind_the_last_tool(content: list[JsonObject], answer: str) -> None:
    """What was said before a tool ran is no part of the answer."""
    # PS-18, PS-19, PS-20, PS-21, AD-18
    assert read(*content).text == answer


def test_types_of_blocks_are_the_adapters_own() -> None:
    """An adapter knows all that every adapter knows, and names of its own; both can be changed."""
    # PS-18, PS-19, PS-21

    class Listening(AnthropicAdapter):
        TOOL_BLOCK_TYPES = AnthropicAdapter.TOOL_BLOCK_TYPES | {"hologram"}

    raw = message(text("A"), {"type": "hologram"}, text("B"))

    assert (
        base.TOOL_BLOCK_TYPES
        | {
            "server_tool_use",
            "server_tool_result",
        }
        | {"web_search_tool_use", "web_search_tool_result"}
        <= AnthropicAdapter.TOOL_BLOCK_TYPES
    )
    assert AnthropicAdapter.TEXT_BLOCK_TYPES == base.TEXT_BLOCK_TYPES == {"text"}
    assert Listening().parse_response(raw).text == "B"


def test_words_beside_calls_are_all_kept() -> None:
    """With calls the words are what stands beside them, in paragraphs; then come the calls."""
    # AD-13
    reply = read(
        text("I look"),
        text("."),
        searching(),
        found(),
        text("Found."),
        call("c1", {}),
        call("c2", {}),
    )

    assert reply.text == "I look.\n\nFound."
    assert [each.call_id for each in reply.calls] == ["c1", "c2"]


def test_pieces_are_kept_in_order() -> None:
    """Each piece has its kind, and what a person may read of a tool that ran at Anthropic."""
    # AD-23
    cited: JsonObject = {**text("Old."), "citations": [{"url": "https://koeln.example"}]}
    content = [thinking("Hm."), searching(), found(), cited, programmed("c1")]

    assert read(*content).parts == (
        Part(kind="reasoning", text="Hm.", native={"type": "thinking", "signature": "c2lnbmVk"}),
        Part(kind="hosted_call", name="web_search", text='{"query":"Köln"}', native=content[1]),
        Part(kind="hosted_result", name="web_search_tool_result", native=content[2]),
        Part(kind="text", text="Old.", native={"citations": cited["citations"]}),
        Part(kind="call", native={"caller": content[4]["caller"]}),
    )


@pytest.mark.parametrize(
    ("word", "stop", "detail"),
    [
        ("end_turn", "end_turn", ""),
        ("stop_sequence", "end_turn", ""),
        ("tool_use", "tool_use", ""),
        ("max_tokens", "max_tokens", ""),
        ("pause_turn", "pause", ""),
        ("compaction", "pause", ""),
        ("refusal", "refusal", ""),
        ("model_context_window_exceeded", "context_overflow", ""),
        ("a_word_of_tomorrow", "other", "it stopped for the reason 'a_word_of_tomorrow'"),
        (None, "other", "it stopped for the reason None"),
    ],
)
def test_stop_reasons_become_ours(word: str | None, stop: str, detail: str) -> None:
    """A reply that ended for any reason but its own end is never taken for a normal answer."""
    # BY-49, T-48, LP-08
    reply = read(text("so far"), stop=word)

    assert (reply.stop, reply.stop_detail, reply.text) == (stop, detail, "so far")


@pytest.mark.parametrize(
    ("details", "detail"),
    [
        pytest.param({"category": "bio", "explanation": "not this"}, "bio: not this", id="both"),
        pytest.param({"category": "cyber", "explanation": None}, "cyber", id="category"),
        pytest.param({"category": None, "explanation": "not this"}, "not this", id="explanation"),
        pytest.param(None, "", id="neither"),
    ],
)
def test_refusal_says_why_and_asks_for_nothing(details: JsonValue, detail: str) -> None:
    """A refused reply has no calls, whatever it began to ask for."""
    # BY-49
    raw = message(text("I"), call("c1", {}), searching(), stop="refusal", stop_details=details)

    reply = AnthropicAdapter().parse_response(raw)

    assert (reply.stop, reply.stop_detail) == ("refusal", detail)
    assert (reply.text, reply.calls, reply.parts) == ("I", (), ())


def test_what_ran_before_a_refusal_is_kept() -> None:
    """A search that had its result is counted, whatever came of it."""
    # AD-23, T-28
    reply = read(searching(), found(), text("I"), call("c1", {}), stop="refusal")

    assert [part.kind for part in reply.parts] == ["hosted_call", "hosted_result", "text"]


@pytest.mark.parametrize("stop", ["end_turn", "stop_sequence", "pause_turn", "tool_use"])
def test_calls_count_whatever_the_stop(stop: str) -> None:
    """A whole reply may ask for tools although it gives another reason for its end."""
    # T-27
    reply = read(text("so"), call("c1", {}), stop=stop)

    assert len(reply.calls) == 1
    assert reply.stop == ("pause" if stop == "pause_turn" else "tool_use")


@pytest.mark.parametrize(
    "stop", ["max_tokens", "model_context_window_exceeded", None, "a_word_of_tomorrow"]
)
@pytest.mark.parametrize(
    "last", [call("c2", {"order_id": 1}), searching()], ids=["ours", "hosted"]
)
def test_call_that_was_cut_short_is_left_out(last: JsonObject, stop: str | None) -> None:
    """The last block of a reply that ended early may be half a call; the ones before it aren't."""
    # T-48
    reply = read(text("so"), call("c1", {}), last, stop=stop)

    assert [each.call_id for each in reply.calls] == ["c1"]
    assert reply.parts == ()
    assert reply.notes == ("a call at the end of a reply that was cut short is left out",)


@pytest.mark.parametrize(
    ("arguments", "kept"),
    [
        pytest.param('{"order_id": 4', '{"order_id": 4', id="cut"),
        pytest.param('{"order_id": 4}', '{"order_id": 4}', id="as a text"),
        pytest.param([1], "[1]", id="an array"),
        pytest.param(None, "null", id="nothing"),
    ],
)
def test_arguments_that_are_no_object_are_kept_as_text(arguments: JsonValue, kept: str) -> None:
    """What isn't the object that it should be is never guessed at."""
    # AD-16
    reply = read({**call("c1", {}), "input": arguments}, stop="tool_use")

    assert reply.calls == (MalformedCall(call_id="c1", name="find_order", raw_arguments=kept),)


@pytest.mark.parametrize(
    ("container", "state"),
    [
        pytest.param(
            {"id": "container_1", "expires_at": "x"}, {"container_id": "container_1"}, id="one"
        ),
        pytest.param(None, None, id="none"),
    ],
)
def test_container_is_the_providers_state(container: JsonValue, state: JsonValue) -> None:
    """The id of a container is all that the next request needs; without one there is no state."""
    # PS-13
    raw = message(text("ok"), container=container)

    assert AnthropicAdapter().parse_response(raw).provider_state == state


USED: JsonObject = {
    "input_tokens": 700,
    "cache_creation_input_tokens": 12,
    "cache_read_input_tokens": 34,
    "output_tokens": 50,
    "output_tokens_details": {"thinking_tokens": 20},
    "server_tool_use": {"web_search_requests": 2, "web_fetch_requests": 0},
    "service_tier": "standard",
}


def test_usage_is_counted_in_detail() -> None:
    """What a cache had to do with is input too, and kept under Anthropic's own names."""
    # AD-15, AD-19, PS-16, PS-17, PP-07, T-26
    usage = AnthropicAdapter().extract_usage(message(text("ok"), usage=USED))

    assert usage.model_dump() == {
        "input_tokens": 746,
        "cached_tokens": 34,
        "output_tokens": 50,
        # 700 at 3 $, 12 at 3.75 $, 34 at 0.30 $ and 50 at 15 $ for a million; 2 searches at 0.01 $
        "estimated_cost": Decimal("0.0229052"),
        "cache_write_tokens": 12,
        "reasoning_tokens": 20,
        "native": {
            "anthropic": {
                "cache_creation_input_tokens": 12,
                "cache_read_input_tokens": 34,
                "web_search_requests": 2,
            }
        },
    }


def test_cache_counters_are_there_without_a_cache() -> None:
    """Nothing read and nothing written are counts like others."""
    # AD-15, PS-16, PS-17
    usage = AnthropicAdapter().extract_usage(message(text("ok")))

    assert usage.native == {
        "anthropic": {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    }


def test_usage_may_be_missing() -> None:
    """Without usage nothing is counted, and the price is unknown instead of 0."""
    # AD-15
    usage = AnthropicAdapter().extract_usage(message(text("ok"), usage=None))

    assert (usage.total_tokens, usage.estimated_cost) == (0, None)


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        pytest.param({}, "unreadable", id="nothing"),
        pytest.param({"model": MODEL, "content": "ok"}, "unreadable", id="no blocks"),
        pytest.param(
            {"model": MODEL, "content": [text("x") | {"text": 1}]}, "unreadable", id="no text"
        ),
        pytest.param(
            {"model": MODEL, "content": [{"type": "tool_use"}]}, "unreadable", id="no call"
        ),
        pytest.param(
            {"type": "error", "error": {"type": "overloaded_error", "message": "x"}},
            "overloaded",
            id="an error",
        ),
    ],
)
def test_what_is_no_message_is_an_error(raw: JsonObject, kind: str) -> None:
    """A good status doesn't make a reply."""
    with pytest.raises(ModelError) as raised:
        AnthropicAdapter().parse_response(raw)

    assert raised.value.kind == kind
