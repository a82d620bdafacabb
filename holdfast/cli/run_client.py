"""Talking to one run: whatever the server or the run refuses becomes one line."""

from collections.abc import Mapping
from datetime import timedelta
from typing import TypeVar

from pydantic import JsonValue, TypeAdapter
from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.errordetails.v1 import NamespaceNotFoundFailure
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import (
    Client,
    WorkflowExecutionDescription,
    WorkflowExecutionStatus,
    WorkflowHandle,
    WorkflowHistory,
    WorkflowQueryFailedError,
    WorkflowUpdateFailedError,
    WorkflowUpdateRPCTimeoutOrCancelledError,
)
from temporalio.common import WorkflowIDReusePolicy
from temporalio.service import RPCError, RPCStatusCode

from holdfast import histories
from holdfast.activities.runs import REPLAY_FAILED
from holdfast.cli.screen import command
from holdfast.contracts.approvals import (
    PendingPage,
    Request,
)
from holdfast.contracts.base import Inbound, JsonObject
from holdfast.contracts.errors import HoldfastError
from holdfast.contracts.run import WORKFLOW_TYPE, RunInput
from holdfast.contracts.signals import (
    ApprovalSignal,
    MessageOutcome,
)
from holdfast.run.summaries import summarise_run
from holdfast.workflows.run_context import SUMMARY

Answer = TypeVar("Answer")

_PENDING = TypeAdapter(PendingPage)

TASK_TIMEOUT = timedelta(seconds=3)
"""
How long Temporal waits for a worker to answer a workflow task before it asks another one. It is
how long a run stands still when its worker is killed; the usual 10 seconds would be felt.
"""

RPC_TIMEOUT = timedelta(seconds=3)
"""A worker that is there answers within milliseconds, unless it has to replay a long run."""

_NO_WORKER = {
    RPCStatusCode.CANCELLED,
    RPCStatusCode.DEADLINE_EXCEEDED,
    RPCStatusCode.FAILED_PRECONDITION,
}

QUERY_ATTEMPTS = 3

START_A_WORKER = "start one with 'holdfast dev APP' or 'holdfast worker APP'"


async def has_workers(client: Client, queue: str) -> bool:
    """Whether a worker asks for work on a task queue, or the server doesn't say."""
    request = DescribeTaskQueueRequest(
        namespace=client.namespace,
        task_queue=TaskQueue(name=queue),
        task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
    )
    try:
        return bool((await client.workflow_service.describe_task_queue(request)).pollers)
    except RPCError:
        return True


async def query_run(
    client: Client, run: str, query: str, type: TypeAdapter[Answer], *arguments: JsonObject
) -> Answer | None:
    """
    Ask a run what it knows. Null when no worker answers, or the run has only just begun.

    Raises HoldfastError when there is no such run.
    """
    handle = client.get_workflow_handle(run)
    for _ in range(QUERY_ATTEMPTS):
        try:
            answer: JsonValue = await handle.query(query, args=arguments, rpc_timeout=RPC_TIMEOUT)
        except WorkflowQueryFailedError as error:
            if REPLAY_FAILED not in str(error):
                return None
        except RPCError as error:
            if error.status in _NO_WORKER:
                return None
            raise _translate_error(error, client, run) from None
        else:
            return type.validate_python(answer)
    return None


async def find_pending(client: Client, run: str) -> tuple[Request, ...] | None:
    """Ask a run what waits for a person, page by page: whole requests, or null as in `ask`."""
    found: tuple[Request, ...] = ()
    offset: int | None = 0
    while offset is not None:
        page = await query_run(client, run, "pending", _PENDING, {"offset": offset})
        if page is None:
            return None
        found, offset = found + page.items, page.next_offset
    return found


async def require_pending(client: Client, run: str) -> tuple[Request, ...]:
    """Return what waits for a person; raises HoldfastError when nobody can say."""
    answer = await find_pending(client, run)
    if answer is None:
        raise HoldfastError(f"no worker answers for run {run!r}: {START_A_WORKER}")
    return answer


