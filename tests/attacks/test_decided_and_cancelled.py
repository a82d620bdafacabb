"""Attack: whoever decides, and decides again or cancels, while no worker has the run."""

import asyncio
import json

import pytest
from pydantic import BaseModel
from temporalio.client import WorkflowFailureError, WorkflowUpdateFailedError

from holdfast import Agent, App, Risk, SubAgent, tool
from holdfast.contracts.base import JsonObject
from holdfast.testing import call, say
from tests.control.guarded import replayed
from tests.running import Runs
from tests.workflows.tiered import child


class Note(BaseModel):
    """Write a note about what is asked."""

    text: str


class Written(BaseModel):
    text: str


@tool(risk=Risk.WRITE_INTERNAL)
async def write_note(text: str) -> str:
    """Write a note into the book."""
    return text


def app() -> App:
    """A whole whose part asks people."""
    helper = SubAgent("hand", input=Note, output=Written)
    boss = Agent(
        name="boss", instructions="Delegate.", models=["scripted:boss"], subagents=[helper]
    )
    hand = Agent(name="hand", instructions="Write.", models=["scripted:hand"], tools=[write_note])
    return App(
        agents=[boss, hand],
        scripts={
            "boss": [call("delegate_to_hand", text="a"), say("done")],
            "hand": [call("write_note", text="a"), say('{"text": "noted"}')],
        },
    )


async def test_a_decision_and_a_cancellation_while_no_worker_is_there(runs: Runs) -> None:
    """Both are heard by the worker that comes, and the next one hears of them in that order."""
    # SS-06 T-44
    run = await runs.start("boss")
    async with runs.working(app()):
        (request,) = await run.asked()
    rejection: JsonObject = {
        "request_id": request.request_id,
        "decision": "reject",
        "approver": "eve",
    }
    deciding = asyncio.create_task(run.decide(rejection))
    while not (await run.handle.describe()).raw_description.HasField("pending_workflow_task"):  # noqa: ASYNC110 -- it is elsewhere
        await asyncio.sleep(0.02)
    await run.handle.cancel()
    async with runs.working(app(), client=await runs.another_client()):
        with pytest.raises(WorkflowFailureError):
            await run.result()
        with pytest.raises(WorkflowUpdateFailedError):
            await deciding
        await replayed(run)


async def test_a_part_hears_of_its_request_in_the_order_in_which_its_whole_did(runs: Runs) -> None:
    """The first that may decide does, however many are sent on from one workflow task."""
    # BY-52
    names = [f"approver-{number}" for number in range(8)]
    run = await runs.start("boss")
    async with runs.working(app()):
        (request,) = await run.asked()
    for name in names:
        decision = "reject" if name == names[0] else "approve"
        said: JsonObject = {"request_id": request.request_id, "decision": decision}
        await run.signal("approval", {**said, "approver": name})
    async with runs.working(app(), client=await runs.another_client()):
        result = await run.result()
        part = await child(runs, run, "1-hand").handle.fetch_history()
        await replayed(run)

    heard = [
        json.loads(event.workflow_execution_signaled_event_attributes.input.payloads[0].data)
        for event in part.events
        if event.workflow_execution_signaled_event_attributes.signal_name == "forwarded"
    ]
    assert [one["message"]["approver"] for one in heard] == names[: len(heard)]
    assert (result.status, len(heard) > 1) == ("completed", True)
