"""The local server refuses what OpenAI Responses would refuse."""

import pytest
from pydantic import JsonValue

from holdfast.contracts.base import JsonObject
from tests.adapters.rules.responses import ResponsesRules
from tests.adapters.rules.strict import Page
from tests.adapters.samples.openai_items import call, message, response, thought

PERSON: JsonObject = {"role": "user", "content": "Hello."}
ASKED: JsonObject = {"type": "function_call", "call_id": "c1", "name": "find", "arguments": "{}"}
ANSWER: JsonObject = {"type": "function_call_output", "call_id": "c1", "output": "4"}
TOOL: JsonObject = {
    "type": "function",
    "name": "find",
    "description": "Finds.",
    "parameters": {
        "type": "object",
        "properties": {},
        "required": [],
        "additionalProperties": False,
    },
    "strict": True,
}
OPEN: JsonObject = {"parameters": {"type": "object", "properties": {}, "required": []}}
ODD: JsonObject = {"parameters": {"type": "object", "properties": {}, "minProperties": 1}}


def refused(body: JsonObject, rules: ResponsesRules | None = None) -> str:
    """Why a request is refused; empty where it isn't."""
    problem = (rules or ResponsesRules()).problem("/responses", {}, body)
    return str(problem.body if isinstance(problem, Page) else problem or "")


def refusal(*items: JsonObject, rules: ResponsesRules | None = None, **fields: JsonValue) -> str:
    """Why a request with these items and fields is refused."""
    return refused({"model": "gpt-5.2", "store": False, "input": [*items], **fields}, rules)


def having_issued(*items: JsonObject, **request: JsonValue) -> ResponsesRules:
    """Rules that remember a response with these items, to a request with these fields."""
    rules = ResponsesRules()
    asked: JsonObject = {"model": "gpt-5.2", "store": False, "input": [PERSON], **request}
    assert refused(asked, rules) == ""
    rules.issued(response(*items))
    return rules


def test_good_requests_pass() -> None:
    """Words, calls with their outputs, and tools."""
    assert refusal(PERSON) == ""
    assert refusal(PERSON, ASKED, ANSWER, PERSON, tools=[TOOL], tool_choice="auto") == ""


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"seed": 1}, "Extra inputs"),
        ({"model": None}, "valid string"),
        ({"max_output_tokens": 15}, "greater than or equal to 16"),
        ({"prompt_cache_key": 65 * "x"}, "at most 64"),
        ({"stream_options": {"include_obfuscation": False}}, "only allowed when streaming"),
        ({"tool_choice": "required"}, "only allowed with tools"),
        ({"parallel_tool_calls": False}, "only allowed with tools"),
        ({"tools": [TOOL], "tool_choice": {"type": "function", "name": "x"}}, "not found in"),
        ({"tools": [TOOL | {"strict": None}]}, "valid boolean"),
        ({"tools": [TOOL | OPEN]}, "no others are allowed"),
        ({"tools": [TOOL | ODD]}, "'minProperties'] is not permitted"),
        ({"model": "gpt-4.1", "reasoning": {"effort": "low"}}, "not supported with this model"),
        ({"model": "gpt-4.1", "include": ["reasoning.encrypted_content"]}, "not supported"),
        ({"reasoning": {"effort": "huge"}}, "Input should be"),
        ({"previous_response_id": "resp_1", "conversation": "conv_1"}, "mutually exclusive"),
        ({"previous_response_id": "resp_1"}, "previous_response_not_found"),
        ({"conversation": "conv_1"}, "Conversation with id 'conv_1' not found"),
    ],
)
def test_bad_fields_are_refused(fields: JsonObject, reason: str) -> None:
    """Unknown fields, wrong values, and fields that don't go together."""
    body: JsonObject = {"model": "gpt-5.2", "store": False, "input": [PERSON], **fields}

    assert reason in refused(body)


