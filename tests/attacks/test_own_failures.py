"""What a tool raises says nothing that only a worker can know: that a call has not begun."""

from pathlib import Path

import pytest
from temporalio.exceptions import ApplicationError

from holdfast import Risk, tool
from holdfast.activities.callers import NOT_AS_DECIDED
from holdfast.contracts.errors import ToolCrashed
from holdfast.testing import call
from holdfast.tools.artifacts import as_file_name
from tests.activities.test_secrets import raising, told
from tests.attacks import hostile
from tests.memory.runs import MemoryRuns
from tests.running import Runs
from tests.sample import lines, note, scripted
from tests.sample import told as answered


class NotAsDecided(Exception):
    """The app's own: an order isn't as people decided it."""


@tool(risk=Risk.WRITE_INTERNAL)
async def order(log: str) -> str:
    """Order something from somebody."""
    note(log, "ordered")
    raise NotAsDecided("it costs more than was decided")


DO_AND_RAISE = """
with open("log", "a") as log:
    log.write("done\\n")
class NotAsDecided(Exception): pass
raise NotAsDecided("not yet")
"""


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(NotAsDecided("no"), id="an app's own"),
        pytest.param(ToolCrashed("NotAsDecided", "no"), id="from another process"),
        pytest.param(ApplicationError("no", type="NotAsDecided"), id="of Temporal's own"),
    ],
)
async def test_no_error_of_a_tool_leaves_as_the_workers(tmp_path: Path, error: Exception) -> None:
    """However a tool comes to the name, and its message stays what it was."""
    with pytest.raises(ApplicationError) as raised:
        await told(raising(error), tmp_path)

    assert raised.value.type != NOT_AS_DECIDED
    assert raised.value.message == "no"


async def test_what_was_done_and_raised_is_done_once(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """One approval is one call, however the app calls what it raises; it may have happened."""
    log = tmp_path / "log"
    async with memory_runs.working(
        scripted([call("order", log=str(log)), answered], tools=[order])
    ):
        run = await memory_runs.start("it")
        await run.approve((await run.asked_for_approval()).request_id)
        result = await run.result()

    assert lines(log) == ["ordered"]
    assert result.answer == "order outcome_unknown"
    assert [one.tool for one in result.unresolved] == ["order"]


async def test_code_in_the_sandbox_has_one_call_for_one_approval(
    runs: Runs, tmp_path: Path, sandbox_home: Path
) -> None:
    """Nor does code that a model wrote, and that runs where the tool does."""
    app = scripted([call("change", code=DO_AND_RAISE), answered], tools=[hostile.change])
    async with runs.working(app):
        run = await runs.start("it")
        await run.approve((await run.asked_for_approval()).request_id)
        result = await run.result()
    workspace = tmp_path / "home" / "workspaces" / as_file_name(run.first_execution)

    assert lines(workspace / "log") == ["done"]
    assert result.answer == "change outcome_unknown"
    assert [one.tool for one in result.unresolved] == ["change"]
