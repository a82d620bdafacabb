"""What comes to a workflow beside what it takes: dropped before anybody counts or copies it."""

from collections.abc import MutableMapping, MutableSequence

from temporalio.api.common.v1 import Payload
from temporalio.bridge.proto.workflow_activation import WorkflowActivation, WorkflowActivationJob

MAX_ARGUMENTS = 8
"""Ours take one, and eight are refused as thousands; other workflows on a worker may take some."""

MAX_FIELDS = 1_000
"""More headers than interceptors of any client write, and more fields than any memo has."""


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


def _drop_excess(job: WorkflowActivationJob) -> None:
    match job.WhichOneof("variant"):
        case "initialize_workflow":
            started = job.initialize_workflow
            _cut(started.arguments, started.headers)
            _clear_many(started.memo.fields)
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
    if len(fields) > MAX_FIELDS:
        fields.clear()
