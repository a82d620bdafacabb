"""Servers and workers as processes that can be killed."""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path
from typing import NamedTuple, Protocol

from pydantic import JsonValue
from temporalio.client import Client, WorkflowHandle
from temporalio.contrib.pydantic import pydantic_data_converter

from holdfast.contracts.run import RunResult
from tests.holdfast.commands import Forked

ROOT = Path(__file__).parents[2]


class Process(Protocol):
    """A process that can be started again after it was killed."""

    async def start(self) -> None: ...

    async def kill(self) -> None:
        """End it as a power cut would."""
        ...


class Program(Process):
    """A program in a process of its own."""

    def __init__(self, *command: str, environment: dict[str, str], folder: Path = ROOT) -> None:
        self._command = command
        self._folder = folder
        self._environment = {**os.environ, **environment}  # noqa: TID251 -- to hand it on
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            *self._command,
            cwd=self._folder,
            env=self._environment,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )

    async def kill(self) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.send_signal(signal.SIGKILL)
            await self._process.wait()


class Worker(Process):
    """The product's worker for an app, in a process that needn't import it first."""

    def __init__(self, port: int, app: str, home: Path) -> None:
        self._app = app
        self._environment = {
            "TEMPORAL_ADDRESS": f"127.0.0.1:{port}",
            "HOLDFAST_HOME": str(home),
        }
        self._command: Forked | None = None

    async def start(self) -> None:
        nothing = os.open(os.devnull, os.O_RDWR)
        self._command = Forked(("worker", self._app), [nothing] * 3, self._environment)
        os.close(nothing)

    async def kill(self) -> None:
        if self._command is not None:
            with closing(self._command) as command, suppress(ProcessLookupError):
                command.send_signal(signal.SIGKILL)
                await asyncio.to_thread(command.wait)
            self._command = None


def server(port: int, database: Path) -> Process:
    """A Temporal server that keeps its state in a file, as the embedded one does."""
    options = ("--dynamic-config-value", "history.transferProcessorMaxPollRPS=5000")
    pragmas = ("--sqlite-pragma", "journal_mode=WAL", "--sqlite-pragma", "synchronous=NORMAL")
    return Program(
        str(Path(sys.executable).with_name("temporal")),
        *("server", "start-dev", "--headless", "--port", str(port), "--db-filename"),
        *(str(database), *options, *pragmas),
        environment={},
    )


def worker(
    port: int, app: str, home: Path, script: Sequence[str] | None = None, folder: Path = ROOT
) -> Process:
    """The product's worker for an app; one with a *script* is all that Python runs in a folder."""
    if script is None:
        return Worker(port, app, home)
    return Program(
        *(sys.executable, *script, app),
        environment={"TEMPORAL_ADDRESS": f"127.0.0.1:{port}", "HOLDFAST_HOME": str(home)},
        folder=folder,
    )


async def connected(port: int) -> Client:
    """Connect as soon as the server answers."""
    while True:
        try:
            return await Client.connect(
                f"127.0.0.1:{port}", data_converter=pydantic_data_converter
            )
        except RuntimeError:
            await asyncio.sleep(0.05)


async def start(
    client: Client, agent: str, goal: str, run_id: str, **more: JsonValue
) -> WorkflowHandle[object, RunResult]:
    """Start a run on the queue of a deployed worker."""
    return await client.start_workflow(
        "AgentRun",
        {"agent": agent, "input": goal, **more},
        id=run_id,
        task_queue="holdfast",
        result_type=RunResult,
    )


class Deployed(NamedTuple):
    """A server, a worker of it, and a client."""

    port: int
    server: Process
    worker: Process
    client: Client


@asynccontextmanager
async def deployed(
    app: str, folder: Path, script: Sequence[str] | None = None, beside: Path = ROOT
) -> AsyncGenerator[Deployed]:
    """
    Have a server and a worker for an app while the block lasts; their files are in a folder.

    One with a *script* is started *beside* its app.
    """
    port = free_port()
    ours = server(port, folder / "temporal.db")
    its = worker(port, app, folder / "home", script, beside)
    try:
        await ours.start()
        client = await connected(port)
        await its.start()
        yield Deployed(port, ours, its, client)
    finally:
        await its.kill()
        await ours.kill()


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


async def grown(log: Path, size: int) -> Sequence[str]:
    """Wait until a file has so many lines, and return them."""
    while True:
        lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
        if len(lines) >= size:
            return lines
        await asyncio.sleep(0.005)
