"""Calls that wait in their queue: who ends meanwhile what they were sent by."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
from temporalio.api.enums.v1 import PendingActivityState
from temporalio.client import Client, WorkflowFailureError
from temporalio.worker import Worker

from holdfast import Agent, App, Budget, Risk, tool
from holdfast.contracts.base import JsonObject
from holdfast.contracts.state.late_calls import LateCall
from holdfast.testing import Script, call, say
from holdfast.tools import ask_user
from tests.attacks.half_workers import (
    half_working,
    no_calls,
    no_calls_nor_memory,
    no_decisions,
)
from tests.attacks.test_forged_failures import begun
from tests.attacks.test_forged_results import complete
from tests.attacks.test_tokens import ALICE, BOB, claims, refund, trusting
from tests.builders import a_reply
from tests.control.controlled import replayed
from tests.control.guarded import on_word
from tests.running import Run, Runs
from tests.sample import lines, note, scripted, told
from tests.tokens import Signer
from tests.workflows.test_handoffs import TRANSFER, bureau, load_context
from tests.workflows.test_permissions import policy
from tests.workflows.test_returning_handoffs import office

QUEUED = 6.0
"""Seconds; longer than what was decided about a call is good for."""

LIMIT = 30.0
"""Seconds that a run has."""


def refunding(log: Path, **budget: float) -> App:
    """An app whose agent gives money back once."""
    script: Script = [call("refund", log=str(log), amount=29.0), told]
    agent = Agent(
        name="it",
        instructions="Do as you are told.",
        models=["scripted:it"],
        tools=[refund],
        budget=Budget(max_steps=9, **budget),  # pyright: ignore[reportArgumentType] -- of any limits
    )
    return App(agents=[agent], scripts={"it": script})


async def approve(run: Run, signer: Signer) -> str:
    """Have somebody sign what waits, by a signal; return which request that was."""
    request = await run.asked_for_approval()
    token = signer.token(claims(run, request, sub=signer.subject, jti=signer.kid))
    await run.approve(request.request_id, token=token)
    return request.request_id


async def waits(
    run: Run,
    name: str,
    state: PendingActivityState.ValueType = PendingActivityState.PENDING_ACTIVITY_STATE_SCHEDULED,
) -> None:
    """Wait until a call waits for a worker, or one has it."""
    while True:
        described = await run.handle.describe()
        pending = described.raw_description.pending_activities
        if [(one.activity_type.name, one.state) for one in pending] == [(name, state)]:
            return
        await asyncio.sleep(0.02)


@asynccontextmanager
async def queued(
    runs: Runs,
    app: App,
    folder: Path,
    decides: Callable[[Callable[..., Worker]], Callable[..., Worker]] = no_calls,
) -> AsyncGenerator[Run]:
    """Have a call wait that ALICE has approved: whoever decides is there, who does it isn't."""
    trusting(runs, folder, ALICE, BOB)
    async with half_working(runs, app, decides):
        async with half_working(runs, app, no_decisions):
            run = await runs.start("it")
            await run.asked()
        await approve(run, ALICE)
        await complete(runs, run, await begun(runs), None)  # what marks that it is judged
        await waits(run, "refund")
        yield run


def one_place(make: Callable[..., Worker]) -> Callable[..., Worker]:
    return partial(_make_with_one_place, no_decisions(make))


def _make_with_one_place(make: Callable[..., Worker], *given: Client, **options: object) -> Worker:
    return make(*given, **{**options, "max_concurrent_activities": 1, "tuner": None})


async def test_what_waited_begins_while_all_holds(skipping_runs: Runs, tmp_path: Path) -> None:
    """A worker that is busy keeps nothing from beginning, nor does one with a single place."""
    # RK-19
    log = tmp_path / "log"
    app = refunding(log)
    async with queued(skipping_runs, app, tmp_path) as run:
        await skipping_runs.pass_time(QUEUED)
        async with half_working(skipping_runs, app, one_place):
            result = await run.result()
        await replayed(skipping_runs, run)

    assert result.status == "completed"
    assert lines(log) == ["refunded 29.0"]


