"""When a model fails: the next one, a person, or the end, by the kind of failure."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest
from pydantic import JsonValue

from holdfast import Budget, Fallback
from holdfast.contracts.control import ModelAttempt
from holdfast.contracts.errors import FailureKind
from holdfast.contracts.model import StopCause
from holdfast.contracts.stops import StopReason
from holdfast.testing import Reply, ScriptTurn, call, say
from tests.control.controlled import (
    asked_models,
    asked_to_resolve,
    broken,
    chained,
    recorded,
    replayed,
    resolve,
    stopped,
    why,
)
from tests.histories import names
from tests.memory.runs import MemoryRuns
from tests.running import Runs
from tests.sample import lines


async def test_while_the_first_model_answers_no_other_is_asked(memory_runs: MemoryRuns) -> None:
    """The preferred model is asked first, and alone where it answers."""
    # FB-01
    async with memory_runs.working(chained([call("add", a=1, b=1), say("one")], [say("two")])):
        run = await memory_runs.start("it")
        result = await run.result()
        histories = await memory_runs.stories(run)

    assert (result.answer, result.model) == ("one", "scripted:1")
    assert asked_models(*histories) == ["turn 1 · scripted:1", "turn 2 · scripted:1"]
    assert recorded(*histories) == []


@pytest.mark.parametrize(
    "kind", ["rate_limited", "unavailable", "overloaded", "timeout", "quota", "invalid_request"]
)
async def test_a_model_without_room_is_left_with_a_warning(
    memory_runs: MemoryRuns, kind: FailureKind
) -> None:
    """The next model is asked, the failure is told, and so is the switch with its reason."""
    # FB-05 FB-06 T-35
    async with memory_runs.working(chained(lambda _: broken(kind), [say("two")])):
        run = await memory_runs.start("it")
        result = await run.result()
        histories = await memory_runs.stories(run)

    assert (result.answer, result.model, result.steps) == ("two", "scripted:2", 1)
    assert recorded(*histories) == [
        f"model failed: scripted:1: the {kind} one",
        f"model switched: scripted:1 → scripted:2: {kind}",
    ]


@pytest.mark.parametrize(
    ("wait", "tries"), [(0.4, 2), (0.5, 2), (0.6, 1)], ids=["less", "the limit", "more"]
)
async def test_nobody_waits_longer_than_configured_for_a_model(
    runs: Runs, tmp_path: Path, wait: float, tries: int
) -> None:
    """While another model is left, no retry waits longer than `max_wait`."""
    # FB-05
    log = tmp_path / "log"

    def full(turn: ScriptTurn) -> Reply:
        with log.open("a") as file:
            file.write(f"{turn.attempt}\n")
        return broken("rate_limited", wait)

    async with runs.working(
        chained(full, [say("two")], fallback=Fallback(attempts=2, max_wait=0.5))
    ):
        run = await runs.start("it")
        result = await run.result()
        (history,) = await replayed(runs, run)
    asked = [event for event in history.events if event.HasField(SCHEDULED)]
    times: list[datetime] = [event.event_time.ToDatetime() for event in asked]

    assert result.model == "scripted:2"
    assert lines(log) == [str(number) for number in range(1, tries + 1)]
    waited = wait if tries > 1 else 0
    assert times[1] - times[0] >= timedelta(seconds=waited)


SCHEDULED = "activity_task_scheduled_event_attributes"


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        pytest.param(Reply(), "empty", id="nothing said"),
        pytest.param(Reply(text="hm", stop="other"), "other", id="no known stop"),
    ],
)
async def test_a_reply_that_is_no_answer_moves_on(
    memory_runs: MemoryRuns, reply: Reply, kind: str
) -> None:
    """Not only errors: a reply without success goes to the next model, and is billed."""
    # FB-07
    async with memory_runs.working(chained([reply], lambda _: say("two"))):
        run = await memory_runs.start("it")
        result = await run.result()
        histories = await memory_runs.stories(run)

    assert (result.answer, result.model, result.steps) == ("two", "scripted:2", 2)
    assert recorded(*histories) == [f"model switched: scripted:1 → scripted:2: {kind}"]


async def test_the_chain_is_walked_in_its_order(memory_runs: MemoryRuns) -> None:
    """Each model is asked in its place; the third answers what the first two couldn't."""
    # FB-02 FB-03 FB-13
    app = chained(
        lambda _: broken("rate_limited"), lambda _: broken("unavailable"), lambda _: say("three")
    )
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        result = await run.result()
        histories = await memory_runs.stories(run)

    assert result.answer == "three"
    assert [line.rpartition(" ")[2] for line in asked_models(*histories)] == [
        "scripted:1",
        "scripted:2",
        "scripted:3",
    ]


