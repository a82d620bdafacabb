"""Asking runs, and what a server says when it can't do that, in words that say what to do."""

from collections.abc import Mapping
from datetime import timedelta
from typing import TypeVar

from pydantic import BaseModel
from temporalio.api.errordetails.v1 import NamespaceNotFoundFailure
from temporalio.client import (
    Client,
    WorkflowExecutionDescription,
    WorkflowQueryFailedError,
    WorkflowQueryRejectedError,
)
from temporalio.common import RawValue
from temporalio.service import RPCError, RPCStatusCode

from holdfast.activities.runs import REPLAY_FAILED
from holdfast.contracts.base import JsonObject
from holdfast.contracts.errors import HoldfastError, NoWorker
from holdfast.contracts.sessions.messages import SESSION_WORKFLOW_TYPE
from holdfast.trace.payloads import decode

Answer = TypeVar("Answer", bound=BaseModel)

START_A_WORKER = "start one with 'holdfast dev APP' or 'holdfast worker APP'"

RPC_TIMEOUT = timedelta(seconds=3)
"""A worker that is there answers within milliseconds, unless it has to replay a long run."""

QUERY_ATTEMPTS = 3

_MOST_UPDATES = "total number of distinct updates"
"""What a server says of an execution that has had as many (2,000) as it takes."""

_SPELLED: Mapping[str, str] = {"canceled": "cancelled"}

_NO_ANSWER = {
    RPCStatusCode.CANCELLED,
    RPCStatusCode.DEADLINE_EXCEEDED,
    RPCStatusCode.FAILED_PRECONDITION,
}


def is_without_worker(error: RPCError) -> bool:
    """Whether the server found nobody who works at a run, within the time that one has."""
    return error.status in _NO_ANSWER


def no_worker(run: str) -> NoWorker:
    """Say that nobody who works at a run answers."""
    return NoWorker(f"no worker answers for run {run!r}: {START_A_WORKER}")


def describe_pause(run: str) -> str:
    """Say that Temporal keeps a run from all workers, and how it goes on."""
    return f"run {run!r} is paused in Temporal, where 'temporal workflow unpause' lets it go on"


def unreadable(run: str) -> NoWorker:
    """Say that whoever answers for a run is no worker of ours."""
    return NoWorker(f"what is answered for run {run!r} is none of our answers: {START_A_WORKER}")


def describe_end(found: WorkflowExecutionDescription) -> str:
    """Say that a run, or a session, is over, and how."""
    status = found.status.name.lower() if found.status else "closed"
    over = f"{found.id!r} is over ({_SPELLED.get(status, status)})"
    if found.workflow_type == SESSION_WORKFLOW_TYPE:
        return f"session {over}: a message opens it again"
    return f"run {over}"


def read_answer(run: str, said: RawValue, type: type[Answer]) -> Answer:
    """
    Read what somebody says for a run: anybody may, on a queue of their own.

    Raises NoWorker for what none of our workers would say.
    """
    answer = decode([said.payload], type)
    if answer is None:
        raise unreadable(run)
    return answer


async def ask(
    client: Client,
    run: tuple[str, str | None],
    name: str,
    type: type[Answer],
    *arguments: JsonObject,
) -> Answer:
    """
    Ask a run by one of its queries, in an execution or its latest.

    Raises NoWorker where nobody of ours answers, HoldfastError where there is no such run.
    """
    run_id, execution = run
    handle = client.get_workflow_handle(run_id, run_id=execution)
    for _ in range(QUERY_ATTEMPTS):
        try:
            answer = await handle.query(
                name, args=arguments, result_type=RawValue, rpc_timeout=RPC_TIMEOUT
            )
        except WorkflowQueryFailedError as error:
            if REPLAY_FAILED not in str(error):
                raise NoWorker(f"run {run_id!r} can't be asked yet: {error}") from None
        except WorkflowQueryRejectedError:
            raise NoWorker(describe_pause(run_id)) from None
        except RPCError as error:
            if is_without_worker(error):
                break
            raise translate_error(error, client, run_id) from None
        else:
            return read_answer(run_id, answer, type)
    raise no_worker(run_id)


def translate_error(error: RPCError, client: Client, run: str) -> HoldfastError | RPCError:
    """Say that there is no such run, or no room for one more update, if the server says so."""
    if _MOST_UPDATES in error.message:
        return HoldfastError(
            f"run {run!r} takes no more updates while its parts work, whoever sent so many: "
            "decide at the run that asks ('holdfast pending' names it), or send the signal "
            "'approval'"
        )
    details = error.grpc_status.details
    if error.status is not RPCStatusCode.NOT_FOUND or any(
        detail.Is(NamespaceNotFoundFailure.DESCRIPTOR) for detail in details
    ):
        return error
    return HoldfastError(
        f"no run {run!r} in namespace {client.namespace!r}; 'holdfast list' shows the runs"
    )
