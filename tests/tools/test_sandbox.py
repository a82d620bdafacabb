"""What a sandbox is made of, and what is said where there is none."""

import asyncio
import os
import platform
import re
import resource
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import monotonic

import pytest

from holdfast import settings
from holdfast import tools as builtin
from holdfast.contracts.calls import Grant
from holdfast.contracts.errors import AppError, HoldfastError, ToolDenied
from holdfast.contracts.tools import Risk
from holdfast.tools.artifacts import FileArtifacts
from holdfast.tools.execution import WorkerExecutor
from holdfast.tools.registry import ToolRegistry
from holdfast.tools.sandbox import identity, jail, syscalls, watch
from holdfast.tools.sandbox.bounds import BOUNDS
from holdfast.tools.sandbox.calls import SandboxExecutor
from holdfast.tools.sandbox.jail import Jail
from holdfast.tools.sandbox.sandbox import Sandbox
from holdfast.tools.tool import Tool, tool
from tests.attacks import hostile
from tests.attacks.net import Net
from tests.attacks.outside import nobody
from tests.builders import admitted, an_invocation
from tests.tools import sample_tools

needs_linux = pytest.mark.skipif(
    sys.platform != "linux" or not syscalls.has_filter(), reason="a sandbox needs Linux"
)


@pytest.fixture
def folder(tmp_path: Path, copies: Path) -> Path:
    """The folder of a worker who finds what others have copied."""
    (tmp_path / "sandbox").symlink_to(copies)
    return tmp_path


@needs_linux
@pytest.mark.slow
async def test_without_bubblewrap(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where bubblewrap is missing, the flaw says how to install it, and a call is denied."""
    monkeypatch.setenv("PATH", str(folder))
    sandbox = Sandbox(folder)

    assert await sandbox.flaw() == (
        "bubblewrap is missing: install it (Debian: apt-get install bubblewrap)"
    )
    with pytest.raises(ToolDenied, match="bubblewrap is missing"):
        await sandbox.run(hostile.run, an_invocation(), lambda _: None, nobody, admitted)


@needs_linux
@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (
            "echo 'bwrap: No permissions' >&2; exit 1",
            "bubblewrap can't make a sandbox here: bwrap: No permissions (docs/sandbox.md)",
        ),
        (
            "exit 0",
            "bubblewrap can't make a sandbox here: its process didn't start (docs/sandbox.md)",
        ),
        (
            "yes >&2",
            "bubblewrap can't make a sandbox here: y (docs/sandbox.md)",
        ),
    ],
    ids=["complains", "does nothing", "never ends"],
)
@pytest.mark.slow
async def test_with_a_bubblewrap_that_fails(
    folder: Path, monkeypatch: pytest.MonkeyPatch, script: str, reason: str
) -> None:
    """Where bubblewrap can't make a sandbox, the flaw is what it says."""
    monkeypatch.setattr("holdfast.tools.sandbox.sandbox.START_TIMEOUT_SECONDS", 1.0)
    fake = folder / "bin" / "bwrap"
    fake.parent.mkdir()
    fake.write_text(f"#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(fake.parent))

    assert await Sandbox(folder).flaw() == reason


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("sys.platform", "darwin"), "the sandbox needs Linux, and this is darwin"),
        (
            ("platform.machine", lambda: "riscv64"),
            "the sandbox knows the system calls of x86-64 and ARM64 only",
        ),
    ],
    ids=["another system", "another machine"],
)
async def test_on_other_machines(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: tuple[str, str | Callable[[], str]],
    reason: str,
) -> None:
    """Where there can be no sandbox, the flaw says why."""
    assert sys.platform
    assert platform.machine()
    monkeypatch.setattr(*change)

    assert await Sandbox(tmp_path).flaw() == reason


async def test_a_flaw_denies_all_calls(tmp_path: Path) -> None:
    """A place with a flaw runs nothing, and the flaw is what the model reads."""
    place = SandboxExecutor(Sandbox(tmp_path), Net().egress(), "bubblewrap is missing")
    call = an_invocation(arguments={"code": "1"}, grant=Grant())

    with pytest.raises(ToolDenied, match=r"^bubblewrap is missing$"):
        await place.run(builtin.run_python, call, lambda _: None, admitted)


@pytest.mark.parametrize(
    ("tool_", "granted"),
    [
        pytest.param(builtin.run_command, False, id="a process"),
        pytest.param(builtin.http_request, False, id="the net"),
        pytest.param(builtin.read_file, False, id="declared"),
        pytest.param(sample_tools.whoami, True, id="granted by a rule"),
    ],
)
async def test_the_worker_is_no_place_for_what_needs_the_sandbox(
    tmp_path: Path, tool_: Tool, *, granted: bool
) -> None:
    """On the ordinary queue a sandboxed call is denied, whoever sent it there."""  # RK-13
    call = an_invocation(grant=Grant(commands=("*",)) if granted else None)
    place = WorkerExecutor(sample_tools.secret_of, FileArtifacts(tmp_path))

    with pytest.raises(ToolDenied, match="runs in the sandbox only"):
        await place.run(tool_, call, lambda _: None, admitted)


def test_a_sandboxed_tool_must_be_importable() -> None:
    """A tool inside a function can't be found by another process, awaited or not."""

    @tool(risk=Risk.READ_ONLY, sandboxed=True)
    async def hidden() -> str:
        """Return a word or two."""
        return "word"

    with pytest.raises(AppError, match="a tool in the sandbox runs in a process of its own"):
        ToolRegistry([hidden])