@pytest.mark.parametrize("kind", ["auth", "permission", "context_overflow", "content_filtered"])
async def test_what_another_model_must_not_answer_stops(
    memory_runs: MemoryRuns, kind: FailureKind
) -> None:
    """A wrong key, a context too long and judged content don't walk through the models."""
    # T-36
    async with memory_runs.working(chained(lambda _: broken(kind), [say("two")], escalates=True)):
        run = await memory_runs.start("it")
        result = await run.result()
        histories = await memory_runs.stories(run)

    assert (result.status, result.model) == ("failed", "scripted:1")
    assert (why(result).reason, why(result).detail) == (f"model failed: {kind}", f"the {kind} one")
    assert why(result).next_safe_action
    assert asked_models(*histories) == ["turn 1 · scripted:1"]


@pytest.mark.parametrize("stop", ["refusal", "content_filter", "max_tokens"])
async def test_a_refusal_is_not_shopped_around(memory_runs: MemoryRuns, stop: StopCause) -> None:
    """What a model declines, or what our own limit cuts off, is no other model's to answer."""
    # T-36 T-48
    async with memory_runs.working(chained([Reply(text="No", stop=stop)], [say("two")])):
        run = await memory_runs.start("it")
        reason = (await stopped(run)).reason
        histories = await memory_runs.stories(run)

    assert reason == f"model stopped: {stop}"
    assert asked_models(*histories) == ["turn 1 · scripted:1"]


@pytest.mark.parametrize(
    ("reaction", "end"), [("next_model", "two"), ("ask", None)], ids=["next", "a person"]
)
async def test_an_agent_may_react_otherwise(
    memory_runs: MemoryRuns, reaction: str, end: str | None
) -> None:
    """What a kind of failure leads to is the agent's to say."""
    fallback = Fallback.model_validate({"reactions": {"auth": reaction}})
    app = chained(lambda _: broken("auth"), [say("two")], escalates=True, fallback=fallback)
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        if end is None:
            request = await asked_to_resolve(run)
            await resolve(run, "abort")
            assert request.reason == "model failed: auth"
        result = await run.result()

    assert result.answer == end


async def test_when_all_models_failed_a_person_is_asked(memory_runs: MemoryRuns) -> None:
    """The run waits, not failed, and its request has every attempt: model, kind, error, cost."""
    # FB-08 FB-14 ES-14
    app = chained(
        lambda _: broken("rate_limited", cost="0.01"),
        lambda _: broken("unavailable", cost="0.02"),
        escalates=True,
        fallback=Fallback(attempts=1),
        budget=Budget(max_model_retries=1),
    )
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        request = await asked_to_resolve(run)
        status = await run.status()
        await resolve(run, "abort", guidance="enough")
        result = await run.result()
        histories = await memory_runs.stories(run)

    assert (status.status, request.reason, request.kind) == (
        "waiting",
        StopReason.FALLBACKS_EXHAUSTED.words,
        "escalation",
    )
    assert request.action == "pause_and_escalate"
    assert list(map(told, request.attempts)) == [
        (1, "scripted:1", "rate_limited", "the rate_limited one", 0.01),
        (1, "scripted:2", "unavailable", "the unavailable one", 0.04),
    ]
    assert request.usage is not None
    assert float(request.usage.estimated_cost or 0) == 0.05
    assert (result.status, why(result).reason) == ("stopped", StopReason.FALLBACKS_EXHAUSTED.words)
    assert why(result).detail.endswith("; enough")
    assert "model failed: scripted:2: the unavailable one" in recorded(*histories)


def told(attempt: ModelAttempt) -> tuple[int, str, str, str, float]:
    """What a request says of a call that failed."""
    cost = float(attempt.cost or 0)
    return (attempt.turn, attempt.model, attempt.kind, attempt.error, cost)


