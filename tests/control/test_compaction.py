"""Making room in a model's window: old results go first, then a summary stands for turns."""

import json
from pathlib import Path

import pytest

from holdfast import Agent, App, Backtracking, Budget, Triggers
from holdfast.contracts.base import JsonObject
from holdfast.run.context import SUMMARY_PROMPT
from tests.adapters.provider_server import ProviderServer
from tests.control.approaches import good
from tests.control.controlled import (
    asked,
    asked_models,
    asked_to_resolve,
    asked_to_review,
    recorded,
    resolve,
    why,
)
from tests.histories import Story
from tests.memory.runs import MemoryRuns
from tests.sample import TOOLS, lines
from tests.workflows.provider_words import anthropic, text, tool_use

SMALL, LARGE = "anthropic:claude-haiku-4-5", "anthropic:claude-sonnet-5"
WINDOW = 200_000
"""Tokens of the small model."""

NEAR = 160_000
BUSY: JsonObject = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}


def reply(*blocks: JsonObject, tokens: int = 100, stop: str = "") -> JsonObject:
    """A message that its provider counts as so many tokens, input and output."""
    asks = any(block["type"] == "tool_use" for block in blocks)
    usage: JsonObject = {"input_tokens": tokens - 5, "output_tokens": 5}
    return {**anthropic(stop or ("tool_use" if asks else "end_turn"), *blocks), "usage": usage}


def flood(number: int, characters: int = 900) -> JsonObject:
    """A call that brings a long result, each of another length."""
    return tool_use(f"toolu_{number}", name="flood", characters=characters + number)


def an_app(*models: str, **agent: object) -> App:
    settings: dict[str, object] = {
        "name": "it",
        "instructions": "Do as you are told.",
        "models": models or (SMALL,),
        "tools": TOOLS,
        **agent,
    }
    return App(agents=[Agent(**settings)])  # pyright: ignore[reportArgumentType] -- whatever a test overrides


def said(provider: ProviderServer, place: int) -> str:
    """The messages of a request, as text."""
    return json.dumps(provider.requests[place].body["messages"])


def results(provider: ProviderServer, place: int) -> int:
    """How many long results a request has whole."""
    return said(provider, place).count("x" * 900)


GOAL = "Find out why the lamp is dark; never touch the fuse."


def told_of_context(*stories: Story) -> list[str]:
    """What a run says in its history of what the model is shown."""
    told = (line.partition(":")[0] for line in recorded(*stories))
    return [what for what in told if what.startswith("context ")]


@pytest.mark.parametrize("tokens", [NEAR - 1, NEAR], ids=["not near", "near"])
async def test_near_the_window_old_results_go_first(
    memory_runs: MemoryRuns, provider: ProviderServer, tokens: int
) -> None:
    """At 80 % of the window, by the provider's own count, old results become stubs."""
    # PI-05 BY-22
    for number in range(1, 6):
        provider.answer(reply(flood(number), tokens=tokens if number == 5 else 100))
    provider.answer(reply(text("done")))
    async with memory_runs.working(an_app()):
        run = await memory_runs.start("it", GOAL)
        result = await run.result()
        (history,) = await memory_runs.stories(run)

    assert result.answer == "done"
    assert (results(provider, 4), "left out by now" in said(provider, 5)) == (4, tokens >= NEAR)
    assert results(provider, 5) == (5 if tokens < NEAR else 2)
    assert GOAL in said(provider, 5)
    assert told_of_context(history) == (["context pruned"] if tokens >= NEAR else [])


async def summarised(provider: ProviderServer, summary: JsonObject, *after: JsonObject) -> None:
    """Have the model call, have its results pruned away, and come near its window once more."""
    provider.answer(reply(flood(1), text("First I look at the lamp. " * 40)))
    provider.answer(reply(flood(2), text("Then I look at the switch. " * 40)))
    provider.answer(reply(flood(3), tokens=NEAR))
    provider.answer(reply(flood(4), tokens=NEAR))
    provider.answer(summary)
    for one in after:
        provider.answer(one)


@pytest.mark.parametrize("events", [15_000, 1], ids=["one execution", "many executions"])
async def test_then_a_summary_stands_for_earlier_turns(
    memory_runs: MemoryRuns, provider: ProviderServer, events: int
) -> None:
    """The goal stays word for word, the latest turn whole, and the summary is told and billed."""
    # HG-18 BY-22 BY-51
    summary = reply(text("The lamp and the switch are fine."), tokens=NEAR)
    await summarised(provider, summary, reply(flood(5)), reply(text("It is the wire.")))
    async with memory_runs.working(an_app(max_history_events=events), cached_transcripts=0):
        run = await memory_runs.start("it", GOAL)
        result = await run.result()
        histories = await memory_runs.stories(run)

    assert (result.answer, result.steps) == ("It is the wire.", 7)
    assert result.usage.input_tokens + result.usage.output_tokens == 4 * 100 + 3 * NEAR
    assert [line.endswith("· summary") for line in asked_models(*histories)].index(True) == 4
    assert provider.requests[4].body.get("tools") == provider.requests[3].body.get("tools")
    assert told_of_context(*histories) == ["context pruned", "context summarised"]
    for place in (5, 6):
        assert GOAL in said(provider, place)
        assert "The lamp and the switch are fine." in said(provider, place)
        assert "First I look at the lamp." not in said(provider, place)
        assert SUMMARY_PROMPT not in said(provider, place)
    assert results(provider, 5) == 1
    assert (len(histories) > 2) == (events == 1)


