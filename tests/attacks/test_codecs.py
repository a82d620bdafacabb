"""Whoever may signal sends a run what its app's codec can't read."""

import dataclasses
import json
import zlib
from collections.abc import Sequence
from pathlib import Path
from traceback import format_exception
from uuid import uuid4

import pytest
from temporalio.api.common.v1 import Payload, Payloads, WorkflowExecution, WorkflowType
from temporalio.api.failure.v1 import Failure
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import (
    SignalWorkflowExecutionRequest,
    StartWorkflowExecutionRequest,
)
from temporalio.client import Client
from temporalio.converter import PayloadCodec

from holdfast import Agent, App, HoldfastError, Risk, tool
from holdfast.client import Holdfast
from holdfast.contracts.bounds import MAX_PAYLOAD_BYTES
from holdfast.histories import decode_failure
from holdfast.testing import call
from holdfast.trace.reader import read_trace
from holdfast.workflows.payloads import TolerantCodec, data_converter, take_only
from tests.attacks.test_regulated import working
from tests.holdfast.test_client import Packed, asked
from tests.sample import lines, send, told

RUBBISH = Payload(metadata={"encoding": b"binary/packed"}, data=b"rubbish")
PLAIN = Payload(metadata={"encoding": b"json/plain"}, data=b'{"text": "red"}')


async def shout(client: Client, run_id: str, name: str, *payloads: Payload) -> None:
    """Send a signal as it is."""
    await client.workflow_service.signal_workflow_execution(
        SignalWorkflowExecutionRequest(
            namespace=client.namespace,
            workflow_execution=WorkflowExecution(workflow_id=run_id),
            signal_name=name,
            input=Payloads(payloads=payloads),
        )
    )


@tool(risk=Risk.READ_ONLY, max_retries=0)
async def find_line(whose: str) -> str:
    """Find the line to somebody else."""
    raise ConnectionError(f"no line to {whose}")


def sending(log: Path, codec: PayloadCodec | None = None) -> App:
    script = [call("send", log=str(log), text="hi"), told]
    agent = Agent(name="it", instructions="Send.", models=["scripted:it"], tools=[send])
    return App(agents=[agent], scripts={"it": script}, codec=codec or Packed())


async def test_no_rubbish_locks_an_approval_out(client: Client, tmp_path: Path) -> None:
    """It is refused like any word that nobody can read, and what is read of the run is whole."""
    log = tmp_path / "sent"
    async with working(client, sending(log)) as (holdfast, queue):
        run = await holdfast.start("it", "go", queue=queue)
        request = await asked(run)
        for name in ("steer", "approval", "nonsense"):
            await shout(client, run.id, name, RUBBISH)
            await shout(client, run.id, name, RUBBISH, PLAIN)
        await run.approve(request.request_id, approver="zoe")
        result, status = await run.result(), await run.status()
        trace = read_trace(await run.history())

    assert (result.status, status.refused_total) == ("completed", 6)
    assert len(lines(log)) == 1
    assert trace.status == "completed"


async def test_what_a_failure_says_is_for_its_own_alone(client: Client) -> None:
    """Whoever has the codec reads why a call failed; the server and others don't."""
    script = [call("find_line", whose="the bank"), told]
    agent = Agent(name="it", instructions="Find.", models=["scripted:it"], tools=[find_line])
    app = App(agents=[agent], scripts={"it": script}, codec=Packed())
    async with working(client, app) as (holdfast, queue):
        run = await holdfast.start("it", "go", queue=queue)
        await run.result()
        (history,) = await run.history()
        (stored,) = await Holdfast(client).run(run.id).history()

    (failure,) = [
        event.activity_task_failed_event_attributes.failure
        for event in history.events
        if event.HasField("activity_task_failed_event_attributes")
    ]
    assert "no line to the bank" in failure.message
    assert not failure.HasField("encoded_attributes")
    raw = b"".join(event.SerializeToString() for event in stored.events)
    assert b"the bank" not in raw