@pytest.mark.parametrize(
    ("items", "reason"),
    [
        pytest.param([{"role": "tool", "content": "4"}], "Input should be", id="role"),
        pytest.param([PERSON, ANSWER], "No tool call found", id="output alone"),
        pytest.param([PERSON, ASKED], "No tool output found", id="call alone"),
        pytest.param([PERSON, ASKED, PERSON, ANSWER], "No tool output found", id="output late"),
        pytest.param([ASKED, ANSWER, ANSWER], "No tool call found", id="output twice"),
        pytest.param([ASKED | {"name": "a.b"}, ANSWER], "match pattern", id="name"),
        pytest.param([ASKED | {"call_id": 65 * "c"}], "match pattern", id="long id"),
        pytest.param([thought(), message("Hm.")], "not found", id="reasoning made up"),
        pytest.param([message("Hm.")], "not found", id="id made up"),
        pytest.param([{"type": "hologram"}], "not as it was given out", id="kind made up"),
        pytest.param([], "must be provided", id="nothing"),
    ],
)
def test_bad_items_are_refused(items: list[JsonObject], reason: str) -> None:
    """Each call has its one output, and nothing is made up."""
    assert reason in refusal(*items)


THOUGHT, SAID = thought(), message("Hm.")


@pytest.mark.parametrize(
    ("items", "reason"),
    [
        pytest.param([THOUGHT, SAID], "", id="as it came"),
        pytest.param([THOUGHT], "without its required following item", id="reasoning alone"),
        pytest.param([THOUGHT, PERSON], "without its required following item", id="other after"),
        pytest.param([SAID], "without its required 'reasoning' item", id="message alone"),
        pytest.param([SAID, THOUGHT], "without its required", id="other order"),
        pytest.param([THOUGHT | {"summary": []}, SAID], "not as it was given out", id="changed"),
        pytest.param([THOUGHT, message("Oh.")], "not as it was given out", id="other words"),
        pytest.param([THOUGHT, SAID, THOUGHT, SAID], "Duplicate item", id="twice"),
    ],
)
def test_reasoning_goes_with_what_came_of_it(items: list[JsonObject], reason: str) -> None:
    """It was given out, is unchanged, and is followed by the item that it led to."""
    found = refusal(PERSON, *items, rules=having_issued(THOUGHT, SAID))

    assert reason in found
    assert bool(found) is bool(reason)


def test_unsealed_reasoning_isnt_known_any_more() -> None:
    """Without its content there is nothing that the server could go by."""
    bare = thought(encrypted_content=None)

    assert "isn't persisted" in refusal(PERSON, bare, SAID, rules=having_issued(bare, SAID))


@pytest.mark.parametrize(
    ("stored", "items", "reason"),
    [
        pytest.param(True, [ANSWER | {"call_id": "call_1"}], "", id="answered"),
        pytest.param(True, [PERSON], "No tool output found", id="unanswered"),
        pytest.param(True, [call(1, "{}")], "Duplicate item", id="sent again"),
        pytest.param(False, [ANSWER], "previous_response_not_found", id="not stored"),
    ],
)
def test_chain_holds_what_was_before(
    *, stored: bool, items: list[JsonObject], reason: str
) -> None:
    """A stored response brings its calls along, which want their outputs and nothing twice."""
    rules = having_issued(call(1, "{}"), store=stored)

    found = refusal(*items, rules=rules, previous_response_id="resp_1")

    assert reason in found
    assert bool(found) is bool(reason)


def test_conversation_is_kept() -> None:
    """It is begun empty, holds what was sent and said, and shows its last item."""
    rules = ResponsesRules()
    assert rules.page("POST", "/v1/conversations", {})
    assert refusal(PERSON, rules=rules, conversation="conv_1", store=True) == ""
    rules.issued(response(message("Hm.", 3)))

    last = rules.page("GET", "/v1/conversations/conv_1/items?limit=1&order=desc", {})
    lost = rules.page("GET", "/v1/conversations/conv_2/items?limit=1&order=desc", {})

    assert last
    assert last.body["data"] == [message("Hm.", 3)]
    assert lost
    assert lost.status == 404
