"""When a run waits for a person although nothing has failed, and how it goes on."""

import asyncio

import pytest
from pydantic import JsonValue

from holdfast import Budget
from holdfast.contracts.base import JsonObject
from holdfast.contracts.budget import UsageReport
from holdfast.contracts.control import Triggers
from holdfast.guardrails import (
    GuardrailContext,
    GuardrailResult,
    Subject,
    guardrail,
    passed,
    tripped,
)
from holdfast.testing import Reply, ScriptTurn, call, say
from tests.control.controlled import (
    asked,
    asked_to_resolve,
    broken,
    chained,
    recorded,
    replayed,
    resolve,
    stopped,
    used,
    why,
)
from tests.histories import names
from tests.memory.runs import MemoryRuns
from tests.running import Runs


@guardrail(layer="output")
async def after_so_many(subject: Subject, _: GuardrailContext) -> GuardrailResult:
    """Accept the answer whose number is that of the goal's answers: `5 of 5`."""
    number, last = subject.text.split(" of ")
    return passed() if number == last else tripped(f"{number} is too few")


def answers(turn: ScriptTurn) -> Reply:
    """Number the answers, up to the number in the goal."""
    return say(f"{turn.number} of {turn.goal}")


UNSURE = Triggers(min_confidence=None)
"""Nothing but retries counts: several of them make an answer unsure as well."""


@pytest.mark.parametrize(
    ("retries", "pauses"), [(3, False), (4, True), (5, True)], ids=["at", "above", "far above"]
)
async def test_more_than_three_retries_pause_a_run(
    memory_runs: MemoryRuns, retries: int, *, pauses: bool
) -> None:
    """Three answers may be sent back; after the fourth a person says how it goes on."""
    # ES-07
    app = chained(
        answers,
        acceptance=[after_so_many],
        triggers=UNSURE,
        escalates=True,
        budget=Budget(max_consecutive_failures=50),
    )
    async with memory_runs.working(app):
        run = await memory_runs.start("it", f"{retries + 1}")
        if pauses:
            request = await asked_to_resolve(run)
            assert request.reason == "Multiple failures indicate unclear requirements"
            assert (request.trigger, request.detail) == ("retries:4", "4 retries, and 3 may be")
            await resolve(run)
        result = await run.result()
        histories = await memory_runs.stories(run)

    assert (result.answer, result.steps) == (f"{retries + 1} of {retries + 1}", retries + 1)
    paused = [line for line in recorded(*histories) if line.startswith("paused")]
    assert paused == [f"paused: {MULTIPLE}: 4 retries, and 3 may be"] * pauses


MULTIPLE = "Multiple failures indicate unclear requirements"


async def test_what_was_waved_through_pauses_again_after_as_much(memory_runs: MemoryRuns) -> None:
    """Whoever lets a run go on lets it have three further retries, not any number."""
    app = chained(
        answers,
        acceptance=[after_so_many],
        triggers=UNSURE,
        escalates=True,
        budget=Budget(max_consecutive_failures=50),
        max_history_events=1,
    )
    async with memory_runs.working(app):
        run = await memory_runs.start("it", "12")
        first = await asked_to_resolve(run)
        await resolve(run)
        await asked(run, first)
        second = await asked_to_resolve(run)
        await resolve(run, "abort", guidance="no more")
        stop = await stopped(run)

    assert (first.trigger, second.trigger) == ("retries:4", "retries:8")
    assert (stop.reason, stop.detail) == (MULTIPLE, "8 retries, and 3 may be; no more")


@pytest.mark.parametrize(
    ("last", "pauses"), [(19, False), (20, False), (21, True)], ids=["below", "at", "above"]
)
async def test_above_80_percent_of_the_tokens_a_run_pauses(
    runs: Runs, last: int, *, pauses: bool
) -> None:
    """The run pauses before its next model call, and goes on when a person says so."""
    # ES-13 ES-14
    spent = [20, 20, 20, last]
    script = [
        *(used(call("look", place=str(place)), each) for place, each in enumerate(spent)),
        used(say("done"), 5),
    ]
    async with runs.working(chained(script, escalates=True)):
        run = await runs.start("it", budget={"max_tokens": 100})
        if pauses:
            request = await asked_to_resolve(run)
            done = names(await run.handle.fetch_history())
            assert request.reason == "Approaching token budget limit"
            assert request.detail == "81 of 100 tokens, more than 0.8 of them"
            assert (request.kind, request.action) == ("escalation", "pause_and_escalate")
            assert (done.count("call_model"), done[-1]) == (4, "record")
            await resolve(run, "extend", budget={"max_tokens": 1000})
        result = await run.result()
        histories = await replayed(runs, run)

    assert result.answer == "done"
    assert len(recorded(*histories)) == pauses


