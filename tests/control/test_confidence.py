"""How sure one may be of an answer: measured, in the result, and asked about below 0.6."""

import pytest

from holdfast import App, Budget
from holdfast.contracts.control import Triggers
from holdfast.guardrails import (
    GuardrailContext,
    GuardrailResult,
    Signals,
    Subject,
    guardrail,
    not_applicable,
    review_approval,
    tripped,
)
from holdfast.testing import Reply, ScriptTurn, say
from tests.control.controlled import (
    asked,
    asked_to_resolve,
    asked_to_review,
    chained,
    recorded,
    resolve,
    stopped,
)
from tests.control.guarded import decided
from tests.memory.runs import MemoryRuns


@guardrail(layer="output")
async def measured(subject: Subject, _: GuardrailContext) -> GuardrailResult:
    """Send back what isn't done; of an answer `0.7 2/3` measure the coverage and the votes."""
    if "again" in subject.text:
        return tripped("not yet")
    coverage, votes = (*subject.text.split(), "")[:2]
    votes_for, voters = (*votes.split("/"), "")[:2]
    return GuardrailResult(
        signals=Signals(
            coverage=float(coverage) if coverage != "-" else None,
            votes_for=int(votes_for) if voters else None,
            votes=int(voters) if voters else None,
        )
    )


def script(turn: ScriptTurn) -> Reply:
    """Answer what the goal says, after the number of other answers that it begins with."""
    retries, _, answer = turn.goal.partition(" ")
    return say(answer if turn.number > int(retries) else f"again {turn.number}")


def an_app(**agent: object) -> App:
    """An agent whose answers are measured; neither retries nor failures stop it."""
    settings: dict[str, object] = {
        "acceptance": [measured],
        "triggers": Triggers(max_retries=None),
        "budget": Budget(max_consecutive_failures=50),
        **agent,
    }
    return chained(script, **settings)


@pytest.mark.parametrize(
    ("goal", "score"),
    [
        # ES-02
        pytest.param("0 0.9", (1.0 + 1.0) / 2, id="covered"),
        pytest.param("0 0.89", (0.7 + 1.0) / 2, id="just not"),
        pytest.param("0 0.7", (0.7 + 1.0) / 2, id="partly"),
        pytest.param("0 0.69", (0.3 + 1.0) / 2, id="hardly"),
        # ES-03
        pytest.param("0 - 3/3", (1.0 + 1.0) / 2, id="unanimous"),
        pytest.param("0 - 2/3", (0.7 + 1.0) / 2, id="majority"),
        pytest.param("0 - 1/2", (0.3 + 1.0) / 2, id="half"),
        # ES-04
        pytest.param("0 -", 1.0, id="no retry"),
        pytest.param("3 -", 0.4, id="three"),
        pytest.param("4 -", 0.2, id="four"),
        pytest.param("9 -", 0.2, id="nine"),
        # ES-05
        pytest.param("1 0.7 2/3", 0.7333, id="mean"),
    ],
)
async def test_the_score_is_in_the_result(
    memory_runs: MemoryRuns, goal: str, score: float
) -> None:
    """Each signal counts as much as the others; what nobody measured doesn't count at all."""
    # ES-01
    async with memory_runs.working(an_app()):
        run = await memory_runs.start("it", goal)
        result = await run.result()
        await memory_runs.stories(run)
        closed = memory_runs.server.newest(run.id).closed

    assert result.status == "completed"
    assert result.confidence == pytest.approx(score, abs=0.00005)
    assert closed is not None
    assert closed.result is not None
    assert f'"confidence":{result.confidence}'.encode() in closed.result.data


