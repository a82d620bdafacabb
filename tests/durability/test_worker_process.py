"""A worker as it is deployed: a process of its own, whose main script is the worker."""

from pathlib import Path

import pytest

from holdfast.contracts.run import RunResult
from tests.durability import processes
from tests.running import Run

pytestmark = pytest.mark.slow

APP = "tests.durability.forking:app"


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(("worker.py",), id="as the image runs it"),
        pytest.param(("-m", "holdfast.worker"), id="as a module"),
        pytest.param(("-m", "holdfast.cli.main", "worker"), id="as a command"),
    ],
)
async def test_a_synchronous_tool_runs_below_it(script: tuple[str, ...], tmp_path: Path) -> None:
    """Where a tool's process runs the worker's script again it refuses nothing: it has begun."""
    async with processes.deployed(APP, tmp_path, script) as deployed:
        handle = await deployed.client.start_workflow(
            "AgentRun",
            {"agent": "clerk", "input": "Look up 7."},
            id="looked-up",
            task_queue="holdfast",
            result_type=RunResult,
        )
        await handle.result()
        found = await Run(handle).success()

    assert found.data == "entry 7"
