"""Who looks at runs while a deployment rolls, and their workers leave them to each other."""

import asyncio
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

from temporalio.client import WorkflowExecutionStatus, WorkflowQueryFailedError
from temporalio.service import RPCError

from holdfast.activities.callers import NOT_HERE
from holdfast.testing import call, say
from tests.durability.test_handing_back import app, replays, side_by_side
from tests.running import Run, Runs
from tests.sample import told

RUNS, LOOKERS = 3, 2
LOOKING_SECONDS, PATIENCE_SECONDS = 60.0, 300.0


async def look(run: Run, seen: asyncio.Event) -> None:
    """Look at a run all the time, as 'holdfast show' does."""
    while not seen.is_set():
        with suppress(RPCError, WorkflowQueryFailedError):
            await run.handle.query("status", rpc_timeout=timedelta(seconds=2))
        await asyncio.sleep(0.01)


async def left_to_others(run: Run) -> None:
    while NOT_HERE not in str(await run.handle.describe()):  # noqa: ASYNC110 -- it is elsewhere
        await asyncio.sleep(0.02)


async def is_over(run: Run) -> bool:
    return (await run.handle.describe()).status is not WorkflowExecutionStatus.RUNNING


async def until_over(started: list[Run], seconds: float) -> None:
    """Wait for runs, so long at most."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while not all([await is_over(run) for run in started]):  # noqa: ASYNC110 -- it is elsewhere
                await asyncio.sleep(0.2)


async def test_who_looks_at_runs_that_are_handed_back_wedges_none(
    runs: Runs, tmp_path: Path
) -> None:
    """
    Another app's worker has them; then only their own, which goes on with every one.

    Both may have a run at once: one has its task, and another one answers. Who answers carries out
    what is local in that task too, and where the SDK sees that it came to something else, it fails
    the next task once. It may also lose a task for good, and that worker never takes the run up
    again; another one does, which here comes when nobody looks any more. A run that is wedged is
    so for every worker: how long the others take says nothing.
    """
    ours = app([call("send", log=str(tmp_path / "sent"), text="hi"), told], name="ours")
    theirs = app([say("theirs")], name="theirs")
    async with runs.working(ours):
        started = [await runs.start("it") for _ in range(RUNS)]
        requests = [await run.asked_for_approval() for run in started]
    async with side_by_side(runs, theirs):
        for run, request in zip(started, requests, strict=True):
            await run.approve(request.request_id)
        await asyncio.gather(*map(left_to_others, started))
        seen = asyncio.Event()
        looking = [asyncio.create_task(look(run, seen)) for run in started for _ in range(LOOKERS)]
        async with side_by_side(runs, ours):
            with suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE_SECONDS):
                    while not all([await is_over(run) for run in started]):  # noqa: ASYNC110 -- it is elsewhere
                        await asyncio.sleep(0.2)
        seen.set()
        await asyncio.gather(*looking)
    stuck = [run for run in started if not await is_over(run)]
    for run in stuck:
        await run.handle.terminate()

    flaws = [str(error)[:300] for run in started if (error := await find_flaw(run))]
    assert (len(stuck), flaws) == (0, [])


async def find_flaw(run: Run) -> Exception | None:
    """Why the history of a run can't be replayed by anybody, if it can't."""
    try:
        await replays(run)
    except Exception as error:  # noqa: BLE001 -- whatever it is
        return error
    return None
