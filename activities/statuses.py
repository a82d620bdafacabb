"""
How executions stand, also in a status that the SDK lacks, and how the server lists them.

And how what happened in one is read, where the SDK would ask for ten seconds in vain.
"""

from collections.abc import AsyncGenerator
from functools import cache

from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import HistoryEventFilterType
from temporalio.api.enums.v1 import WorkflowExecutionStatus as ServerStatus
from temporalio.api.history.v1 import HistoryEvent
from temporalio.api.workflowservice.v1 import (
    GetWorkflowExecutionHistoryRequest,
    GetWorkflowExecutionHistoryResponse,
)
from temporalio.client import Client, WorkflowExecutionAsyncIterator, WorkflowExecutionStatus
from temporalio.service import RPCError

from holdfast.contracts.errors import HoldfastError

_PREFIX = "WORKFLOW_EXECUTION_STATUS_"

OVER = frozenset(
    {
        WorkflowExecutionStatus.COMPLETED,
        WorkflowExecutionStatus.FAILED,
        WorkflowExecutionStatus.CANCELED,
        WorkflowExecutionStatus.TERMINATED,
        WorkflowExecutionStatus.TIMED_OUT,
    }
)
"""Nothing follows these."""

_OVER_NAMES = "'Completed', 'Failed', 'Canceled', 'Terminated', 'TimedOut'"

IS_OVER = f"ExecutionStatus IN ({_OVER_NAMES})"
"""Asks the server for executions behind which there is none."""

IS_OPEN = f"ExecutionStatus NOT IN ({_OVER_NAMES}, 'ContinuedAsNew')"
"""Asks for those that go on; no server is asked by a status that it may not have, as 'Paused'."""


def can_be_sought(value: str) -> bool:
    """Whether each server finds a text; with quotes, backslashes or line ends some don't."""
    return value.isprintable() and {*value}.isdisjoint("'\"\\")


@cache
def _add_status(value: object) -> WorkflowExecutionStatus | None:
    """
    Return a status of the server's that the SDK lacks, by the server's name if that is known.

    The SDK would raise ValueError for a whole page of a list that has one such execution, and for
    each description and query of it. This is what its own enumeration asks where it has no such
    number.
    """
    if not isinstance(value, int):
        return None
    names = (name for name, number in ServerStatus.items() if number == value)
    added = int.__new__(WorkflowExecutionStatus, value)
    added._value_ = value
    added._name_ = next(names, f"STATUS_{value}").removeprefix(_PREFIX)
    return added


WorkflowExecutionStatus._missing_ = _add_status

PAGE_SIZE = 50
"""
Executions that are listed at once: whoever starts one gives it a memo of up to 2 MB.

The SDK takes no more than 128 MB, and asks for a thousand unless it is told otherwise: by a few
memos its list would fail for everybody.
"""

PAUSED = WorkflowExecutionStatus(ServerStatus.WORKFLOW_EXECUTION_STATUS_PAUSED)
"""By 'temporal workflow pause': it hears signals when it goes on, and answers nothing before."""


def is_open(status: WorkflowExecutionStatus | None) -> bool:
    """Whether an execution goes on: one that is paused does, too."""
    return status not in {*OVER, WorkflowExecutionStatus.CONTINUED_AS_NEW, None}


def list_executions(client: Client, query: str) -> WorkflowExecutionAsyncIterator:
    """Have the server list executions, in pages that can be read whatever memos they have."""
    return client.list_workflows(query, page_size=PAGE_SIZE)


_TOO_DEEP = "recursion limit reached"
"""What the SDK says of an event that has more in each other than it reads, as 97 causes are."""


class UnreadableHistory(HoldfastError):
    """An execution has an event that no client reads, and no worker: they never will."""


async def read_events(
    client: Client, run_id: str, execution: str = "", *, first: int = 0
) -> AsyncGenerator[HistoryEvent]:
    """
    Yield what happened in an execution, or in the latest; of the *first* page so many events.

    Raises RPCError, and UnreadableHistory at once where the SDK would ask again and again.
    """
    request = GetWorkflowExecutionHistoryRequest(
        namespace=client.namespace,
        execution=WorkflowExecution(workflow_id=run_id, run_id=execution),
        maximum_page_size=first,
    )
    while True:
        page = await _read_page(client, request)
        for event in page.history.events:
            yield event
        if not page.next_page_token:
            return
        request.next_page_token, request.maximum_page_size = page.next_page_token, 0


async def read_end(client: Client, run_id: str, execution: str) -> HistoryEvent:
    """
    Return the event with which an execution that is over ended, whatever began behind it.

    Raises RPCError, and UnreadableHistory at once where the SDK would ask again and again.
    """
    request = GetWorkflowExecutionHistoryRequest(
        namespace=client.namespace,
        execution=WorkflowExecution(workflow_id=run_id, run_id=execution),
        history_event_filter_type=HistoryEventFilterType.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT,
    )
    events = (await _read_page(client, request)).history.events
    if not events:
        raise UnreadableHistory(f"run {run_id!r} isn't over, as the server says by now")
    return events[-1]


async def _read_page(
    client: Client, request: GetWorkflowExecutionHistoryRequest
) -> GetWorkflowExecutionHistoryResponse:
    ask = client.workflow_service.get_workflow_execution_history
    try:
        return await ask(request)
    except RPCError as error:
        if _TOO_DEEP in error.message:
            raise UnreadableHistory(
                f"run {request.execution.workflow_id!r} has an event that nobody can read: it has "
                "more causes in each other than any client takes"
            ) from None
    return await ask(request, retry=True)
