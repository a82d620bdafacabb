"""
Attacks by number within one message, and by what comes beside a start.

The server bounds a message by its bytes, of which a payload has two, and what comes beside the
input of a start by 4 MB.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import uuid4

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from temporalio.api.common.v1 import Payload
from temporalio.bridge import worker as bridge
from temporalio.bridge.proto.workflow_activation import (
    DoUpdate,
    InitializeWorkflow,
    QueryWorkflow,
    SignalWorkflow,
    WorkflowActivation,
    WorkflowActivationJob,
)
from temporalio.bridge.proto.workflow_completion import WorkflowActivationCompletion
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.converter import PayloadCodec
from temporalio.worker import WorkflowInstance, WorkflowInstanceDetails

from holdfast.activations import MAX_ARGUMENTS, MAX_BESIDE_BYTES, MAX_FIELDS, drop_excess_of_start
from holdfast.activities.kill_switch.switch_history import SwitchHistory
from holdfast.contracts.switches import SwitchSignal
from holdfast.runner import OrderedRunner
from holdfast.testing import call
from holdfast.trace.reader import read_trace
from holdfast.workflows.payloads import BoundedPayloadConverter, InlineDataConverter
from tests.attacks.test_codecs import shout
from tests.holdfast.test_heard_times import Noting, Played
from tests.memory.instances import Beginning, build_instance
from tests.running import Runs
from tests.sample import scripted, told

MANY = [Payload()] * 1_000
HEADERS = {str(number): Payload() for number in range(MAX_FIELDS + 1)}

START = InitializeWorkflow(arguments=MANY, headers=HEADERS)
START.memo.fields["all"].SetInParent()
STARTED = WorkflowActivationJob(initialize_workflow=START)
SIGNALLED = WorkflowActivationJob(signal_workflow=SignalWorkflow(input=MANY, headers=HEADERS))
UPDATED = WorkflowActivationJob(do_update=DoUpdate(input=MANY, headers=HEADERS))
ASKED = WorkflowActivationJob(query_workflow=QueryWorkflow(arguments=MANY, headers=HEADERS))


@dataclass
class Given(Noting):
    """Notes what it is given."""

    jobs: list[WorkflowActivationJob] = field(default_factory=list[WorkflowActivationJob])

    def activate(self, act: WorkflowActivation) -> WorkflowActivationCompletion:
        self.jobs.extend(act.jobs)
        return super().activate(act)


class Counting(PayloadCodec):
    """Leaves payloads as they are, and counts those that it reads."""

    def __init__(self) -> None:
        self.read = 0

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return list(payloads)

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        self.read += len(payloads)
        return list(payloads)


def count(job: WorkflowActivationJob) -> tuple[int, int]:
    """Return how many arguments and headers a workflow is given."""
    if job.HasField("initialize_workflow"):
        return len(job.initialize_workflow.arguments), len(job.initialize_workflow.headers)
    if job.HasField("signal_workflow"):
        return len(job.signal_workflow.input), len(job.signal_workflow.headers)
    if job.HasField("do_update"):
        return len(job.do_update.input), len(job.do_update.headers)
    return len(job.query_workflow.arguments), len(job.query_workflow.headers)


@pytest.mark.parametrize(
    "job", [STARTED, SIGNALLED, UPDATED, ASKED], ids=["start", "signal", "update", "query"]
)
def test_a_workflow_is_given_no_more_than_it_takes_to_refuse_it(
    job: WorkflowActivationJob,
) -> None:
    """Of a thousand payloads eight come to the SDK's workflow, and of a flood of headers none."""
    given = Given()
    Played(given).hear(1, job)

    assert count(given.jobs[-1]) == (MAX_ARGUMENTS, 0)


async def test_what_the_sdk_copies_of_a_start_is_bounded_before() -> None:
    """Before the SDK describes a workflow that starts, what came with it is no flood."""
    act = WorkflowActivation(jobs=[STARTED])
    for name in HEADERS:
        act.jobs[0].initialize_workflow.memo.fields[name].SetInParent()
    converter = InlineDataConverter(payload_converter_class=BoundedPayloadConverter)
    await bridge.decode_activation(
        act, converter, decode_headers=False, storage_concurrency_limit=1
    )

    assert count(act.jobs[0]) == (MAX_ARGUMENTS, 0)
    assert not act.jobs[0].initialize_workflow.memo.fields


