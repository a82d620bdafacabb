"""What a worker writes on standard error is its log: cleared of secrets, and plain."""

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from temporalio.client import Client

from tests.attacks.echoing import WAYS
from tests.attacks.test_screens import ROOT
from tests.running import Runs

SECRET = "hunter2-hunter2-hunter2"


@contextlib.asynccontextmanager
async def working(client: Client, runs: Runs, app: str, log: Path) -> AsyncGenerator[None]:
    """Have a worker in a process of its own, with its standard error in a file."""
    environment = {
        **os.environ,  # noqa: TID251 -- to hand it on
        "TEMPORAL_ADDRESS": client.service_client.config.target_host,
        "HOLDFAST_TASK_QUEUE": runs.queue,
        "HOLDFAST_SECRET_DB": SECRET,
        "HOLDFAST_LOG": "json",
    }
    command = (sys.executable, "-m", "holdfast.worker", app)
    with log.open("wb") as file:
        process = await asyncio.create_subprocess_exec(
            *command, cwd=ROOT, env=environment, stderr=file
        )
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        await process.wait()


@pytest.mark.parametrize(
    ("app", "said"), [("near", len(WAYS)), ("far", len(WAYS) + 2), ("login", 1)]
)
async def test_nothing_that_a_library_says_takes_a_secret_to_the_log(
    client: Client, runs: Runs, tmp_path: Path, app: str, said: int
) -> None:
    """
    It warns of an address with a key, or fails in a thread, or at the end of an object.

    In the worker and in a process of the tool's own, where programs say it too. And pydantic says
    nothing of a result that isn't of the type that it was said to be.
    """
    log = tmp_path / "log"
    async with working(client, runs, f"tests.attacks.echoing:{app}", log):
        result = await (await runs.start("it")).result()
    logged = log.read_text()

    assert result.answer == "done"
    assert logged.count("Retrying") >= said
    assert SECRET[:11] not in logged
    assert "\x1b" not in logged
    assert [line for line in logged.splitlines() if "event" not in json.loads(line)] == []
