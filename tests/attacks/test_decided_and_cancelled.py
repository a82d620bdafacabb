"""Attack: whoever decides, and decides again or cancels, while no worker has the run."""

import asyncio
import json
from pathlib import Path

import pytest
from temporalio.client import WorkflowFailureError, WorkflowUpdateFailedError

from holdfast.contracts.base import JsonObject
from tests.control.guarded import replayed
from tests.running import Runs
from tests.workflows.delegating import asking_desk
from tests.workflows.tiered import child


async def test_a_decision_and_a_cancellation_while_no_worker_is_there(
    runs: Runs, tmp_path: Path
) -> None:
    """Both are heard by the worker that comes, and the next one hears of them in that order."""
    # SS-06 T-44
    app = asking_desk(tmp_path / "log")
    run = await runs.start("desk")
    async with runs.working(app):
        (request,) = await run.asked()
    rejection: JsonObject = {
        "request_id": request.request_id,
        "decision": "reject",
        "approver": "eve",
    }
    deciding = asyncio.create_task(run.decide(rejection))
    while not await run.has_task():
        await run.pause()
    await run.handle.cancel()
    async with runs.working(app, client=await runs.another_client()):
        with pytest.raises(WorkflowFailureError):
            await run.result()
        with pytest.raises(WorkflowUpdateFailedError):
            await deciding
        await replayed(run)


async def test_a_part_hears_of_its_request_in_the_order_in_which_its_whole_did(
    runs: Runs, tmp_path: Path
) -> None:
    """The first that may decide does, however many are sent on from one workflow task."""
    # BY-52
    names = [f"approver-{number}" for number in range(8)]
    app = asking_desk(tmp_path / "log")
    run = await runs.start("desk")
    async with runs.working(app):
        (request,) = await run.asked()
    for name in names:
        decision = "reject" if name == names[0] else "approve"
        said: JsonObject = {"request_id": request.request_id, "decision": decision}
        await run.signal("approval", {**said, "approver": name})
    async with runs.working(app, client=await runs.another_client()):
        result = await run.result()
        part = await child(runs, run, "1-researcher").handle.fetch_history()
        await replayed(run)

    heard = [
        json.loads(event.workflow_execution_signaled_event_attributes.input.payloads[0].data)
        for event in part.events
        if event.workflow_execution_signaled_event_attributes.signal_name == "forwarded"
    ]
    assert [one["message"]["approver"] for one in heard] == names[: len(heard)]
    assert (result.status, len(heard) > 1) == ("completed", True)
