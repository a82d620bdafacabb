"""Worker and server are killed amid a handoff and three tasks: nothing is lost or done twice."""

from pathlib import Path

import pytest
from temporalio.client import Client, WorkflowHandle

from holdfast.contracts.run import RunResult, StatusReport
from holdfast.histories import fetch
from holdfast.runner import build_replayer
from holdfast.workflows.agent_run import AgentRun
from tests.durability import processes
from tests.durability.delegated import TOPICS
from tests.histories import noted
from tests.sample import lines

pytestmark = pytest.mark.slow

APP = "tests.durability.delegated:app"
WAITING = (*TOPICS, "load")


async def start(client: Client, agent: str, folder: Path) -> None:
    """Start a run of an agent, by whose name."""
    await processes.start(client, agent, str(folder), agent)


async def begun(folder: Path, times: int, *names: str) -> None:
    """Wait until each of these was begun so often."""
    for name in names:
        await processes.grown(folder / f"{name}.log", times)


def handle(client: Client, name: str) -> WorkflowHandle[object, RunResult]:
    return client.get_workflow_handle(name, result_type=RunResult)


async def replay(client: Client, name: str) -> list[str]:
    """Replay a run, and return what it noted."""
    (history,) = await fetch(client, name)
    await build_replayer(AgentRun).replay_workflow(history)
    return [one.summary for one in noted(history)]


async def test_a_handoff_and_three_tasks_survive_killed_workers_and_a_killed_server(
    tmp_path: Path,
) -> None:
    """Each of them has one result, each write was made once, and one agent went on."""
    # GF-02 HO-09 BY-20
    async with processes.deployed(APP, tmp_path) as here:
        await start(here.client, "desk", tmp_path)
        await start(here.client, "triage", tmp_path)
        await begun(tmp_path, 1, *WAITING)
        await here.worker.kill()
        await here.worker.start()
        await begun(tmp_path, 2, *WAITING)
        await here.worker.kill()
        await here.server.kill()
        await here.server.start()
        client = await processes.connected(here.port)
        await here.worker.start()
        await begun(tmp_path, 3, *WAITING)
        (tmp_path / "load.go").touch()
        await begun(tmp_path, 1, "billing")
        await here.worker.kill()
        for name in (*TOPICS, "billing"):
            (tmp_path / f"{name}.go").touch()
        await here.worker.start()
        asked, handed = [await handle(client, name).result() for name in ("desk", "triage")]
        told = await replay(client, "triage")
        agent = (await handle(client, "triage").query("status", result_type=StatusReport)).agent
        parts = [f"desk.{number}-researcher" for number in (1, 2, 3)]
        for name in ("desk", *parts):
            await replay(client, name)

    assert (asked.answer, asked.steps) == ("ok, ok, ok", 2 + 3 * 4)
    assert (handed.answer, handed.steps, agent) == ("It is charged.", 5, "billing")
    assert [one for one in told if one.startswith("handoff: ")] == [
        f"handoff: triage → billing: {tmp_path}"
    ]
    made = [line.split()[1] for line in lines(tmp_path / "written") if line.startswith("begin")]
    assert sorted(made) == sorted(
        ("opened", "billed", *(f"{topic}-{end}" for topic in TOPICS for end in ("first", "last")))
    )