@pytest.mark.parametrize("size", [1, MAX_BESIDE_BYTES])
def test_what_comes_beside_a_start_is_small(size: int) -> None:
    """Headers, a memo and what an earlier run left, of which a server takes 4 MB, are dropped."""
    init = InitializeWorkflow()
    one = Payload(data=b"x" * size)
    init.headers["trace"].CopyFrom(one)
    init.memo.fields["it"].CopyFrom(one)
    init.last_completion_result.payloads.append(one)
    init.continued_failure.message = "x" * size
    act = WorkflowActivation(jobs=[WorkflowActivationJob(initialize_workflow=init)])
    whole = act.ByteSize()
    drop_excess_of_start(act)

    assert act.ByteSize() == whole if size == 1 else act.ByteSize() < 20


@dataclass
class Keeping(Given):
    """Keeps how a workflow is described to it."""

    described: list[WorkflowInstanceDetails] = field(default_factory=list[WorkflowInstanceDetails])

    def create_instance(self, det: WorkflowInstanceDetails) -> WorkflowInstance:
        self.described.append(det)
        return super().create_instance(det)


def test_a_run_keeps_nothing_of_the_message_that_began_it() -> None:
    """Who keeps a part of a message keeps all of it as long, also what was dropped of it."""
    init = InitializeWorkflow(workflow_type="AgentRun")
    init.headers["it"].data = b"sent"
    init.memo.fields["it"].data = b"sent"
    init.last_completion_result.payloads.add().data = b"sent"
    act = WorkflowActivation(jobs=[WorkflowActivationJob(initialize_workflow=init)])
    sent, keeping = act.jobs[0].initialize_workflow, Keeping()
    build_instance(Beginning(sent, "r", "q", Timestamp()), OrderedRunner(keeping)).activate(act)
    for payload in (
        sent.headers["it"],
        sent.memo.fields["it"],
        sent.last_completion_result.payloads[0],
    ):
        payload.data = b"changed"

    (told,) = keeping.described
    assert told.info.headers["it"].data == b"sent"
    assert told.info.raw_memo["it"].data == b"sent"
    assert told.last_completion_result.payloads[0].data == b"sent"
    assert keeping.jobs[0].initialize_workflow.headers["it"].data == b"sent"


async def test_a_codec_reads_no_more_than_it_takes_to_refuse_a_message() -> None:
    """An app's codec is shown eight payloads of a thousand."""
    codec = Counting()
    act = WorkflowActivation(jobs=[SIGNALLED])
    converter = InlineDataConverter(
        payload_converter_class=BoundedPayloadConverter, payload_codec=codec
    )
    await bridge.decode_activation(
        act, converter, decode_headers=True, storage_concurrency_limit=1
    )

    assert codec.read == MAX_ARGUMENTS


async def test_a_run_refuses_a_signal_of_many_payloads(runs: Runs) -> None:
    """A run to which they are sent refuses them, and goes on; its trace says so in its words."""
    async with runs.working(scripted([call("send", log="/dev/null", text="hi"), told])):
        run = await runs.start("it")
        request = await run.asked_for_approval()
        await shout(runs.client, run.handle.id, "approval", *MANY)
        refusals = await run.refusals(1)
        await run.approve(request.request_id)
        result = await run.result()
        trace = read_trace(await runs.histories(run))

    assert [one.refusal for one in trace.messages if one.accepted is False] == refusals
    assert refusals == [f"'approval' takes one JSON object, not {MAX_ARGUMENTS} arguments"]
    assert result.answer == "send ok"


async def test_no_worker_reads_a_switch_of_many_payloads(client: Client) -> None:
    """A signal to the switches that hasn't exactly one is ignored, unread."""
    codec, queue = Counting(), f"test-{uuid4().hex[:8]}"
    converter = pydantic_data_converter.__class__(
        pydantic_data_converter.payload_converter_class, codec
    )
    config = client.config()
    config["data_converter"] = converter
    history = SwitchHistory(Client(**config), queue)
    await history.ensure_open()
    await shout(client, queue, "off", *MANY)
    await history.send("off", SwitchSignal(kind="tool", name="send", by="dana"))
    codec.read = 0
    state = await history.read()

    assert [one.name for one in state.switches] == ["send"]
    assert codec.read <= 2