async def test_a_key_that_is_revoked_while_a_call_waits_releases_nothing(
    skipping_runs: Runs, tmp_path: Path
) -> None:
    """Whoever has the key asked for a signature; a stolen one is taken back while all are busy."""
    # RK-19 BY-15
    log = tmp_path / "log"
    app = refunding(log)
    async with queued(skipping_runs, app, tmp_path) as run:
        trusting(skipping_runs, tmp_path, BOB)
        await skipping_runs.pass_time(QUEUED)
        async with half_working(skipping_runs, app, no_decisions):
            while not (await run.pending() or lines(log)):
                await run.pause()
            assert lines(log) == []
            request = await approve(run, BOB)
            await run.result()
        await replayed(skipping_runs, run)

    assert request == "req-2"
    assert lines(log) == ["refunded 29.0"]


async def test_nothing_that_waited_begins_in_a_suspended_run(
    skipping_runs: Runs, tmp_path: Path
) -> None:
    """It begins when the run goes on, once."""
    log = tmp_path / "log"
    app = refunding(log)
    async with queued(skipping_runs, app, tmp_path) as run:
        await run.signal("suspend", {"reason": "look first"})
        await skipping_runs.pass_time(QUEUED)
        async with half_working(skipping_runs, app, no_decisions):
            while (await run.status()).status != "suspended":
                await run.pause()
            before = lines(log)
            await run.signal("resume", {"reason": "looked"})
            await run.result()
        await replayed(skipping_runs, run)

    assert before == []
    assert lines(log) == ["refunded 29.0"]


async def test_nothing_that_waited_begins_in_a_run_that_is_stopped(
    skipping_runs: Runs, tmp_path: Path
) -> None:
    """Nobody wonders what became of it: it is known not to have happened."""
    log = tmp_path / "log"
    app = refunding(log)
    async with queued(skipping_runs, app, tmp_path) as run:
        await run.signal("stop", {"reason": "that is wrong"})
        await skipping_runs.pass_time(QUEUED)
        async with half_working(skipping_runs, app, no_decisions):
            result = await run.result()
        await replayed(skipping_runs, run)

    assert (result.status, lines(log)) == ("stopped", [])
    assert result.unresolved == ()


async def test_nothing_that_waited_begins_in_a_run_that_is_cancelled(
    skipping_runs: Runs, tmp_path: Path
) -> None:
    """Nobody decides when it is cancelled: who does the call is there first, and asks."""
    log = tmp_path / "log"
    app = refunding(log)
    async with queued(skipping_runs, app, tmp_path, no_calls_nor_memory) as run:
        pass
    await run.cancel()
    await skipping_runs.pass_time(QUEUED)
    async with half_working(skipping_runs, app, no_decisions):
        await waits(run, "refund", PendingActivityState.PENDING_ACTIVITY_STATE_STARTED)
        async with half_working(skipping_runs, app, no_calls_nor_memory):
            with pytest.raises(WorkflowFailureError):
                await run.result()

    assert lines(log) == []


async def test_nothing_that_waited_begins_beyond_the_time_of_its_run(
    skipping_runs: Runs, tmp_path: Path
) -> None:
    """A write isn't cut off once it has begun; so it doesn't begin then."""
    log = tmp_path / "log"
    app = refunding(log, max_wall_time=LIMIT)
    async with queued(skipping_runs, app, tmp_path) as run:
        await skipping_runs.pass_time(LIMIT + QUEUED)
        async with half_working(skipping_runs, app, no_decisions):
            result = await run.result()
        await replayed(skipping_runs, run)

    assert (result.status, lines(log)) == ("stopped", [])
    assert result.unresolved == ()


@tool(risk=Risk.WRITE_INTERNAL)
async def take_away(log: str) -> str:
    """Take away what was put there."""
    note(log, "took away")
    return "away"


