"""How runs are run: a worker ends when its block does, and the SDK makes nothing for nobody."""

import asyncio
import threading
from collections.abc import Coroutine, Generator, Sequence
from contextvars import Context
from dataclasses import replace
from datetime import timedelta
from typing import Any, ClassVar, Self, TypeVar
from uuid import uuid4

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from structlog.testing import capture_logs
from temporalio.api.common.v1 import Payload
from temporalio.bridge.proto.workflow_activation import InitializeWorkflow
from temporalio.client import Client
from temporalio.converter import (
    DataConverter,
    PayloadCodec,
    SerializationContext,
    WithSerializationContext,
    WorkflowSerializationContext,
)
from temporalio.exceptions import ApplicationError
from temporalio.worker import Replayer, Worker

from holdfast import Agent, App, runner
from holdfast.contracts.run import WORKFLOW_TYPE
from holdfast.testing import call, say
from holdfast.workflows.agent_run import AgentRun
from holdfast.workflows.payloads import (
    BoundedPayloadConverter,
    InlineDataConverter,
    data_converter,
)
from holdfast.workflows.switches import HoldfastSwitches
from tests.histories import stored
from tests.memory.instances import NAMESPACE, Beginning, build_instance
from tests.running import Runs
from tests.sample import add

Answer = TypeVar("Answer")


class HeedingCodec(PayloadCodec, WithSerializationContext):
    """Writes otherwise for each run, as one does that has a key for each."""

    def __init__(self, context: SerializationContext | None = None) -> None:
        self._context = context

    def with_context(self, context: SerializationContext) -> Self:
        return type(self)(context)

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return [*payloads]

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return [*payloads]


class WatchedConverter(InlineDataConverter):
    """Notes what is looked at to be changed, going out and coming in."""

    noted: ClassVar[list[str]] = []

    async def _encode_payload_sequence(self, payloads: Sequence[Payload]) -> list[Payload]:
        self.noted.append("out")
        return await super()._encode_payload_sequence(payloads)

    async def _decode_payload_sequence(self, payloads: Sequence[Payload]) -> list[Payload]:
        self.noted.append("in")
        return await super()._decode_payload_sequence(payloads)


@pytest.fixture
def worker(client: Client) -> Worker:
    return Worker(
        client,
        task_queue=f"ends-{uuid4().hex[:8]}",
        workflows=[HoldfastSwitches],
        workflow_runner=runner.RUNNER,
    )


async def test_who_stops_a_worker_that_cannot_end_goes_on(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The SDK waits for ever for a workflow task that it has lost: it is left behind."""
    ended = worker.shutdown

    async def lose_a_task() -> None:
        await ended()
        await asyncio.Event().wait()

    monkeypatch.setattr(runner, "SHUTDOWN_TIMEOUT", timedelta(seconds=1))
    monkeypatch.setattr(worker, "shutdown", lose_a_task)
    with capture_logs() as logged:
        async with runner.run_worker(worker):
            pass

    assert [(line["event"], line["queue"]) for line in logged] == [
        ("worker.left", worker.task_queue)
    ]


def test_who_stops_a_worker_waits_for_no_thread_of_an_app() -> None:
    """A tool may wait there for a server that never answers, beyond its own time limit."""
    over, begun = threading.Event(), threading.Event()

    def hang() -> None:
        begun.set()
        over.wait()

    async def serve() -> asyncio.Task[None]:
        runner.leave_threads(asyncio.get_running_loop())
        hanging = asyncio.create_task(asyncio.to_thread(hang))
        while not begun.is_set():  # noqa: ASYNC110 -- a thread sets it
            await asyncio.sleep(0)
        return hanging

    hanging = asyncio.run(serve())

    over.set()
    assert hanging.cancelled()


async def test_workflow_code_leaves_the_loop_its_turns(runs: Runs) -> None:
    """However many runs are built anew at once, few threads want the interpreter."""
    before = set(threading.enumerate())
    agent = Agent(name="it", instructions="Do.", models=["scripted:it"])
    async with runs.working(App(agents=[agent], scripts={"it": [say("done")]})):
        ended = [await runs.start("it") for _ in range(20)]
        await asyncio.gather(*(run.result() for run in ended))
        begun = [one.name for one in {*threading.enumerate()} - before]

    assert 1 <= sum(name.startswith("workflow_") for name in begun) <= 4


async def test_who_fails_while_a_worker_works_is_told_why(worker: Worker) -> None:
    """The worker ends first."""
    with pytest.raises(ApplicationError, match="no more"):
        async with runner.run_worker(worker):
            raise ApplicationError("no more")

    assert worker.is_shutdown


@pytest.mark.parametrize(
    ("converter", "context"),
    [
        pytest.param(data_converter, None, id="nobody heeds it"),
        pytest.param(
            replace(data_converter, payload_codec=HeedingCodec()),
            WorkflowSerializationContext(namespace=NAMESPACE, workflow_id="R"),
            id="a codec heeds it",
        ),
    ],
)
async def test_who_heeds_contexts_is_given_them(
    converter: DataConverter, context: SerializationContext | None
) -> None:
    """What a payload belongs to is told to a codec that writes otherwise for each run."""
    init = InitializeWorkflow(workflow_type=WORKFLOW_TYPE, workflow_id="R")
    beginning = Beginning(init=init, run_id="execution", queue="queue", at=Timestamp())
    instance = build_instance(beginning, runner.build_runner(converter))

    assert instance.get_serialization_context(None) == context


async def test_no_payload_is_looked_at_in_a_task_of_its_own(runs: Runs) -> None:
    """The SDK would begin one for each, eleven a step, to wait for a storage that isn't there."""
    begun = list[str]()

    def begin(
        loop: asyncio.AbstractEventLoop,
        coroutine: Coroutine[Any, Any, Answer] | Generator[Any, None, Answer],
        context: Context | None = None,
    ) -> asyncio.Task[Answer]:
        begun.append(repr(coroutine))
        return asyncio.Task(coroutine, loop=loop, context=context)

    agent = Agent(name="it", instructions="Add.", models=["scripted:it"], tools=[add])
    asyncio.get_running_loop().set_task_factory(begin)
    try:
        async with runs.working(
            App(agents=[agent], scripts={"it": [call("add", a=2, b=3), say("5")]})
        ):
            result = await (await runs.start("it")).result()
    finally:
        asyncio.get_running_loop().set_task_factory(None)

    assert result.status == "completed"
    assert [name for name in begun if "Visitor" in name] == []


@pytest.mark.parametrize(
    ("codec", "noted"),
    [
        pytest.param(None, set[str](), id="nobody changes one"),
        pytest.param(HeedingCodec(), {"in", "out"}, id="a codec may change each"),
    ],
)
async def test_what_nobody_changes_is_not_looked_at(
    codec: PayloadCodec | None, noted: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The SDK goes through all payloads of a workflow task six times, for a codec or a storage."""
    monkeypatch.setattr(WatchedConverter, "noted", list[str]())
    converter = WatchedConverter(BoundedPayloadConverter, codec)
    replayer = Replayer(
        workflows=[AgentRun],
        workflow_runner=runner.build_runner(converter),
        data_converter=converter,
        debug_mode=True,
    )
    [[history, *_], *_] = stored.unpack(stored.history_file("retries").read_bytes())

    await replayer.replay_workflow(history)

    assert set(WatchedConverter.noted) == noted
