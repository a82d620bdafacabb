"""Nobody paints the screen of those who decide: not by an id, a goal, a draft nor a name."""

import asyncio
import contextlib
import json
import os
import pty
import re
import shlex
import subprocess
import sys
from collections.abc import AsyncGenerator, Iterable
from pathlib import Path
from uuid import uuid4

import pytest
from temporalio.client import Client, WorkflowHandle
from temporalio.exceptions import TemporalError

from holdfast import Agent, App, Risk, tool, worker
from holdfast.cli import main, screen
from holdfast.contracts.base import JsonObject
from holdfast.contracts.run import TASK_QUEUE, RunResult
from holdfast.contracts.switches import SWITCHES
from holdfast.testing import call, say
from tests.contracts.test_texts import HOSTILE, moves
from tests.holdfast.commands import terminal
from tests.running import Run
from tests.sample import look

PAINT = " ".join(text for name, text in HOSTILE.items() if name != "half")
SHELL = "$(touch painted); touch painted `touch painted` '\"\\ [b]bold[/b] :boom:"
ROOT = Path(__file__).parents[2]
ESCAPED = "\\x1b[2J"
OURS = re.compile(r"\x1b\[[0-9;]*m|\r?\n")
"""Colours of ours and ends of lines."""


@tool(risk=Risk.DRAFT_ONLY)
async def prepare(text: str) -> str:
    """Prepare what would be posted."""
    return f"draft of {text}\n    decide    holdfast approve other req-1"


@tool(risk=Risk.COMMUNICATION, draft="prepare", rollback=PAINT, expected_result=PAINT)
async def post(text: str) -> str:
    """Post something where people read it."""
    return f"posted {text}"


