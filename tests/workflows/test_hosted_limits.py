"""Calls that run at a provider count against the budget of the run, like all others."""

import pytest

from holdfast import Agent, App, Budget, HostedTool
from holdfast.contracts.base import JsonObject
from holdfast.contracts.budget import UsageReport
from holdfast.contracts.run import RunResult
from holdfast.run.texts.figures import pluralize
from tests.adapters.provider_server import ProviderServer
from tests.memory.runs import MemoryRuns
from tests.running import AnyRuns
from tests.sample import add
from tests.workflows.provider_words import (
    CLAUDE,
    GPT,
    anthropic,
    commentary,
    function_call,
    message,
    openai,
    searched,
    text,
    tool_use,
)

SEARCH: JsonObject = {
    "type": "web_search_call",
    "id": "ws_1",
    "status": "completed",
    "action": {"type": "search", "query": "weather"},
}


def an_app(model: str, **budget: object) -> App:
    return App(
        agents=[
            Agent(
                name="it",
                instructions="Do as you are told.",
                models=[model],
                tools=[add],
                hosted=[HostedTool(name="web_search")],
                budget=Budget.model_validate(budget),
            )
        ]
    )


async def ended(runs: AnyRuns, app: App) -> tuple[RunResult, UsageReport]:
    async with runs.working(app):
        run = await runs.start("it", "How warm is it in Köln?")
        result = await run.result()
        return result, await run.query("usage", UsageReport)


def many(model: str, searches: int) -> JsonObject:
    """A reply that isn't done, after so many searches."""
    if model == CLAUDE:
        ran = [block for _ in range(searches) for block in searched("weather")]
        return anthropic("pause_turn", *ran)
    ran = [SEARCH | {"id": f"ws_{number}"} for number in range(searches)]
    return openai(*ran, commentary("I'll look further."))


@pytest.mark.parametrize("model", [CLAUDE, GPT])
@pytest.mark.parametrize("searches", [1, 50], ids=["as many as may", "a provider that ignores it"])
async def test_a_run_ends_when_hosted_calls_have_used_up_its_limit(
    memory_runs: MemoryRuns, provider: ProviderServer, model: str, searches: int
) -> None:
    """Nobody is asked before they run: so the model isn't asked again."""
    # T-28 BY-24
    provider.answer(many(model, searches))

    result, usage = await ended(memory_runs, an_app(model, max_tool_calls=1))

    assert result.stop is not None
    assert (result.status, result.stop.reason) == ("stopped", "max_tool_calls (1) reached")
    assert result.stop.detail == pluralize(searches, "tool call")
    assert (usage.hosted_calls, usage.tool_calls) == (searches, 0)
    assert len(provider.requests) == 1


async def test_what_is_left_bounds_the_next_request(
    memory_runs: MemoryRuns, provider: ProviderServer
) -> None:
    """Calls on either side leave fewer for the provider; in the end it may make none."""
    # T-28
    provider.answer(anthropic("tool_use", *searched("weather"), tool_use("toolu_1", a=1, b=1)))
    provider.answer(anthropic("end_turn", text("18 degrees.")))
    result, _ = await ended(memory_runs, an_app(CLAUDE, max_tool_calls=5))
    provider.answer(openai(function_call("call_1", a=1, b=1)))
    provider.answer(openai(message("18 degrees.")))
    other, _ = await ended(memory_runs, an_app(GPT, max_tool_calls=1))

    bodies = [received.body for received in provider.requests]
    assert (result.status, other.status) == ("completed", "completed")
    assert ['"max_uses": 5' in str(bodies[0]).replace("'", '"')] == [True]
    assert ['"max_uses": 3' in str(bodies[1]).replace("'", '"')] == [True]
    assert (bodies[2]["max_tool_calls"], bodies[3]["tool_choice"]) == (1, "none")


async def test_a_call_beside_hosted_ones_has_to_fit_too(
    memory_runs: MemoryRuns, provider: ProviderServer
) -> None:
    """One search and two calls are three."""
    # T-28
    provider.answer(
        anthropic(
            "tool_use",
            *searched("weather"),
            tool_use("toolu_1", a=1, b=1),
            tool_use("toolu_2", a=1, b=1),
        )
    )

    result, usage = await ended(memory_runs, an_app(CLAUDE, max_tool_calls=2))

    assert result.stop is not None
    assert result.stop.reason == "max_tool_calls (2) would be exceeded"
    assert usage.tool_calls == 0


@pytest.mark.parametrize(
    ("limit", "reason"),
    [
        pytest.param("0.04", "max_cost (0.04) reached", id="searches have a price"),
        pytest.param("9", None, id="there is room"),
    ],
)
async def test_what_hosted_calls_cost_counts(
    memory_runs: MemoryRuns, provider: ProviderServer, limit: str, reason: str | None
) -> None:
    """Five searches cost five cents, whatever their tokens do."""
    # T-28
    provider.answer(many(GPT, 5))
    provider.answer(openai(message("18 degrees.")))

    result, _ = await ended(memory_runs, an_app(GPT, max_cost=limit))

    assert (result.stop and result.stop.reason) == reason


async def test_a_hosted_call_without_a_known_price_stops_where_costs_are_limited(
    memory_runs: MemoryRuns, provider: ProviderServer
) -> None:
    """An unknown price is no price of 0."""
    # T-28 AD-19
    code: JsonObject = {
        "type": "server_tool_use",
        "id": "srvtoolu_1",
        "name": "code_execution",
        "input": {"code": "1"},
    }
    provider.answer(anthropic("pause_turn", code))

    result, _ = await ended(memory_runs, an_app(CLAUDE, max_cost="9.5"))

    assert result.stop is not None
    assert result.stop.reason == "max_cost (9.5) can't be kept"
