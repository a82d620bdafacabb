"""An app that says where its runs are, and an operator who switches everything off."""

from pathlib import Path
from uuid import uuid4

import pytest

from holdfast import worker
from holdfast.contracts.errors import AppError
from holdfast.contracts.switches import SWITCHES
from holdfast.testing import call
from tests.holdfast.commands import holdfast
from tests.running import Runs
from tests.sample import lines, scripted, told

pytestmark = pytest.mark.usefixtures("command_line")


async def test_what_is_off_for_all_runs_is_off_for_those_of_an_app_with_a_queue(
    runs: Runs, tmp_path: Path
) -> None:
    """Nobody has set HOLDFAST_TASK_QUEUE: the app says where its runs are."""
    log = tmp_path / "log"
    app = scripted([call("write", log=str(log), text="x"), told])
    app.queue = runs.queue = f"desk-{uuid4().hex[:8]}"
    async with worker.run_worker(runs.client, app) as queue:
        off = await holdfast("switch", "off", "everything", "--reason", "incident 7")
        try:
            run = await runs.start("it")
            result = await run.result()
        finally:
            await holdfast("switch", "on", "everything")

    assert queue == app.queue
    assert off.code != 0 or lines(log) == [], (off.out, result.answer)


async def test_who_starts_a_run_on_a_queue_that_nobody_serves_is_told(runs: Runs) -> None:
    """It may be the wrong one: the queue of the app can be said."""
    queue = f"desk-{uuid4().hex[:8]}"
    lonely = await holdfast("run", "it", "go", "--detach", "--queue", queue)
    (line,) = [one for one in lonely.err.splitlines() if "no worker" in one]
    await runs.client.get_workflow_handle(lonely.out.strip()).terminate()

    assert line.startswith(f"no worker asks for work on task queue '{queue}'")


async def test_an_app_on_the_queue_of_the_kill_switch_is_refused(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its workers would take the tasks of the switches, and theirs the runs."""
    app = scripted([told])
    app.queue = SWITCHES
    with pytest.raises(AppError, match="that of the kill switch: choose another"):
        async with worker.run_worker(runs.client, app):
            pass
    monkeypatch.setenv("HOLDFAST_TASK_QUEUE", SWITCHES)
    with pytest.raises(AppError, match="that of the kill switch: choose another"):
        async with worker.run_worker(runs.client, scripted([told])):
            pass