async def test_without_anybody_to_ask_the_run_fails(memory_runs: MemoryRuns) -> None:
    """Where nobody is there to be asked, an exhausted chain ends the run with each error."""
    app = chained(lambda _: broken("unavailable"), lambda _: broken("quota"))
    async with memory_runs.working(app):
        run = await memory_runs.start("it", budget={"max_model_retries": 0})
        result = await run.result()

    assert (result.status, why(result).reason) == ("failed", StopReason.FALLBACKS_EXHAUSTED.words)
    assert why(result).detail == (
        "scripted:1: unavailable: the unavailable one; scripted:2: quota: the quota one"
    )


@pytest.mark.parametrize(
    ("action", "more", "answer"),
    [
        ("resume", {}, "back"),
        ("resume", {"guidance": "be brief"}, "back, be brief"),
        ("extend", {"budget": {"max_steps": 9}}, "back"),
        ("abort", {}, None),
    ],
    ids=["resume", "with guidance", "extend", "abort"],
)
async def test_after_a_person_the_run_goes_on_where_it_stopped(
    memory_runs: MemoryRuns,
    tmp_path: Path,
    action: str,
    more: dict[str, JsonValue],
    answer: str | None,
) -> None:
    """Nothing that was done is done again, through a restart of the worker while it waits."""
    # FB-15
    log, mended = tmp_path / "log", tmp_path / "mended"

    def model(turn: ScriptTurn) -> Reply:
        if turn.number == 1:
            return call("write", log=str(log), text="once")
        if not mended.exists():
            return broken("unavailable")
        said = [item.text for item in turn.transcript[1:] if item.kind == "user"]
        return say(", ".join(["back", *said]))

    app = chained(model, model, escalates=True)
    async with memory_runs.working(app):
        run = await memory_runs.start("it", budget={"max_steps": 4, "max_model_retries": 0})
        await asked_to_resolve(run)
    mended.touch()
    async with memory_runs.working(app):
        await resolve(run, action, **more)
        result = await run.result()
        status = await run.status()
        histories = await memory_runs.stories(run)

    assert result.answer == answer
    assert lines(log) == ["begin once", "end once"]
    assert [name for one in histories for name in names(one)].count("write") == 1
    assert status.budget.max_steps == (9 if action == "extend" else 4)
    assert result.status == ("stopped" if answer is None else "completed")


@pytest.mark.parametrize(
    "reply", [Reply(), Reply(text="hm", stop="other")], ids=["empty", "other"]
)
async def test_a_single_model_that_says_nothing_leaves_it_to_a_person(
    memory_runs: MemoryRuns, reply: Reply
) -> None:
    """Where somebody is there to be asked, the end of a chain of one is theirs too."""
    # FB-08
    async with memory_runs.working(chained([reply, say("two")], escalates=True)):
        run = await memory_runs.start("it")
        request = await asked_to_resolve(run)
        await resolve(run)
        result = await run.result()

    assert (request.reason, result.answer) == (StopReason.FALLBACKS_EXHAUSTED.words, "two")


async def test_a_fault_leaves_it_to_the_next_model(memory_runs: MemoryRuns) -> None:
    """What nobody raised on purpose, as in an adapter, doesn't take the run with it."""
    # FB-01 BY-10

    def faulty(_: ScriptTurn) -> Reply:
        raise ZeroDivisionError("a fault")

    app = chained(faulty, [say("here")], fallback=Fallback(attempts=1))
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        result = await run.result()
        await memory_runs.stories(run)

    assert (result.status, result.answer, result.model) == ("completed", "here", "scripted:2")


async def test_a_fault_of_the_only_model_ends_the_run_with_a_reason(
    memory_runs: MemoryRuns,
) -> None:
    """
    It is asked as often as one whose reply can't be read, and the run says what raised what.

    Nobody waits for two hours, and pays for each try, until a fault of an adapter has passed.
    """
    # BY-10
    asked = list[int]()

    def faulty(turn: ScriptTurn) -> Reply:
        asked.append(turn.attempt)
        raise ZeroDivisionError("a fault")

    async with memory_runs.working(chained(faulty)):
        run = await memory_runs.start("it")
        result = await run.result()

    assert asked == [1, 2, 3, 4, 5, 6]
    assert (result.status, why(result).reason) == ("failed", "no model answered")
    assert why(result).detail.startswith("the adapter of scripted:1 raised ZeroDivisionError, ")
