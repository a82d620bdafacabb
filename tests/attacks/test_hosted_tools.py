"""What a provider runs itself beside guardrails of ours: nobody can keep it from beginning."""

import asyncio
from pathlib import Path

import pytest

from holdfast import Agent, App, HostedTool
from holdfast.adapters.wire import as_list, as_object
from holdfast.contracts.base import JsonObject
from holdfast.guardrails import GuardrailResult, passed, tripped
from tests.adapters.provider_server import ProviderServer
from tests.control.guarded import replayed, scheduled, waiting
from tests.memory.runs import MemoryRuns
from tests.running import Runs
from tests.sample import add
from tests.workflows.provider_words import (
    CHAT,
    CLAUDE,
    GPT,
    anthropic,
    chat,
    chat_call,
    function_call,
    message,
    openai,
    searched,
    text,
    tool_use,
)
from tests.workflows.test_permissions import policy


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


SEARCH: JsonObject = {
    "type": "web_search_call",
    "id": "ws_1",
    "status": "completed",
    "action": {"type": "search", "query": "prices"},
}
"""OpenAI tells what was looked for, and never what was found."""


def chat_server() -> JsonObject:
    """A chat completion of a server that ran a tool of its own on the way."""
    reply = chat(chat_call("call_1", a=1, b=2))
    (choice,) = map(as_object, as_list(reply["choices"]))
    ran: JsonObject = {"type": "search", "arguments": '{"query": "prices"}'}
    as_object(choice["message"])["executed_tools"] = [ran]
    return reply


@pytest.mark.parametrize(
    ("model", "reply", "status"),
    [
        (CLAUDE, anthropic("tool_use", tool_use("toolu_1", a=1, b=2)), "ok"),
        (CLAUDE, anthropic("tool_use", *searched("x"), tool_use("toolu_1", a=1, b=2)), "denied"),
        (GPT, openai(function_call("call_1", a=1, b=2)), "ok"),
        (GPT, openai(SEARCH, function_call("call_1", a=1, b=2)), "denied"),
        (CHAT, chat(chat_call("call_1", a=1, b=2)), "ok"),
        (CHAT, chat_server(), "denied"),
    ],
    ids=["Anthropic", "Anthropic searched", "OpenAI", "OpenAI searched", "chat", "chat searched"],
)
async def test_what_a_hosted_tool_may_have_read_is_believed_no_more(
    memory_runs: MemoryRuns,
    provider: ProviderServer,
    tmp_path: Path,
    model: str,
    reply: JsonObject,
    status: str,
) -> None:
    """A page may have told the model what to do, also where its provider never shows the page."""
    # BY-24
    rule = (
        "{id: read-first, effect: deny, reason: it has read what anybody wrote,"
        " match: {tools: [add]}, when: \"trust == 'untrusted'\"}"
    )
    provider.answer(reply)
    provider.answer(chat(words="done") if model == CHAT else an_answer(model))
    agent = Agent(name="it", instructions="Add what you are told.", models=[model], tools=[add])
    async with memory_runs.working(App(agents=[agent], policy=policy(tmp_path, rule))):
        run = await memory_runs.start("it")
        await run.result()
        (result,) = await run.results()

    assert result.status == status
