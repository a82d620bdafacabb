"""A write that begins late is still under way when its answer is lost."""

import asyncio
from pathlib import Path

from holdfast import Reconciled, Risk, tool
from holdfast.testing import say
from tests.attacks.half_workers import half_working, no_calls, no_decisions
from tests.attacks.test_forged_failures import begun
from tests.attacks.test_forged_results import complete
from tests.builders import a_call, a_reply
from tests.running import Run, Runs
from tests.sample import note, scripted, told
from tests.workflows.test_permissions import policy

QUEUED = 5.0
"""Seconds that a call waits for a worker: longer than its own limit and a heartbeat time-out."""


@tool(risk=Risk.READ_ONLY)
async def find_booking(log: str) -> Reconciled:
    """Find out whether something was booked; it is, right after somebody has looked."""
    return Reconciled(happened=note(log, "looked") > 1)


@tool(risk=Risk.WRITE_INTERNAL, reconcile="find_booking", timeout=0.3)
async def book(log: str) -> str:
    """Book something, and lose the answer."""
    raise ConnectionError("the line went dead")


async def queued(run: Run) -> bool:
    """Whether the call waits for a worker."""
    pending = (await run.handle.describe()).raw_description.pending_activities
    return [one.activity_type.name for one in pending] == ["book"]


async def test_a_write_that_waited_is_given_all_its_time(
    skipping_runs: Runs, tmp_path: Path
) -> None:
    """Its limit counts from when it may have begun, however long it waited for a worker."""
    app = scripted(
        [say("never said"), told],
        tools=[book, find_booking],
        policy=policy(tmp_path, "{id: yes, effect: allow, match: {tools: [book]}}"),
    )
    reply = a_reply(a_call("book", log=str(tmp_path / "log"))).model_dump(mode="json")
    async with half_working(skipping_runs, app, no_calls):
        run = await skipping_runs.start("it")
        await complete(skipping_runs, run, await begun(skipping_runs), reply)
        while not await queued(run):  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.02)
        await skipping_runs.pass_time(QUEUED)
        async with half_working(skipping_runs, app, no_decisions):
            result = await run.result()

    assert result.answer == "book ok"
