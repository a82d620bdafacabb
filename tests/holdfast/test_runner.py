"""A worker ends when its block does, whatever the SDK makes of it."""

import asyncio
from datetime import timedelta
from uuid import uuid4

import pytest
from structlog.testing import capture_logs
from temporalio.client import Client
from temporalio.exceptions import ApplicationError
from temporalio.worker import Worker

from holdfast import runner
from holdfast.workflows.switches import HoldfastSwitches


@pytest.fixture
def worker(client: Client) -> Worker:
    return Worker(
        client,
        task_queue=f"ends-{uuid4().hex[:8]}",
        workflows=[HoldfastSwitches],
        workflow_runner=runner.RUNNER,
    )


async def test_who_stops_a_worker_that_cannot_end_goes_on(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The SDK waits for ever for a workflow task that it has lost: it is left behind."""
    ended = worker.shutdown

    async def lose_a_task() -> None:
        await ended()
        await asyncio.Event().wait()

    monkeypatch.setattr(runner, "SHUTDOWN_TIMEOUT", timedelta(seconds=1))
    monkeypatch.setattr(worker, "shutdown", lose_a_task)
    with capture_logs() as logged:
        async with runner.run_worker(worker):
            pass

    assert [(line["event"], line["queue"]) for line in logged] == [
        ("worker.left", worker.task_queue)
    ]


async def test_who_fails_while_a_worker_works_is_told_why(worker: Worker) -> None:
    """The worker ends first."""
    with pytest.raises(ApplicationError, match="no more"):
        async with runner.run_worker(worker):
            raise ApplicationError("no more")

    assert worker.is_shutdown
