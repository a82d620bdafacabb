"""The embedded server: what it needs, and what it refuses."""

import asyncio
import json
import os
import re
import signal
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from holdfast.contracts.errors import HoldfastError
from holdfast.dev_server import dev_server, find_temporal_binary
from tests.durability.processes import ROOT, free_port


def test_server_comes_with_the_installation() -> None:
    """The server that is installed beside this interpreter is the one that is started."""
    assert find_temporal_binary() == Path(sys.executable).with_name("temporal")


@pytest.mark.slow
async def test_runs_outlive_the_server(tmp_path: Path) -> None:
    """What one server kept, the next one knows."""
    database = tmp_path / "temporal.db"
    async with dev_server(database=database) as environment:
        await environment.client.start_workflow("AgentRun", {}, id="kept", task_queue="none")
    async with dev_server(database=database) as environment:
        description = await environment.client.get_workflow_handle("kept").describe()

    assert description.workflow_type == "AgentRun"


@pytest.mark.slow
async def test_two_servers_never_share_a_database(tmp_path: Path) -> None:
    """A database that a server has open is refused to another."""
    database = tmp_path / "temporal.db"
    async with dev_server(database=database):
        with pytest.raises(
            HoldfastError, match=re.escape(f"{database} is in use by 'holdfast dev' at ")
        ):
            async with dev_server(database=database):
                pass


async def test_other_files_are_no_database(tmp_path: Path) -> None:
    """A file that holds something else is refused, and left as it was."""
    file = tmp_path / "notes.txt"
    file.write_text("remember the milk", encoding="utf-8")

    with pytest.raises(HoldfastError, match="is no database of runs"):
        async with dev_server(database=file):
            pass

    assert file.read_text(encoding="utf-8") == "remember the milk"


def is_at_work(process: int) -> bool:
    """Whether a process goes on; one that has ended and still has a number has no words."""
    try:
        return bool(Path(f"/proc/{process}/cmdline").read_bytes())
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.slow
async def test_what_a_killed_one_left_is_ended(tmp_path: Path) -> None:
    """The server of a `holdfast dev` that was killed makes room for the next one."""
    database, port = tmp_path / "temporal.db", free_port()
    program = (
        "import asyncio, os, signal, sys; from pathlib import Path\n"
        "from holdfast.dev_server import dev_server\n"
        "async def main():\n"
        "    async with dev_server(port=int(sys.argv[1]), database=Path(sys.argv[2])):\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "asyncio.run(main())"
    )
    killed = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, str(port), str(database), cwd=ROOT
    )
    assert await killed.wait() == -signal.SIGKILL
    (left,) = (database.with_name("temporal.db.lock").read_text(encoding="utf-8"),)
    async with dev_server(port=port, database=database) as environment:
        description = await environment.client.count_workflows()

    assert description.count == 0
    assert not is_at_work(json.loads(left)["server"])


@pytest.mark.slow
async def test_a_second_one_says_who_runs(tmp_path: Path) -> None:
    """Whoever starts another at the same place reads address, process and what to do."""
    port = free_port()
    said = (
        rf"port {port} is taken by 'holdfast dev' at 127.0.0.1:{port} \(pid {os.getpid()}\): use"
    )
    async with dev_server(port=port, database=tmp_path / "one.db"):
        with pytest.raises(HoldfastError, match=said):
            async with dev_server(port=port, database=tmp_path / "two.db"):
                pass


@pytest.mark.slow
async def test_ctrl_c_ends_the_worker_before_the_server(tmp_path: Path) -> None:
    """No warning stands between the lines, which say where runs of the app are started."""
    port, ui_port = free_port(), free_port()
    (tmp_path / "desk.py").write_text(
        "from holdfast import Agent, App\n"
        "from holdfast.testing import say\n"
        "clerk = Agent(name='clerk', instructions='Help.', models=['scripted:clerk'])\n"
        "app = App(queue='desk', agents=[clerk], scripts={'clerk': [say('done')]})\n"
    )
    options = ("--port", str(port), "--ui-port", str(ui_port), "--db", str(tmp_path / "db"))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "holdfast.cli.main", "dev", "desk:app", *options),
        cwd=tmp_path,
        env={**os.environ, "HOLDFAST_HOME": str(tmp_path)},  # noqa: TID251 -- to hand it on
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    begun = [line async for line in _until(process.stdout, b"Ctrl-C stops it")]
    process.send_signal(signal.SIGINT)
    out, err = await process.communicate()

    assert (process.returncode, err) == (0, b"")
    assert f"localhost:{port} holdfast run clerk GOAL --queue desk\n".encode() in b"".join(begun)
    _, stopping, stopped = out.splitlines()
    assert stopping.startswith(b"Stopping: first the worker")
    assert stopped.startswith(b"Stopped. ")


async def _until(stream: asyncio.StreamReader, words: bytes) -> AsyncGenerator[bytes]:
    """Read lines up to the one with these words."""
    async for line in stream:
        yield line
        if words in line:
            return
