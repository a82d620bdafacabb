"""Attacks with payloads that say that what they hold lies in external storage; there is none."""

import asyncio
import json
from collections.abc import Mapping
from uuid import uuid4

import pytest
from pydantic import JsonValue
from temporalio import workflow
from temporalio.api.common.v1 import Payload, Payloads
from temporalio.api.failure.v1 import ApplicationFailureInfo, Failure
from temporalio.client import WorkflowExecutionStatus
from temporalio.common import RawValue
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from holdfast import Agent, App, Risk, tool
from holdfast.contracts.base import JsonObject
from holdfast.contracts.run import RunResult
from holdfast.contracts.switches import SwitchState
from holdfast.testing import call, say
from tests.attacks.test_forged_failures import fail
from tests.attacks.test_forged_results import complete_with, unfinished
from tests.running import Run, Runs
from tests.sample import scripted
from tests.workflows.test_switches import switch

begun, over = asyncio.Event(), asyncio.Event()

REFERENCE: Mapping[str, bytes] = {"encoding": b"json/external-storage-reference"}
MARKED: Mapping[str, bytes] = {
    "encoding": b"json/plain",
    "__temporal_external_storage_reference": b"true",
}
CLAIMS = [pytest.param(REFERENCE, id="a reference"), pytest.param(MARKED, id="a mark")]

pytestmark = pytest.mark.timeout(120)


def stored(metadata: Mapping[str, bytes], value: JsonValue) -> Payload:
    return Payload(metadata=metadata, data=json.dumps(value).encode())


@pytest.mark.parametrize("metadata", CLAIMS)
async def test_no_message_wedges_a_run(runs: Runs, metadata: Mapping[str, bytes]) -> None:
    """What it holds is judged like the content of any message; an approval still counts."""
    async with runs.working(scripted([call("send", log="/dev/null", text="x"), say("done")])):
        run = await runs.start("it")
        request = await run.asked_for_approval()
        await run.handle.signal("steer", RawValue(stored(metadata, "no object")))
        refusals = await run.refusals(1)
        await run.approve(request.request_id)
        result = await run.result()

    assert len(refusals) == 1
    assert result.answer == "done"


@pytest.mark.parametrize("metadata", CLAIMS)
async def test_no_memo_keeps_a_run_from_its_end(runs: Runs, metadata: Mapping[str, bytes]) -> None:
    """Nobody here reads a stranger's memo."""
    async with runs.working(scripted([say("done")])):
        handle = await runs.client.start_workflow(
            "AgentRun",
            {"agent": "it", "input": "go"},
            id=f"{runs.queue}-memo",
            task_queue=runs.queue,
            memo={"note": stored(metadata, "x")},
            result_type=RunResult,
        )
        result = await Run(handle).result()

    assert result.answer == "done"


async def test_nobody_but_a_run_says_of_which_app_another_is(runs: Runs) -> None:
    """A run that works for no other is begun by whoever has its agent, whatever its memo says."""
    async with runs.working(scripted([say("done")])):
        handle = await runs.client.start_workflow(
            "AgentRun",
            {"agent": "it", "input": "go"},
            id=f"{runs.queue}-memo",
            task_queue=runs.queue,
            memo={"app": "no app of ours"},
            result_type=RunResult,
        )
        result = await Run(handle).result()

    assert result.answer == "done"


@workflow.defn(name="Whole")
class Whole:
    """A stranger's workflow that has a run do a part of it, with such a memo."""

    @workflow.run
    async def run(self, queue: str, encoding: str, value: JsonValue) -> JsonObject:
        """Return the result of that run."""
        memo = {"app": RawValue(stored({"encoding": encoding.encode()}, value))}
        given = {"agent": "it", "input": "go"}
        return await workflow.execute_child_workflow(
            "AgentRun", given, id=f"{queue}-part", task_queue=queue, memo=memo
        )


@pytest.mark.parametrize("encoding", ["json/plain", "nonsense"])
@pytest.mark.parametrize("value", [5, "", "x" * 101, ["it"], None], ids=str)
async def test_no_memo_keeps_a_part_from_its_end(
    runs: Runs, encoding: str, value: JsonValue
) -> None:
    """What a stranger says of the app, and nobody can read, nobody has said."""
    queue = f"whole-{uuid4().hex[:8]}"
    whole = Worker(
        runs.client,
        task_queue=queue,
        workflows=[Whole],
        workflow_runner=UnsandboxedWorkflowRunner(),
    )
    async with runs.working(scripted([say("done")])), whole:
        result = await runs.client.execute_workflow(
            "Whole", args=[runs.queue, encoding, value], id=queue, task_queue=queue
        )

    assert result["answer"] == "done"


@tool(risk=Risk.READ_ONLY, timeout=60)
async def linger() -> str:
    """Return when the test says so."""
    begun.set()
    await over.wait()
    return "over"


@pytest.mark.parametrize("metadata", CLAIMS)
@pytest.mark.parametrize("how", ["completed", "failed"])
async def test_no_forged_result_wedges_a_run(
    runs: Runs, metadata: Mapping[str, bytes], how: str
) -> None:
    """Whatever somebody makes up of a call, the run comes to an end."""
    begun.clear()
    over.clear()
    agent = Agent(name="it", instructions="Go.", models=["scripted:it"], tools=[linger])
    app = App(agents=[agent], scripts={"it": [call("linger"), say("done")]})
    async with runs.working(app):
        run = await runs.start("it")
        await begun.wait()
        (call_id,) = await unfinished(run)
        await END[how](runs, run, call_id, stored(metadata, "x"))
        await asyncio.gather(run.result(), return_exceptions=True)
        described = await run.handle.describe()
        over.set()

    assert described.status is not WorkflowExecutionStatus.RUNNING


@pytest.mark.parametrize("metadata", CLAIMS)
async def test_no_message_keeps_the_switches_from_working(
    runs: Runs, metadata: Mapping[str, bytes]
) -> None:
    """Their workflow, and the workers that follow it, read on: calls run, and can be denied."""
    app = scripted([call("add", a=1, b=2), say("done")])
    async with runs.working(app):
        await (await runs.start("it", "first")).result()
        switches = runs.client.get_workflow_handle(runs.switches)
        await switches.signal("off", RawValue(stored(metadata, "no switch")))
        before = await runs.start("it", "second")
        await before.result()
        await switch(runs, "off", "tool", "add")
        after = await runs.start("it", "third")
        await after.result()
        state = await switches.query("switches", result_type=SwitchState)
        ran, denied = await before.results(), await after.results()

    assert [one.status for one in ran] == ["ok"]
    assert [one.status for one in denied] == ["denied"]
    assert ([one.name for one in state.switches], state.ignored) == (["add"], 1)


async def fail_with(runs: Runs, run: Run, activity_id: str, details: Payload) -> None:
    said = ApplicationFailureInfo(
        type="X", non_retryable=True, details=Payloads(payloads=[details])
    )
    failure = Failure(message="x", application_failure_info=said, encoded_attributes=details)
    await fail(runs, run, activity_id, failure)


END = {"completed": complete_with, "failed": fail_with}
