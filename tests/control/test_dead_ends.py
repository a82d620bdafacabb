"""How an approach ends, and what is left when none is: a person, or the end."""

import pytest

from holdfast import Backtracking, Budget
from holdfast.testing import Reply, ScriptTurn, call, say
from tests.control.approaches import EXCEEDED, backtracking, purposes, round_of, seen
from tests.control.controlled import asked, asked_to_resolve, resolve, stopped, why
from tests.control.guarded import on_word
from tests.memory.runs import MemoryRuns


async def test_a_person_may_grant_another_round(memory_runs: MemoryRuns) -> None:
    """Where somebody is there, they see all attempts, and may have one more tried, not more."""
    # BT-06 FB-14
    app = backtracking(escalates=True, backtracking=Backtracking(max_backtracks=1))
    async with memory_runs.working(app):
        run = await memory_runs.start("it", "4")
        first = await asked_to_resolve(run)
    async with memory_runs.working(app):
        await resolve(run, guidance="look elsewhere")
        await asked(run, first)
        second = await asked_to_resolve(run)
        await resolve(run, "abort")
        stop = await stopped(run)
        histories = await memory_runs.stories(run)

    assert (first.reason, len(first.approaches)) == (EXCEEDED, 2)
    assert (second.reason, len(second.approaches)) == (EXCEEDED, 3)
    assert purposes(*histories).count("plan") == 3
    assert stop.reason == EXCEEDED


@pytest.mark.parametrize(("revisions", "answers"), [(0, 1), (1, 2), (2, 3)])
async def test_an_approach_may_mend_its_answer_first(
    memory_runs: MemoryRuns, revisions: int, answers: int
) -> None:
    """So many answers of an approach go back to the model before it is given up."""

    def stubborn(turn: ScriptTurn) -> Reply:
        return say("an approach" if turn.without_tools else f"bad {turn.number}")

    limits = Backtracking(max_backtracks=1, revisions=revisions)
    async with memory_runs.working(backtracking(stubborn, backtracking=limits)):
        run = await memory_runs.start("it")
        result = await run.result()
        histories = await memory_runs.stories(run)

    assert purposes(*histories) == ["plan", *["execute"] * answers] * 2
    assert (len(result.attempts), why(result).reason) == (2, EXCEEDED)


async def test_each_approach_may_say_otherwise(memory_runs: MemoryRuns) -> None:
    """The tries that an output guardrail leaves an answer begin anew with each approach."""
    # BT-05

    def rude(turn: ScriptTurn) -> Reply:
        if turn.without_tools:
            return say("an approach")
        heard = turn.transcript[-1].kind == "user" and "never say" in seen(turn)[-200:]
        return say("good" if heard and round_of(turn) == 2 else "bad")

    app = backtracking(
        rude,
        acceptance=[on_word("no_worse", "worse", "output")],
        guardrails=[on_word("no_bad", "bad", "output", on_trip="retry")],
        max_output_retries=1,
        backtracking=Backtracking(max_backtracks=1),
    )
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        result = await run.result()
        histories = await memory_runs.stories(run)

    assert purposes(*histories) == ["plan", "execute", "execute"] * 2
    assert (result.answer, len(result.attempts)) == ("good", 1)


LOOP, FAILING = "loop detected: same tool, same args", "max_consecutive_failures (3) reached"


@pytest.mark.parametrize("reason", [LOOP, FAILING], ids=["loop", "failures"])
async def test_a_dead_end_leads_back(memory_runs: MemoryRuns, reason: str) -> None:
    """Going round in circles ends an approach, not the run; streaks begin anew."""

    def lost(turn: ScriptTurn) -> Reply:
        if turn.without_tools:
            return say("an approach")
        if round_of(turn) > 1 and turn.transcript[-1].kind == "tool":
            return say("good")
        place = "here" if reason == LOOP else str(turn.number)
        return call("look" if reason == LOOP else "find", **{WORDS[reason]: place})

    async with memory_runs.working(backtracking(lost, budget=Budget(max_consecutive_failures=3))):
        run = await memory_runs.start("it")
        result = await run.result()
        await memory_runs.stories(run)

    (attempt,) = result.attempts
    assert result.answer == "good"
    assert attempt.failure_reason.startswith(reason)


WORDS = {LOOP: "place", FAILING: "name"}


async def test_one_approach_given_up_is_one_retry(memory_runs: MemoryRuns) -> None:
    """How sure one may be of an answer falls by 0.2 with each approach that failed."""
    # ES-04
    async with memory_runs.working(backtracking()):
        run = await memory_runs.start("it", "2")
        result = await run.result()

    assert result.confidence == 0.8


@pytest.mark.slow
async def test_old_results_go_in_long_approaches_too(memory_runs: MemoryRuns) -> None:
    """Pruning, new executions and going back together: goal, plan, words and failures stay."""
    # HG-18 PI-05 BT-02 BT-05 BY-22
    shown: dict[int, str] = {}

    def long(turn: ScriptTurn) -> Reply:
        number, done = divmod(turn.number + 5, 6)
        shown[turn.number] = seen(turn)
        if turn.without_tools:
            return say(f"approach {number}")
        if done < 5:
            return call("flood", characters=500 + 10 * number + done)
        return say("good" if number == 3 else f"bad {number}")

    app = backtracking(long, max_context_bytes=3_000, max_history_events=1)
    async with memory_runs.working(app, cached_transcripts=0):
        run = await memory_runs.start("it", "find the lamp")
        result = await run.result()
        histories = await memory_runs.stories(run)

    assert (result.answer, result.steps, len(result.attempts)) == ("good", 18, 2)
    assert all("find the lamp" in words for words in shown.values())
    for turn, words in shown.items():
        number, done = divmod(turn + 5, 6)
        assert words.count("Carry out") == (1 if done else 0)
        assert not done or f"approach {number}" in words.partition("Carry out")[2]
    assert "bad 1 isn't good" in shown[7]
    assert "bad 1 isn't good" in shown[13]
    assert "bad 2 isn't good" in shown[13]
    for first in (7, 13):
        assert "xxxx" not in shown[first]
    assert "left out" in shown[12] + shown[18]
    assert max(map(len, shown.values())) < 9_000
    assert len(histories) > 6
