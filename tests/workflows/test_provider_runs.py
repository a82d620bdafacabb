"""Whole runs on real SDKs: reasoning, hosted tools, pauses, shapes, chains, other providers."""

import json
from pathlib import Path

import pytest
from pydantic import BaseModel

from holdfast import Agent, App, HostedTool, ModelSettings
from holdfast.adapters.wire import as_list, as_object
from holdfast.contracts.base import JsonObject
from holdfast.contracts.budget import UsageReport
from holdfast.contracts.model import Strategy
from tests.adapters.conversations import objects
from tests.adapters.provider_server import ProviderServer
from tests.histories import activities, names, noted
from tests.memory.runs import MemoryRuns
from tests.running import DAY, Runs
from tests.sample import account, add, look, send
from tests.workflows.provider_words import (
    CLAUDE,
    GPT,
    anthropic,
    commentary,
    function_call,
    message,
    openai,
    reasoning,
    searched,
    text,
    thinking,
    tool_use,
)
from tests.workflows.turn_words import FORMATS, Asked, Line

GONE: JsonObject = {"type": "error", "error": {"type": "not_found_error", "message": "no model"}}


def an_app(*models: str, **settings: object) -> App:
    fields: dict[str, object] = {
        "name": "it",
        "instructions": "Do as you are told.",
        "models": models,
        "tools": [add, look],
        **settings,
    }
    return App(agents=[Agent(**fields)])  # pyright: ignore[reportArgumentType] -- as a test wants


def bodies(provider: ProviderServer, path: str) -> list[JsonObject]:
    """The requests to one endpoint."""
    return [received.body for received in provider.requests if received.path.endswith(path)]


async def test_a_run_changes_its_provider_both_ways(
    memory_runs: MemoryRuns, provider: ProviderServer
) -> None:
    """With calls and reasoning on either side another provider takes over, and gives back."""
    # AD-04 T-25 T-35
    provider.answer(anthropic("tool_use", thinking("2 + 3"), tool_use("toolu_1", a=2, b=3)))
    provider.answer(GONE, status=404)
    provider.answer(openai(reasoning("5 + 4"), function_call("call_2", a=5, b=4)))
    provider.answer(GONE, status=404)
    provider.answer(anthropic("end_turn", thinking("9"), text("It is 9.")))
    async with memory_runs.working(an_app(CLAUDE, GPT, CLAUDE)):
        run = await memory_runs.start("it", "Add 2, 3 and 4.")
        result = await run.result()
        found = await run.results()

    assert (result.status, result.answer, result.model) == ("completed", "It is 9.", CLAUDE)
    assert [one.status for one in found] == ["ok", "ok"]
    to_openai = str(bodies(provider, "/responses")[0])
    assert "2 + 3" not in to_openai
    assert "toolu_1" in to_openai
    back = str(bodies(provider, "/messages")[-1])
    assert "2 + 3" in back
    assert "5 + 4" not in back
    assert "call_2" in back


@pytest.mark.parametrize("model", list(FORMATS))
async def test_what_ran_reaches_the_model_as_status_summary_and_data(
    memory_runs: MemoryRuns, provider: ProviderServer, model: str
) -> None:
    """Whoever the provider is, its next request has what the call came to, in one structure."""
    # PF-11 AD-17
    line = Line(provider)
    line.ask(
        model, Asked("t1", "add", {"a": 2, "b": 3}), Asked("t2", "account", {"tenant": "other"})
    )
    line.say(model, "Done.")
    async with memory_runs.working(an_app(model, tools=[add, account])):
        await (await memory_runs.start("it")).result()

    told = [text for one in objects(provider.requests[1].body) for text in one.values()]
    assert '{"status":"ok","summary":"5","data":5}' in told
    (denied,) = (text for text in told if isinstance(text, str) and "permission_denied" in text)
    refused = json.loads(denied)
    assert {*refused} == {"status", "type", "reason", "next_valid_actions"}
    assert refused["status"] == "denied"


