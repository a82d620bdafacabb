"""What comes to a workflow: read, and rid of what it doesn't take before anybody counts that."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping, MutableSequence, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from google.protobuf.message import Message
from temporalio.api.common.v1 import Payload
from temporalio.bridge._visitor import PayloadVisitor
from temporalio.bridge._visitor_functions import PayloadSequence, VisitorFunctions
from temporalio.bridge.proto.workflow_activation import WorkflowActivation, WorkflowActivationJob
from temporalio.converter._extstore import StorageOperationMetrics

from holdfast.workflows.payloads import InlineDataConverter, TolerantCodec, take_only

if TYPE_CHECKING:  # who reads what a signal was needs no worker
    from temporalio.worker import WorkflowInstanceDetails

AnyMessage = TypeVar("AnyMessage", bound=Message)

MAX_ARGUMENTS = 8
"""Ours take one, and eight are refused as thousands; other workflows on a worker may take some."""

MAX_FIELDS = 1_000
"""More headers than interceptors of any client write, and more fields than any memo has."""

MAX_BESIDE_BYTES = 262_144
"""
Bytes of headers, of a memo, of what an earlier run is said to have left: nothing of ours.

A server takes up to 4 MB of that with a start, and a worker would keep them as long as the run.
"""


def drop_excess(activation: WorkflowActivation) -> None:
    """
    Leave of arguments no more than it takes to refuse them, and of a flood of headers nothing.

    The server bounds a message by its bytes, and an empty payload has two of them: the SDK would
    make half a million objects of one signal, in a workflow task that is tried for ever.
    """
    for job in activation.jobs:
        _drop_excess(job)


def drop_excess_of_start(activation: WorkflowActivation) -> None:
    """Do so where a workflow starts: the SDK (1.35) copies its headers and memo, on the loop."""
    for job in activation.jobs:
        if job.HasField("initialize_workflow"):
            _drop_excess(job)
            break


def copy_of(message: AnyMessage) -> AnyMessage:
    """Return a message by itself: whoever keeps a part of one keeps all of it, dropped or not."""
    copied = type(message)()
    copied.CopyFrom(message)
    return copied


def detach(det: "WorkflowInstanceDetails") -> "WorkflowInstanceDetails":
    """Return what a workflow knows of its start without the message that brought it."""
    headers, memo = (
        {name: copy_of(payload) for name, payload in fields.items()}
        for fields in (det.info.headers, det.info.raw_memo)
    )
    return replace(
        det,
        info=replace(det.info, headers=headers, raw_memo=memo),
        last_completion_result=copy_of(det.last_completion_result),
        last_failure=None if det.last_failure is None else copy_of(det.last_failure),
    )


def _drop_excess(job: WorkflowActivationJob) -> None:
    match job.WhichOneof("variant"):
        case "initialize_workflow":
            started = job.initialize_workflow
            _cut(started.arguments, started.headers)
            _clear_many(started.memo.fields)
            if started.last_completion_result.ByteSize() > MAX_BESIDE_BYTES:
                started.ClearField("last_completion_result")
            if started.continued_failure.ByteSize() > MAX_BESIDE_BYTES:
                started.ClearField("continued_failure")
        case "signal_workflow":
            _cut(job.signal_workflow.input, job.signal_workflow.headers)
        case "do_update":
            _cut(job.do_update.input, job.do_update.headers)
        case "query_workflow":
            _cut(job.query_workflow.arguments, job.query_workflow.headers)
        case _:
            pass


def _cut(arguments: MutableSequence[Payload], headers: MutableMapping[str, Payload]) -> None:
    if len(arguments) > MAX_ARGUMENTS:
        del arguments[MAX_ARGUMENTS:]
    _clear_many(headers)


def _clear_many(fields: MutableMapping[str, Payload]) -> None:
    if (
        len(fields) > MAX_FIELDS
        or sum(payload.ByteSize() for payload in fields.values()) > MAX_BESIDE_BYTES
    ):
        fields.clear()


Visit: TypeAlias = Callable[..., Awaitable[StorageOperationMetrics]]
"""Has a converter change the payloads of an activation, or those of its completion."""


def unless_left(visit: Visit) -> Visit:
    """
    Return what visits payloads once, and none for a converter that leaves all as they are.

    The SDK (1.35) goes through each activation three times, and so through what comes of it: for
    a codec, for an external storage, and for what names one. That is eighteen times a step, a
    tenth of its CPU, and a worker can't be told that it has neither. For a codec it does so one
    payload after the other: signals of strangers would take longer than a workflow task may.
    """

    async def visit_or_leave(
        message: Message, converter: object, **options: object
    ) -> StorageOperationMetrics:
        ours = getattr(converter, "_ca_context_free_dc", converter)
        is_left = isinstance(ours, InlineDataConverter) and ours.leaves_payloads
        is_read = isinstance(message, WorkflowActivation)
        if is_read:
            (drop_excess_of_start if is_left else drop_excess)(message)
        if is_left:
            return StorageOperationMetrics()
        if isinstance(ours, InlineDataConverter) and (codec := ours.tolerant_codec):
            has_headers = options.get("decode_headers") or options.get("encode_headers")
            places = await _find_payloads(message, skip_headers=not has_headers)
            await _change(places, codec, is_read=is_read)
            return StorageOperationMetrics()
        return await visit(message, converter, **options)

    return visit_or_leave


MAX_PLACES = 100
"""Places of a message whose payloads a codec is shown at once: it may ask somebody for each."""


class _Places(VisitorFunctions):
    """Notes where a message has payloads."""

    def __init__(self) -> None:
        self.found = list[Payload | PayloadSequence]()

    async def visit_payload(self, payload: Payload) -> None:
        self.found.append(payload)

    async def visit_payloads(self, payloads: PayloadSequence) -> None:
        if payloads:
            self.found.append(payloads)


class _Visitor(PayloadVisitor):
    """
    Takes each payload for what it is.

    The SDK's opens one that says that it holds a request of Nexus, and fails the workflow task,
    for ever, of who is sent such a result by somebody that made it up.
    """

    async def _visit_temporal_api_common_v1_Payload(  # noqa: N802 -- as the library has it
        self, fs: VisitorFunctions, payload: Payload
    ) -> None:
        await fs.visit_payload(payload)


async def _find_payloads(
    message: Message, *, skip_headers: bool
) -> Sequence[Payload | PayloadSequence]:
    places = _Places()
    visitor = _Visitor(skip_search_attributes=True, skip_headers=skip_headers)
    await visitor.visit(places, message)
    return places.found


async def _change(
    places: Sequence[Payload | PayloadSequence], codec: TolerantCodec, *, is_read: bool
) -> None:
    """Put in the place of payloads what a codec makes of them."""
    change = codec.decode if is_read else codec.encode

    async def change_one(place: Payload | PayloadSequence) -> None:
        if isinstance(place, Payload):
            changed = await change([place])
            place.CopyFrom(take_only(changed) if is_read else changed[0])
            return
        changed = await change(list(place))
        del place[:]
        place.extend(changed)

    for begin in range(0, len(places), MAX_PLACES):
        await asyncio.gather(*map(change_one, places[begin : begin + MAX_PLACES]))
