"""The server of these tests refuses what the real Anthropic Messages refuses."""

from collections.abc import Mapping

import pytest
from pydantic import JsonValue

from holdfast.contracts.base import JsonObject
from tests.adapters.anthropic_talk import CACHED, NEWER, programmed, result, searching, thinking
from tests.adapters.rules.anthropic import AnthropicRules
from tests.adapters.samples.anthropic import MODEL, call, message, text

HEADERS: Mapping[str, str] = {"anthropic-version": "2026-10-21"}
TOOL: JsonObject = {
    "name": "find_order",
    "description": "Look it up.",
    "input_schema": {"type": "object", "properties": {}, "additionalProperties": False},
}
LOOSE: JsonObject = {"type": "object", "properties": {}}
BOUNDED: JsonObject = {
    "type": "object",
    "properties": {"n": {"type": "integer", "maximum": 9}},
    "additionalProperties": False,
}
GOAL: JsonObject = {"role": "user", "content": [text("Where?")]}
PAUSED: list[JsonObject] = [thinking("Hm."), searching()]


def said(*content: JsonObject) -> JsonObject:
    return {"role": "assistant", "content": [*content]}


def heard(*content: JsonObject) -> JsonObject:
    return {"role": "user", "content": [*content]}


def problem(body: JsonObject) -> str | None:
    """Ask a server that has issued a paused turn, with a container."""
    rules = AnthropicRules()
    rules.issued(message(*PAUSED, stop="pause_turn", container={"id": "container_1"}))
    rules.issued(message({"type": "redacted_thinking", "data": "c2VjcmV0"}))
    return rules.problem("/v1/messages", HEADERS, body)


def asking(*turns: JsonObject, model: str = MODEL, **fields: JsonValue) -> JsonObject:
    body: JsonObject = {"model": model, "max_tokens": 4096, "stream": True, "tools": [TOOL]}
    body |= {"messages": [GOAL, *turns]}
    return body | fields


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(asking(), id="a goal"),
        pytest.param(asking(said(call("c1", {})), heard(result("c1"), text("ok"))), id="a result"),
        pytest.param(asking(said(*PAUSED)), id="a pause"),
        pytest.param(asking(said(text("so"), *PAUSED)), id="a pause after words"),
        pytest.param(asking(container="container_1"), id="a container"),
        pytest.param(asking(said(programmed("c1")), heard(result("c1"))), id="code"),
        pytest.param(
            asking(model=NEWER, thinking={"type": "adaptive"}, tool_choice={"type": "any"}),
            id="adaptive thinking",
        ),
        pytest.param(asking(thinking={"type": "enabled", "budget_tokens": 1024}), id="a budget"),
    ],
)
def test_good_requests_are_taken(body: JsonObject) -> None:
    """What the API takes is taken."""
    assert problem(body) is None


STRICT: JsonObject = {**TOOL, "strict": True}
TOO_STRICT: JsonObject = {**STRICT, "input_schema": BOUNDED}
BUDGET: JsonObject = {"type": "enabled", "budget_tokens": 1024}
FORMAT: JsonObject = {"format": {"type": "json_schema", "schema": LOOSE}}