async def test_a_mixed_turn_is_answered_in_one_message(
    memory_runs: MemoryRuns, provider: ProviderServer, tmp_path: Path
) -> None:
    """What a read brought is held until a person has decided about the call beside it."""
    # BY-41
    log = tmp_path / "sent"
    sent = tool_use("toolu_2", "send", log=str(log), text="hi")
    provider.answer(anthropic("tool_use", text("So."), tool_use("toolu_1", a=2, b=3), sent))
    provider.answer(anthropic("end_turn", text("Done.")))
    async with memory_runs.working(an_app(CLAUDE, tools=[add, send])):
        run = await memory_runs.start("it")
        request = await run.asked_for_approval()
        before = len(bodies(provider, "/messages"))
        await run.approve(request.request_id)
        result = await run.result()

    _, second = bodies(provider, "/messages")
    assert (before, result.status, result.answer) == (1, "completed", "Done.")
    *_, asked, answered = as_list(second["messages"])
    assert (as_object(asked)["role"], as_object(answered)["role"]) == ("assistant", "user")
    blocks = [as_object(one) for one in as_list(as_object(answered)["content"])]
    assert [(one["type"], one.get("tool_use_id")) for one in blocks] == [
        ("tool_result", "toolu_1"),
        ("tool_result", "toolu_2"),
    ]


async def test_a_hosted_tool_is_recorded_and_not_dispatched(
    runs: Runs, provider: ProviderServer
) -> None:
    """What ran at the provider has a line in history, no activity, and no permission to ask."""
    # HT-01 AD-23 T-28
    provider.answer(
        anthropic("tool_use", *searched("weather in Köln"), tool_use("toolu_1", a=9, b=9))
    )
    provider.answer(anthropic("end_turn", text("18 degrees.")))
    async with runs.working(an_app(CLAUDE, hosted=[HostedTool(name="web_search")])):
        run = await runs.start("it", "How warm is it in Köln, times two?")
        result = await run.result()
        history = await run.handle.fetch_history()
        usage = await run.handle.query("usage", result_type=UsageReport)

    assert result.answer == "18 degrees."
    assert names(history) == [
        *("open_run", "call_model", "record", "authorize", "add", "call_model")
    ]
    assert activities(history)[2].summary.startswith("hosted tool: web_search")
    assert "weather in Köln" in activities(history)[2].summary
    assert (usage.hosted_calls, usage.tool_calls) == (1, 1)


@pytest.mark.parametrize(
    ("model", "half", "whole"),
    [
        pytest.param(
            CLAUDE,
            anthropic("pause_turn", *searched("weather in Köln")),
            anthropic("end_turn", text("18 degrees.")),
            id="pause_turn",
        ),
        pytest.param(
            GPT,
            openai(commentary("I'll look it up.")),
            openai(message("18 degrees.")),
            id="commentary",
        ),
    ],
)
async def test_a_model_that_pauses_is_asked_again(
    memory_runs: MemoryRuns,
    provider: ProviderServer,
    model: str,
    half: JsonObject,
    whole: JsonObject,
) -> None:
    """A turn that isn't done goes on in the next request, with what was said so far."""
    # BY-49
    provider.answer(half)
    provider.answer(whole)
    async with memory_runs.working(an_app(model, hosted=[HostedTool(name="web_search")])):
        run = await memory_runs.start("it", "How warm is it in Köln?")
        result = await run.result()

    assert (result.status, result.answer, result.steps) == ("completed", "18 degrees.", 2)
    assert len(provider.requests) == 2


class Sum(BaseModel):
    """A sum with its parts."""

    parts: list[int]
    total: int


@pytest.mark.parametrize(
    ("model", "wrong", "right"),
    [
        pytest.param(
            CLAUDE,
            anthropic("end_turn", text('{"parts": [2, 3]}')),
            anthropic("end_turn", text('{"parts": [2, 3], "total": 5}')),
            id="anthropic",
        ),
        pytest.param(
            GPT,
            openai(message('{"parts": [2, 3]}')),
            openai(message('{"parts": [2, 3], "total": 5}')),
            id="openai",
        ),
    ],
)
async def test_an_answer_in_a_shape_is_checked_here(
    memory_runs: MemoryRuns,
    provider: ProviderServer,
    model: str,
    wrong: JsonObject,
    right: JsonObject,
) -> None:
    """The provider is told the shape, the answer is checked again, and goes back if it's wrong."""
    # SV-06 SV-08 BY-45
    provider.answer(wrong)
    provider.answer(right)
    async with memory_runs.working(an_app(model, output=Sum, tools=[])):
        run = await memory_runs.start("it", "What is 2 + 3?")
        result = await run.result()

    assert result.output == {"parts": [2, 3], "total": 5}
    assert '"total" is a required property' in str(provider.requests[1].body)
    assert "json_schema" in str(provider.requests[0].body)


