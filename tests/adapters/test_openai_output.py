"""What becomes of each thing that a model of OpenAI Responses may put out."""

from decimal import Decimal

import pytest
from pydantic import JsonValue

from holdfast.adapters.openai import OpenAIAdapter
from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import MalformedCall, ToolCall
from holdfast.contracts.errors import ModelUnavailable
from holdfast.contracts.model import ModelReply
from holdfast.contracts.transcript import PartKind
from tests.adapters.provider_server import ProviderServer
from tests.adapters.samples.openai_items import ask, call, message, response, said, text, thought

SEARCH: JsonObject = {
    "type": "web_search_call",
    "id": "ws_1",
    "status": "completed",
    "action": {"type": "search", "query": "orders"},
}
CITED: JsonObject = {"type": "url_citation", "url": "https://example.com", "title": "E"}


def read(*output: JsonObject, **more: JsonValue) -> ModelReply:
    return OpenAIAdapter().parse_response(response(*output, **more))


async def test_text_is_the_answer(provider: ProviderServer) -> None:
    """A reply without calls is the final answer, with its model, usage and times."""
    # AD-07, AD-11, AD-18, AD-19, LP-08, PS-23
    provider.answer(response(said(text("In "), text("Köln."))))

    reply = await OpenAIAdapter().respond(ask())

    assert (reply.text, reply.calls) == ("In Köln.", ())
    assert reply.stop == "end_turn"
    assert reply.model == "openai:gpt-5.2-2025-12-11"
    assert reply.latency_ms >= reply.first_token_ms > 0
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (1000, 100)
    assert reply.usage.estimated_cost == Decimal("0.00315")
    assert reply.provider_state is None


def test_a_text_that_is_null_says_nothing() -> None:
    """Some servers send every field; a null is no word."""
    assert read(said({"type": "output_text", "text": None})).text == ""


@pytest.mark.parametrize("kind", [[], {}, ["function_call"], 1, None])
def test_an_item_of_no_kind_makes_a_reply_unreadable(kind: JsonValue) -> None:
    """Nobody can send it back; what the reply used is known, as of any that can't be read."""
    with pytest.raises(ModelUnavailable) as raised:
        read({"type": kind, "id": "odd"}, message("hello"))

    assert raised.value.kind == "unreadable"
    assert raised.value.usage is not None
    assert raised.value.usage.total_tokens > 0


def test_plain_words_and_calls_need_no_parts() -> None:
    """What text and calls tell already isn't said twice in history."""
    bare = call(1, "{}")
    del bare["id"]
    plain = said(text("Let me see."))
    del plain["id"]

    reply = read(plain, bare)

    assert reply.parts == ()
    assert reply.text == "Let me see."
    assert reply.calls == (ToolCall(call_id="call_1", name="find_order", arguments={}),)


@pytest.mark.parametrize(
    ("items", "answer"),
    [
        pytest.param([message("A"), SEARCH, message("B", 2)], "B", id="behind a hosted tool"),
        pytest.param([said(text("A"), text("B"))], "AB", id="pieces of one message"),
        pytest.param([message("A"), thought(), message("B", 2)], "A\n\nB", id="two messages"),
        pytest.param([message("A"), SEARCH], "", id="nothing behind the tool"),
        pytest.param(
            [message("Well.", phase="commentary"), message("B", 2, phase="final_answer")],
            "B",
            id="commentary is no answer",
        ),
        pytest.param([message("A"), SEARCH, said(text("B"), text("C"))], "BC", id="both pieces"),
    ],
)
def test_answer_stands_behind_the_last_tool(items: list[JsonObject], answer: str) -> None:
    """What a model says on its way to the answer is no part of it, and isn't lost."""
    # PS-20, PS-22, PS-23
    reply = read(*items)

    assert (reply.text, reply.stop) == (answer, "end_turn")
    assert "A" in reply.words or "Well." in reply.words


def test_block_types_are_class_attributes() -> None:
    """OpenAI's own kinds stand beside those that all dialects know; both can be changed."""
    # PS-18, PS-19, PS-20, PS-22, PS-23

    class Listening(OpenAIAdapter):
        TOOL_BLOCK_TYPES = OpenAIAdapter.TOOL_BLOCK_TYPES | {"hologram"}

    class Deaf(OpenAIAdapter):
        TEXT_BLOCK_TYPES = frozenset[str]()

    raw = response(said(text("A")), {"type": "hologram"}, said(text("B")))
    tools = {"tool_use", "tool_result", "function_call", "function_result", "web_search_call"}

    assert tools <= OpenAIAdapter.TOOL_BLOCK_TYPES
    assert {"text", "output_text"} == OpenAIAdapter.TEXT_BLOCK_TYPES
    assert OpenAIAdapter().parse_response(raw).text == "A\n\nB"
    assert Listening().parse_response(raw).text == "B"
    assert Deaf().parse_response(raw).text == ""


