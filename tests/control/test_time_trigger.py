"""A run that takes three times as long as expected asks a person, whatever it is doing."""

import asyncio
from pathlib import Path

import pytest

from holdfast import App
from holdfast.contracts.control import Triggers
from holdfast.testing import Reply, Script, ScriptTurn, call, say
from tests.control.controlled import (
    asked_to_resolve,
    broken,
    chained,
    recorded,
    replayed,
    resolve,
    why,
)
from tests.memory.runs import MemoryRuns
from tests.running import DAY, Run, Runs
from tests.sample import told
from tests.workflows.tiered import written

REASON = "Task taking much longer than expected"


def slow_model(seconds: float) -> Script:
    """A model that isn't there for so many seconds."""

    def model(turn: ScriptTurn) -> Reply:
        return broken("unavailable", seconds) if turn.attempt == 1 else say("at last")

    return model


def slow(seconds: float, *, expected: float | None = 10, **agent: object) -> App:
    """An app whose model isn't there for so many seconds."""
    triggers = Triggers(expected_time=expected)
    return chained(slow_model(seconds), triggers=triggers, **{"escalates": True, **agent})


async def under_way(run: Run) -> list[str]:
    """The activities that have begun and not ended."""
    found = await run.handle.describe()
    return [one.activity_type.name for one in found.raw_description.pending_activities]


async def test_a_run_that_takes_too_long_pauses_in_the_middle(skipping_runs: Runs) -> None:
    """At three times the expected time the run asks, while a model is still being asked."""
    # ES-12 ES-14 NR-02
    async with skipping_runs.working(slow(31)):
        run = await skipping_runs.start("it")
        await skipping_runs.pass_time(30.5)
        request = await asked_to_resolve(run)
        busy = await under_way(run)
        await resolve(run)
        result = await run.result()
        histories = await replayed(skipping_runs, run)

    assert (request.kind, request.action, request.reason) == (
        "escalation",
        "pause_and_escalate",
        REASON,
    )
    assert request.detail == "30 s of work, 10 s were expected"
    assert busy == ["call_model"]
    assert result.answer == "at last"
    assert [line.partition(";")[0] for line in recorded(*histories)] == [
        f"paused: {REASON}: 30 s of work, 10 s were expected"
    ]


@pytest.mark.parametrize(
    "app",
    [
        pytest.param(slow(29), id="shorter"),
        pytest.param(slow(300, expected=None), id="nothing expected"),
        pytest.param(slow(300, escalates=False), id="nobody there"),
    ],
)
async def test_a_run_within_its_time_asks_nobody(memory_runs: MemoryRuns, app: App) -> None:
    """Less than three times the time is no reason, nor is any time where nobody is there."""
    # ES-12
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        result = await run.result()
        histories = await memory_runs.stories(run)

    assert (result.answer, recorded(*histories)) == ("at last", [])


async def test_what_was_asked_is_resolved_before_an_answer_is_out(skipping_runs: Runs) -> None:
    """An answer that comes while somebody is asked waits for them; then it is the answer."""
    # ES-12
    async with skipping_runs.working(slow(31)):
        run = await skipping_runs.start("it")
        await skipping_runs.pass_time(40)
        await asked_to_resolve(run)
        while await under_way(run):  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.02)
        before = await run.status()
        await resolve(run)
        result = await run.result()

    assert (before.status, before.answer, before.step) == ("waiting", None, 1)
    assert (result.answer, result.steps) == ("at last", 1)


async def test_a_run_that_fails_meanwhile_asks_nobody_any_more(memory_runs: MemoryRuns) -> None:
    """What ends the run for good withdraws the question how it goes on."""

    def model(turn: ScriptTurn) -> Reply:
        return broken("unavailable", 31) if turn.attempt == 1 else broken("auth")

    app = chained(model, triggers=Triggers(expected_time=10), escalates=True)
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        await memory_runs.pass_time(30.5)
        await asked_to_resolve(run)
        result = await run.result()
        left = await run.pending()
        await memory_runs.stories(run)

    assert (result.status, why(result).reason) == ("failed", "model failed: auth")
    assert left == ()


async def test_time_of_people_is_no_time_of_the_run(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """A day until somebody approves, another while the run is suspended: neither counts."""
    # ES-12
    app = chained(
        [call("send", log=str(tmp_path / "log"), text="x"), told],
        triggers=Triggers(expected_time=10),
        escalates=True,
    )
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        request = await run.asked_for_approval()
        await memory_runs.pass_time(1 * DAY)
        still = await run.pending()
        await run.signal("suspend", {})
        await run.approve(request.request_id)
        await memory_runs.pass_time(1 * DAY)
        held = await run.status()
        await run.signal("resume", {})
        result = await run.result()
        histories = await memory_runs.stories(run)

    assert [one.request_id for one in still] == [request.request_id]
    assert (held.status, held.waits_for) == ("suspended", ())
    assert (result.answer, recorded(*histories)[1:]) == ("send ok", [])


async def test_who_lets_it_go_on_gives_it_as_much_time_again(memory_runs: MemoryRuns) -> None:
    """After another three times the expected time of work, the person is asked once more."""

    def model(turn: ScriptTurn) -> Reply:
        if turn.number == 1:
            return broken("unavailable", 31) if turn.attempt == 1 else call("look", place="x")
        return broken("unavailable", 40) if turn.attempt == 1 else say("at last")

    app = chained(model, triggers=Triggers(expected_time=10), escalates=True, max_history_events=1)
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        await memory_runs.pass_time(35)
        first = await asked_to_resolve(run)
        await resolve(run)
        await memory_runs.pass_time(25)
        between = await run.pending()
        await memory_runs.pass_time(10)
        second = await asked_to_resolve(run)
        await resolve(run)
        result = await run.result()
        histories = await memory_runs.stories(run)

    assert (first.trigger, between, result.answer) == ("time:31", (), "at last")
    assert (second.request_id, second.reason) == ("req-2", REASON)
    assert len(histories) == 2


@pytest.mark.parametrize("action", ["resume", "abort"])
async def test_a_tool_that_runs_meanwhile_is_not_ended(
    runs: Runs, tmp_path: Path, action: str
) -> None:
    """The run pauses beside a tool that is at work, which ends in peace, and has one result."""
    # ES-12 BY-08
    log = tmp_path / "log"
    app = chained(
        [call("hold", log=str(log)), told], triggers=Triggers(expected_time=0.1), escalates=True
    )
    async with runs.working(app):
        run = await runs.start("it")
        request = await asked_to_resolve(run)
        await written(log)
        busy = await under_way(run)
        await resolve(run, action)
        while request in await run.pending():  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.02)
        Path(f"{log}.go").touch()
        while (await run.status()).status in {"running", "waiting"}:
            for again in await run.pending():
                await run.signal(
                    "resolution", {"request_id": again.request_id, "action": "resume"}
                )
        result = await run.result()
        (held,) = await run.results()
        await replayed(runs, run)

    assert (request.reason, busy) == (REASON, ["hold"])
    assert (result.answer, held.status) == (
        ("hold ok", "ok") if action == "resume" else (None, "aborted")
    )