@pytest.mark.parametrize(
    ("goal", "least", "asks"),
    [
        pytest.param("1 0.69 2/3", 0.6, False, id="0.60"),
        pytest.param("1 0.69 2/3", 0.61, True, id="0.60 of 0.61"),
        pytest.param("3 0.69 3/3", 0.6, True, id="0.57"),
        pytest.param("2 -", 0.6, False, id="two retries"),
        pytest.param("3 -", 0.6, True, id="three retries"),
        pytest.param("9 0.1 0/3", None, False, id="switched off"),
    ],
)
async def test_below_the_threshold_a_person_looks(
    memory_runs: MemoryRuns, goal: str, least: float | None, *, asks: bool
) -> None:
    """At 0.60 an answer is out; below it waits, with the answer and the score to judge it by."""
    # ES-06 ES-11
    triggers = Triggers(max_retries=None, min_confidence=least)
    async with memory_runs.working(an_app(triggers=triggers, escalates=True)):
        run = await memory_runs.start("it", goal)
        if asks:
            request = await asked_to_resolve(run)
            assert (await run.status()).answer is None
            assert request.reason == "Low confidence score"
            assert request.detail.startswith("Low confidence in solution quality: ")
            assert request.answer == goal.partition(" ")[2]
            assert request.confidence is not None
            assert request.confidence < (least or 0)
            await resolve(run)
        result = await run.result()
        histories = await memory_runs.stories(run)

    assert (result.status, result.answer) == ("completed", goal.partition(" ")[2])
    paused = [line for line in recorded(*histories) if line.startswith("paused: Low confidence")]
    assert len(paused) == asks


async def test_what_a_person_says_of_an_unsure_answer(memory_runs: MemoryRuns) -> None:
    """With guidance the model answers once more; `abort` ends the run without the answer."""
    # ES-11
    async with memory_runs.working(an_app(escalates=True)):
        guided = await memory_runs.start("it", "3 -")
        await asked_to_resolve(guided)
        await resolve(guided, guidance="think again")
        result = await guided.result()
        ended = await memory_runs.start("it", "3 -")
        await asked_to_resolve(ended)
        await resolve(ended, "abort")
        stop = await stopped(ended)

    assert (result.status, result.steps) == ("completed", 5)
    assert stop.reason == "Low confidence score"


async def test_a_worse_answer_is_asked_about_again(memory_runs: MemoryRuns) -> None:
    """Who lets an answer of 0.40 pass has said nothing about one of 0.20."""

    def worse(turn: ScriptTurn) -> Reply:
        words = "4 -" if any("think" in str(item) for item in turn.transcript) else "3 -"
        retries, _, answer = words.partition(" ")
        return say(answer if turn.number > int(retries) + (words[0] == "4") else "again")

    app = chained(
        worse,
        acceptance=[measured],
        triggers=Triggers(max_retries=None),
        escalates=True,
    )
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        first = await asked_to_resolve(run)
        await resolve(run, guidance="think again")
        await asked(run, first)
        second = await asked_to_resolve(run)
        await resolve(run)
        result = await run.result()

    assert (first.trigger, second.trigger) == ("confidence:0.4", "confidence:0.2")
    assert result.confidence == 0.2


async def test_an_answer_is_measured_by_itself(memory_runs: MemoryRuns) -> None:
    """What a guardrail measured of an answer that is gone says nothing of the next."""
    # ES-02 ES-05

    @guardrail(layer="output")
    async def covered(subject: Subject, _: GuardrailContext) -> GuardrailResult:
        if subject.text != "first":
            return not_applicable("no code")
        return GuardrailResult(
            tripwire_triggered=True, reason="untested", signals=Signals(coverage=0.1)
        )

    async with memory_runs.working(chained([say("first"), say("second")], guardrails=[covered])):
        run = await memory_runs.start("it")
        result = await run.result()

    assert (result.answer, result.confidence) == ("second", 0.8)  # one retry, and nothing else


async def test_votes_on_an_answer_that_is_gone_are_gone(memory_runs: MemoryRuns) -> None:
    """Who approves the second version is all that counts for it."""
    # ES-03 ES-05

    def version(turn: ScriptTurn) -> Reply:
        return say(f"version {turn.number}")

    async with memory_runs.working(
        chained(version, guardrails=[review_approval()], escalates=True)
    ):
        run = await memory_runs.start("it")
        first = await asked_to_review(run)
        await decided(run, first, "reject", "too short")
        second = await asked(run, first)
        await decided(run, second, "approve")
        result = await run.result()

    assert (result.answer, result.confidence) == ("version 2", 0.9)
