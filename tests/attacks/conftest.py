"""A sandbox to attack, and what it must not touch."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path

import pytest
from pydantic import JsonValue
from pydantic_core import from_json

from holdfast.contracts.calls import ToolInvocation
from holdfast.tools.artifacts import as_file_name
from holdfast.tools.network import pace
from holdfast.tools.sandbox.sandbox import Sandbox
from holdfast.tools.tool import Tool
from tests.adapters.provider_server import point_adapters_at
from tests.attacks import hostile
from tests.attacks.outside import Alive, Attack, nobody
from tests.attacks.servers import Reach
from tests.builders import admitted, an_invocation


@pytest.fixture(scope="session")
def sandbox_home(
    tmp_path_factory: pytest.TempPathFactory, copies: Path, sandbox_found: None
) -> Path:
    """The folder of a worker that has a sandbox."""
    folder = tmp_path_factory.mktemp("home")
    (folder / "sandbox").symlink_to(copies)
    return folder


@pytest.fixture(scope="session")
def sandbox(sandbox_home: Path) -> Sandbox:
    return Sandbox(sandbox_home)


@pytest.fixture
def invocation(request: pytest.FixtureRequest) -> ToolInvocation:
    """A call of a run of this test's own."""
    return an_invocation(first_execution_run_id=f"run {request.node.nodeid}")


@pytest.fixture
def workspace(sandbox_home: Path, invocation: ToolInvocation) -> Path:
    """The workspace of this test's run, seen from outside."""
    folder = sandbox_home / "workspaces" / as_file_name(invocation.first_execution_run_id)
    folder.mkdir(parents=True, mode=0o700)
    return folder


@pytest.fixture
def attack(sandbox: Sandbox, invocation: ToolInvocation) -> Attack:
    """Run code in the sandbox, and return its result."""

    async def attacked(
        code: str = "",
        tool: Tool = hostile.run,
        admit: Callable[[], Awaitable[None]] = admitted,
        **more: JsonValue,
    ) -> JsonValue:
        arguments = {"code": code} if code else more
        call = invocation.model_copy(update={"arguments": arguments})
        return from_json(await sandbox.run(tool, call, lambda _: None, nobody, admit))

    return attacked


@pytest.fixture
async def alive(workspace: Path) -> AsyncGenerator[Alive]:
    pipe = Alive(workspace)
    yield pipe
    pipe.close()


@pytest.fixture
def reach(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Reach:
    return lambda address: point_adapters_at(address, tmp_path, monkeypatch)


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that readers of a flood would wait: here others have their turn and no more."""
    seconds: list[float] = []

    async def take_turn(wait: float) -> None:
        seconds.append(wait)
        await asyncio.sleep(0)

    monkeypatch.setattr(pace, "sleep", take_turn)
    # All connections of the process share one, and would wait later for what nobody waits here.
    monkeypatch.setattr(pace, "OF_ALL", pace.Rate(pace.MORE_PER_SECOND, 1.0))
    return seconds
