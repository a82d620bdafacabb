"""What a provider runs itself beside guardrails of ours: nobody can keep it from beginning."""

import asyncio

import pytest

from holdfast import Agent, App, HostedTool
from holdfast.contracts.base import JsonObject
from holdfast.guardrails import GuardrailResult, passed, tripped
from tests.adapters.provider_server import ProviderServer
from tests.control.guarded import replayed, scheduled, waiting
from tests.running import Runs
from tests.workflows.provider_words import CLAUDE, GPT, anthropic, message, openai, text


def an_app(model: str, found: GuardrailResult, go: asyncio.Event) -> App:
    """An app whose agent may search, with a guardrail that takes its time."""
    look = waiting("slow", go, found, mode="parallel")
    hosted = [HostedTool(name="web_search")]
    agent = Agent(name="it", instructions="x", models=[model], hosted=hosted, guardrails=[look])
    return App(agents=[agent])


def an_answer(model: str) -> JsonObject:
    return anthropic("end_turn", text("done")) if model == CLAUDE else openai(message("done"))


@pytest.mark.parametrize("model", [CLAUDE, GPT])
@pytest.mark.parametrize(
    ("found", "status", "asked"),
    [(tripped("personal data"), "blocked", 0), (passed(), "completed", 1)],
    ids=["tripped", "passed"],
)
async def test_nothing_is_asked_of_who_hosts_tools_before_the_verdict(
    runs: Runs,
    provider: ProviderServer,
    model: str,
    found: GuardrailResult,
    status: str,
    asked: int,
) -> None:
    """A search would have told somebody else what the guardrail is about to find in the goal."""
    # GR-08 T-28
    provider.answer(an_answer(model))
    go = asyncio.Event()
    async with runs.working(an_app(model, found, go)):
        run = await runs.start("it", "Find Ada, 078-05-1120")
        await scheduled(run, "guardrail:slow")
        before = await run.status()
        go.set()
        result = await run.result()
        await replayed(run)

    assert before.in_flight == ("guardrail:slow",)
    assert (result.status, len(provider.requests)) == (status, asked)