async def test_an_extension_only_extends(memory_runs: MemoryRuns) -> None:
    """One that lowers a limit is refused and the request stays open for a better one."""
    script = [used(call("look", place="x"), 90), used(say("done"), 5)]
    async with memory_runs.working(chained(script, escalates=True)):
        run = await memory_runs.start("it", budget={"max_tokens": 100})
        request = await asked_to_resolve(run)
        await resolve(run, "extend", budget={"max_tokens": 50})
        await resolve(run, "extend", budget={"max_tokens": 200, "max_tool_calls": 9})
        while len((status := await run.status()).refused) < 2:  # noqa: ASYNC110 -- it is the run's
            await asyncio.sleep(0.05)
        pending = await run.pending()
        await resolve(run, "extend", budget={"max_tokens": 200})
        result = await run.result()
        await memory_runs.stories(run)

    assert pending == (request,)
    assert [one.reason for one in status.refused] == [
        "max_tokens 50 is less than 100: extend raises limits",
        "max_tool_calls 9 would be a limit where there is none: extend raises limits",
    ]
    assert (status.budget.max_tokens, result.answer) == (100, "done")


async def test_an_extension_is_about_what_it_names(runs: Runs) -> None:
    """Limits that are higher than by default, and aren't named, stand in the way of none."""
    # ES-14
    script = [used(call("look", place="x"), 90), used(say("done"), 5)]
    more: JsonObject = {"max_steps": 200, "max_consecutive_failures": 9}
    async with runs.working(chained(script, escalates=True)):
        run = await runs.start("it", budget={"max_tokens": 100, **more})
        await asked_to_resolve(run)
        await resolve(run, "extend", budget={"max_tokens": 200})
        result = await run.result()
        status = await run.status()
        await replayed(runs, run)

    assert (result.answer, status.budget.max_steps) == ("done", 200)


async def test_tokens_of_failed_attempts_count(runs: Runs) -> None:
    """What failed attempts used is used: with them the run is above its share."""
    # ES-13

    def costly(turn: ScriptTurn) -> Reply:
        if turn.number == 4 and turn.attempt == 1:
            return broken("unavailable", cost="0")
        return used(call("look", place=str(turn.number)), 25 if turn.number < 4 else 0)

    app = chained(costly, escalates=True, budget=Budget(max_tokens=100))
    async with runs.working(app):
        run = await runs.start("it")
        request = await asked_to_resolve(run)
        usage = await run.handle.query("usage", result_type=UsageReport)
        await resolve(run, "abort")

    assert request.detail == "85 of 100 tokens, more than 0.8 of them"
    assert usage.failed_usage.total_tokens == 10


async def test_who_waves_the_share_through_meets_the_limit(memory_runs: MemoryRuns) -> None:
    """`resume` asks no second time for the same budget; the budget itself holds all the same."""
    script = [used(call("look", place=str(number)), 41) for number in range(5)]
    app = chained(script, escalates=True, budget=Budget(max_tokens=100))
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        request = await asked_to_resolve(run)
        await resolve(run)
        stop = await stopped(run)

    assert request.trigger == "tokens:100"
    assert stop.reason == "max_tokens (100) would be exceeded"


@pytest.mark.parametrize(
    ("budget", "reason"),
    [
        pytest.param({"max_tokens": 100}, "max_tokens (100) would be exceeded", id="tokens"),
        pytest.param({"max_steps": 3}, "max_steps (3) reached", id="steps"),
        pytest.param(
            {"max_consecutive_failures": 5}, "max_consecutive_failures (5) reached", id="failures"
        ),
    ],
)
async def test_where_nobody_is_there_nothing_pauses(
    memory_runs: MemoryRuns, budget: dict[str, JsonValue], reason: str
) -> None:
    """Without `escalates` no trigger asks anybody: the run goes on until its limits stop it."""
    app = chained(
        lambda turn: used(answers(turn), 41 if "max_tokens" in budget else 0),
        acceptance=[after_so_many],
        triggers=Triggers(expected_time=0.001),
    )
    async with memory_runs.working(app):
        run = await memory_runs.start("it", "99", budget=budget)
        result = await run.result()
        histories = await memory_runs.stories(run)

    assert (result.status, why(result).reason) == ("stopped", reason)
    assert not [line for line in recorded(*histories) if line.startswith("paused")]


async def test_what_nobody_resolves_stops(memory_runs: MemoryRuns) -> None:
    """An escalation expires; until then no time counts, however long it takes."""
    nine = [used(call("look", place=str(place)), 9) for place in range(9)]
    budget = Budget(max_tokens=100, max_wall_time=60)
    app = chained([*nine, say("done")], escalates=True, budget=budget)
    async with memory_runs.working(app):
        resumed = await memory_runs.start("it")
        await asked_to_resolve(resumed)
        await memory_runs.pass_time(3 * 86400)
        await resolve(resumed)
        result = await resumed.result()
        forgotten = await memory_runs.start("it")
        await asked_to_resolve(forgotten)
        stop = await stopped(forgotten)

    assert result.answer == "done"
    assert stop.reason == "Approaching token budget limit"
    assert stop.detail.endswith("; nobody resolved it in time")
