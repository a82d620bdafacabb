"""Strangers drive runs: a plain Temporal client, the temporal command line, a replayer."""

import asyncio
import json
import signal
import sys
from pathlib import Path

import pytest
from temporalio.client import Client, WorkflowHistory
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions
from temporalio.workflow import NondeterminismError

from examples.reconcile.app import app as reconcile
from holdfast import worker
from holdfast.contracts.base import digest
from holdfast.runner import build_replayer
from holdfast.testing import call, calls, say
from holdfast.trace.reader import read_trace
from holdfast.trace.transcript import lines
from holdfast.workflows.agent_run import AgentRun
from tests.durability.changed_run import ChangedRun
from tests.running import Runs
from tests.sample import scripted

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


async def test_the_temporal_command_line_is_enough(runs: Runs) -> None:
    """Start, query, signal and result, with nothing but Temporal's own command."""
    address = runs.client.service_client.config.target_host
    temporal = str(Path(sys.executable).with_name("temporal"))
    run = ("--workflow-id", f"by-hand-{runs.queue}", "--address", address)
    brief = json.dumps({"agent": "it", "input": "go"})
    approval = json.dumps({"request_id": "req-1", "decision": "approve", "approver": "me"})
    async with runs.working(scripted([call("send", log="/dev/null", text="x"), say("sent")])):
        await output(
            *(temporal, "workflow", "start", "--type", "AgentRun", *run),
            *("--task-queue", runs.queue, "--input", brief),
        )
        while "req-1" not in (
            pending := await output(temporal, "workflow", "query", "--name", "pending", *run)
        ):
            pass
        await output(
            *(temporal, "workflow", "signal", "--name", "approval", "--input", approval, *run)
        )
        result = await output(temporal, "workflow", "result", *run)

    assert "send(log=" in pending
    assert "completed" in result


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
    passed = ("pydantic", "rfc8785", *ours)
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
