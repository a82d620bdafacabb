"""Attack: whoever ends a part, just before its whole is ended that no worker has at the moment."""

from pathlib import Path

import pytest
from temporalio.client import WorkflowFailureError

from tests.control.guarded import replayed
from tests.running import Runs
from tests.workflows.delegating import asking_desk


@pytest.mark.parametrize("how", ["cancel", "stop"])
@pytest.mark.parametrize("end", ["terminate", "cancel"])
async def test_a_part_that_ends_just_before_its_whole(
    runs: Runs, tmp_path: Path, end: str, how: str
) -> None:
    """The whole ends too: there is nobody left to be told."""
    # SS-06 T-44
    app = asking_desk(tmp_path / "log")
    run = await runs.start("desk")
    async with runs.working(app):
        await run.asked()
    [part] = [f"{run.handle.id}.{name}" for name in await run.parts()]
    handle = runs.client.get_workflow_handle(part)
    await (handle.terminate() if end == "terminate" else handle.cancel())
    if how == "stop":
        await run.signal("stop", {"by": "eve", "reason": "enough"})
    else:
        await run.cancel()
    async with runs.working(app, client=await runs.another_client()):
        if how == "stop":
            assert (await run.result()).status == "stopped"
        else:
            with pytest.raises(WorkflowFailureError):
                await run.result()
        await replayed(run)
