"""Where the system has no threads left, as when code in a sandbox has used them up."""

import asyncio
import shutil
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from holdfast.contracts.errors import NotNow, ToolDenied
from holdfast.tools import run_python
from holdfast.tools.execution import OwnFile, execute
from holdfast.tools.fair_threads import FairThreads
from holdfast.tools.sandbox.sandbox import Sandbox
from tests.attacks.outside import nobody
from tests.builders import admitted, an_invocation
from tests.tools import sample_tools
from tests.tools.sample_tools import secret_of

ROOT = Path(__file__).parents[2]
TOO_LARGE = 2**46
"""Bytes of a stack that no system has room for."""


@contextmanager
def no_threads() -> Generator[None]:
    """Have no thread be started within the block."""
    before = threading.stack_size(TOO_LARGE)
    try:
        yield
    finally:
        threading.stack_size(before)


async def test_what_is_asked_for_waits_for_a_thread() -> None:
    """A result that nobody could look through would hide that its call is done."""
    threads = FairThreads(2, "test")
    with no_threads():
        asked = [asyncio.create_task(threads.run("run", lambda: "done")) for _ in range(3)]
        given_up = asked.pop()
        await asyncio.wait(asked, timeout=0.2)
        assert not any(one.done() for one in asked)
        given_up.cancel()

    assert await asyncio.gather(*asked) == ["done", "done"]


def test_where_nobody_can_look_nobody_knows_where_a_path_leads(tmp_path: Path) -> None:
    """As where a disk doesn't answer: nothing begins then."""
    with no_threads(), pytest.raises(TimeoutError, match="no thread can be started"):
        OwnFile(tmp_path).find(1)


@pytest.mark.slow
@pytest.mark.parametrize("call", ["start_a_process", "make_a_sandbox"])
def test_what_the_system_has_no_thread_for_did_not_begin(call: str, tmp_path: Path) -> None:
    """It says so: told as one that may have happened it would never be made again."""
    if call == "make_a_sandbox" and shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is missing")
    run = f"import asyncio, sys; from {__name__} import {call}; asyncio.run({call}(sys.argv[1]))"

    ended = subprocess.run(
        [sys.executable, "-c", run, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == 0, ended.stderr


async def start_a_process(_: str) -> None:
    """Call a synchronous tool in a worker that has started none yet."""
    call = an_invocation(arguments={"text": "hi"})
    with no_threads(), pytest.raises(NotNow, match="no process can be started now: no thread"):
        await execute(sample_tools.note, call, secret_of, lambda _: None, admitted)


async def make_a_sandbox(home: str) -> None:
    """Call a sandboxed tool in a worker that has run none yet."""
    sandbox = Sandbox(Path(home), patience=0.2)
    await sandbox.prepare([run_python])
    call = an_invocation(arguments={"code": "print(1)"})
    with no_threads(), pytest.raises(ToolDenied):
        await sandbox.run(run_python, call, lambda _: None, nobody, admitted)