def test_a_sandboxed_tool_stands_in_no_script_that_serves() -> None:
    """What is there the main module is the sandbox's own."""

    async def served() -> str:
        """Return a word or two."""
        return "word"

    served.__module__, served.__qualname__ = "__main__", "served"
    with pytest.raises(AppError, match="define it at the top of a module"):
        ToolRegistry([tool(risk=Risk.READ_ONLY, sandboxed=True)(served)])


def test_no_folder_is_shown_whole() -> None:
    """Of /usr and of Python's own folders, parts are shown: a project may be around them."""
    shown = jail.find_system_folders()

    assert not {Path("/"), Path("/usr"), Path(sys.prefix), Path(sys.base_prefix)} & set(shown)
    assert Path("/usr/bin") in shown


@needs_linux
def test_nothing_is_said_on_the_command_line(tmp_path: Path) -> None:
    """Arguments that the inside could read name no folder of the worker."""
    made = Jail(tmp_path / "code", tmp_path / "workspace", 2_000_000_001, BOUNDS)

    assert not any(str(tmp_path) in word for word in made.command())
    assert str(tmp_path / "workspace") in made.arguments({}, 3)


def test_runs_of_root_are_different_users(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the worker is root each run has a number, always the same, that nobody else has."""
    monkeypatch.setattr("os.geteuid", lambda: 0)
    first, second = identity.derive_uid("run 1"), identity.derive_uid("run 2")

    assert first == identity.derive_uid("run 1") != second
    assert first is not None
    assert first > 20_000

    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert identity.derive_uid("run 1") is None


@needs_linux
def test_what_a_process_holds_is_counted() -> None:
    """The memory of this process is more than a few megabytes, and where none are it is none."""
    for folder, least in (("/proc", 5_000_000), ("/proc/self/fd", -1)):
        processes = os.open(folder, os.O_RDONLY)
        try:
            assert watch.memory(processes) > least
        finally:
            os.close(processes)


def test_many_looks_are_rare() -> None:
    """However many sandboxes have however many processes: all looks have a part of the loop."""
    now = monotonic()
    few = [watch.pause(0.001, now) for _ in range(12)]
    many = [watch.pause(0.02, now) for _ in range(100)]

    assert few == [watch.INTERVAL] * 12
    assert many[-1] > 100 * 20 / watch.MILLISECONDS_PER_SECOND - 1.5


def test_a_setting_that_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A place for sandboxed calls that doesn't exist is refused with those that do."""
    monkeypatch.setenv("HOLDFAST_SANDBOX", "somewhere")
    with pytest.raises(HoldfastError, match=re.escape("use one of local, only, elsewhere, none")):
        settings.Settings.load()


@needs_linux
@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is missing")
@pytest.mark.slow
async def test_what_is_not_admitted_does_not_begin(folder: Path) -> None:
    """The sandbox stands when it is asked for the last time, and ends without the call."""
    # T-20
    sandbox = Sandbox(folder)
    standing: list[Path] = []

    async def refuse() -> None:
        standing.extend((folder / "workspaces").iterdir())
        raise ToolDenied("it is switched off")

    call = an_invocation(arguments={"code": "open('/workspace/done', 'w').close()"})
    with pytest.raises(ToolDenied, match="switched off"):
        await sandbox.run(builtin.run_python, call, lambda _: None, nobody, refuse)

    assert len(standing) == 1
    assert not list(folder.rglob("done"))


@needs_linux
@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is missing")
async def test_what_the_system_has_no_room_for_did_not_begin(folder: Path) -> None:
    """Who uses up processes or files makes no call of others one that may have happened."""
    # T-20
    sandbox = Sandbox(folder)
    await sandbox.prepare([builtin.run_python])
    call = an_invocation(arguments={"code": "print(1)"})
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        with pytest.raises(ToolDenied, match="no sandbox can be started now: Too many open files"):
            await sandbox.run(builtin.run_python, call, lambda _: None, nobody, admitted)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    shutil.rmtree(folder / "workspaces")
    (folder / "workspaces").touch()

    with pytest.raises(ToolDenied, match="no sandbox can be started now"):
        await sandbox.run(builtin.run_python, call, lambda _: None, nobody, admitted)


@needs_linux
@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is missing")
@pytest.mark.slow
async def test_a_call_gives_way_to_others_and_its_start_does_not(folder: Path) -> None:
    """On a busy machine what gave way while it starts would be late, and its call be denied."""
    # T-20
    preparing: list[int] = []

    async def admit() -> None:
        """Note the priority of all that the sandbox consists of by now."""
        waiting = watch.children(os.getpid())
        while waiting:
            process = waiting.pop()
            waiting += watch.children(process)
            with suppress(ProcessLookupError):  # another test's, which has ended
                preparing.append(os.getpriority(os.PRIO_PROCESS, process))

    code = "import os; print(os.getpriority(os.PRIO_PROCESS, 0))"
    call = an_invocation(arguments={"code": code})
    said = await Sandbox(folder).run(builtin.run_python, call, lambda _: None, nobody, admit)

    own = os.getpriority(os.PRIO_PROCESS, 0)
    assert set(preparing) == {own}
    assert b"10" in said


@needs_linux
@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is missing")
@pytest.mark.slow
async def test_a_first_call_that_is_cancelled_leaves_the_copy(tmp_path: Path) -> None:
    """The copy of the code is made for all calls, so no call's end ends it."""
    sandbox = Sandbox(tmp_path)
    first = asyncio.create_task(
        sandbox.run(builtin.list_files, an_invocation(), lambda _: None, nobody, admitted)
    )
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)

    await sandbox.prepare([builtin.list_files])
    assert len(list((tmp_path / "sandbox").iterdir())) == 1