async def signal(client: Client, run: str, name: str, message: Inbound) -> None:
    """Send a signal; raises HoldfastError when there is no run that would take it."""
    await describe_open(client, run)
    try:
        await client.get_workflow_handle(run).signal(
            name, message.model_dump(mode="json", exclude_unset=True)
        )
    except RPCError as error:
        raise _translate_error(error, client, run) from None


async def decide(client: Client, run: str, message: ApprovalSignal) -> MessageOutcome:
    """Send the update `decide` and return what became of it."""
    await describe_open(client, run)
    handle = client.get_workflow_handle(run)
    try:
        return await handle.execute_update(  # pyright: ignore[reportUnknownMemberType] -- an overload of the SDK leaves a type open
            "decide",
            message.model_dump(mode="json", exclude_none=True),
            result_type=MessageOutcome,
            rpc_timeout=RPC_TIMEOUT * 3,
        )
    except WorkflowUpdateRPCTimeoutOrCancelledError:
        raise HoldfastError(
            f"no worker has taken the decision about run {run!r}, which may still take effect: "
            f"{START_A_WORKER}, then look at '{command('show', run)}'"
        ) from None
    except WorkflowUpdateFailedError as error:
        raise HoldfastError(f"run {run!r} took no decision: {error.cause}") from None
    except RPCError as error:
        raise _translate_error(error, client, run) from None


async def start(
    client: Client, brief: RunInput, run_id: str, queue: str
) -> WorkflowHandle[object, object]:
    """Start a run; raises WorkflowAlreadyStartedError where its id is taken."""
    again = f"{brief.retry_of.run_id} once more" if brief.retry_of else ""
    summary = summarise_run(brief.agent, brief.input or again)
    return await client.start_workflow(
        WORKFLOW_TYPE,
        # Limits that were not given must not be sent: those of the agent hold.
        brief.model_dump(mode="json", exclude_unset=True),
        id=run_id,
        task_queue=queue,
        task_timeout=TASK_TIMEOUT,
        # People look at a run, and decide about it, by its id: no second one may have it.
        id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
        static_summary=summary,
        memo={SUMMARY: summary},
    )


async def describe(client: Client, run: str) -> WorkflowExecutionDescription:
    """
    Return what the server knows of a run.

    Raises HoldfastError when there is no such run, or none that anybody can read: the server takes
    search attributes that are labelled as another type, and no worker begins a run with them.
    """
    try:
        description = await client.get_workflow_handle(run).describe()
    except ValueError as error:
        raise HoldfastError(
            f"run {run!r} was started with search attributes that can't be read ({error}), so no "
            "worker begins it or hears a cancellation; 'temporal workflow terminate' ends it"
        ) from None
    except RPCError as error:
        raise _translate_error(error, client, run) from None
    if description.workflow_type != WORKFLOW_TYPE:
        raise HoldfastError(f"{run!r} is no run of an agent but a {description.workflow_type!r}")
    return description


async def describe_open(client: Client, run: str) -> WorkflowExecutionDescription:
    """Return what the server knows of a run that goes on; raises HoldfastError when it is over."""
    description = await describe(client, run)
    if description.status is not WorkflowExecutionStatus.RUNNING:
        status = description.status.name.lower() if description.status else "closed"
        raise HoldfastError(f"run {run!r} is over ({_SPELLED.get(status, status)})")
    return description


async def history(
    client: Client, run: str, execution: str | None = None
) -> tuple[WorkflowHistory, ...]:
    """Return the history of a run, up to an execution; raises HoldfastError when there is none."""
    try:
        return await histories.fetch(client, run, execution)
    except RPCError as error:
        raise _translate_error(error, client, run) from None


_SPELLED: Mapping[str, str] = {"canceled": "cancelled"}


def _translate_error(error: RPCError, client: Client, run: str) -> HoldfastError | RPCError:
    details = error.grpc_status.details
    if error.status is not RPCStatusCode.NOT_FOUND or any(
        detail.Is(NamespaceNotFoundFailure.DESCRIPTOR) for detail in details
    ):
        return error
    return HoldfastError(
        f"no run {run!r} in namespace {client.namespace!r}; 'holdfast list' shows the runs"
    )
