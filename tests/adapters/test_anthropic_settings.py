"""What an agent asks of Anthropic's models beyond words, and what they make of it."""

from dataclasses import replace

import pytest
from pydantic import JsonValue

from holdfast.adapters.anthropic import AnthropicAdapter
from holdfast.contracts.base import JsonObject
from holdfast.contracts.model import ModelSettings, Prefix, ToolSchema
from holdfast.contracts.tools import HostedTool
from holdfast.contracts.transcript import AssistantTurn, ToolTurn, UserTurn
from tests.adapters import conversations as say
from tests.adapters.anthropic_talk import (
    NEWER,
    SEARCH,
    SHAPE,
    rendered,
    results,
    thinking,
    with_settings,
)
from tests.adapters.provider_server import ProviderServer
from tests.adapters.samples.anthropic import MODEL, WORDS, call, message

BOUNDED: JsonObject = {**SHAPE, "properties": {"city": {"type": "string", "maxLength": 9}}}


@pytest.mark.parametrize(
    ("settings", "turn", "choice"),
    [
        pytest.param({}, 1, None, id="free"),
        pytest.param({"tool_choice": "required"}, 1, {"type": "any"}, id="any"),
        pytest.param({"tool_choice": "none"}, 1, {"type": "none"}, id="none"),
        pytest.param(
            {"tool_choice": "find_order"}, 1, {"type": "tool", "name": "find_order"}, id="named"
        ),
        pytest.param({"tool_choice": "required"}, 2, None, id="free afterwards"),
        pytest.param(
            {"parallel_calls": False},
            2,
            {"type": "auto", "disable_parallel_tool_use": True},
            id="one at a time",
        ),
        pytest.param(
            {"parallel_calls": False, "tool_choice": "none"}, 1, {"type": "none"}, id="none at all"
        ),
    ],
)
async def test_choice_of_tools(
    provider: ProviderServer, settings: JsonObject, turn: int, choice: JsonValue
) -> None:
    """What a model must call holds for its first turn; one call at a time for all."""
    provider.answer(WORDS)
    request = replace(say.request(MODEL, prefix=with_settings(**settings)), turn=turn)

    await AnthropicAdapter().respond(request)

    assert provider.requests[0].body.get("tool_choice") == choice


@pytest.mark.parametrize("hosted", [(), (HostedTool(name="telepathy"),)], ids=["none", "unknown"])
def test_without_tools_there_is_no_choice(hosted: tuple[HostedTool, ...]) -> None:
    """The API refuses a choice among no tools."""
    settings = ModelSettings(tool_choice="required", parallel_calls=False)
    prefix = Prefix(instructions="", tools=(), hosted=hosted, settings=settings)

    assert "tool_choice" not in rendered(prefix=prefix)


BUDGET: JsonObject = {"type": "enabled", "budget_tokens": 2000}
ADAPTIVE: JsonObject = {"type": "adaptive"}


@pytest.mark.parametrize(
    ("model", "settings", "thought", "effort", "noted"),
    [
        pytest.param(NEWER, {}, None, None, "", id="as the provider likes"),
        pytest.param(NEWER, {"reasoning": "xhigh"}, ADAPTIVE, "xhigh", "", id="newest"),
        pytest.param(
            NEWER, {"reasoning": "minimal"}, ADAPTIVE, "low", "no effort 'minimal'", id="least"
        ),
        pytest.param(NEWER, {"reasoning": "none"}, {"type": "disabled"}, None, "", id="none"),
        pytest.param(
            NEWER, {"reasoning_tokens": 2000}, ADAPTIVE, None, "decides itself", id="no budgets"
        ),
        pytest.param("claude-of-tomorrow-7", {"reasoning": "low"}, ADAPTIVE, "low", "", id="new"),
        pytest.param(
            "claude-fable-5-2", {"reasoning": "none"}, None, "low", "always thinks", id="always"
        ),
        pytest.param("claude-opus-4-8", {"reasoning": "none"}, None, None, "", id="unless asked"),
        pytest.param(
            "claude-opus-4-6", {"reasoning": "xhigh"}, ADAPTIVE, "high", "'high'", id="no xhigh"
        ),
        pytest.param(
            "claude-opus-4-6", {"reasoning_tokens": 2000}, BUDGET, None, "", id="either way"
        ),
        pytest.param(
            "claude-opus-4-5",
            {"reasoning": "medium", "reasoning_tokens": 2000},
            BUDGET,
            "medium",
            "",
            id="both",
        ),
        pytest.param(
            MODEL,
            {"reasoning": "medium"},
            {"type": "enabled", "budget_tokens": 8192},
            None,
            "",
            id="effort as a budget",
        ),
        pytest.param(
            MODEL,
            {"reasoning_tokens": 100},
            {"type": "enabled", "budget_tokens": 1024},
            None,
            "1024 tokens instead of 100",
            id="too small a budget",
        ),
        pytest.param(
            MODEL,
            {"reasoning_tokens": 5000, "max_output_tokens": 4096},
            {"type": "enabled", "budget_tokens": 3072},
            None,
            "3072 tokens instead of 5000",
            id="too large a budget",
        ),
        pytest.param(
            MODEL,
            {"reasoning": "low", "max_output_tokens": 1000},
            None,
            None,
            "no room",
            id="no room for a budget",
        ),
    ],
)
async def test_reasoning_in_the_models_own_words(
    provider: ProviderServer,
    model: str,
    settings: JsonObject,
    thought: JsonObject | None,
    effort: str | None,
    noted: str,
) -> None:
    """Each family is asked in its own way; what it can't do is said."""
    provider.answer(WORDS)

    reply = await AnthropicAdapter().respond(say.request(model, prefix=with_settings(**settings)))

    body = provider.requests[0].body
    assert body.get("thinking") == thought
    assert body.get("output_config") == (None if effort is None else {"effort": effort})
    assert noted in " ".join(reply.notes)
    assert bool(reply.notes) == bool(noted)


