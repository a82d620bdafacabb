"""Failures that no worker had: a client may fail any activity of the server's by its id."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from google.protobuf.duration_pb2 import Duration
from pydantic import JsonValue
from temporalio.api.common.v1 import Payload, Payloads
from temporalio.api.enums.v1 import TimeoutType
from temporalio.api.failure.v1 import (
    ApplicationFailureInfo,
    CanceledFailureInfo,
    Failure,
    TimeoutFailureInfo,
)
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import (
    PollActivityTaskQueueRequest,
    RecordActivityTaskHeartbeatByIdRequest,
    RespondActivityTaskFailedByIdRequest,
)

from holdfast import Agent, App
from holdfast.testing import say
from tests.attacks.half_workers import half_working, no_calls
from tests.attacks.test_forged_results import complete
from tests.attacks.test_releases import ALLOWED
from tests.builders import a_call, a_reply
from tests.control.controlled import replayed
from tests.running import Run, Runs
from tests.sample import TOOLS, scripted
from tests.workflows.test_permissions import policy

pytestmark = pytest.mark.timeout(120)

NO_JSON = Payload(metadata={"encoding": b"json/plain"}, data=b"\xff\xfe")
NO_ENCODING = Payload(metadata={"encoding": b"binary/strange"}, data=b"x")


def plain(value: JsonValue) -> Payload:
    return Payload(metadata={"encoding": b"json/plain"}, data=json.dumps(value).encode())


def application(*details: Payload, **more: object) -> Failure:
    """What an adapter raises, as the server keeps it."""
    info = ApplicationFailureInfo(
        type="overloaded",
        non_retryable=True,
        details=Payloads(payloads=details),
        **more,  # pyright: ignore[reportArgumentType] -- any field
    )
    return Failure(message="made up", application_failure_info=info)


def lost(*details: Payload, kind: int = TimeoutType.TIMEOUT_TYPE_HEARTBEAT) -> Failure:
    """How a worker is lost, as the server keeps it."""
    info = TimeoutFailureInfo(
        timeout_type=kind,  # pyright: ignore[reportArgumentType] -- any number
        last_heartbeat_details=Payloads(payloads=details),
    )
    return Failure(message="made up", timeout_failure_info=info)


MODELS: Mapping[str, Failure] = {
    "words": application(plain("garbage")),
    "a list": application(plain([1, 2])),
    "no usage": application(plain({"failed": -5, "usage": {"input_tokens": "x"}})),
    "tokens without end": application(plain({"usage": {"input_tokens": 1e300}})),
    "money without end": application(plain({"usage": {"estimated_cost": "1e99999999"}})),
    "no JSON": application(NO_JSON),
    "no encoding": application(NO_ENCODING),
    "no category": application(category=99),
    "a delay without end": application(next_retry_delay=Duration(seconds=10**15)),
    "a heartbeat of words": lost(plain("garbage")),
    "a heartbeat that is no JSON": lost(NO_JSON),
    "no time-out": lost(kind=77),
}


async def begun(runs: Runs) -> str:
    """Take an activity up as a worker that never answers, and return its id."""
    task = await runs.client.workflow_service.poll_activity_task_queue(
        PollActivityTaskQueueRequest(
            namespace=runs.client.namespace,
            task_queue=TaskQueue(name=runs.queue),
            identity="nobody",
        )
    )
    assert task.activity_id, "the run isn't waiting for anything any more"
    return task.activity_id


async def fail(runs: Runs, run: Run, activity_id: str, failure: Failure) -> None:
    """Say why an activity failed, as anybody can who may write to the namespace."""
    await runs.client.workflow_service.respond_activity_task_failed_by_id(
        RespondActivityTaskFailedByIdRequest(
            namespace=runs.client.namespace,
            workflow_id=run.handle.id,
            activity_id=activity_id,
            failure=failure,
        )
    )


def asking(folder: Path) -> App:
    """An agent with two models."""
    names = ("it", "other")
    agent = Agent(
        name="it",
        instructions="Do as you are told.",
        models=[f"scripted:{name}" for name in names],
        tools=TOOLS,
    )
    return App(agents=[agent], scripts=dict.fromkeys(names, ()), policy=policy(folder, ALLOWED))


async def test_a_model_that_fails_with_what_nobody_can_read_has_failed(
    runs: Runs, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    """What its details say counts for nothing; another attempt is made, or another model asked."""
    async with half_working(runs, asking(tmp_path), no_calls):
        for name, failure in MODELS.items():
            with subtests.test(name):
                run = await runs.start("it")
                await fail(runs, run, await begun(runs), failure)
                await complete(runs, run, await begun(runs), a_reply().model_dump(mode="json"))
                result = await run.result()
                await replayed(runs, run)

                assert result.status == "completed"


@pytest.mark.parametrize(
    "details",
    [plain("garbage"), plain({"failed": -1}), NO_JSON],
    ids=["words", "minus", "no JSON"],
)
async def test_a_heartbeat_that_nobody_can_read_says_nothing(
    runs: Runs, tmp_path: Path, details: Payload
) -> None:
    """The next attempt of a model call begins as if there had been none."""
    turns = (say("done"),)
    app = scripted(turns)
    async with half_working(runs, app, no_calls):
        run = await runs.start("it")
        activity_id = await begun(runs)
        await runs.client.workflow_service.record_activity_task_heartbeat_by_id(
            RecordActivityTaskHeartbeatByIdRequest(
                namespace=runs.client.namespace,
                workflow_id=run.handle.id,
                activity_id=activity_id,
                details=Payloads(payloads=[details]),
            )
        )
        await fail(runs, run, activity_id, lost())
    async with runs.working(app, client=await runs.another_client()):
        result = await run.result()

    assert (result.status, result.answer) == ("completed", "done")


TOOL: Mapping[str, Failure] = {
    "no JSON": application(NO_JSON),
    "no category": application(category=99),
    "no time-out": lost(NO_JSON, kind=77),
    "taken by nobody": lost(kind=TimeoutType.TIMEOUT_TYPE_SCHEDULE_TO_START),
    "cancelled": Failure(message="x", canceled_failure_info=CanceledFailureInfo()),
    "cancelled with no JSON": Failure(
        message="x",
        canceled_failure_info=CanceledFailureInfo(details=Payloads(payloads=[NO_JSON])),
    ),
}


@pytest.mark.parametrize("failure", TOOL.values(), ids=TOOL.keys())
async def test_a_write_that_is_said_to_have_failed_may_have_happened(
    runs: Runs, tmp_path: Path, failure: Failure
) -> None:
    """The run goes on, and tells of it."""
    # RK-06
    send = a_reply(a_call("send", log=str(tmp_path / "log"), text="hi"))
    async with half_working(runs, asking(tmp_path), no_calls):
        run = await runs.start("it")
        await complete(runs, run, await begun(runs), send.model_dump(mode="json"))
        await fail(runs, run, await begun(runs), failure)
        await complete(runs, run, await begun(runs), a_reply().model_dump(mode="json"))
        result = await run.result()

    assert [one.tool for one in result.unresolved] == ["send"]