async def test_a_container_is_kept_for_the_next_turn(
    memory_runs: MemoryRuns, provider: ProviderServer
) -> None:
    """What a provider wants to see again goes back in each request, and is in the result."""
    # AD-10 PS-03 PS-07 PS-13
    first = anthropic("tool_use", tool_use("toolu_1", a=2, b=3))
    container: JsonObject = {"id": "container_1", "expires_at": "2027-01-01T00:00:00Z"}
    provider.answer({**first, "container": container})
    provider.answer(anthropic("end_turn", text("5")))
    hosted = [HostedTool(name="code_execution")]
    async with memory_runs.working(an_app(CLAUDE, hosted=hosted)):
        result = await (await memory_runs.start("it", "What is 2 + 3?")).result()

    assert "container" not in provider.requests[0].body
    assert provider.requests[1].body["container"] == "container_1"
    assert result.provider_state == {"anthropic": {"container_id": "container_1"}}


CHAINS: list[Strategy] = ["stateless", "previous_response_id", "conversation"]


@pytest.mark.parametrize("events", [1, 15_000], ids=["continued as new", "one execution"])
async def test_every_strategy_leaves_the_same_record(
    memory_runs: MemoryRuns, provider: ProviderServer, events: int
) -> None:
    """Who else keeps the conversation is the provider's business: our record is the same."""
    # SS-01 SS-02 SS-03 SS-04 PS-24 AD-22
    records: list[list[tuple[str, str]]] = []
    inputs: list[list[int]] = []
    async with memory_runs.working(an_app(GPT, max_history_events=events)):
        for strategy in CHAINS:
            before = len(provider.requests)
            provider.answer(openai(reasoning("sum"), function_call("call_1", a=2, b=3)))
            provider.answer(openai(function_call("call_2", a=5, b=4)))
            provider.answer(openai(message("It is 9.")))
            run = await memory_runs.start("it", "Add 2, 3 and 4.", strategy=strategy)
            result = await run.result()
            stories = await memory_runs.stories(run)
            records.append([(one.name, one.summary) for each in stories for one in noted(each)])
            asked = [
                received.body["input"]
                for received in provider.requests[before:]
                if received.path.endswith("/responses")
            ]
            inputs.append([len(sent) for sent in asked if isinstance(sent, list)])
            assert result.answer == "It is 9."

    assert [name for name, _ in records[0]].count("call_model") == 3
    assert records[0] == records[1] == records[2]
    assert inputs == [[1, 4, 6], [1, 1, 1], [1, 1, 1]]


@pytest.mark.parametrize(
    ("model", "answer"),
    [
        pytest.param(CLAUDE, anthropic("end_turn", text("hello")), id="anthropic"),
        pytest.param(GPT, openai(message("hello")), id="openai"),
    ],
)
async def test_the_prefix_is_the_same_a_day_later(
    skipping_runs: Runs,
    provider: ProviderServer,
    model: str,
    answer: JsonObject,
) -> None:
    """Nothing before the conversation depends on the run or the time, so caches hold."""
    # PP-03 PP-08
    app = an_app(model, settings=ModelSettings(reasoning="low"))
    async with skipping_runs.working(app):
        for goal in ("Say hello.", "Say it again."):
            provider.answer(answer)
            await (await skipping_runs.start("it", goal)).result()
            await skipping_runs.pass_time(1 * DAY)

    prefixes = [
        {name: value for name, value in received.body.items() if name not in ("messages", "input")}
        for received in provider.requests
    ]
    assert len(prefixes) == 2
    assert str(prefixes[0]) == str(prefixes[1])