def test_words_beside_calls_all_count() -> None:
    """Before its calls everything that a model says is meant for people, commentary too."""
    reply = read(message("Hm.", phase="commentary"), call(1, "{}"), message("So.", 2))

    assert reply.text == "Hm.\n\nSo."
    assert reply.stop == "tool_use"


HOSTED: list[tuple[JsonObject, PartKind, str, str]] = [
    (SEARCH, "hosted_call", "web_search", "orders"),
    (
        {"type": "web_search_call", "action": {"type": "open_page", "url": "https://a.example"}},
        "hosted_call",
        "web_search",
        "https://a.example",
    ),
    (
        {"type": "file_search_call", "queries": ["a", "b"]},
        "hosted_call",
        "file_search",
        "a\n\nb",
    ),
    (
        {"type": "code_interpreter_call", "code": "1 + 1", "container_id": "cntr_1"},
        "hosted_call",
        "code_execution",
        "1 + 1",
    ),
    (
        {"type": "image_generation_call", "revised_prompt": "a cat", "result": "aW1n"},
        "hosted_call",
        "image_generation",
        "a cat",
    ),
    (
        {"type": "mcp_call", "server_label": "crm", "name": "find", "arguments": "{}"},
        "hosted_call",
        "mcp",
        "crm find {}",
    ),
    (
        {"type": "mcp_list_tools", "server_label": "crm", "tools": [{"name": "find"}]},
        "hosted_result",
        "mcp_list_tools",
        "crm find",
    ),
    (
        {"type": "tool_search_call", "arguments": {"paths": ["a"]}},
        "hosted_call",
        "tool_search",
        '{"paths":["a"]}',
    ),
    (
        {"type": "tool_search_output", "tools": [{"name": "a"}, {"name": "b"}]},
        "hosted_result",
        "tool_search_output",
        "a\n\nb",
    ),
    (
        {"type": "computer_call", "action": {"type": "click"}},
        "hosted_call",
        "computer",
        '{"type":"click"}',
    ),
    (
        {"type": "computer_call_output", "output": {"type": "computer_screenshot"}},
        "hosted_result",
        "computer_call_output",
        "computer_screenshot",
    ),
    (
        {"type": "local_shell_call", "action": {"command": ["ls", "-l"]}},
        "hosted_call",
        "local_shell",
        "ls\n\n-l",
    ),
    (
        {"type": "local_shell_call_output", "output": "a.txt"},
        "hosted_result",
        "local_shell_call_output",
        "a.txt",
    ),
    (
        {"type": "shell_call", "action": {"commands": ["ls"]}},
        "hosted_call",
        "shell",
        "ls",
    ),
    (
        {"type": "shell_call_output", "output": [{"stdout": "a", "stderr": "b"}]},
        "hosted_result",
        "shell_call_output",
        "a b",
    ),
    (
        {"type": "apply_patch_call", "operation": {"type": "delete_file", "path": "a"}},
        "hosted_call",
        "apply_patch",
        "delete_file a",
    ),
    (
        {"type": "apply_patch_call_output", "output": "done"},
        "hosted_result",
        "apply_patch_call_output",
        "done",
    ),
    ({"type": "program", "code": "go()", "fingerprint": "f"}, "hosted_call", "program", "go()"),
    ({"type": "program_output", "result": "5"}, "hosted_result", "program_output", "5"),
    (
        {"type": "function_call_output", "call_id": "c", "output": "5"},
        "hosted_result",
        "function_call_output",
        "5",
    ),
    (
        {"type": "custom_tool_call_output", "call_id": "c", "output": "5"},
        "hosted_result",
        "custom_tool_call_output",
        "5",
    ),
    (
        {"type": "mcp_approval_response", "approve": False, "reason": "no"},
        "hosted_result",
        "mcp_approval_response",
        "false no",
    ),
]


@pytest.mark.parametrize(("item", "kind", "name", "shown"), HOSTED)
def test_what_the_provider_runs_is_kept(
    item: JsonObject, kind: PartKind, name: str, shown: str
) -> None:
    """It is nobody's to run, stays as it came, and a person can read what it was."""
    # HT-01, AD-23, T-27, T-28
    reply = read(item, message("ok"))

    part = reply.parts[0]
    assert (part.kind, part.name, part.text, part.native) == (kind, name, shown, item)
    assert (reply.calls, reply.text, reply.stop, reply.notes) == ((), "ok", "end_turn", ())


