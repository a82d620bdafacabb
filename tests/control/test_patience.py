"""A provider that is down for a while: the run waits, says so, and goes on."""

import asyncio
from collections import Counter
from datetime import timedelta

import pytest

from holdfast import Budget, ModelSettings
from holdfast.cli import standing
from holdfast.client import Run, RunEntry
from holdfast.client.listing import Wanted, find_runs
from holdfast.contracts.control import AttemptKind, ModelAttempt
from holdfast.contracts.errors import ModelUnavailable
from holdfast.contracts.run import StatusReport
from holdfast.contracts.state.run import RunState
from holdfast.contracts.usage import CallUsage
from holdfast.run import fallbacks, steps
from holdfast.run.limits import fallback
from holdfast.testing import Reply, ScriptTurn, say
from holdfast.trace.reader import read_trace
from tests.builders import NOW, a_state, an_agent
from tests.control.controlled import replayed
from tests.memory.runs import MemoryRuns
from tests.running import AnyRun, Runs
from tests.sample import IMPATIENT, scripted

HOUR = 3600.0
RUNS = 6


class Outage:
    """A provider that is down for so many calls; for how long it says, so none is repeated."""

    def __init__(self, calls: int) -> None:
        self.left = calls

    def __call__(self, _: ScriptTurn) -> Reply:
        self.left -= 1
        if self.left >= 0:
            raise ModelUnavailable("503", retry_after=HOUR, kind="overloaded")
        return say("done")


def patient(seconds: float) -> ModelSettings:
    return ModelSettings(patience=seconds)


async def test_a_provider_that_is_down_for_an_hour_fails_no_run(skipping_runs: Runs) -> None:
    """The run asks again and again, and has its answer when the provider is back."""
    outage = Outage(calls=16)
    async with skipping_runs.working(scripted(outage, settings=patient(2 * HOUR))):
        run = await skipping_runs.start("it")
        result = await run.result()
        events = (await run.handle.fetch_history()).events
        await replayed(skipping_runs, run)
    took = events[-1].event_time.ToDatetime() - events[0].event_time.ToDatetime()

    assert (result.status, result.answer) == ("completed", "done")
    assert took > timedelta(hours=1)


class LongOutage:
    """A provider that is down for so many calls of each run, and says nothing of how long."""

    def __init__(self, calls: int) -> None:
        self.left = Counter[str]()
        self.calls = calls

    def __call__(self, turn: ScriptTurn) -> Reply:
        self.left[turn.run_id] += 1
        if self.left[turn.run_id] <= self.calls:
            raise ModelUnavailable("503", retry_after=HOUR, kind="overloaded")
        return say("done")


async def waits(run: AnyRun) -> StatusReport:
    """Wait until a run waits for its provider."""
    while (status := await run.status()).waiting is None:  # noqa: ASYNC110 -- it is elsewhere
        await asyncio.sleep(0.02)
    return status


async def test_many_runs_outlast_a_provider_that_is_down_for_an_hour(skipping_runs: Runs) -> None:
    """Each says that it waits, by `status` and by `show`, and each goes on afterwards."""
    async with skipping_runs.working(scripted(LongOutage(16), settings=patient(2 * HOUR))):
        started = [await skipping_runs.start("it") for _ in range(RUNS)]
        asked = [await waits(run) for run in started]
        shown = [await standing.view(Run(skipping_runs.client, run.handle.id)) for run in started]
        results = [await run.result() for run in started]
        histories = [(await run.handle.fetch_history()).events for run in started]
    took = [one[-1].event_time.ToDatetime() - one[0].event_time.ToDatetime() for one in histories]

    assert {status.status for status in asked} == {"waiting"}
    assert {one.status for one in shown} == {"waiting"}
    assert all(one.waiting and "overloaded: 503" in one.waiting.reason for one in shown)
    assert [(result.status, result.answer) for result in results] == [("completed", "done")] * RUNS
    assert min(took) > timedelta(hours=1)


async def test_a_list_shows_which_runs_wait_for_a_provider(runs: Runs) -> None:
    """They wait and ask nobody, as runs do that wait for people."""
    async with runs.working(scripted(LongOutage(10_000), settings=patient(HOUR))):
        started = [await runs.start("it") for _ in range(5)]
        for run in started:
            await waits(run)
        wanted = {run.handle.id for run in started}
        listed: dict[str, RunEntry] = {}
        while listed.keys() != wanted:  # visibility comes behind
            await started[0].pause()
            found = await find_runs(runs.client, Wanted("waiting"), 1000)
            listed = {one.run_id: one for one in found if one.run_id in wanted}
        for run in started:
            await run.handle.terminate()

    assert {(one.status, one.pending) for one in listed.values()} == {("waiting", ())}


