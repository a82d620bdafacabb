"""Tools that run at a provider: how often they may, and what they cost."""

from dataclasses import replace
from decimal import Decimal

import pytest
from pydantic import JsonValue

from holdfast.adapters.anthropic import AnthropicAdapter
from holdfast.adapters.openai import OpenAIAdapter
from holdfast.adapters.openai_chat import OpenAIChatAdapter
from holdfast.contracts.base import JsonObject
from holdfast.contracts.model import Prefix
from holdfast.contracts.tools import HostedTool
from tests.adapters import conversations as say
from tests.adapters.provider_server import ProviderServer
from tests.adapters.recordings.values import entries
from tests.workflows import provider_words as words

SEARCH = HostedTool(name="web_search")
FETCH = HostedTool(name="web_fetch")
CODE = HostedTool(name="code_execution")
CLAUDE, GPT = "claude-sonnet-5", "gpt-5.2"
TOKENS: JsonObject = {"input_tokens": 0, "output_tokens": 0}
"""They cost nothing, so what is left of a price is what ran at the provider."""


def prefix(*hosted: HostedTool) -> Prefix:
    return say.PREFIX.model_copy(update={"hosted": hosted})


@pytest.mark.parametrize(
    ("hosted", "left", "uses"),
    [
        pytest.param((SEARCH,), 4, {"web_search": 4}, id="all that is left"),
        pytest.param((SEARCH, FETCH), 5, {"web_search": 2, "web_fetch": 2}, id="equal shares"),
        pytest.param((SEARCH, FETCH), 1, {"web_search": 1, "web_fetch": 1}, id="one at least"),
        pytest.param(
            (HostedTool(name="web_search", options={"max_uses": 2}),),
            4,
            {"web_search": 2},
            id="the app allows fewer",
        ),
        pytest.param((SEARCH, CODE), 3, {"web_search": 3}, id="what can be bounded"),
        pytest.param((SEARCH,), None, {}, id="no limit"),
        pytest.param((SEARCH,), 0, {}, id="none is left"),
    ],
)
async def test_anthropic_is_told_how_often(
    provider: ProviderServer, hosted: tuple[HostedTool, ...], left: int | None, uses: JsonObject
) -> None:
    """Each tool that takes a bound has one; with nothing left no tool may be called."""
    # T-28
    provider.answer(words.anthropic("end_turn", words.text("ok")))
    asked = replace(say.request(CLAUDE, prefix=prefix(*hosted)), calls_left=left)

    await AnthropicAdapter().respond(asked)

    body = provider.requests[0].body
    tools = entries(body["tools"])
    assert {t["name"]: t["max_uses"] for t in tools if "max_uses" in t} == uses
    assert body.get("tool_choice") == ({"type": "none"} if left == 0 else None)


@pytest.mark.parametrize(
    ("hosted", "left", "bound", "choice"),
    [
        pytest.param((SEARCH, CODE), 4, 4, None, id="all tools together"),
        pytest.param((SEARCH,), None, None, None, id="no limit"),
        pytest.param((SEARCH,), 0, None, "none", id="none is left"),
        pytest.param((FETCH,), 4, None, None, id="none runs there"),
    ],
)
async def test_openai_is_told_how_often(
    provider: ProviderServer,
    hosted: tuple[HostedTool, ...],
    left: int | None,
    bound: int | None,
    choice: JsonValue,
) -> None:
    """One bound holds for all tools of a request; with nothing left no tool may be called."""
    # T-28
    provider.answer(words.openai(words.message("ok")))
    asked = replace(say.request(GPT, prefix=prefix(*hosted)), calls_left=left)

    await OpenAIAdapter().respond(asked)

    body = provider.requests[0].body
    assert (body.get("max_tool_calls"), body.get("tool_choice")) == (bound, choice)


def ran(name: str) -> JsonObject:
    return {"type": "server_tool_use", "id": f"srvtoolu_{name}", "name": name, "input": {}}


@pytest.mark.parametrize(
    ("names", "counted", "dollars"),
    [
        pytest.param(["web_search"], {"web_search_requests": 3}, "0.03", id="as it counts"),
        pytest.param(["web_search"] * 2, None, "0.02", id="as they are seen"),
        pytest.param(["web_search"], {"web_search_requests": 0}, "0", id="failed"),
        pytest.param(["web_fetch", "tool_search_tool_bm25"], None, "0", id="free"),
        pytest.param(["web_fetch", "bash_code_execution"], None, "0", id="code for a fetch"),
        pytest.param(["code_execution"], {"web_search_requests": 0}, None, id="code alone"),
        pytest.param(["web_search", "advisor"], None, None, id="another model"),
        pytest.param(["telepathy"], None, None, id="new here"),
    ],
)
def test_what_runs_at_anthropic_is_priced(
    names: list[str], counted: JsonObject | None, dollars: str | None
) -> None:
    """What is billed by its number is in the price of the call; else the price is unknown."""
    # T-28
    said = words.anthropic("end_turn", *map(ran, names), words.text("ok"))

    usage: JsonObject = {**TOKENS, "server_tool_use": counted}
    raw: JsonObject = {**said, "usage": usage}
    used = AnthropicAdapter().extract_usage(raw)

    assert used.estimated_cost == (None if dollars is None else Decimal(dollars))


def item(kind: str, action: str = "") -> JsonObject:
    return {"type": kind, "id": "x", "status": "completed", "action": {"type": action}}


@pytest.mark.parametrize(
    ("items", "counted", "dollars"),
    [
        pytest.param([item("web_search_call", "search")] * 3, None, "0.03", id="searches"),
        pytest.param([item("web_search_call", "open_page")], None, "0", id="a look at a page"),
        pytest.param(
            [item("web_search_call", "search")],
            {"web_search": {"num_requests": 2}},
            "0.02",
            id="as it counts",
        ),
        pytest.param([item("file_search_call")] * 2, None, "0.005", id="files"),
        pytest.param([item("mcp_call"), item("tool_search_call")], None, "0", id="free"),
        pytest.param([item("code_interpreter_call")], None, None, id="code"),
        pytest.param([item("image_generation_call")], None, None, id="images"),
    ],
)
def test_what_runs_at_openai_is_priced(
    items: list[JsonObject], counted: JsonValue, dollars: str | None
) -> None:
    """What is billed by its number is in the price of the call; else the price is unknown."""
    # T-28
    raw: JsonObject = {**words.openai(*items), "usage": TOKENS, "tool_usage": counted}

    used = OpenAIAdapter().extract_usage(raw)

    assert used.estimated_cost == (None if dollars is None else Decimal(dollars))


def test_a_model_whose_searches_have_no_price() -> None:
    """The price list has models without one: then the price of the call is unknown."""
    # T-28
    raw = words.openai(item("web_search_call", "search")) | {"model": "gpt-3.5-turbo"}

    assert OpenAIAdapter().extract_usage(raw).estimated_cost is None


def test_what_other_servers_run_has_no_known_price() -> None:
    """A server that ran tools of its own bills them as it likes."""
    # T-28
    raw = words.chat(words="ok")
    message: JsonObject = {"content": "ok", "executed_tools": [{"type": "search"}]}
    other: JsonObject = {**raw, "choices": [{"message": message}]}
    adapter = OpenAIChatAdapter()

    assert adapter.extract_usage(raw).estimated_cost is not None
    assert adapter.extract_usage(other).estimated_cost is None
