"""What comes to a workflow beside what it takes: dropped before anybody counts or copies it."""

from collections.abc import MutableMapping, MutableSequence
from dataclasses import replace
from typing import TypeVar

from google.protobuf.message import Message
from temporalio.api.common.v1 import Payload
from temporalio.bridge.proto.workflow_activation import WorkflowActivation, WorkflowActivationJob
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


def detach(det: WorkflowInstanceDetails) -> WorkflowInstanceDetails:
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