@pytest.mark.parametrize("kind", ["compaction", "additional_tools", "hologram"])
def test_what_nobody_can_read_is_kept_and_reported(kind: str) -> None:
    """A kind of item that this release has no use for is neither fatal nor dropped."""
    # T-27
    item: JsonObject = {"type": kind, "id": "x_1", "encrypted_content": "sealed"}

    reply = read(item, message("ok"))

    assert (reply.parts[0].kind, reply.parts[0].name, reply.parts[0].native) == (
        "other",
        kind,
        item,
    )
    assert reply.notes == (
        f"openai sent an item of type {kind!r}, which this release keeps unread",
    )
    assert (reply.text, reply.stop) == ("ok", "end_turn")


def test_reasoning_is_kept_whole() -> None:
    """Its summary and what is open of it can be read; all of it stays."""
    open_thought = thought(content=[{"type": "reasoning_text", "text": "Hm."}])

    part = read(open_thought, message("ok")).parts[0]

    assert (part.kind, part.text, part.native) == ("reasoning", "Two orders.\n\nHm.", open_thought)


def test_message_keeps_what_isnt_text() -> None:
    """Phase, id and citations are kept beside the words, which aren't said twice."""
    cited: JsonObject = {"annotations": [CITED]}

    reply = read(said(text("It says.") | cited) | {"phase": "final_answer"})

    assert reply.parts[0].native == {
        "id": "msg_1",
        "phase": "final_answer",
        "annotations": [CITED],
    }
    assert reply.text == reply.parts[0].text == "It says."


def test_message_keeps_that_it_was_cut() -> None:
    """A state that isn't the usual one goes back with the message."""
    cut = message("So far", status="incomplete")

    assert read(cut, status="incomplete").parts[0].native["status"] == "incomplete"
    assert "status" not in read(message("All.")).parts[0].native


def test_message_keeps_its_probabilities() -> None:
    """What can't be made anew of the words is kept with the pieces that it stood in."""
    odds: JsonObject = {"logprobs": [{"token": "So", "logprob": -0.1}]}

    native = read(said(text("So") | odds)).parts[0].native

    assert native["content"] == [text("So") | odds]


def test_message_with_a_piece_of_an_unknown_kind() -> None:
    """It is kept as it came, and reported."""
    # T-27
    hologram: JsonObject = {"type": "output_hologram", "data": "x"}

    reply = read(said(text("Look."), hologram))

    assert reply.parts[0].native["content"] == [text("Look."), hologram]
    assert "a message with a piece of type 'output_hologram'" in reply.notes[0]
    assert reply.text == "Look."


def test_calls_keep_what_isnt_theirs_alone() -> None:
    """A call from a program, of a namespace, or without hurry is a call as any other."""
    # T-28
    extras: JsonObject = {
        "namespace": "shop",
        "caller": {"type": "program", "caller_id": "prog_1"},
        "async": True,
    }

    reply = read(call(1, '{"order_id": 4}') | extras | {"nothing": None})

    assert reply.calls == (
        ToolCall(call_id="call_1", name="find_order", arguments={"order_id": 4}),
    )
    assert (reply.parts[0].kind, reply.parts[0].native) == ("call", {"id": "fc_1"} | extras)
    assert reply.stop == "tool_use"


@pytest.mark.parametrize("arguments", ["[1]", '{"a":', "", '{"a": NaN}'])
def test_arguments_that_are_no_object(arguments: str) -> None:
    """A complete call whose arguments are no JSON object is one that the model hears of."""
    assert read(call(1, arguments)).calls == (
        MalformedCall(call_id="call_1", name="find_order", raw_arguments=arguments),
    )


def test_custom_call_has_its_text_as_one_argument() -> None:
    """Its input isn't JSON; a tool that takes it gets it under the name `input`."""
    item: JsonObject = {
        "type": "custom_tool_call",
        "id": "ctc_1",
        "call_id": "call_1",
        "name": "sql",
        "input": "select 1",
    }

    reply = read(item)

    assert reply.calls == (
        ToolCall(call_id="call_1", name="sql", arguments={"input": "select 1"}),
    )
    assert reply.parts[0].native == item


def test_request_for_an_approval_is_a_call_that_no_tool_answers() -> None:
    """Nobody has declared a tool with dots in its name, so the engine refuses it as unknown."""
    # PP-05, HT-09
    item: JsonObject = {
        "type": "mcp_approval_request",
        "id": "mcpr_1",
        "server_label": "crm",
        "name": "delete",
        "arguments": '{"id": 4}',
    }

    reply = read(item)

    assert reply.calls == (ToolCall(call_id="mcpr_1", name="mcp.crm.delete", arguments={"id": 4}),)
    assert (reply.stop, reply.parts[0].native) == ("tool_use", item)
