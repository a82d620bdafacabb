"""What was left to another worker: how old it is by the time that one decides, or begins."""

import asyncio
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from holdfast import App, Budget, Tool, tool
from holdfast.activities.callers import NOT_HERE
from holdfast.contracts.run import StatusReport
from holdfast.contracts.tools import Risk
from holdfast.testing import call, say
from holdfast.tools import ask_user
from tests.attacks.test_tokens import ALICE, claims, refunding, trusting
from tests.control.guarded import NAMED, on_word
from tests.durability.test_handing_back import app, side_by_side
from tests.running import Run, Runs
from tests.sample import lines, note, scripted, told


async def left_to_others(run: Run) -> None:
    """Wait until a worker has said that another one has to go on."""
    while NOT_HERE not in str(await run.handle.describe()):  # noqa: ASYNC110 -- it is elsewhere
        await asyncio.sleep(0.02)


async def was_told(run: Run) -> bool:
    """Whether history says that a token has expired; a query would wait for a worker."""
    return "the token has expired" in str((await run.handle.fetch_history()).events)


async def until(moment: float) -> None:
    while time.time() < moment:  # noqa: ASYNC110 -- so it stands in the token
        await asyncio.sleep(0.05)


async def test_a_token_that_expires_while_its_judge_is_found_releases_nothing(
    runs: Runs, tmp_path: Path
) -> None:
    """A worker of another app hears it in time, one that may judge comes when it has expired."""
    log = tmp_path / "log"
    trusting(runs, tmp_path, ALICE)
    ours = refunding(log, 29.0)
    ours.name = "ours"
    async with runs.working(ours):
        run = await runs.start("it")
        request = await run.asked_for_approval()
    async with side_by_side(runs, app([say("theirs")], name="theirs")):
        expiry = int(time.time()) + 4
        token = ALICE.token(claims(run, request, iat=int(time.time()), exp=expiry))
        await run.approve(request.request_id, "alice", token=token)
        await left_to_others(run)
        await until(expiry + 2)
    async with side_by_side(runs, ours):
        while not (said := await was_told(run)) and not lines(log):  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.2)
        await run.handle.terminate() if said else await run.result()

    assert (said, lines(log)) == (True, [])


@tool(risk=Risk.WRITE_LOCAL, scope=NAMED)
async def take_away(log: str, title: str) -> str:
    """Take away what was put there."""
    note(log, f"took away {title}")
    return "away"


@tool(risk=Risk.WRITE_LOCAL, scope=NAMED, undo="take_away")
async def put_there(log: str, title: str) -> str:
    """Put something there."""
    return f"put {title} for {log}"


def blocked(log: Path, *tools: Tool) -> App:
    """An app whose answer is blocked once somebody was asked, in a release with these tools."""
    script = [
        call("put_there", log=str(log), title="one"),
        call("ask_user", question="Go on?"),
        say("bad"),
    ]
    looks = on_word("no_bad", "bad", "output", on_trip="block")
    return scripted(script, tools=tools, guardrails=[looks])


async def test_no_undo_begins_in_a_suspended_run_when_its_worker_is_found(
    runs: Runs, tmp_path: Path
) -> None:
    """It had not begun, so a run that is suspended meanwhile begins it when it is resumed."""
    log = tmp_path / "log"
    able = blocked(log, put_there, ask_user)
    async with runs.working(able):
        run = await runs.start("it")
        (question,) = await run.asked()
    async with side_by_side(runs, blocked(log, ask_user)):
        await run.signal("answer", {"request_id": question.request_id, "text": "yes"})
        await left_to_others(run)
        await run.signal("suspend", {})
        while (await run.status()).status == "running":  # noqa: ASYNC110 -- as above
            await asyncio.sleep(0.02)
    async with side_by_side(runs, able):
        while (status := await run.status()).status == "suspending":  # noqa: ASYNC110 -- as above
            await asyncio.sleep(0.02)
        before = lines(log)
        if status.status == "suspended":
            await run.handle.terminate()

    assert (status.status, before) == ("suspended", [])


LATE = timedelta(seconds=30)
"""Ten times as long as the run may work."""


def workflow_age(status: StatusReport) -> timedelta:
    return datetime.now(UTC) - status.started_at


@tool(risk=Risk.WRITE_INTERNAL)
async def hand_in(log: str) -> str:
    """Hand something in."""
    note(log, "handed in")
    return "handed in"


async def test_a_worker_without_a_tool_keeps_no_run_beyond_its_time(
    runs: Runs, tmp_path: Path
) -> None:
    """It waits for a decision that no worker can make, and not longer than it may work."""
    script = [call("hand_in", log=str(tmp_path / "log")), told]
    budget = Budget(max_wall_time=3.0, max_steps=9)
    async with runs.working(scripted(script, tools=[hand_in], budget=budget)):
        run = await runs.start("it")
        (request,) = await run.asked()
    async with runs.working(
        scripted(script, tools=[ask_user], budget=budget), client=await runs.another_client()
    ):
        await run.approve(request.request_id)
        while (status := await run.status()).status in {"running", "waiting"} and (  # noqa: ASYNC110 -- it is elsewhere
            workflow_age(status) < LATE
        ):
            await asyncio.sleep(0.2)
        await run.handle.terminate() if status.stop is None else None

    assert status.stop is not None
    assert status.stop.reason == "max_wall_time (3 s) reached"
