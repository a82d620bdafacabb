"""A person stops a run that waits to find out about a lost write: it ends, and tells of that."""

import asyncio
from pathlib import Path

from holdfast import Reconciled, Risk, tool
from holdfast.testing import call
from tests.memory.runs import MemoryRuns
from tests.sample import lines, note, scripted, told
from tests.workflows.test_permissions import policy
from tests.workflows.tiered import written


@tool(risk=Risk.READ_ONLY)
async def ask_bank(log: str) -> Reconciled:
    """Ask the bank whether it was paid."""
    note(log, "asked")
    return Reconciled(happened=True, result="paid")


@tool(risk=Risk.WRITE_INTERNAL, reconcile="ask_bank")
async def pay_unheard(log: str) -> str:
    """Pay somebody, and lose the answer."""
    note(log, "under way")
    while not Path(f"{log}.go").exists():  # noqa: ASYNC110 -- it is elsewhere
        await asyncio.sleep(0.01)
    raise ConnectionError("the line went dead")


async def test_where_nothing_can_be_decided_a_stop_ends_the_search(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """Nobody knows what is switched off, so nobody may be asked what became of the call."""
    # BY-11
    log = tmp_path / "log"
    free = policy(tmp_path, "{id: free, effect: allow, match: {tools: [pay_unheard]}}")
    app = scripted([call("pay_unheard", log=str(log)), told], tools=[pay_unheard], policy=free)
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        await written(log)
        memory_runs.switches.unsaid = 30
        await run.signal("stop", {"reason": "wrong customer", "by": "dana"})
        Path(f"{log}.go").touch()
        result = await run.result()
        await memory_runs.stories(run)

    assert result.status == "stopped"
    assert "asked" not in lines(log)
    assert [one.tool for one in result.unresolved] == ["pay_unheard"]