async def test_who_asks_is_told_what_a_run_waits_for(runs: Runs) -> None:
    """The status has the reason and the time of the next try; to end the run ends the wait."""
    async with runs.working(scripted(Outage(10_000), settings=patient(HOUR))):
        run = await runs.start("it")
        status = await waits(run)
        trace = read_trace([await run.handle.fetch_history()])
        await run.signal("suspend", {})
        while (held := await run.status()).status != "suspended":  # noqa: ASYNC110 -- the same
            await asyncio.sleep(0.02)
        await run.handle.terminate()

    assert status.status == "waiting"
    assert status.waiting is not None
    assert status.waiting.reason.startswith("scripted:it: overloaded: 503")
    assert status.waiting.until > status.started_at + fallback.FIRST_WAIT
    assert held.waiting == status.waiting
    shown = standing.read_view(trace)  # as without a worker
    assert (shown.status, shown.waiting and shown.waiting.reason) == (
        "waiting",
        status.waiting.reason,
    )
    assert shown.waiting is not None
    assert abs(shown.waiting.until - status.waiting.until) < timedelta(seconds=20)


async def test_patience_ends(memory_runs: MemoryRuns) -> None:
    """Then the run ends as if it had none."""
    async with memory_runs.working(scripted(Outage(10_000), settings=patient(300.0))):
        run = await memory_runs.start("it")
        result = await run.result()
        status = await run.status()

    assert result.stop is not None
    assert (result.status, result.stop.reason) == ("failed", "no model answered")
    assert status.waiting is None


async def test_the_time_of_a_run_ends_its_patience(memory_runs: MemoryRuns) -> None:
    """What a run waits for its provider is time of its own."""
    app = scripted(
        Outage(10_000), settings=patient(HOUR), budget=Budget(max_wall_time=200.0, max_steps=5)
    )
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        result = await run.result()
        status = await run.status()

    assert result.stop is not None
    assert result.stop.reason == "max_wall_time (200 s) reached"
    assert status.waiting is None


def failed(kind: AttemptKind) -> ModelAttempt:
    return ModelAttempt(turn=1, model="scripted:it", kind=kind, error="down", at=NOW)


def waiting(settings: ModelSettings, kind: AttemptKind = "overloaded") -> RunState:
    state = a_state().with_(agent=an_agent(settings=settings, models=("scripted:it",)))
    found = fallbacks.wait_for_provider(state, failed(kind), NOW)
    assert found is not None
    return found


def test_waits_grow_and_end_with_the_patience() -> None:
    """Half a minute, a minute, two, four, then five each; the last is as long as is left."""
    state, now, pauses = waiting(patient(1500)), NOW, list[float]()
    while state is not None and state.chain.provider_wait is not None:
        pauses.append((state.chain.provider_wait.until - now).total_seconds())
        now = state.chain.provider_wait.until
        state = fallbacks.wait_for_provider(state, failed("overloaded"), now)

    assert pauses == [30, 60, 120, 240, 300, 300, 300, 150]


def test_nothing_is_asked_before_its_time() -> None:
    """Until then a run waits, and asks again."""
    state = waiting(patient(HOUR))

    assert isinstance(steps.next_step(state, NOW), steps.AwaitProvider)
    later = NOW + fallback.FIRST_WAIT
    assert isinstance(steps.next_step(state, later), steps.AwaitProvider)  # its timer says when
    assert isinstance(steps.next_step(fallbacks.end_wait(state), later), steps.CallModel)


@pytest.mark.parametrize("kind", ["not_found", "quota", "unreadable", "invalid_request"])
def test_what_time_doesnt_mend_is_not_waited_for(kind: AttemptKind) -> None:
    """Only what is wrong with a provider for a while."""
    state = a_state().with_(agent=an_agent(settings=patient(HOUR), models=("scripted:it",)))

    assert fallbacks.wait_for_provider(state, failed(kind), NOW) is None


def test_without_patience_there_is_no_wait() -> None:
    """An agent may be told to have none."""
    state = a_state().with_(agent=an_agent(settings=IMPATIENT, models=("scripted:it",)))

    assert fallbacks.wait_for_provider(state, failed("overloaded"), NOW) is None


@pytest.mark.parametrize("escalates", [False, True], ids=["alone", "with people"])
def test_after_patience_it_goes_as_without(*, escalates: bool) -> None:
    """People are asked where they are there; else the run has failed."""
    state = waiting(patient(HOUR))
    state = state.with_(agent=state.agent.with_(escalates=escalates))
    over = NOW + timedelta(hours=1)
    after = fallbacks.after_failure(state, failed("overloaded"), CallUsage(), over)

    assert after.chain.provider_wait is None
    assert [request.kind for request in after.oversight.requests] == ["escalation"] * escalates
    assert after.outcome == (None if escalates else "failed")
