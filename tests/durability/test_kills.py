"""Real processes are killed at bad moments, and nobody can tell from the result."""

from collections import Counter
from pathlib import Path

import pytest
from temporalio.client import Client, WorkflowHandle

from holdfast.contracts.run import RunResult, StatusReport
from tests.durability import processes
from tests.durability.observing import STEPS
from tests.sample import lines

pytestmark = pytest.mark.slow

APP = "tests.durability.observing:app"


async def start(client: Client, name: str, folder: Path) -> WorkflowHandle[object, RunResult]:
    """Start a run that notes its observations in a folder."""
    return await processes.start(client, "observer", str(folder), name)


async def digest(handle: WorkflowHandle[object, RunResult]) -> str | None:
    """The rolling digest of a run's transcript."""
    return (await handle.query("status", result_type=StatusReport)).transcript_digest


async def test_a_run_survives_three_killed_workers_and_a_killed_server(tmp_path: Path) -> None:
    """Worker and server die in the middle; every call has one result, and the same transcript."""
    disturbed = tmp_path / "disturbed.log"
    in_flight: set[str] = set()
    async with processes.deployed(APP, tmp_path) as deployed:
        handle = await start(deployed.client, "disturbed", tmp_path)
        for moment in (5, 16, 31):
            await processes.grown(disturbed, moment)
            await deployed.worker.kill()
            in_flight.add(lines(disturbed)[-1].split()[1])
            await deployed.worker.start()
        await processes.grown(disturbed, 44)
        await deployed.server.kill()
        in_flight.add(lines(disturbed)[-1].split()[1])
        await deployed.server.start()
        client = await processes.connected(deployed.port)
        handle = client.get_workflow_handle(handle.id, result_type=RunResult)
        result = await handle.result()
        calm_handle = await start(client, "calm", tmp_path)
        calm = await calm_handle.result()
        digests = (await digest(handle), await digest(calm_handle))

    begun = Counter(line.split()[1] for line in lines(disturbed) if line.startswith("begin"))
    assert (result.status, result.answer, result.steps) == (
        "completed",
        f"{STEPS} observations",
        STEPS + 1,
    )
    assert calm.answer == result.answer
    assert set(begun) == {f"call_{turn}_1" for turn in range(1, STEPS + 1)}
    assert {call for call, times in begun.items() if times > 1} <= in_flight
    assert digests[0] == digests[1]
