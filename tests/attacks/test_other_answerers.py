"""Whoever answers for a run on a queue of their own harms nobody who looks at all runs."""

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from pydantic import JsonValue
from temporalio import workflow
from temporalio.api.command.v1 import Command, FailWorkflowExecutionCommandAttributes
from temporalio.api.enums.v1 import CommandType
from temporalio.api.failure.v1 import Failure
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import (
    PollWorkflowTaskQueueRequest,
    RespondWorkflowTaskCompletedRequest,
)
from temporalio.client import Client
from temporalio.common import RawValue
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from holdfast import HoldfastError
from holdfast.client import FAILED, Holdfast, NoWorker, RunEntry
from holdfast.testing import call
from tests.running import Runs
from tests.sample import scripted, told

ODD: tuple[JsonValue, ...] = (
    None,
    "x",
    [{"kind": "approval"}],
    {"garbage": 1},
    {"items": [], "total": 10**9, "next_offset": 1},
)
"""No answers of ours, and one without end."""


@workflow.defn(name="AgentRun", sandboxed=False)
class Impostor:
    """A workflow by the name of ours, which says what it was started with, and may end so."""

    @workflow.run
    async def run(self, words: JsonValue, ends: bool) -> JsonValue:
        self._words = words
        await workflow.wait_condition(lambda: ends)
        return words

    @workflow.query(dynamic=True)
    def say(self, _: str, __: Sequence[RawValue]) -> JsonValue:
        return self._words


@workflow.defn(name="AgentSession", sandboxed=False)
class SessionImpostor:
    """A session by the name of ours, which takes what is said for what it answers."""

    @workflow.run
    async def run(self, _: JsonValue) -> None:
        await workflow.wait_condition(lambda: False)

    @workflow.update
    def send(self, message: dict[str, str]) -> JsonValue:
        return json.loads(message["text"])


@asynccontextmanager
async def impostors(client: Client, *, ends: bool) -> AsyncGenerator[list[str]]:
    """Have one for each odd answer, on a queue of their own."""
    queue = f"impostors-{uuid4()}"
    runner = UnsandboxedWorkflowRunner()
    async with Worker(client, task_queue=queue, workflows=[Impostor], workflow_runner=runner):
        started = [
            await client.start_workflow(
                "AgentRun",
                args=[words, ends],
                id=f"{queue}-{number}",
                task_queue=queue,
                task_timeout=timedelta(seconds=1),
            )
            for number, words in enumerate(ODD)
        ]
        yield [one.id for one in started]
        for one in () if ends else started:
            await one.terminate()


async def test_what_waits_is_shown_beside_odd_answers(
    runs: Runs, client: Client, tmp_path: Path
) -> None:
    """Each that says what none of ours says is named at the end; what else waits is shown."""
    shown, silent = set[str](), ""
    async with runs.working(scripted([call("send", log=str(tmp_path / "log"), text="hi"), told])):
        run = await runs.start("it", tenant=runs.queue)
        await run.asked()
        async with impostors(client, ends=False) as odd:
            while not (shown and all(one in silent for one in odd)):  # visibility comes behind
                try:
                    async for one in Holdfast(client).pending(tenant=runs.queue):
                        shown.add(one.run.id)
                except NoWorker as error:
                    silent = str(error)
        await run.cancel()

    assert shown == {run.handle.id}


@pytest.mark.parametrize("words", [*ODD, {"accepted": False}], ids=str)
async def test_an_odd_answer_to_a_message_is_refused(client: Client, words: JsonValue) -> None:
    """On one line, whatever a session says that is none of ours."""
    queue = f"impostors-{uuid4()}"
    session = Holdfast(client).session(agent="it", queue=queue)
    runner = UnsandboxedWorkflowRunner()
    workflows = [SessionImpostor]
    async with Worker(client, task_queue=queue, workflows=workflows, workflow_runner=runner):
        with pytest.raises(HoldfastError, match="none of our answers") as told:
            await session.send(json.dumps(words))
        await client.get_workflow_handle(session.id).terminate()

    assert "\n" not in str(told.value)


async def test_an_odd_result_is_listed_as_none(client: Client) -> None:
    """A list has one that says what came to it in words that nobody reads, as failed."""
    async with impostors(client, ends=True) as odd:
        for one in odd:
            with pytest.raises(HoldfastError, match="none of our answers"):
                await Holdfast(client).run(one).result()
        failed = set[str]()
        while not {*odd} <= failed:  # visibility comes behind
            listed = await Holdfast(client).runs(status=FAILED, limit=1000)
            failed = {one.run_id for one in listed if one.status == "failed" and one.reason}


async def test_what_its_server_begins_again_keeps_no_list_waiting(
    runs: Runs, client: Client
) -> None:
    """Of a start with a schedule, which is refused, it says why, and waits for nothing else."""
    async with runs.working(scripted([told])):
        started = await client.start_workflow(
            "AgentRun",
            {"agent": "it", "input": "go"},
            id=f"{runs.queue}-again",
            task_queue=runs.queue,
            cron_schedule="@every 1s",
        )
        listed = list[RunEntry]()
        while not listed:  # visibility comes behind
            trace = (started.first_execution_run_id or "").replace("-", "")
            listed = await Holdfast(client).runs(status=FAILED, trace_id=trace)
        await started.terminate()

    assert ["start AgentRun without retry policy" in (one.reason or "") for one in listed] == [
        True
    ]


async def test_an_end_that_nobody_can_read_spoils_no_list(client: Client) -> None:
    """It has more causes in each other than any client takes; all others are listed."""
    queue = f"impostors-{uuid4()}"
    started = await client.start_workflow("AgentRun", id=queue, task_queue=queue)
    failure = Failure(message="no")
    for _ in range(97):
        failure = Failure(message="no", cause=failure)
    service = client.workflow_service
    task = await service.poll_workflow_task_queue(
        PollWorkflowTaskQueueRequest(
            namespace=client.namespace, task_queue=TaskQueue(name=queue), identity="nobody"
        )
    )
    ends = FailWorkflowExecutionCommandAttributes(failure=failure)
    command = Command(
        command_type=CommandType.COMMAND_TYPE_FAIL_WORKFLOW_EXECUTION,
        fail_workflow_execution_command_attributes=ends,
    )
    await service.respond_workflow_task_completed(
        RespondWorkflowTaskCompletedRequest(
            namespace=client.namespace, task_token=task.task_token, commands=[command]
        )
    )
    listed = list[RunEntry]()
    while not listed:  # visibility comes behind
        trace = (started.first_execution_run_id or "").replace("-", "")
        listed = await Holdfast(client).runs(status=FAILED, trace_id=trace)

    assert ["nobody can read" in (one.reason or "") for one in listed] == [True]
