"""A person ends a run while it takes back what it did: that is who ended it."""

import asyncio
from pathlib import Path

import pytest

from holdfast import Triggers
from holdfast.testing import call, calls, say
from tests.control.controlled import asked_to_resolve, resolve
from tests.control.guarded import on_word
from tests.control.test_held_undoing import put_up
from tests.memory.runs import MemoryRuns
from tests.sample import lines, scripted


@pytest.mark.timeout(100)
async def test_who_aborts_a_run_that_takes_back_ended_it(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """Its answer was blocked, its undo takes too long, and somebody who is asked aborts it."""
    log = tmp_path / "log"
    app = scripted(
        [calls(call("put_up", log=str(log), title="one")), say("bad")],
        tools=(put_up,),
        guardrails=[on_word("no_bad", "bad", "output", on_trip="block")],
        escalates=True,
        triggers=Triggers(expected_time=1),
    )
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        while not lines(log):  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.01)
        await asked_to_resolve(run)
        await resolve(run, "abort")
        while (await run.status()).status != "stopped":  # noqa: ASYNC110 -- as above
            await asyncio.sleep(0.01)
        Path(f"{log}.go").touch()
        result = await run.result()

    assert lines(log) == ["began one", "ended one"]
    assert result.stop is not None
    assert (result.status, result.stop.ended_by) == ("stopped", "a person")
