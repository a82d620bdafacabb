"""A codec that asks somebody for each payload, and what strangers give it to read."""

import asyncio
import dataclasses
from collections.abc import Sequence
from uuid import uuid4

import pytest
from google.protobuf.message import Message
from temporalio.api.common.v1 import Payload
from temporalio.bridge import worker as bridge
from temporalio.bridge.proto.workflow_activation import WorkflowActivation
from temporalio.bridge.proto.workflow_completion import WorkflowActivationCompletion
from temporalio.client import Client

from holdfast.activations import MAX_PLACES
from holdfast.client import Holdfast
from holdfast.connection import with_codec
from holdfast.workflows.payloads import InlineDataConverter, TolerantCodec, data_converter
from tests.attacks.test_codecs import PLAIN, RUBBISH, Strict

UNREADABLE = Payload(metadata={"encoding": b"binary/unreadable"})

ENVELOPE = Payload(
    metadata={
        "encoding": b"binary/protobuf",
        "messageType": b"nobody.knows.It",
        "__temporal_system_payload": b"true",
    }
)
"""What says that it is a request of Nexus, of the server itself."""


class Asking(Strict):
    """Waits for somebody each time, and counts how often, and for how many at once."""

    def __init__(self) -> None:
        self.asked, self.under_way, self.most = 0, 0, 0

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        await self._ask()
        return await super().encode(payloads)

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        await self._ask()
        return await super().decode(payloads)

    async def _ask(self) -> None:
        self.asked += 1
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        for _ in range(3):
            await asyncio.sleep(0)
        self.under_way -= 1


def converting(codec: Strict) -> InlineDataConverter:
    return dataclasses.replace(data_converter, payload_codec=TolerantCodec(codec, ()))


async def read(codec: Strict, act: WorkflowActivation) -> None:
    """Have a worker read an activation."""
    await bridge.decode_activation(
        act, converting(codec), decode_headers=False, storage_concurrency_limit=1
    )


async def write(codec: Strict, done: WorkflowActivationCompletion) -> None:
    """Have a worker write what came of one."""
    await bridge.encode_completion(
        done, converting(codec), encode_headers=False, storage_concurrency_limit=1
    )


def signals(payload: Payload, number: int) -> WorkflowActivation:
    act = WorkflowActivation()
    for _ in range(number):
        act.jobs.add().signal_workflow.input.append(payload)
    return act


def calls(number: int) -> WorkflowActivationCompletion:
    done = WorkflowActivationCompletion()
    for _ in range(number):
        done.successful.commands.add().schedule_activity.arguments.append(PLAIN)
    return done


async def test_payloads_of_a_task_are_read_and_written_beside_each_other() -> None:
    """One after the other, 400 signals would take longer than a workflow task may."""
    (sealed,) = await Strict().encode([PLAIN])
    reading, writing = Asking(), Asking()
    act, done = signals(sealed, 400), calls(400)

    await read(reading, act)
    await write(writing, done)

    assert (reading.asked, reading.most) == (writing.asked, writing.most) == (400, MAX_PLACES)
    assert all(list(job.signal_workflow.input) == [PLAIN] for job in act.jobs)
    commands = done.successful.commands
    assert all(list(one.schedule_activity.arguments) == [sealed] for one in commands)


async def test_rubbish_is_looked_at_twice_and_together() -> None:
    """Whether the codec has its keys is asked for all at once, not for each."""
    codec, act = Asking(), signals(RUBBISH, 400)

    await read(codec, act)

    # Of each hundred that are read at once the first asks, and then the others: by two calls each.
    looks = 2 * 400 // MAX_PLACES
    assert (codec.asked, codec.most) == (2 * 400 + 2 * looks, MAX_PLACES)
    assert all(list(job.signal_workflow.input) == [UNREADABLE] for job in act.jobs)


async def test_what_could_not_be_read_since_a_look_began_waits_for_the_next() -> None:
    """A key that was there when somebody looked may have gone since."""
    began, goes_on = asyncio.Event(), asyncio.Event()
    looks = list[bool]()

    class Held(Strict):
        """Is asked for keys, and answers when it may."""

        async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
            looks.append(goes_on.is_set())
            began.set()
            await goes_on.wait()
            return await super().encode(payloads)

    codec = TolerantCodec(Held())
    first = asyncio.create_task(codec.decode([RUBBISH]))
    await began.wait()
    others = [asyncio.create_task(codec.decode([RUBBISH])) for _ in range(3)]
    await asyncio.sleep(0)
    goes_on.set()

    assert await asyncio.gather(first, *others) == [[UNREADABLE]] * 4
    assert looks == [False, True]


@pytest.mark.parametrize("place", ["result", "failure"])
async def test_what_says_that_it_is_the_servers_own_wedges_no_run(place: str) -> None:
    """The SDK would open it, and fail its workflow task for ever: it is read as all else is."""
    act = WorkflowActivation()
    came = act.jobs.add().resolve_activity.result
    if place == "result":
        came.completed.result.CopyFrom(ENVELOPE)
    else:
        came.failed.failure.encoded_attributes.CopyFrom(ENVELOPE)

    await read(Strict(), act)

    found: Message = (
        came.completed.result if place == "result" else came.failed.failure.encoded_attributes
    )
    assert found == UNREADABLE


class Meeting(Strict):
    """Reads nothing before three ask for it at once."""

    def __init__(self) -> None:
        self.asking, self.are_three = 0, asyncio.Event()

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        self.asking += 1
        if self.asking >= 3:
            self.are_three.set()
        await self.are_three.wait()
        return await super().decode(payloads)


async def test_runs_that_nobody_begins_are_read_beside_each_other(client: Client) -> None:
    """Whoever starts a thousand has who lists the runs of an agent or a tenant read them all."""
    mark = f"never-{uuid4().hex[:8]}"
    holdfast = Holdfast(with_codec(client, Strict()))
    runs = [await holdfast.start(mark, "go", queue=mark) for _ in range(3)]
    while len(await holdfast.runs(agent=mark)) < 3:  # noqa: ASYNC110 -- it is elsewhere
        await asyncio.sleep(0.02)

    async with asyncio.timeout(30):
        found = await Holdfast(with_codec(client, Meeting())).runs(agent=mark)

    for run in runs:
        await client.get_workflow_handle(run.id).terminate()
    assert {one.run_id for one in found} == {run.id for run in runs}