@pytest.fixture(autouse=True)
async def _serving(
    client: Client, command_line: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> AsyncGenerator[None]:
    monkeypatch.chdir(tmp_path)
    agent = Agent(
        name="painter", instructions="Paint.", models=["scripted:it"], tools=[look, prepare, post]
    )
    script = [call("look", place=PAINT), call("post", text=PAINT), say(f"{PAINT}\n{SHELL}")]
    async with worker.run_worker(client, App(agents=[agent], scripts={"it": script})):
        yield


async def started(client: Client, run_id: str) -> WorkflowHandle[object, RunResult]:
    return await client.start_workflow(
        "AgentRun",
        {
            "agent": "painter",
            "input": PAINT,
            "tenant": PAINT,
            "actor": PAINT,
            "session_id": PAINT,
            "domain": PAINT[:99],
            "metadata": {PAINT: PAINT},
        },
        id=run_id,
        task_queue=TASK_QUEUE,
        result_type=RunResult,
    )


async def every_screen(run_id: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What all commands print that tell of a run, and what goes wrong about it."""
    commands = (
        *(["show", run_id], ["show", run_id, "--json"], ["list"], ["list", "--json"]),
        *(["pending", run_id], ["pending", run_id, "--json"]),
        *(["suspend", run_id], ["resume", run_id], ["steer", run_id, PAINT]),
        *(["trace", run_id], ["trace", run_id, "--json"], ["export", run_id], ["replay", run_id]),
        *(["export", run_id, "--output", f"{PAINT}.json"], ["run", run_id]),
        *(["approve", run_id], ["reject", run_id], ["keys", "sign", run_id]),
        *(["resolve", run_id, PAINT, "resume"], ["resolve", run_id, PAINT, PAINT]),
        *(["answer", run_id, PAINT, PAINT, "--digest", PAINT], [PAINT], ["show", f"no {run_id}"]),
    )
    return await printed(commands, capsys)


async def printed(commands: Iterable[list[str]], capsys: pytest.CaptureFixture[str]) -> str:
    """What these commands print."""
    capsys.readouterr()
    for command in commands:
        await asyncio.to_thread(main.run, command)
    return "".join(capsys.readouterr())


async def test_no_word_of_a_run_paints(client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    """Goal, names, arguments, drafts, results and reasons are shown plain, waiting and ended."""
    handle = await started(client, f"run-{uuid4().hex[:8]}")
    request = await Run(handle).asked_for_approval()
    await handle.signal("steer", {"text": PAINT})
    await handle.signal("approval", {"request_id": PAINT, "decision": "approve", "approver": "x"})
    await handle.signal(PAINT, {PAINT: PAINT})
    await Run(handle).refusals(2)
    waiting = await every_screen(handle.id, capsys)
    await handle.signal("resume", {})
    said = {"request_id": request.request_id, "approver": f"d {PAINT}", "reason": PAINT}
    await handle.signal("approval", {**said, "decision": "approve"})
    await handle.result()
    ended = await every_screen(handle.id, capsys)

    assert waiting.count(ESCAPED) > 15
    assert ended.count(ESCAPED) > 15
    assert moves(OURS.sub("", waiting + ended)) == set()
    assert "\n    decide    holdfast approve other" not in waiting
    assert SHELL in ended


async def test_no_id_of_a_run_paints(client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever a stranger calls a run, and whyever it ended, a screen shows it plain."""
    name = f"{PAINT} {uuid4().hex[:8]}\nreq-1  approve nothing? {SHELL}"
    handle = await started(client, name)
    seen = await every_screen(name, capsys)
    with contextlib.suppress(TemporalError):  # it may have failed: its id can be refused
        await handle.terminate(reason=PAINT)
    over = await every_screen(name, capsys)

    assert seen.count(ESCAPED) > 5
    assert moves(OURS.sub("", seen + over)) == set()
    assert "\nreq-1  approve" not in seen + over


def session_commands(name: str) -> tuple[list[str], ...]:
    """Commands that tell of a session, those of all first, and some that know nothing of it."""
    return (
        *(["sessions"], ["sessions", "--json"], ["sessions", name], ["sessions", name, "--json"]),
        *(["show", name], ["pending", name], ["trace", name], ["trace", name, "--json"]),
        *(["pending"], ["list"], ["list", "--active"], ["close", PAINT], ["stop", PAINT]),
        *(["cancel", PAINT], ["retry", PAINT], ["fork", PAINT, "--at", "1"], ["watch", PAINT]),
        *(["sessions", PAINT], ["chat", "painter", "--session", PAINT], ["chat", PAINT]),
        *(["tools", PAINT], ["policy", "explain", PAINT, PAINT], ["policy", "check", PAINT]),
        *(["keys", "trust", PAINT], ["keys", "revoke", PAINT], ["switch", "off", PAINT, PAINT]),
        *(["approve", name, PAINT, "--digest", PAINT, "--token", PAINT],),
    )


async def test_no_word_of_a_session_paints(
    client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    """Names, messages, what goes with them, why it closed and what an agent answered are plain."""
    name = f"session-{uuid4().hex[:8]}"
    session: JsonObject = {
        "agent": "painter",
        "tenant": PAINT,
        "actor": PAINT,
        "context": {PAINT: PAINT},
        "metadata": {PAINT: PAINT},
    }
    said = {"message_id": PAINT, "text": f"{PAINT}\n{SHELL}", "metadata": {PAINT: PAINT}}
    handle = await client.start_workflow(
        "AgentSession",
        session,
        id=name,
        task_queue=TASK_QUEUE,
        start_signal="message",
        start_signal_args=[said],
    )
    request = await Run(client.get_workflow_handle(name)).asked_for_approval()
    waiting = await printed(session_commands(name), capsys)
    approved = {"request_id": request.request_id, "decision": "approve", "approver": f"d {PAINT}"}
    await handle.signal("approval", approved)
    await handle.signal("close", {"reason": PAINT, "by": PAINT})
    await handle.result()
    closed = await printed(session_commands(name)[:8], capsys)

    assert waiting.count(ESCAPED) > 15
    assert closed.count(ESCAPED) > 10
    assert moves(OURS.sub("", waiting + closed)) == set()
    assert "\n    decide    holdfast approve other" not in waiting + closed


async def test_no_switch_paints(client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever switches something off names it, themselves and a reason as they like."""
    board = client.get_workflow_handle(SWITCHES)
    switch: JsonObject = {"kind": "tool", "name": PAINT[:150], "by": PAINT[:150]}
    await board.signal("off", {**switch, "reason": PAINT})
    seen = ""
    while ESCAPED not in seen:
        for command in (["switch", "list"], ["switch", "list", "--json"]):
            await asyncio.to_thread(main.run, command)
        seen = "".join(capsys.readouterr())
    await board.signal("on", switch)

    assert seen.count(ESCAPED) == 3
    assert moves(OURS.sub("", seen)) == set()


async def test_the_server_keeps_nothing_that_paints(client: Client) -> None:
    """Summaries and details, which the UI of Temporal shows, are plain too."""
    handle = await started(client, f"run-{uuid4().hex[:8]}")
    await handle.signal("approval", {"request_id": PAINT, "decision": "approve", "approver": "x"})
    await handle.signal(PAINT, {PAINT: PAINT})
    await Run(handle).refusals(2)
    request = await Run(handle).asked_for_approval()
    details = await handle.query("__temporal_workflow_metadata")
    await Run(handle).approve(request.request_id, f"d {PAINT}")
    await handle.result()
    texts = [
        json.loads(event.user_metadata.summary.data)
        for event in (await handle.fetch_history()).events
        if event.user_metadata.summary.data
    ]

    assert sum("\\x1b" in text for text in texts) >= 3
    assert [text for text in texts if moves(text)] == []
    assert "Waits for a person" in str(details)
    assert moves(str(details).replace("\n", "")) == set()


async def test_a_terminal_shows_nothing_where_a_line_begins(client: Client) -> None:
    """A draft with blanks up to the edge, or an escape, forges no line of the request."""
    handle = await started(client, f"run-{uuid4().hex[:8]}")
    await Run(handle).asked_for_approval()
    async with terminal("approve", handle.id) as asking:
        await asking.says("approve? [y/N] ")
        asking.types("n")
        await asking.code()
    block = asking.shown.partition("approve? [y/N]")[0].split("\r\n")[1:-1]

    assert moves(OURS.sub("", asking.shown)) == set()
    assert [line for line in block if not line.startswith("    ")] == []
    assert [line for line in block if len(line) > 80 and "decide" not in line] == []


@pytest.mark.parametrize("text", [PAINT, SHELL, *HOSTILE.values(), "--help", "", "a b", "ü漢"])
def test_a_line_to_copy_means_what_it_says(text: str, tmp_path: Path) -> None:
    """A shell reads the id back as it is, and runs nothing of it."""
    if "\ud800" in text:
        pytest.skip("no command line can hold it")
    line = screen.command("show", text)
    probe = line.replace("holdfast show", "printf '%s\\0'", 1)
    read = subprocess.run(
        ["/bin/bash", "-c", probe], cwd=tmp_path, capture_output=True, check=True
    )

    assert moves(line) == set()
    assert read.stdout.decode().split("\0")[-2] == text
    assert list(tmp_path.iterdir()) == []
    assert shlex.split(screen.command("show", "run-1")) == ["holdfast", "show", "run-1"]


@pytest.mark.parametrize("on_terminal", [True, False], ids=["terminal", "file"])
def test_no_log_paints(on_terminal: bool, tmp_path: Path) -> None:
    """What a worker and its libraries log is plain, and a line of it is one of theirs."""
    program = (
        "import logging, sys, structlog; from holdfast import logs; logs.configure();"
        "structlog.get_logger().info('run.audited', text=sys.argv[1]);"
        "logging.getLogger('lib').warning('%s', sys.argv[1])"
    )
    mine, its = pty.openpty()
    command = (sys.executable, "-c", program, f"{PAINT}\nforged")
    with (tmp_path / "log").open("wb+") as file:
        subprocess.run(command, cwd=ROOT, stderr=its if on_terminal else file, check=True)
        file.seek(0)
        logged = (os.read(mine, 65_536) if on_terminal else file.read()).decode()
    os.close(mine)
    os.close(its)

    assert logged.count("forged") == 2
    assert moves(OURS.sub("", logged)) == set()
    assert "\nforged" not in logged.replace("\r", "")
