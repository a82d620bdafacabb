"""Attacks on the kill switch by whoever may start workflows under its id."""

from uuid import uuid4

import pytest
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import DeleteWorkflowExecutionRequest
from temporalio.client import Client, WorkflowFailureError, WorkflowHandle
from temporalio.common import WorkflowIDConflictPolicy

from holdfast.activities.kill_switch.switch_history import SwitchHistory
from holdfast.activities.kill_switch.switches import TemporalKillSwitch
from holdfast.contracts.errors import HoldfastError
from holdfast.contracts.switches import SWITCHES
from tests.activities.test_switches import names, seen, switch
from tests.memory.runs import MemoryRuns
from tests.sample import scripted, told


async def take_place(client: Client, name: str) -> WorkflowHandle[object, object]:
    """Switch something off, and start another workflow over the switches'."""
    await SwitchHistory(client, name).start(None)
    await switch(client, name, "off")
    return await client.start_workflow(
        "Other",
        id=name,
        task_queue=name,
        id_conflict_policy=WorkflowIDConflictPolicy.TERMINATE_EXISTING,
    )


async def test_what_took_their_place_and_is_over_takes_nothing_with_it(client: Client) -> None:
    """They are started again, with what was off before."""
    name = f"taken-{uuid4().hex[:8]}"
    usurper = await take_place(client, name)
    with pytest.raises(HoldfastError, match="is a 'Other': end it"):
        await SwitchHistory(client, name).read()
    await usurper.terminate()

    assert names((await SwitchHistory(client, name).read()).switches) == ["send"]
    async with TemporalKillSwitch(client, name) as board:
        assert await seen(board, bool) == ["send"]


async def test_nothing_is_on_again_because_what_took_their_place_is_deleted(
    client: Client,
) -> None:
    """The server lists what was the kill switch before it."""
    name = f"taken-{uuid4().hex[:8]}"
    usurper = await take_place(client, name)
    execution = WorkflowExecution(workflow_id=name, run_id=usurper.result_run_id or "")
    await client.workflow_service.delete_workflow_execution(
        DeleteWorkflowExecutionRequest(namespace=client.namespace, workflow_execution=execution)
    )

    async with TemporalKillSwitch(client, name) as board:
        assert await seen(board, bool) == ["send"]


async def test_no_run_has_their_id(memory_runs: MemoryRuns) -> None:
    """One that is started so ends at once, so that they can be started again."""
    async with memory_runs.working(scripted([told])):
        run = await memory_runs.start_with({"agent": "it", "input": "go"}, run_id=SWITCHES)
        with pytest.raises(WorkflowFailureError) as failed:
            await run.result()

    assert "is the id of the kill switch" in str(failed.value.cause)