async def test_what_people_said_and_approved_outlives_a_summary(
    memory_runs: MemoryRuns, provider: ProviderServer, tmp_path: Path
) -> None:
    """Words of people stay, what was approved stays approved, and what waits can be released."""
    # BY-22
    log = str(tmp_path / "log")

    def writing(number: int) -> JsonObject:
        return {
            "type": "tool_use",
            "id": f"toolu_w{number}",
            "name": "write" if number == 1 else "send",
            "input": {"log": log, "text": "x"},
        }

    provider.answer(reply(writing(1), text("First I write. " * 80)))
    provider.answer(reply(flood(2), text("Then I look at the switch. " * 40), tokens=NEAR))
    provider.answer(reply(text("All is well so far."), tokens=NEAR))
    provider.answer(reply(writing(2)))
    provider.answer(reply(text("done")))
    async with memory_runs.working(an_app(max_history_events=1)):
        run = await memory_runs.start("it", GOAL, domain="payments")
        review = await asked_to_review(run)
        await run.signal("steer", {"text": "only the blue one"})
        await run.approve(review.request_id)
        await asked(run, review)
        request = await run.asked_for_approval()
        summaries = [
            line for line in asked_models(*await memory_runs.stories(run)) if "summ" in line
        ]
    async with memory_runs.working(an_app(max_history_events=1)):
        await run.approve(request.request_id)
        result = await run.result()

    assert (result.answer, len(summaries)) == ("done", 1)
    assert (request.tool, len(lines(log))) == ("send", 3)
    assert "only the blue one" in said(provider, 3)
    assert "First I write." not in said(provider, 3)


@pytest.mark.parametrize("events", [15_000, 1], ids=["one execution", "many executions"])
async def test_what_a_person_answered_outlives_summaries(
    memory_runs: MemoryRuns, provider: ProviderServer, events: int
) -> None:
    """An answer stands beside the summary, and beside the next one, with what was asked."""
    # BT-05 BY-22
    question: JsonObject = {"question": "Which lamp?"}
    ask: JsonObject = {"type": "tool_use", "id": "toolu_1", "name": "ask_user", "input": question}
    provider.answer(reply(ask, text("First I ask. " * 80)))
    provider.answer(reply(flood(2), text("Then I look at the switch. " * 80), tokens=NEAR))
    provider.answer(reply(text("All is well so far."), tokens=NEAR))
    provider.answer(reply(flood(3), tokens=NEAR))
    provider.answer(reply(text("All is well now."), tokens=NEAR))
    provider.answer(reply(text("done")))
    async with memory_runs.working(an_app(max_history_events=events), cached_transcripts=0):
        run = await memory_runs.start("it", GOAL)
        request = await asked(run)
        await run.signal("answer", {"request_id": request.request_id, "text": "the blue one"})
        result = await run.result()
        histories = await memory_runs.stories(run)

    assert result.answer == "done"
    summaries = [line.endswith("· summary") for line in asked_models(*histories)]
    assert summaries == [False, False, True, False, True, False]
    for place in (3, 5):
        assert "First I ask." not in said(provider, place)
        assert "Which lamp?" in said(provider, place)
        assert said(provider, place).count("a person answered: the blue one") == 1
    assert (len(histories) > 2) == (events == 1)


async def test_a_summary_goes_with_its_approach(
    memory_runs: MemoryRuns, provider: ProviderServer
) -> None:
    """What stood for turns of a dead approach stands for nothing in the next one."""
    # BT-05
    for one in (
        *(
            reply(text("left")),
            reply(flood(1)),
            reply(flood(2), text("On I go. " * 120), tokens=NEAR),
        ),
        *(reply(text("It went past the lamp."), tokens=NEAR), reply(text("bad"))),
        *(reply(text("right")), reply(text("good"))),
    ):
        provider.answer(one)
    app = an_app(acceptance=[good], backtracking=Backtracking(max_backtracks=1))
    async with memory_runs.working(app):
        run = await memory_runs.start("it", GOAL)
        result = await run.result()

    shown = ["past the lamp" in said(provider, place) for place in range(7)]
    assert shown == [place == 4 for place in range(7)]
    assert all(GOAL in said(provider, place) for place in range(7))
    assert result.answer == "good"


