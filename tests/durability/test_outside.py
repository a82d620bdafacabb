"""Strangers drive runs: a plain Temporal client, the temporal command line, a replayer."""

import asyncio
import json
import re
import shlex
import signal
import sys
from pathlib import Path

import pytest
from temporalio.client import Client, WorkflowHistory
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions
from temporalio.workflow import NondeterminismError

from examples.reconcile.app import app as reconcile
from holdfast import Agent, App, worker
from holdfast.contracts.base import JsonObject, digest
from holdfast.contracts.run import RunResult
from holdfast.runner import build_replayer
from holdfast.testing import call, calls, say
from holdfast.trace.reader import read_trace
from holdfast.trace.transcript import lines
from holdfast.workflows.agent_run import AgentRun
from tests.durability.changed_run import ChangedRun
from tests.running import Run, Runs
from tests.sample import TOOLS, scripted

ROOT = Path(__file__).parents[2]


async def output(*command: str, **environment: str) -> str:
    """Run a command in the project's root and return what it prints."""
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=ROOT,
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    # The SDK's threads may crash an interpreter that is shutting down, after all is said.
    assert process.returncode in (0, -signal.SIGABRT, -signal.SIGSEGV), err.decode()
    return out.decode()


async def test_a_plain_client_needs_nothing_of_ours(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A script that knows only Temporal and JSON starts, reads, approves and takes the result."""
    monkeypatch.chdir(tmp_path)
    address = client.service_client.config.target_host
    async with worker.run_worker(client, reconcile):
        said = await output(
            sys.executable, "examples/plain_client/approve.py", TEMPORAL_ADDRESS=address
        )

    waiting, _, result = said.partition("\n")
    assert waiting.startswith("waits: send_report(")
    assert json.loads(result)["status"] == "completed"
    assert len((tmp_path / ".holdfast" / "outbox.jsonl").read_text().splitlines()) == 1


def shown_commands(runs: Runs, run_id: str) -> list[list[str]]:
    """Return the commands that docs/plain_client.md shows, for another run and queue."""
    page = (ROOT / "docs" / "plain_client.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    said = block.replace("\\\n", " ").replace("my-run", run_id)
    said = said.replace("--task-queue holdfast", f"--task-queue {runs.queue}")
    return [shlex.split(line) for line in said.splitlines()]


async def test_the_temporal_command_line_is_enough(runs: Runs) -> None:
    """What the page for other languages shows, word by word, one after the other."""
    address = runs.client.service_client.config.target_host
    temporal = str(Path(sys.executable).with_name("temporal"))
    asks = [call("send", log="/dev/null", text=text) for text in "xy"]
    agent = Agent(name="reconciler", instructions="Send it.", models=["scripted:it"], tools=TOOLS)
    run_id = f"by-hand-{runs.queue}"
    run = Run(runs.client.get_workflow_handle(run_id, result_type=RunResult))
    asks_then = {"start": "req-1", "decide": "req-2"}
    said: dict[str, str] = {}
    async with runs.working(App(agents=[agent], scripts={"it": [*asks, say("sent")]})):
        for command in shown_commands(runs, run_id):
            name = command[command.index("--name") + 1] if "--name" in command else command[2]
            said[name] = await output(temporal, *command[1:], "--address", address)
            while (asked := asks_then.get(name)) and asked not in str(await run.pending()):
                pass
        followed = await output(
            *(temporal, "workflow", "show", "--workflow-id", run_id, "--follow"),
            *("--address", address),
        )
        end = await run.result()

    assert [*said] == ["start", "pending", "steer", "decide", "stop", "result"]
    assert "send(log=" in said["pending"]
    assert "accepted" in said["decide"]
    assert "stopped by a person" in said["result"]
    assert end.stop is not None
    assert end.stop.ended_by == "dana"
    assert [one.tool for one in end.effects] == ["send"]
    assert "WorkflowExecutionCompleted" in followed


async def test_the_temporal_command_line_is_enough_for_a_session(runs: Runs) -> None:
    """Open it with a message, wait, approve, close it, and open it again with the next one."""
    # SE-04
    address = runs.client.service_client.config.target_host
    temporal = (str(Path(sys.executable).with_name("temporal")), "workflow")
    session = ("--workflow-id", f"by-hand-{runs.queue}", "--address", address)
    opening = ("--type", "AgentSession", "--task-queue", runs.queue, "--signal-name", "message")
    brief = ("--input", json.dumps({"agent": "it"}))
    approval: JsonObject = {"request_id": "req-1", "decision": "approve", "approver": "me"}

    async def say_so(message_id: str) -> None:
        said = json.dumps({"message_id": message_id, "text": "go"})
        command = (*temporal, "signal-with-start", *opening, *brief, "--signal-input", said)
        await output(*command, *session)

    async def tell(name: str, argument: JsonObject) -> None:
        given = ("--name", name, "--input", json.dumps(argument))
        await output(*temporal, "signal", *given, *session)

    async def until(message_id: str, state: str) -> str:
        about = ("--input", json.dumps({"message_id": message_id}))
        asking = (*temporal, "query", "--name", "outcome", *about, *session)
        while f'"state":"{state}"' not in (found := await output(*asking)).replace(" ", ""):
            pass
        return found

    script = [call("send", log="/dev/null", text="x"), say("sent"), say("and again")]
    async with runs.working(scripted(script)):
        await say_so("m-1")
        await until("m-1", "waiting")
        await tell("approval", approval)
        first = await until("m-1", "done")
        await tell("close", {"reason": "enough"})
        closed = await output(*temporal, "result", *session)
        await say_so("m-2")
        second = await until("m-2", "done")

    assert "sent" in first
    assert "closed by a person: enough" in closed
    assert "and again" in second


async def test_an_exported_history_replays(runs: Runs) -> None:
    """Today's code replays what it recorded, with no server; a changed run is found out."""
    # SS-06 GF-04
    async with runs.working(scripted([call("send", log="/dev/null", text="x"), say("done")])):
        run = await runs.start("it")
        request = await run.asked_for_approval()
        await run.approve(request.request_id)
        await run.result()
        exported = (await run.handle.fetch_history()).to_json()
    history = WorkflowHistory.from_json(run.handle.id, exported)

    await build_replayer(AgentRun).replay_workflow(history)
    with pytest.raises(NondeterminismError):
        await build_replayer(ChangedRun).replay_workflow(history)


async def test_workflow_code_passes_the_sandbox(runs: Runs) -> None:
    """The SDK's sandbox, which workers do without for speed, finds nothing non-deterministic."""
    # T-12
    async with runs.working(scripted([call("delete", record="x"), call("look", place="y")])):
        run = await runs.start("it")
        await run.result()
        history = await run.handle.fetch_history()
    ours = (f"holdfast.{room}" for room in ("contracts", "activities", "adapters", "tools"))
    passed = ("pydantic", *ours)
    sandboxed = SandboxedWorkflowRunner(
        restrictions=SandboxRestrictions.default.with_passthrough_modules(*passed)
    )

    await build_replayer(AgentRun, inner=sandboxed).replay_workflow(history)


async def test_the_export_alone_tells_an_auditor_everything(runs: Runs) -> None:
    """Who asked, what was called and why, who approved, what came of it, why it stopped."""
    # SS-05 LP-12 TC-03 HG-19 HT-08
    turn = calls(call("send", log="/dev/null", text="hi"), call("nope"))
    async with runs.working(scripted([turn], instructions="Nothing about permissions here.")):
        run = await runs.start("it", "tell them", actor="bob", tenant="acme")
        request = await run.asked_for_approval()
        await run.approve("req-9", "mallory")
        await run.approve(request.request_id, "dana", reason="fine")
        await run.result()
        exported = [WorkflowHistory.from_json("x", (await run.handle.fetch_history()).to_json())]
    said = "\n".join(str(line) for line in lines(read_trace(exported)))
    raw = b"".join(event.SerializeToString() for event in exported[0].events)

    assert digest({"log": "/dev/null", "text": "hi"}).encode() in raw

    for words in (
        "tell them",
        "bob",
        "acme",
        'send(log="/dev/null", text="hi")',
        "approval_required (write_internal)",
        "mallory",
        "no request 'req-9'",
        "approved by dana",
        "fine",
        "unknown_tool",
        "no model answered",
    ):
        assert words in said, (words, said)
