"""Calls of others that fill all sandboxes, or whose worker stands still: how long runs wait."""

import os
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from holdfast.activities.project import ProjectActivities
from holdfast.contracts.errors import ToolDenied
from holdfast.contracts.run import sandbox_queue
from holdfast.testing import say
from holdfast.tools import run_command
from holdfast.tools.redaction import Redactor
from holdfast.tools.sandbox.sandbox import Sandbox
from holdfast.tools.workspaces import Workspaces
from holdfast.workflows import options
from holdfast.workflows.payloads import data_converter
from tests.attacks import hostile
from tests.attacks.outside import nobody
from tests.builders import admitted, an_invocation
from tests.control.controlled import chained
from tests.memory.runs import QUEUE, MemoryRuns
from tests.memory.working import MemoryWorker


async def free_a_sandbox(runs: MemoryRuns, home: Path) -> None:
    """Have a worker for the workspaces of runs."""
    activities = ProjectActivities(Workspaces(home), Redactor(frozenset))
    known = (activities.open_project, activities.snapshot_workspace)
    worker = MemoryWorker(known, (), data_converter, sandbox_queue(QUEUE))
    runs.server.workers.enter(worker)


async def test_a_run_waits_for_its_workspace(memory_runs: MemoryRuns, tmp_path: Path) -> None:
    """It would have ended after a minute, by what others have run in the sandbox."""
    project = tmp_path / "project"
    project.mkdir()
    async with memory_runs.working(chained([say("done")], tools=(), project=project)):
        run = await memory_runs.start("it")
        await memory_runs.pass_time(300)
        await memory_runs.thread.call(free_a_sandbox(memory_runs, tmp_path / "home"))
        result = await run.result()

    assert (result.status, result.answer) == ("completed", "done")


def test_it_waits_longer_than_any_call_keeps_its_place() -> None:
    """Of calls, those before it in the queue are given up, and those that have begun end."""
    longest = options.longest_call(run_command.contract.timeout, sandboxed=True)
    held = longest + options.RESULT_ALLOWANCE
    waits = (
        options.SANDBOX_SCHEDULE_TO_START_TIMEOUT,
        options.COMMAND_SCHEDULE_TO_START_TIMEOUT,
        options.WORKSPACE_SCHEDULE_TO_START_TIMEOUT,
    )

    assert waits[0] + longest < waits[1]
    assert waits[1] + held < waits[2]


TELLS_ITS_ALARM = f"""#!{sys.executable}
import signal, sys
print(signal.getitimer(signal.ITIMER_REAL)[0], file=sys.stderr)
"""


async def test_a_call_may_be_under_way_until_the_alarm_of_its_sandbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its worker may stand still: what isn't ended yet isn't believed not to have happened."""
    bubblewrap = tmp_path / "bwrap"
    bubblewrap.write_text(TELLS_ITS_ALARM)
    bubblewrap.chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    call = an_invocation(arguments={"code": "result = 1"})

    with pytest.raises(ToolDenied) as never_began:
        await Sandbox(tmp_path / "home").run(hostile.run, call, lambda _: None, nobody, admitted)
    alarm = timedelta(seconds=float(never_began.value.reason))
    longest = options.longest_call(hostile.run.contract.timeout, sandboxed=True)

    assert timedelta(0) < alarm < longest