async def test_forced_calls_and_a_budget_exclude_each_other(provider: ProviderServer) -> None:
    """The turn that must call does without thinking; so do its results, as the API wants it."""
    provider.answer(message(call("c1", {}), stop="tool_use"))
    provider.answer(WORDS)
    provider.answer(WORDS)
    prefix = with_settings(reasoning_tokens=2000, tool_choice="required")
    request, adapter = say.request(MODEL, prefix=prefix), AnthropicAdapter()

    first = await adapter.respond(request)
    turn = AssistantTurn(model=f"anthropic:{MODEL}", calls=first.calls)
    amid = (say.GOAL, turn, results(*first.calls))
    second = await adapter.respond(replace(request, turn=2, transcript=amid))
    after = (*amid, AssistantTurn(model="other:model", text="Köln."), UserTurn(text="Sure?"))
    third = await adapter.respond(replace(request, turn=3, transcript=after))

    assert [received.body.get("thinking") for received in provider.requests] == [
        None,
        None,
        BUDGET,
    ]
    assert [len(reply.notes) for reply in (first, second, third)] == [1, 1, 0]


async def test_thinking_goes_on_where_it_began(provider: ProviderServer) -> None:
    """Results in a turn that began with thinking are thought about."""
    provider.answer(message(thinking("Hm."), call("c1", {}), stop="tool_use"))
    provider.answer(WORDS)
    adapter = AnthropicAdapter()
    request = say.request(MODEL, prefix=with_settings(reasoning_tokens=2000))

    reply = await adapter.respond(request)
    turn = AssistantTurn(model=f"anthropic:{MODEL}", calls=reply.calls, parts=reply.parts)
    amid = (say.GOAL, turn, ToolTurn(results=results(*reply.calls).results))
    await adapter.respond(replace(request, turn=2, transcript=amid))

    assert provider.requests[1].body["thinking"] == BUDGET


def test_adaptive_thinking_goes_with_forced_calls() -> None:
    """Only a budget excludes them."""
    prefix = with_settings(reasoning="high", tool_choice="required")

    body = rendered(prefix=prefix, model=NEWER)

    assert (body["thinking"], body["tool_choice"]) == (ADAPTIVE, {"type": "any"})


@pytest.mark.parametrize(
    ("model", "schema", "told"),
    [
        pytest.param(MODEL, SHAPE, "", id="enforced"),
        pytest.param(MODEL, BOUNDED, '"maxLength":9', id="with bounds"),
        pytest.param("claude-opus-4-1", SHAPE, '"required":["city"]', id="older model"),
    ],
)
async def test_answer_in_a_declared_shape(
    provider: ProviderServer, model: str, schema: JsonObject, told: str
) -> None:
    """The API holds the model to the schema, or the model is told, and that is noted."""
    # SV-06, PP-02
    provider.answer(WORDS)
    prefix = say.PREFIX.model_copy(update={"output_schema": schema})

    reply = await AnthropicAdapter().respond(say.request(model, prefix=prefix))

    body = provider.requests[0].body
    shape: JsonObject = {"format": {"type": "json_schema", "schema": schema}}
    assert body.get("output_config") == (None if told else shape)
    assert told in str(body["system"])
    assert ("JSON Schema" in str(body["system"])) is bool(told)
    assert any("told in words" in note for note in reply.notes) is bool(told)


@pytest.mark.parametrize(
    ("model", "searches", "runs"),
    [
        pytest.param(NEWER, "web_search_20260318", "code_execution_20260521", id="newer"),
        pytest.param(MODEL, "web_search_20250305", "code_execution_20250825", id="older"),
    ],
)
async def test_hosted_tools_are_declared(
    provider: ProviderServer, model: str, searches: str, runs: str
) -> None:
    """They stand behind the agent's own, with their options; unknown ones are left out."""
    provider.answer(WORDS)
    hosted = (SEARCH, HostedTool(name="code_execution"), HostedTool(name="telepathy"))
    prefix = say.PREFIX.model_copy(update={"hosted": hosted})

    reply = await AnthropicAdapter().respond(say.request(model, prefix=prefix))

    tools = provider.requests[0].body["tools"]
    assert isinstance(tools, list)
    assert tools[1:] == [
        {"type": searches, "name": "web_search", "max_uses": 3},
        {"type": runs, "name": "code_execution"},
    ]
    assert reply.notes == ("anthropic has no tool 'telepathy' of its own: it is left out",)


def test_version_of_a_hosted_tool_may_be_chosen() -> None:
    """An option `type` wins, also for a tool that this release doesn't know."""
    options: JsonObject = {"type": "advisor_20260301", "model": "claude-opus-5-5"}
    prefix = Prefix(
        instructions="x", tools=(), hosted=(HostedTool(name="advisor", options=options),)
    )

    assert rendered(prefix=prefix)["tools"] == [{"name": "advisor", **options}]


def test_tools_are_strict_as_far_as_a_grammar_goes() -> None:
    """Only so many tools of a request can be held to their schemas: the first of them."""
    # SV-07
    tools = tuple(
        ToolSchema(name=f"tool_{n}", description="", input_schema=SHAPE) for n in range(22)
    )

    declared = rendered(prefix=Prefix(instructions="", tools=tools))["tools"]

    assert isinstance(declared, list)
    strict = [tool.get("strict", False) for tool in declared if isinstance(tool, dict)]
    assert strict == [True] * 20 + [False] * 2
