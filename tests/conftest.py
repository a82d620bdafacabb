"""Real Temporal servers, and workers for single tests."""

import gc
import os
import signal
import socket
import sys
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from datetime import timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import TypeVar

import hypothesis
import pytest
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.testing import WorkflowEnvironment

from holdfast import settings
from holdfast.adapters.base import ProviderAdapter
from holdfast.dev_server import dev_server
from holdfast.serving.memory import GC_THRESHOLDS
from holdfast.tools.sandbox.sandbox import Sandbox
from holdfast.workflows import options
from tests.adapters.dialects import DIALECTS, PATIENCE, Dialect
from tests.adapters.provider_server import ProviderServer, point_adapters_at, serving
from tests.memory.runs import MemoryRuns
from tests.running import PatientQueries, Runs

# How long an example takes depends on who else uses the machine, and says nothing about the code.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")

Done = TypeVar("Done")
Address = tuple[str | int, int]

EXIT_STATUS = pytest.StashKey[int]()

MARKS = {
    "server": {"server", "skipping_server"},
    "wire": {"provider", "reach"},
    "recorded": {"exchanges", "recordings"},
    "slow": {"sandboxed"},
}
"""What a test is marked as that has one of these fixtures, itself or through another."""


# A shell's job in the background ignores Ctrl-C, and so would every command that tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_xdist_auto_num_workers() -> int:
    """Two processes for each core: half of the time a test waits for its server."""
    return 2 * len(os.sched_getaffinity(0))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected stays to the end: nobody looks through it, as in a worker's process."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(*GC_THRESHOLDS)
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by their fixtures; what takes a minute begins first, or all wait for it alone."""
    items.sort(key=lambda item: item.path.parent.name != "chaos")
    for item in items:
        if not isinstance(item, pytest.Function):
            continue
        for mark, fixtures in MARKS.items():
            if not fixtures.isdisjoint(item.fixturenames):
                item.add_marker(mark)
        if hypothesis.is_hypothesis_test(item.obj):
            item.add_marker("slow")


@pytest.fixture(scope="session", autouse=True)
def offline() -> Generator[None]:
    """Have no test reach another machine: what one would rely on there isn't this project's."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("connect", "connect_ex"):
            patch.setattr(socket.socket, name, only_here(getattr(socket.socket, name)))
        yield


def only_here(connect: Callable[[socket.socket, Address], Done]) -> Callable[..., Done]:
    """Return what refuses all addresses but those of this machine."""

    def guarded(own: socket.socket, address: Address) -> Done:
        outside = own.family in {socket.AF_INET, socket.AF_INET6} and not is_here(address[0])
        if outside:
            raise ConnectionRefusedError(f"tests have no network, and one asks for {address}")
        return connect(own, address)

    return guarded


def is_here(host: str | int) -> bool:
    try:
        return host in {"localhost", ""} or ip_address(host).is_loopback
    except ValueError:
        return False


@pytest.fixture(scope="session")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[WorkflowEnvironment]:
    database = tmp_path_factory.mktemp("temporal") / "temporal.db"
    with pytest.MonkeyPatch.context() as patch:
        # It shares the cores with those of other processes: threads that look for work and
        # collections of garbage are a fifth of what it costs.
        patch.setenv("GOMAXPROCS", "1")
        patch.setenv("GOGC", "400")
        async with dev_server(database=database) as environment:
            yield environment


@pytest.fixture
async def skipping_server() -> AsyncGenerator[WorkflowEnvironment]:
    """
    A server whose clock jumps ahead when nothing but timers is left.

    Each test has its own: what one leaves unfinished would hold the clock of the next.
    """
    async with await WorkflowEnvironment.start_time_skipping(
        data_converter=pydantic_data_converter,
        test_server_existing_path=str(Path(sys.executable).with_name("temporal-test-server")),
    ) as environment:
        yield environment


@pytest.fixture
def client(server: WorkflowEnvironment) -> Client:
    config = server.client.config()
    config["interceptors"] = [PatientQueries()]
    return Client(**config)


@pytest.fixture(scope="session")
def copies(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """
    Copies of the code that sandboxes need, each made once for all processes of this session.

    To compile one takes more than a second of CPU, and it is named by its content.
    """
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if hasattr(request.config, "workerinput") else base) / "copies"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def look_once() -> Callable[[Sandbox], Awaitable[str | None]]:
    """Whether a sandbox holds, found out once for all workers: it takes as long as a call."""
    holds: set[str | None] = set()
    look = Sandbox.flaw

    async def flaw(own: Sandbox) -> str | None:
        path = settings.variable("PATH")
        found = None if path in holds else await look(own)
        if found is None:
            holds.add(path)
        return found

    return flaw


@pytest.fixture
def home(
    copies: Path,
    look_once: Callable[[Sandbox], Awaitable[str | None]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    """A folder for the workers of this test, who find what others have copied and found out."""
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "sandbox").symlink_to(copies)
    monkeypatch.setenv("HOLDFAST_HOME", str(folder))
    monkeypatch.setattr(Sandbox, "flaw", look_once)
    return folder


@pytest.fixture
def runs(client: Client, home: Path) -> Runs:
    return Runs(client)


@pytest.fixture
def skipping_runs(skipping_server: WorkflowEnvironment, home: Path) -> Runs:
    return Runs(skipping_server.client, skipping_server)


@pytest.fixture(scope="session")
async def sandbox_found(tmp_path_factory: pytest.TempPathFactory, copies: Path) -> None:
    """A machine that has the sandbox; without one there is nothing to test."""
    folder = tmp_path_factory.mktemp("try")
    (folder / "sandbox").symlink_to(copies)
    flaw = await Sandbox(folder).flaw()
    if flaw is not None:
        if settings.variable("HOLDFAST_TEST_SANDBOX") == "required":
            pytest.fail(f"no sandbox to test: {flaw}")
        pytest.skip(flaw)


@pytest.fixture
def sandboxed(sandbox_found: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sandbox, and runs that take no command for lost because a heartbeat is late."""
    monkeypatch.setattr(options, "HEARTBEAT_TIMEOUT", timedelta(minutes=1))


@pytest.fixture
async def memory_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncGenerator[MemoryRuns]:
    """Runs without a server: what happens in them is the same (tests/memory)."""
    monkeypatch.setenv("HOLDFAST_HOME", str(tmp_path / "home"))
    runs = MemoryRuns()
    yield runs
    await runs.close()


@pytest.fixture(params=DIALECTS.values(), ids=list(DIALECTS))
def dialect(request: pytest.FixtureRequest) -> Dialect:
    return request.param


@pytest.fixture
def adapter(dialect: Dialect) -> ProviderAdapter:
    return dialect.adapter(PATIENCE)


@pytest.fixture
def command_line(client: Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Have commands find the server, and a home and keys of this test's own."""
    monkeypatch.setenv("TEMPORAL_ADDRESS", client.service_client.config.target_host)
    monkeypatch.setenv("HOLDFAST_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOLDFAST_KEYS", str(tmp_path / "keys"))


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Generator[ProviderServer]:
    """A provider of models that the SDKs find as they find the real one, workers too."""
    with serving() as server:
        point_adapters_at(server.address, tmp_path, monkeypatch)
        yield server


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    session.config.stash[EXIT_STATUS] = int(exitstatus)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """End at once: the SDK's threads may abort an interpreter that is shutting down."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(config.stash.get(EXIT_STATUS, 1))


@pytest.fixture
def everybodys() -> Generator[Path]:
    """A folder that isn't below those of this session, which pytest closes to others."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        yield Path(folder)