@pytest.mark.parametrize(
    ("left", "stays"),
    [
        pytest.param(b"sealed by another", True, id="no JSON"),
        pytest.param(b'["message"]', True, id="no fields"),
        pytest.param(b'{"message": 5}', True, id="no words"),
        pytest.param(b'{"stack_trace": "there"}', False, id="no message"),
    ],
)
async def test_what_another_codec_left_of_a_failure_stays_where_it_is(
    left: bytes, *, stays: bool
) -> None:
    """Nobody here knows what it means; what the failure itself says is read all the same."""
    codec = Packed()
    own = dataclasses.replace(data_converter, payload_codec=codec)
    client = await Client.connect("nowhere:1", lazy=True, data_converter=own)
    (sealed,) = await codec.encode([Payload(data=left)])
    failure = Failure(message="it failed", encoded_attributes=sealed)

    await decode_failure(client, failure)

    assert failure.message == "it failed"
    assert failure.encoded_attributes.data == (left if stays else b"")


async def test_a_start_with_rubbish_ends(client: Client, tmp_path: Path) -> None:
    """It fails on one line, as one with any other payload that nobody here could have written."""
    async with working(client, sending(tmp_path / "sent")) as (holdfast, queue):
        run_id = f"run-{uuid4().hex}"
        await client.workflow_service.start_workflow_execution(
            StartWorkflowExecutionRequest(
                namespace=client.namespace,
                workflow_id=run_id,
                workflow_type=WorkflowType(name="AgentRun"),
                task_queue=TaskQueue(name=queue),
                input=Payloads(payloads=[RUBBISH]),
                request_id=uuid4().hex,
            )
        )
        with pytest.raises(HoldfastError, match="can't be read"):
            await holdfast.run(run_id).result()


class Strict(PayloadCodec):
    """Reads nothing but what it has written, and that only while it has its key."""

    has_key = True

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        sealed = (b"sealed " + payload.SerializeToString() for payload in payloads)
        return [Payload(data=data) for data in sealed]

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        if not self.has_key:
            raise LookupError("no key")
        return [Payload.FromString(self._open(payload.data)) for payload in payloads]

    def _open(self, data: bytes) -> bytes:
        if not data.startswith(b"sealed "):
            raise ArithmeticError("not sealed")
        return data.removeprefix(b"sealed ")


async def test_what_a_codec_refuses_is_read_by_nobody() -> None:
    """Not even where it would make sense without the codec; what stands beside it is read."""
    (sealed,) = await Strict().encode([PLAIN])

    read, refused = await TolerantCodec(Strict()).decode([sealed, PLAIN])

    assert json.loads(read.data) == {"text": "red"}
    assert refused == Payload(metadata={"encoding": b"binary/unreadable"})


async def test_a_codec_without_its_key_is_waited_for() -> None:
    """What it can't read for a moment isn't taken for rubbish: the task is tried again."""
    codec = Strict()
    (sealed,) = await codec.encode([PLAIN])
    codec.has_key = False

    with pytest.raises(LookupError):
        await TolerantCodec(codec, ()).decode([sealed])
    codec.has_key = True
    assert await TolerantCodec(codec).decode([sealed]) == [PLAIN]


class Waking(Strict):
    """Has its key from so many looks on."""

    def __init__(self, looks: int) -> None:
        self.looks = looks

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        self.looks -= 1
        self.has_key = self.looks < 0
        return await super().decode(payloads)


class Quoting(Strict):
    """Has its key from so many looks on; until then it quotes what it was given."""

    def __init__(self, looks: int) -> None:
        self.looks = looks

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        self.looks -= 1
        self.has_key = self.looks < 0
        if not self.has_key:
            raise LookupError(f"no key to seal {payloads[0].data}")
        return await super().encode(payloads)


