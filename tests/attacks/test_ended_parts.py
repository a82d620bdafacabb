"""Attack: whoever ends a part, just before its whole is ended that no worker has at the moment."""

import pytest
from pydantic import BaseModel
from temporalio.client import WorkflowFailureError

from holdfast import Agent, App, Risk, SubAgent, tool
from holdfast.testing import call, say
from tests.control.guarded import replayed
from tests.running import Runs


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


@pytest.mark.parametrize("how", ["cancel", "stop"])
@pytest.mark.parametrize("end", ["terminate", "cancel"])
async def test_a_part_that_ends_just_before_its_whole(runs: Runs, end: str, how: str) -> None:
    """The whole ends too: there is nobody left to be told."""
    # SS-06 T-44
    run = await runs.start("boss")
    async with runs.working(app()):
        await run.asked()
    [part] = [f"{run.handle.id}.{name}" for name in await run.parts()]
    handle = runs.client.get_workflow_handle(part)
    await (handle.terminate() if end == "terminate" else handle.cancel())
    if how == "stop":
        await run.signal("stop", {"by": "eve", "reason": "enough"})
    else:
        await run.cancel()
    async with runs.working(app(), client=await runs.another_client()):
        if how == "stop":
            assert (await run.result()).status == "stopped"
        else:
            with pytest.raises(WorkflowFailureError):
                await run.result()
        await replayed(run)