@pytest.mark.parametrize(
    ("body", "words"),
    [
        pytest.param(asking(temperature=0), "temperature", id="unknown field"),
        pytest.param(asking(stream=None), "stream", id="stream is true or false"),
        pytest.param(asking(heard(text("more"))), "alternate", id="user twice"),
        pytest.param(asking(messages=[said(text("x"))]), "alternate", id="assistant first"),
        pytest.param(asking(said(text("a")), heard(text(" "))), "pattern", id="blank words"),
        pytest.param(asking(said(call("c:1", {}))), "pattern", id="characters of an id"),
        pytest.param(
            asking(said(call("c1", {}) | {"name": "a.b"})), "pattern", id="characters of a name"
        ),
        pytest.param(
            asking(said(call("c1", {}), call("c1", {})), heard(result("c1"), result("c1"))),
            "unique",
            id="one id twice",
        ),
        pytest.param(
            asking(said(call("c1", {})), heard(text("so"))), "tool_result", id="no result"
        ),
        pytest.param(
            asking(said(text("so")), heard(result("c1"))), "tool_result", id="result of nothing"
        ),
        pytest.param(
            asking(said(call("c1", {})), heard(result("c1"), result("c1"))),
            "tool_result",
            id="two results",
        ),
        pytest.param(
            asking(said(call("c1", {})), heard(text("so"), result("c1"))),
            "come first",
            id="words before a result",
        ),
        pytest.param(
            asking(said(programmed("c1")), heard(result("c1"), text("so"))),
            "programmatic",
            id="words behind a result for code",
        ),
        pytest.param(
            asking(said(call("c1", {}) | {"toolset_name": "browser"}), heard(result("c1"))),
            "toolset_name",
            id="result without its toolset",
        ),
        pytest.param(
            asking(said(*PAUSED), heard(text("so"))), "without its result", id="amid a search"
        ),
        pytest.param(
            asking(said(searching("srvtoolu_2"))), "never issued", id="search never issued"
        ),
        pytest.param(
            asking(said(searching(query="Bonn"))), "never issued", id="search that was changed"
        ),
        pytest.param(
            asking(said(thinking("Hm!"), text("so")), heard(text("?"))),
            "signature",
            id="thinking that was changed",
        ),
        pytest.param(
            asking(said(thinking("Hm.", ""), text("so")), heard(text("?"))),
            "signature",
            id="thinking unsigned",
        ),
        pytest.param(
            asking(
                said({"type": "redacted_thinking", "data": "YQ=="}, text("so")), heard(text("?"))
            ),
            "data",
            id="redacted thinking never issued",
        ),
        pytest.param(
            asking(said(text("so"), thinking("Hm.")), heard(text("?"))),
            "final block",
            id="thinking at the end",
        ),
        pytest.param(asking(said(text("so"))), "prefill", id="prefill"),
        pytest.param(asking(said(*PAUSED, text("so"))), "prefill", id="words put behind a pause"),
        pytest.param(asking(container="container_2"), "container", id="container never issued"),
        pytest.param(
            asking(said(text("a")), heard(*(text("b") | CACHED for _ in range(5)))),
            "maximum of 4",
            id="cache breakpoints",
        ),
        pytest.param(asking(thinking={**BUDGET, "budget_tokens": 1023}), "1024", id="budget"),
        pytest.param(asking(thinking=BUDGET, max_tokens=1024), "max_tokens", id="no room"),
        pytest.param(
            asking(thinking=BUDGET, tool_choice={"type": "any"}), "tool_choice", id="forced call"
        ),
        pytest.param(
            asking(said(call("c1", {})), heard(result("c1")), thinking=BUDGET),
            "Expected `thinking`",
            id="thinking begins late",
        ),
        pytest.param(asking(model=NEWER, thinking=BUDGET), "not supported", id="no budgets"),
        pytest.param(asking(thinking={"type": "adaptive"}), "not supported", id="not adaptive"),
        pytest.param(
            asking(model="claude-fable-5", thinking={"type": "disabled"}), "disabled", id="always"
        ),
        pytest.param(asking(output_config={"effort": "low"}), "effort", id="no effort"),
        pytest.param(
            asking(model="claude-opus-4-6", output_config={"effort": "xhigh"}), "xhigh", id="xhigh"
        ),
        pytest.param(asking(output_config=FORMAT), "additionalProperties", id="open shape"),
        pytest.param(
            asking(tools=[TOO_STRICT]),
            "maximum",
            id="bounds",
        ),
        pytest.param(
            asking(model="claude-opus-4-1", tools=[STRICT]),
            "structured outputs",
            id="no strict tools",
        ),
        pytest.param(asking(tools=[TOOL, TOOL]), "unique", id="one name twice"),
        pytest.param(asking(tools=None, tool_choice={"type": "auto"}), "tool_choice", id="choice"),
        pytest.param(
            asking(tool_choice={"type": "tool", "name": "pay"}),
            "'pay' not found",
            id="which?",
        ),
    ],
)
def test_bad_requests_are_refused(body: JsonObject, words: str) -> None:
    """What the API refuses is refused, for the same reason."""
    assert words in (problem(body) or "")


def test_version_of_the_api_is_asked_for() -> None:
    """A client of another version is told so."""
    headers = {"anthropic-version": "2023-06-01"}

    assert AnthropicRules().problem("/v1/messages", headers, asking()) == (
        "another version of the API"
    )
