"""How executions stand, also in a status that the SDK lacks, and how the server lists them."""

from functools import cache

from temporalio.api.enums.v1 import WorkflowExecutionStatus as ServerStatus
from temporalio.client import Client, WorkflowExecutionAsyncIterator, WorkflowExecutionStatus

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
