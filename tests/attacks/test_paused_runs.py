"""A run that somebody pauses in Temporal, for which the SDK has no status, harms no other."""

import asyncio
from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path

import pytest
from temporalio.api.workflowservice.v1 import (
    PauseWorkflowExecutionRequest,
    UnpauseWorkflowExecutionRequest,
)
from temporalio.client import Client, WorkflowExecutionStatus

from holdfast.activities.kill_switch.switch_history import SwitchHistory
from holdfast.activities.sessions.archive import DirectoryArchive
from holdfast.activities.statuses import PAUSED, is_open
from holdfast.client import FAILED, Holdfast, NoWorker
from holdfast.client.archiving import ArchiveSweep
from holdfast.contracts.switches import SwitchSignal
from holdfast.dev_server import dev_server
from holdfast.guardrails.detectors import resource_claims
from holdfast.testing import call, say
from tests.activities.test_guardrails_holders import NOON, ahead, holds
from tests.attacks.test_other_tenants import NONE, ask_for
from tests.holdfast.commands import holdfast
from tests.running import Runs
from tests.sample import scripted
from tests.sessions.test_archive import archived

APP = scripted([call("ask_user", question="Which one?"), say("done")])

PAUSE = "is paused in Temporal, where 'temporal workflow unpause' lets it go on"


@pytest.fixture
async def pausable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> AsyncGenerator[Runs]:
    """Runs, and commands, on a server that lets workflows be paused."""
    options = ("--dynamic-config-value", "frontend.WorkflowPauseEnabled=true")
    monkeypatch.setattr("holdfast.dev_server._OPTIONS", options)
    monkeypatch.setenv("HOLDFAST_HOME", str(tmp_path / "home"))
    async with dev_server() as environment:
        client = environment.client
        monkeypatch.setenv("TEMPORAL_ADDRESS", client.service_client.config.target_host)
        yield Runs(client)


async def pause(runs: Runs, workflow: str) -> None:
    """Do what `temporal workflow pause` does."""
    request = PauseWorkflowExecutionRequest(
        namespace=runs.client.namespace, workflow_id=workflow, request_id="1"
    )
    await runs.client.workflow_service.pause_workflow_execution(request)


async def list_paused(client: Client) -> None:
    """Wait until the server lists one that is paused: lists are late."""
    while PAUSED not in {one.status async for one in client.list_workflows()}:  # noqa: ASYNC110 -- it is elsewhere
        await asyncio.sleep(0.02)


async def unpause(runs: Runs, workflow: str) -> None:
    """Let it go on."""
    request = UnpauseWorkflowExecutionRequest(
        namespace=runs.client.namespace, workflow_id=workflow, request_id="2"
    )
    await runs.client.workflow_service.unpause_workflow_execution(request)


async def test_a_paused_run_keeps_no_other_out_of_archive_or_lists(
    pausable: Runs, tmp_path: Path
) -> None:
    """What ends is archived, lists are whole, and what waits in others is shown."""
    # TR-13
    sweep = ArchiveSweep(pausable.client, DirectoryArchive(tmp_path / "kept"), pausable.queue)
    client = Holdfast(pausable.client)
    async with pausable.working(APP):
        held, other, ended = [await pausable.start("it") for _ in range(3)]
        for run in (held, other, ended):
            await run.asked()
        await pause(pausable, held.handle.id)
        await ended.handle.terminate()
        kept = await archived(tmp_path / "kept", sweep, 1)
        await list_paused(pausable.client)
        listed = {one.run_id: one.status for one in await client.runs()}
        failed = [one.run_id for one in await client.runs(status=FAILED)]
        shown, told = list[str](), ""
        try:
            async for one in client.pending():
                shown.append(one.run.id)
        except NoWorker as error:
            told = str(error)
        command = await holdfast("list")

    assert set(kept) == {ended.handle.id}
    assert listed[held.handle.id] == listed[other.handle.id] == "waiting"
    assert failed == [ended.handle.id]
    assert shown == [other.handle.id]
    assert told == f"run {held.handle.id!r} {PAUSE}"
    assert command.code == 0
    assert held.handle.id in command.out


@pytest.mark.parametrize(
    ("words", "code"),
    [
        pytest.param(["show"], 0, id="show"),
        pytest.param(["pending"], 1, id="pending"),
        pytest.param(["suspend"], 0, id="suspend"),
        pytest.param(["stop", "--reason", "enough"], 0, id="stop"),
        pytest.param(["cancel"], 0, id="cancel"),
    ],
)
async def test_a_command_says_that_its_run_is_paused(
    pausable: Runs, words: list[str], code: int
) -> None:
    """It advises nobody to terminate it, or to start a worker, and what is sent counts later."""
    async with pausable.working(APP):
        run = await pausable.start("it")
        await run.asked()
        await pause(pausable, run.handle.id)
        said = await holdfast(words[0], run.handle.id, *words[1:])
        await unpause(pausable, run.handle.id)
        if words[0] == "stop":
            assert (await run.result()).status == "stopped"

    assert said.code == code
    assert f"run {run.handle.id!r} {PAUSE}" in said.err
    assert "terminate" not in said.err
    assert "worker" not in said.err


async def test_who_tries_a_paused_run_of_another_tenant_learns_nothing_of_it(
    pausable: Runs,
) -> None:
    """Nobody says whose it is, and the words are those for a run that nobody has."""
    # BY-20
    async with pausable.working(APP):
        theirs = await pausable.start("it", tenant="acme")
        await theirs.asked()
        await pause(pausable, theirs.handle.id)
        told = await ask_for(pausable, theirs.handle.id)

    assert told == NONE.format(name=theirs.handle.id)


async def test_switches_are_heard_while_their_workflow_is_paused(pausable: Runs) -> None:
    """Workers read what is switched off in its history, whether it goes on or not."""
    switches = SwitchHistory(pausable.client, pausable.switches)
    async with pausable.working(APP):
        await switches.send("off", SwitchSignal(kind="tool", name="write", by="dana"))
        begun = await switches.latest()
        await pause(pausable, pausable.switches)
        await switches.send("off", SwitchSignal(kind="tool", name="send", by="dana"))
        known = await switches.read()

    assert await switches.latest() == begun
    assert {one.name for one in known.switches} == {"send", "write"}


async def test_a_paused_run_holds_what_it_took(pausable: Runs) -> None:
    """It goes on with it one day, so nobody else begins to work at that meanwhile."""
    # GR-22
    taken = resource_claims.name_resource("order", {"order": "7"})
    assert taken is not None
    moments = (NOON, NOON + timedelta(seconds=1))
    first, second = [
        await holds(pausable.client, f"run-{number}", resource_claims.build_entries([taken], at))
        for number, at in enumerate(moments)
    ]
    await pause(pausable, first)
    await list_paused(pausable.client)

    assert await ahead(pausable.client, second, taken, 1) == (first,)


async def test_a_status_that_nobody_knows_is_read() -> None:
    """A server that is newer than the SDK may say any number of a workflow."""
    unknown = WorkflowExecutionStatus(99)

    assert (unknown, unknown.name, is_open(unknown)) == (99, "STATUS_99", True)
    assert (PAUSED, PAUSED.name) == (8, "PAUSED")
