"""Real processes are killed at bad moments, and nobody can tell from the result."""

import asyncio
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from temporalio.client import Client, WorkflowHandle

from holdfast.client import NoWorker, Run
from holdfast.contracts.approvals import ApprovalRequest
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


async def waiting(client: Client, run_id: str) -> ApprovalRequest:
    """Wait for the request of a run."""
    run = Run(client, run_id)
    while True:
        with suppress(NoWorker):
            for request in await run.pending():
                assert isinstance(request, ApprovalRequest)
                return request
        await asyncio.sleep(0.05)


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


async def test_a_request_outlives_server_and_worker(tmp_path: Path) -> None:
    """Both die while a person decides: the same request waits behind it, and counts once."""
    # GF-01
    log = tmp_path / "sent.log"
    async with processes.deployed(APP, tmp_path) as deployed:
        started = await processes.start(deployed.client, "sender", str(log), "asking")
        asked = await waiting(deployed.client, started.id)
        await deployed.server.kill()
        await deployed.worker.kill()
        await deployed.server.start()
        client = await processes.connected(deployed.port)
        await deployed.worker.start()
        again = await waiting(client, started.id)
        run = Run(client, started.id)
        await run.approve(again, approver="alice")
        result = await run.result()

    assert (again.request_id, again.digest) == (asked.request_id, asked.digest)
    assert (result.status, result.answer) == ("completed", "sent")
    assert [line.split()[-1] for line in lines(log)] == ["hello"]
