"""Commands of a check share what is left of the time of their run, and what one may take."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from temporalio import activity

from holdfast import App, Budget
from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import ToolInvocation, ToolSuccess
from holdfast.contracts.project import (
    OpenProject,
    ProjectContext,
    SnapshotWorkspace,
    WorkspaceSnapshot,
)
from holdfast.guardrails import project_passes
from holdfast.testing import say
from tests.control.guarded import over
from tests.memory.instances import without_patches
from tests.memory.runs import MemoryRuns
from tests.sample import scripted
from tests.workflows.test_permissions import policy

COMMANDS = 9
LISTED = "{id: checks, effect: allow, reason: ours, match: {tools: [run_command], commands: [ls]}}"


@activity.defn(name="open_project")
async def open_project(_: OpenProject) -> ProjectContext:
    return ProjectContext(test_commands=("ls",) * COMMANDS)


@activity.defn(name="snapshot_workspace")
async def snapshot_workspace(_: SnapshotWorkspace) -> WorkspaceSnapshot:
    return WorkspaceSnapshot(digest="0" * 64, files=0, bytes=0)


@activity.defn(name="run_command")
async def run_command(asked: ToolInvocation) -> ToolSuccess:
    for _ in range(50):
        activity.heartbeat()
        await asyncio.sleep(2)
    data: JsonObject = {"exit_code": 0, "stdout": "", "stderr": ""}
    return ToolSuccess(call_id=asked.call_id, name="run_command", summary="done", data=data)


SANDBOXED: tuple[Callable[..., object], ...] = (open_project, snapshot_workspace, run_command)


def an_app(folder: Path, budget: Budget) -> App:
    """An app whose project names commands that take 100 seconds each."""
    return scripted(
        [say("done")],
        budget=budget,
        project=folder,
        guardrails=[project_passes()],
        policy=policy(folder, LISTED),
    )


@pytest.mark.parametrize(
    ("limit", "ran", "status"),
    [(150, 3, "stopped"), (None, COMMANDS, "completed"), (2000, COMMANDS, "completed")],
    ids=["beyond", "without a limit", "in time"],
)
async def test_no_number_of_commands_goes_on_beyond_the_time(
    memory_runs: MemoryRuns, tmp_path: Path, limit: int | None, ran: int, status: str
) -> None:
    """Those of an answer begin until 110 s after its run's time is over, and no later."""
    # GR-26
    app = an_app(tmp_path, Budget(max_steps=9, max_wall_time=limit))
    async with memory_runs.working(app, sandboxed=SANDBOXED):
        found = await over(await memory_runs.start("it"))

    assert (found.result.status, found.order.count("run_command")) == (status, ran)
    assert found.why == ("max_wall_time (150 s) reached" if limit == 150 else "")


async def test_a_run_of_an_earlier_release_began_all_of_them_and_replays(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """What its history has of them stands, whenever they began."""
    # AD-20
    app = an_app(tmp_path, Budget(max_steps=9, max_wall_time=150))
    with without_patches():
        async with memory_runs.working(app, sandboxed=SANDBOXED):
            run = await memory_runs.start("it")
            result = await run.result()
    story = await run.stories()

    assert result.status == "completed"
    assert len(story) == 1