async def test_what_a_provider_keeps_is_taken_from_a_summary_too(
    memory_runs: MemoryRuns, provider: ProviderServer
) -> None:
    """State that comes with the summary is in the result as any other."""
    # PS-12
    container: JsonObject = {"id": "container_1", "expires_at": "2027-01-01T00:00:00Z"}
    summary: JsonObject = {**reply(text("All is well."), tokens=NEAR), "container": container}
    await summarised(provider, summary, reply(text("done")))
    async with memory_runs.working(an_app()):
        run = await memory_runs.start("it", GOAL)
        result = await run.result()

    assert result.answer == "done"
    assert result.provider_state == {"anthropic": {"container_id": "container_1"}}


@pytest.mark.parametrize(
    "none",
    [
        pytest.param(reply(text(" "), tokens=NEAR), id="nothing said"),
        pytest.param(reply(flood(9), tokens=NEAR), id="a call"),
        pytest.param(reply(text("I won't."), tokens=NEAR, stop="refusal"), id="refused"),
        pytest.param(reply(text("The lamp"), tokens=NEAR, stop="max_tokens"), id="cut off"),
    ],
)
@pytest.mark.parametrize("escalates", [False, True], ids=["alone", "somebody there"])
async def test_a_summary_that_fails_twice_ends_the_attempts(
    memory_runs: MemoryRuns, provider: ProviderServer, none: JsonObject, *, escalates: bool
) -> None:
    """No third is asked for: a person says how to go on, or the run asks for a narrower task."""
    # BY-23
    await summarised(provider, none, none)
    async with memory_runs.working(an_app(escalates=escalates)):
        run = await memory_runs.start("it", GOAL)
        if escalates:
            request = await asked_to_resolve(run)
            assert request.reason == "the context can't be made smaller"
            await resolve(run, "abort")
        result = await run.result()
        (history,) = await memory_runs.stories(run)

    assert result.status == "stopped"
    assert why(result).reason == "the context can't be made smaller"
    assert why(result).next_safe_action == (
        "start again with a narrower task, or a model with a larger window"
    )
    assert [line.endswith("· summary") for line in asked_models(history)].count(True) == 2
    assert len(provider.requests) == 6


async def test_one_failed_summary_is_no_end(
    memory_runs: MemoryRuns, provider: ProviderServer
) -> None:
    """The second summary counts, and nothing of the first attempt is shown."""
    # BY-23
    await summarised(
        provider,
        reply(text(" "), tokens=NEAR),
        reply(text("All is well."), tokens=NEAR),
        reply(text("done")),
    )
    async with memory_runs.working(an_app()):
        run = await memory_runs.start("it", GOAL)
        result = await run.result()
        await memory_runs.stories(run)

    assert result.answer == "done"
    assert said(provider, 5).count(SUMMARY_PROMPT[:40]) == 1
    assert SUMMARY_PROMPT[:40] not in said(provider, 6)


async def test_a_model_with_a_larger_window_answers_instead(
    memory_runs: MemoryRuns, provider: ProviderServer
) -> None:
    """A model that has room isn't asked for a summary, which would pass for the answer."""
    # BY-23 FB-06
    provider.answer(reply(flood(1), text("First I look at the lamp. " * 80)))
    provider.answer(reply(flood(2), tokens=NEAR))
    provider.answer(BUSY, status=529, headers={"retry-after": "60"})
    provider.answer(reply(text("It is the wire.")))
    async with memory_runs.working(an_app(SMALL, LARGE)):
        run = await memory_runs.start("it", GOAL)
        result = await run.result()
        (history,) = await memory_runs.stories(run)

    assert (result.answer, result.model) == ("It is the wire.", LARGE)
    assert asked_models(history)[-2:] == [f"turn 3 · {SMALL} · summary", f"turn 3 · {LARGE}"]
    assert SUMMARY_PROMPT[:40] in said(provider, 2)
    assert SUMMARY_PROMPT[:40] not in said(provider, 3)


async def test_what_a_summary_took_is_not_reserved_again(
    memory_runs: MemoryRuns, provider: ProviderServer
) -> None:
    """The call after a summary is smaller than the summary's: it isn't held back for its size."""
    # BY-09
    await summarised(
        provider, reply(text("All is well."), tokens=NEAR), reply(flood(5)), reply(text("done"))
    )
    budget = Budget(max_tokens=200 + 3 * NEAR + 1000)
    async with memory_runs.working(an_app(budget=budget, triggers=Triggers(token_share=None))):
        run = await memory_runs.start("it", GOAL)
        result = await run.result()

    assert result.answer == "done"
