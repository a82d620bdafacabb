"""A handoff in the words of each provider: one result for each call, in its place."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest

from holdfast import Agent, App, Handoff, Tool
from holdfast.guardrails import (
    Guardrail,
    GuardrailContext,
    GuardrailResult,
    Subject,
    guardrail,
    passed,
    tripped,
)
from tests.adapters.provider_server import ProviderServer
from tests.memory.runs import MemoryRuns
from tests.sample import IMPATIENT, add, lines, look, send
from tests.workflows.provider_words import CHAT
from tests.workflows.test_handoffs import load_context, load_nothing
from tests.workflows.turn_words import FORMATS, Asked, Line

TRANSFER = Asked("t1", "transfer_to_billing", {"goal": "charge order 7"})
ADD = Asked("t2", "add", {"a": 1, "b": 2})
FORBIDDEN = Asked("t3", "look", {"place": "the safe"})

models = pytest.mark.parametrize("model", list(FORMATS))


@pytest.fixture
def line(provider: ProviderServer) -> Line:
    return Line(provider)


def guarding(seen: list[tuple[str, str]]) -> Guardrail:
    """Let nobody look into the safe, or hand over what is secret; note who speaks."""

    @guardrail(layer="pre_execution")
    async def no_safe(subject: Subject, ctx: GuardrailContext) -> GuardrailResult:
        seen.append((ctx.agent, subject.tool or ""))
        bad = any(word in subject.text for word in ("the safe", "secret"))
        return tripped("nobody does that", "do something else") if bad else passed()

    return no_safe


def bureau(
    sender: str,
    receiver: str,
    *,
    prepare: Tool | None = None,
    returns: bool = False,
    guardrails: Sequence[Guardrail] = (),
) -> App:
    """An app whose agent `triage` hands over to `billing`, each on a model of a provider."""
    described = partial(Agent, settings=IMPATIENT, tools=(add, look, send))
    handoff = Handoff("billing", when="money", prepare=prepare, return_expected=returns)
    return App(
        agents=[
            described(
                name="triage",
                instructions="Find out who can help.",
                models=[sender],
                handoffs=[handoff],
                guardrails=guardrails,
            ),
            described(name="billing", instructions="Answer about money.", models=[receiver]),
        ]
    )


@pytest.mark.parametrize("receiver", list(FORMATS))
@pytest.mark.parametrize("sender", list(FORMATS))
async def test_a_receiver_on_any_provider_reads_one_result_for_each_call(
    memory_runs: MemoryRuns, line: Line, tmp_path: Path, sender: str, receiver: str
) -> None:
    """Beside a parallel call, one that a person approves, and one that a guardrail denies."""
    # HO-09 HO-05
    log, seen = str(tmp_path / "log"), list[tuple[str, str]]()
    letter = Asked("t4", "send", {"log": log, "text": "hello"})
    line.ask(sender, TRANSFER, ADD, FORBIDDEN, letter)
    line.ask(receiver, Asked("t5", "add", {"a": 5, "b": 6}))
    line.say(receiver, "It is charged.")
    app = bureau(sender, receiver, prepare=load_context, guardrails=[guarding(seen)])
    async with memory_runs.working(app):
        run = await memory_runs.start("triage", "charge me")
        request = await run.asked_for_approval()
        waiting = (await run.status()).agent
        await run.approve(request.request_id)
        result, found, agent = await run.result(), await run.results(), (await run.status()).agent
        await run.story()

    calls = ("t1", "t2", "t3", "t4")
    goal, *between, told = line.hear(receiver, 1)
    assert (goal[0], told[0]) == ("words", "words")
    assert "charge me" in goal[1]
    assert between == [*(("call", one) for one in calls), *(("result", one) for one in calls)]
    for words in ("What is to be done: charge order 7", "the prices for: charge order 7"):
        assert words in told[1]
    assert "Answer about money." in line.text(1)
    assert "Find out who can help." not in line.text(1)
    assert line.tools(1) == {"add", "look", "send"}
    assert [heard for heard in line.hear(receiver, 2) if heard[1] == "t5"] == [
        ("call", "t5"),
        ("result", "t5"),
    ]
    assert [one.status for one in found] == ["ok", "ok", "denied", "ok", "ok"]
    assert (waiting, agent, result.answer) == ("triage", "billing", "It is charged.")
    assert sorted(seen) == [
        ("billing", "add"),
        *(("triage", name) for name in ("add", "look", "send", "transfer_to_billing")),
    ]
    assert len(lines(log)) == 1


@models
async def test_a_failed_handoff_is_a_result_beside_the_others(
    memory_runs: MemoryRuns, line: Line, model: str
) -> None:
    """The sender reads why, with its own words and tools, and goes on where it was."""
    # HO-09
    line.ask(model, TRANSFER, ADD)
    line.say(model, "Nobody can help.")
    async with memory_runs.working(bureau(model, CHAT, prepare=load_nothing)):
        run = await memory_runs.start("triage", "charge me")
        result, status = await run.result(), await run.status()
        failure, success = await run.results()
        await run.story()

    assert line.hear(model, 1)[1:] == [
        *(("call", "t1"), ("call", "t2")),
        *(("result", "t1"), ("result", "t2")),
    ]
    assert "nothing is known of charge order 7" in line.text(1)
    assert "Find out who can help." in line.text(1)
    assert "transfer_to_billing" in line.tools(1)
    assert (failure.status, success.status) == ("error", "ok")
    assert (result.answer, result.steps, status.agent) == ("Nobody can help.", 2, "triage")


@models
async def test_a_handoff_that_a_guardrail_denies_is_none(
    memory_runs: MemoryRuns, line: Line, model: str
) -> None:
    """The call has the denial for its result; nothing was prepared, and the sender goes on."""
    # HO-09
    line.ask(model, ADD, Asked("t1", "transfer_to_billing", {"goal": "tell the secret"}))
    line.say(model, "Then not.")
    app = bureau(model, CHAT, prepare=load_context, guardrails=[guarding([])])
    async with memory_runs.working(app):
        run = await memory_runs.start("triage", "charge me")
        result, status, story = await run.result(), await run.status(), await run.story()
        found = await run.results()

    assert line.hear(model, 1)[1:] == [
        *(("call", "t2"), ("call", "t1")),
        *(("result", "t2"), ("result", "t1")),
    ]
    assert [one.status for one in found] == ["ok", "denied"]
    assert "load_context" not in str(story)
    assert (result.answer, status.agent) == ("Then not.", "triage")


@models
async def test_an_answer_that_comes_back_is_the_result_of_its_call(
    memory_runs: MemoryRuns, line: Line, model: str
) -> None:
    """The receiver reads the goal alone; the sender its answer, beside that of another call."""
    # HO-09 HO-07
    line.ask(model, TRANSFER, ADD)
    line.say(model, "It is charged.")
    line.say(model, "Billing says so.")
    async with memory_runs.working(bureau(model, model, returns=True)):
        run = await memory_runs.start("triage", "charge me")
        result, status = await run.result(), await run.status()
        await run.story()

    (only,) = line.hear(model, 1)
    assert "What is to be done: charge order 7" in only[1]
    assert "charge me" not in line.text(1)
    assert line.hear(model, 2)[1:] == [
        *(("call", "t1"), ("call", "t2")),
        *(("result", "t1"), ("result", "t2")),
    ]
    assert "It is charged." in line.text(2)
    assert "Answer about money." not in line.text(2)
    assert (result.answer, status.agent) == ("Billing says so.", "triage")