@tool(risk=Risk.WRITE_INTERNAL, undo="take_away")
async def put_there(log: str) -> str:
    """Put something there."""
    return "put"


async def test_an_undo_that_waited_is_tried_when_its_run_goes_on(
    skipping_runs: Runs, tmp_path: Path
) -> None:
    """Who suspends a run looks at what stands; nothing of that is taken back meanwhile."""
    log = tmp_path / "log"
    script: Script = [call("put_there", log=str(log)), call("ask_user", question="?"), say("bad")]
    app = scripted(
        script,
        tools=[put_there, ask_user],
        guardrails=[on_word("no_bad", "bad", "output", on_trip="block", local=True)],
        policy=policy(tmp_path, "{id: yes, effect: allow, match: {risks: [write_internal]}}"),
    )
    answer = a_reply(text="bad").model_dump(mode="json")
    async with half_working(skipping_runs, app, no_calls):
        async with half_working(skipping_runs, app, no_decisions):
            run = await skipping_runs.start("it")
            (question,) = await run.asked()
        await run.signal("answer", {"request_id": question.request_id, "text": "yes"})
        await complete(skipping_runs, run, await begun(skipping_runs), None)
        await complete(skipping_runs, run, await begun(skipping_runs), answer)
        await waits(run, "take_away")
        await run.signal("suspend", {})
        await skipping_runs.pass_time(QUEUED)
        async with half_working(skipping_runs, app, no_decisions):
            while (await run.status()).status != "suspended":
                await run.pause()
            before = lines(log)
            await run.signal("resume", {})
            result = await run.result()
        await replayed(skipping_runs, run)

    assert (before, lines(log)) == ([], ["took away"])
    assert result.status == "blocked"
    assert result.effects == ()


@pytest.mark.parametrize("hand", [office, bureau])
async def test_what_waited_to_be_loaded_is_loaded_when_its_run_goes_on(
    skipping_runs: Runs, tmp_path: Path, hand: Callable[..., App]
) -> None:
    """What loads it began in no suspended run; the handoff is decided anew then, and happens."""
    rules = policy(tmp_path, "{id: asks, effect: approve, match: {receivers: [billing]}}")
    said = (say("It is charged."), say("It is charged."))
    app = hand([TRANSFER, told], said, prepare=load_context, rules=rules)
    async with half_working(skipping_runs, app, no_calls):
        async with half_working(skipping_runs, app, no_decisions):
            run = await skipping_runs.start("triage")
            request = await run.asked_for_approval()
        await run.approve(request.request_id)
        await complete(skipping_runs, run, await begun(skipping_runs), None)
        await waits(run, "load_context")
        await run.signal("suspend", {})
        await skipping_runs.pass_time(QUEUED)
        async with half_working(skipping_runs, app, no_decisions):
            while (await run.status()).status != "suspended":
                await run.pause()
            await run.signal("resume", {})
            await run.result()
            (result,) = await run.results()
        await replayed(skipping_runs, run)

    assert result.status == "ok"


async def test_who_asks_without_its_input_is_told_nothing_of_a_call(
    skipping_runs: Runs, tmp_path: Path
) -> None:
    """By whatever is told of a call elsewhere; and nobody's asking leaves a trace."""
    app = refunding(tmp_path / "log")
    async with queued(skipping_runs, app, tmp_path) as run:
        length = len((await run.handle.fetch_history()).events)
        asked: list[JsonObject] = [
            {"proof": proof, "now": "2126-11-20T09:00:00Z", "heard": heard}
            for proof in ("", "c1", f"{run.first_execution}/c1", "f" * 64)
            for heard in (None, 0, 1_000_000)
        ]
        told = [await run.query("late_call", LateCall, one) for one in asked]
        after = len((await run.handle.fetch_history()).events)
        await run.handle.terminate()

    assert told == [LateCall(reason="its run waits for no such call")] * len(asked)
    assert after == length
