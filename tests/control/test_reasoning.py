"""The kind of a task says whether a model reasons; whichever model answers, and on the record."""

import pytest
from pydantic import JsonValue

from holdfast import Agent, App, ModelSettings
from holdfast.contracts.base import JsonObject
from tests.adapters.provider_server import ProviderServer
from tests.control.controlled import recorded
from tests.memory.runs import MemoryRuns
from tests.workflows.provider_words import (
    CLAUDE,
    GPT,
    anthropic,
    message,
    openai,
    text,
    thinking,
)

BUSY: JsonObject = {"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}}

ROWS = [
    ("system_architecture", True),  # RS-01
    ("security_analysis", True),  # RS-02
    ("complex_debugging", True),  # RS-03
    ("api_design", True),  # RS-04
    ("performance_strategy", True),  # RS-05
    ("code_review:critical", True),  # RS-06
    ("code_review:complex", True),  # RS-06
    ("code_review", False),  # RS-06
    ("refactoring_planning:multiple_approaches", True),  # RS-07
    ("refactoring_planning", False),  # RS-07
    ("integration_design:cross_system", True),  # RS-08
    ("integration_design", False),  # RS-08
    ("simple_bug_fix", False),  # RS-09
    ("documentation", False),  # RS-10
    ("unit_tests", False),  # RS-11
    ("formatting", False),  # RS-12
    ("file_operations", False),  # RS-13
]


def an_app(*models: str, **settings: object) -> App:
    agent = Agent(
        name="it",
        instructions="Do as you are told.",
        models=models,
        settings=ModelSettings.model_validate(settings),
    )
    return App(agents=[agent])


def asked(provider: ProviderServer) -> list[JsonValue]:
    """What each request says of reasoning: Anthropic's `thinking`, OpenAI's `reasoning`."""
    return [one.body.get("thinking") or one.body.get("reasoning") for one in provider.requests]


@pytest.mark.parametrize(("kind", "on"), ROWS, ids=[kind for kind, _ in ROWS])
async def test_the_kind_of_a_task_decides(
    memory_runs: MemoryRuns, provider: ProviderServer, kind: str, *, on: bool
) -> None:
    """The request has reasoning on or off, whatever the agent asks for, and history says why."""
    provider.answer(openai(message("done")))
    async with memory_runs.working(an_app(GPT, reasoning="none" if on else "high")):
        run = await memory_runs.start("it", task_kind=kind)
        result = await run.result()
        (history,) = await memory_runs.stories(run)

    assert result.answer == "done"
    (setting,) = asked(provider)
    assert isinstance(setting, dict)
    assert setting["effort"] == ("high" if on else "none")
    (line,) = recorded(history)
    assert line.startswith(f"reasoning: {kind}: {'on' if on else 'off'}, ")


@pytest.mark.parametrize("kind", ["system_architecture", "documentation"])
async def test_another_provider_is_asked_in_its_own_words(
    memory_runs: MemoryRuns, provider: ProviderServer, kind: str
) -> None:
    """Anthropic's models think, or don't, by the same table."""
    # RS-01 RS-10
    provider.answer(anthropic("end_turn", text("done")))
    async with memory_runs.working(an_app(CLAUDE, max_output_tokens=9000)):
        run = await memory_runs.start("it", task_kind=kind)
        await run.result()

    (setting,) = asked(provider)
    if kind == "documentation":
        assert setting in (None, {"type": "disabled"})
        return
    assert isinstance(setting, dict)
    assert setting["type"] in ("enabled", "adaptive")


@pytest.mark.parametrize(
    ("kind", "lines"),
    [
        (None, []),
        ("gardening", ["reasoning: gardening: agent, no row for 'gardening'"]),
    ],
    ids=["no kind", "unknown"],
)
async def test_other_tasks_are_the_agents_own(
    memory_runs: MemoryRuns, provider: ProviderServer, kind: str | None, lines: list[str]
) -> None:
    """Without a row the agent's settings hold; a kind that nobody knows is on the record."""
    provider.answer(openai(message("done")))
    async with memory_runs.working(an_app(GPT, reasoning="low")):
        run = await memory_runs.start("it", task_kind=kind)
        await run.result()
        (history,) = await memory_runs.stories(run)

    (setting,) = asked(provider)
    assert isinstance(setting, dict)
    assert setting["effort"] == "low"
    assert [line.partition(": the agent")[0] for line in recorded(history)] == lines


async def test_the_route_holds_for_whatever_model_answers(
    memory_runs: MemoryRuns, provider: ProviderServer
) -> None:
    """A fallback keeps the route, and no model sees what another one thought."""
    # T-35
    provider.answer(BUSY, status=429, headers={"retry-after": "60"})
    provider.answer(openai(message("done")))
    async with memory_runs.working(an_app(CLAUDE, GPT, max_output_tokens=9000)):
        run = await memory_runs.start("it", task_kind="api_design")
        result = await run.result()
        (history,) = await memory_runs.stories(run)

    first, second = asked(provider)
    assert isinstance(first, dict)
    assert first["type"] in ("enabled", "adaptive")
    assert isinstance(second, dict)
    assert (second["effort"], result.model) == ("high", GPT)
    assert [line.partition(": ")[0] for line in recorded(history)] == [
        "reasoning",
        "model failed",
        "model switched",
    ]
    assert recorded(history)[-1] == f"model switched: {CLAUDE} → {GPT}: rate_limited"


async def test_a_model_that_cannot_reason_answers_without(
    memory_runs: MemoryRuns, provider: ProviderServer
) -> None:
    """Where "always" meets a model without reasoning, it is asked plainly, and that is noted."""
    # T-35
    provider.answer(openai(message("done")))
    async with memory_runs.working(an_app("openai:gpt-4o")):
        run = await memory_runs.start("it", task_kind="system_architecture")
        result = await run.result()
        (history,) = await memory_runs.stories(run)
        notes = (await run.status()).notes

    assert (result.answer, asked(provider)) == ("done", [None])
    assert len(notes) == 1
    assert recorded(history)[-1] == f"noted: {notes[0]}"


async def test_reasoning_of_one_provider_stays_there(
    memory_runs: MemoryRuns, provider: ProviderServer
) -> None:
    """Thoughts and their signatures are left out when another provider goes on."""
    # T-35
    provider.answer(anthropic("end_turn", thinking("secret"), text(" ")))
    provider.answer(openai(message("done")))
    async with memory_runs.working(an_app(CLAUDE, GPT, max_output_tokens=9000)):
        run = await memory_runs.start("it", task_kind="api_design")
        result = await run.result()

    assert result.model == GPT
    assert "secret" not in str(provider.requests[-1].body)
