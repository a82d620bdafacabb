"""An embedded Temporal server: for development, tests and measurements, not for production."""

import fcntl
import shutil
import socket
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from pathlib import Path

from temporalio.testing import WorkflowEnvironment

from holdfast.contracts.bounds import MAX_BLOB_BYTES
from holdfast.contracts.errors import HoldfastError
from holdfast.contracts.texts import one_line
from holdfast.workflows import run_context
from holdfast.workflows.payloads import data_converter

HOST = "127.0.0.1"

_SEARCH_ATTRIBUTES = (
    *(run_context.NAME, run_context.TENANT, run_context.STATUS, run_context.PENDING),
    run_context.RESOURCES,
)

# The server looks for new work 20 times a second unless told otherwise, and a run that is alone on
# it would wait for that in every step.
_POLL_RATE_OPTION = ("--dynamic-config-value", "history.transferProcessorMaxPollRPS=5000")

# Whoever may send signals fills histories with them, which end at 50 MB. 2 MB is the default.
_BLOB_LIMIT_OPTION = ("--dynamic-config-value", f"limit.blobSize.error={MAX_BLOB_BYTES}")

# A large database takes its time.
STARTUP_TIMEOUT = timedelta(seconds=60)

_SQLITE_HEADER = b"SQLite format 3\x00"

_NO_BANNER = ("--output", "none")


@asynccontextmanager
async def dev_server(
    *, port: int | None = None, ui_port: int | None = None, database: Path | None = None
) -> AsyncGenerator[WorkflowEnvironment]:
    """
    Run a server for as long as the block lasts.

    Without *port* it takes a free one, without *ui_port* it has no UI, without *database* it
    forgets everything at its end. Raises HoldfastError, on one line, when it can't start.
    """
    for number, option in ((port, "--port"), (ui_port, "--ui-port")):
        if number is not None and _is_taken(number):
            raise HoldfastError(
                f"port {number} is taken: stop what listens there or choose another ({option})"
            )
    with _lock_database(database):
        environment = await _start(port, ui_port, database)
        async with environment:
            yield environment


async def _start(
    port: int | None, ui_port: int | None, database: Path | None
) -> WorkflowEnvironment:
    binary = find_temporal_binary()
    try:
        return await WorkflowEnvironment.start_local(  # pyright: ignore[reportUnknownMemberType] -- the SDK leaves a type argument open
            data_converter=data_converter,
            ip=HOST,
            port=port,
            ui=ui_port is not None,
            ui_port=ui_port,
            search_attributes=_SEARCH_ATTRIBUTES,
            dev_server_existing_path=None if binary is None else str(binary),
            dev_server_database_filename=None if database is None else str(database),
            dev_server_log_level="never",
            dev_server_startup_timeout=STARTUP_TIMEOUT,
            dev_server_extra_args=_POLL_RATE_OPTION + _BLOB_LIMIT_OPTION + _NO_BANNER,
        )
    except RuntimeError as error:
        said = one_line(str(error).partition(";")[0])
        raise HoldfastError(f"the embedded Temporal server can't start: {said}") from None


def find_temporal_binary() -> Path | None:
    """
    Return the `temporal` program beside this interpreter, or else on the PATH.

    Without one the SDK downloads it.
    """
    beside = shutil.which("temporal", path=str(Path(sys.executable).parent))
    found = beside or shutil.which("temporal")
    return None if found is None else Path(found)


@contextmanager
def _lock_database(database: Path | None) -> Generator[None]:
    """Hold a database: two servers that write into one would destroy it."""
    if database is None:
        yield
        return
    try:
        if database.exists() and _read_header(database) != _SQLITE_HEADER:
            raise HoldfastError(f"{database} is no database of runs: choose another file (--db)")
        lock = database.with_name(f"{database.name}.lock").open("w", encoding="utf-8")
    except OSError as error:
        raise HoldfastError(f"{error.filename}: {error.strerror}") from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise HoldfastError(
                f"{database} is in use by another server: stop it or choose another file (--db)"
            ) from None
        yield


def _read_header(file: Path) -> bytes:
    with file.open("rb") as opened:
        return opened.read(len(_SQLITE_HEADER))


def _is_taken(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return True
    return False