async def test_a_codec_without_its_key_is_waited_for_where_it_writes() -> None:
    """A write whose result can't be sealed for a moment isn't unknown for that."""
    (sealed,) = await TolerantCodec(Quoting(2), (0, 0)).encode([PLAIN])
    (read,) = await TolerantCodec(Waking(1), (0,)).decode([sealed])

    assert read == PLAIN


async def test_what_a_codec_quotes_without_its_key_is_told_to_nobody() -> None:
    """The SDK writes what an encoder raises into history and the log, as it is."""
    with pytest.raises(HoldfastError) as raised:
        await TolerantCodec(Quoting(2), ()).encode([PLAIN])

    assert "can't write anything now" in str(raised.value)
    assert "red" not in "".join(format_exception(raised.value))


async def test_a_key_that_comes_back_is_used_at_once() -> None:
    """What could be read when the codec was tried is no rubbish for what was tried before."""
    (sealed,) = await Strict().encode([PLAIN])

    assert await TolerantCodec(Waking(2)).decode([sealed]) == [PLAIN]


async def test_what_unpacks_beyond_all_bounds_is_not_kept() -> None:
    """Signals of some kilobytes each would be gigabytes in a worker that reads their history."""
    bomb = Payload(metadata={"encoding": b"json/plain"}, data=b'"%s"' % (b"x" * 20_000_000))
    packed, plain = await Packed().encode([bomb, PLAIN])

    read = await TolerantCodec(Packed()).decode([packed, plain])

    unreadable = Payload(metadata={"encoding": b"binary/unreadable"})
    assert len(packed.data) < 50_000
    assert read == [unreadable, PLAIN]
    (sealed,) = await Strict().encode([bomb])
    assert await TolerantCodec(Strict()).decode([sealed, PLAIN]) == [unreadable, unreadable]


class Batched(Packed):
    """Packs what goes out together into one, as a codec may: whoever packs says how many it is."""

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        packed = zlib.compress(Payloads(payloads=payloads).SerializeToString())
        return [Payload(metadata={"encoding": b"binary/packed"}, data=packed)]

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        read: list[Payload] = []
        for payload in payloads:
            is_packed = payload.metadata.get("encoding") == b"binary/packed"
            inside = Payloads.FromString(zlib.decompress(payload.data)) if is_packed else None
            read += [payload] if inside is None else inside.payloads
        return read


@pytest.mark.parametrize("many", [0, 2, 500_000])
async def test_what_is_several_in_one_payload_wedges_no_run(
    client: Client, tmp_path: Path, many: int
) -> None:
    """A message is one value: no other number of them is read, and the run stays readable."""
    log = tmp_path / "sent"
    (batch,) = await Batched().encode([Payload()] * many)
    async with working(client, sending(log, Batched())) as (holdfast, queue):
        run = await holdfast.start("it", "go", queue=queue)
        request = await asked(run)
        await shout(client, run.id, "steer", batch)
        await run.approve(request.request_id, approver="zoe")
        result, status = await run.result(), await run.status()
        trace = read_trace(await run.history())

    assert (result.status, status.refused_total) == ("completed", 1)
    assert len(lines(log)) == 1
    assert trace.status == "completed"


async def test_no_more_is_read_of_one_payload_than_of_many() -> None:
    """Nor anything but one value where there is room for one, as in a result or a memo."""
    for many in (0, 2, 500_000):
        (batch,) = await Batched().encode([PLAIN] * many)
        read = await TolerantCodec(Batched()).decode([batch])

        assert len(read) <= 2
        assert take_only(read) == Payload(metadata={"encoding": b"binary/unreadable"})


async def test_what_is_somewhat_larger_than_ours_is_read() -> None:
    """Another release may have written more than this one would."""
    large = Payload(
        metadata={"encoding": b"json/plain"}, data=b'"%s"' % (b"x" * MAX_PAYLOAD_BYTES)
    )

    assert await TolerantCodec(Packed()).decode(await Packed().encode([large])) == [large]
