"""Sessions that were closed without an archive: their old executions know how they were left."""

import asyncio
import secrets
from collections.abc import AsyncGenerator, Collection
from datetime import datetime
from typing import NamedTuple, Protocol

from temporalio.api.common.v1 import WorkflowExecution as NamedExecution
from temporalio.api.enums.v1 import EventType
from temporalio.api.workflow.v1 import WorkflowExecutionInfo
from temporalio.api.workflowservice.v1 import DescribeWorkflowExecutionRequest
from temporalio.client import (
    Client,
    WorkflowExecution,
    WorkflowExecutionStatus,
    WorkflowHistoryEventFilterType,
    WorkflowQueryFailedError,
)
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode

from holdfast.activities.callers import Execution
from holdfast.activities.runs import CARRYOVER_TIMEOUT, REPLAY_FAILED, find_last_digests
from holdfast.activities.statuses import (
    OVER,
    PAGE_SIZE,
    UnreadableHistory,
    is_open,
    list_executions,
    read_events,
)
from holdfast.contracts.base import JsonObject
from holdfast.contracts.sessions.archive import (
    NEVER_BEGAN,
    NOT_PROVEN,
    OPENED,
    ArchivedSession,
)
from holdfast.contracts.sessions.messages import SESSION_WORKFLOW_TYPE

MAX_FAILED_EXECUTIONS = 20
"""
So many that failed without having said by which opening are looked at for one that began.

Starts that are refused fail so, and anybody may have any number of them refused. What began says
it at once; all that did, and all that ended otherwise, are looked at.
"""

_NEVER_TAKEN = "before WorkflowTaskStarted"
"""What a server says of an execution that was over before any worker took it."""

_DONE_BY_OTHERS = frozenset(
    {
        EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED,
        EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED,
        EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED,
        EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ADMITTED,
        EventType.EVENT_TYPE_WORKFLOW_EXECUTION_OPTIONS_UPDATED,
        EventType.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED,
        EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED,
        EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED,
        EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED,
        EventType.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT,
        EventType.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED,
        EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED,
        EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED,
        EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT,
    }
)
"""Events of an execution that has done nothing, but ended."""

_MAX_DIGITS = 10

_MAX_REMEMBERED = 100_000
"""Executions that have left nothing; when there are more, it begins anew."""


class Opening(NamedTuple):
    """
    An execution of a session in a list of the server, when it began, and how it ended.

    It is of the time that the session was opened by this `number`; 0 where it doesn't say so.
    """

    run_id: str
    start_time: datetime
    status: WorkflowExecutionStatus | None
    number: int = 0


class EarlierSessions(Protocol):
    """Knows the executions that a session had before."""

    async def find(
        self, session_id: str, own: str, archived: ArchivedSession | None
    ) -> tuple[Execution, ...]:
        """
        Return those that know more than what was *archived*, the latest first.

        The asker's *own* isn't among them.
        """
        ...

    async def read(self, execution: Execution) -> ArchivedSession | None:
        """Return how one was left; null where it goes on, never began, or nobody has it."""
        ...


class TemporalEarlierSessions:
    """Executions of this namespace, as long as the server keeps them."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._never_began = set[str]()

    async def find(
        self, session_id: str, own: str, archived: ArchivedSession | None
    ) -> tuple[Execution, ...]:
        """
        Return those that know more than what was *archived*, the latest first.

        Those that never began are asked once: anybody may start any number of them.
        """
        listed = await self._list_openings(session_id, {own, *self._never_began})
        asked = (one for one in listed if knows_more(one, archived))
        latest = sorted(asked, key=order_opening, reverse=True)
        refused = [one.run_id for one in latest if _may_be_refusal(one)]
        left_out = {*refused[MAX_FAILED_EXECUTIONS:]}
        return tuple(
            Execution(session_id, one.run_id) for one in latest if one.run_id not in left_out
        )

    async def _list_openings(self, session_id: str, known: Collection[str]) -> list[Opening]:
        """List executions but for those that are *known*; a page is read at once, and kept."""
        query = f"WorkflowId = '{session_id}' AND WorkflowType = '{SESSION_WORKFLOW_TYPE}'"
        openings, page = list[Opening](), list[WorkflowExecution]()
        async for one in list_executions(self._client, query):
            if one.run_id not in known:
                page.append(one)
            if len(page) == PAGE_SIZE:  # a memo may have 2 MB
                openings += await asyncio.gather(*map(self._read_opening, page))
                page.clear()
        return [*openings, *await asyncio.gather(*map(self._read_opening, page))]

    async def _read_opening(self, one: WorkflowExecution) -> Opening:
        """Read how often its session was opened by then; 0 where it doesn't say so."""
        said = one.raw_info.memo.fields.get(OPENED)
        codec = self._client.data_converter.payload_codec
        read = [] if said is None else [said] if codec is None else await codec.decode([said])
        # Its starter may have written anything, and a codec may make several of it.
        plain = len(read) == 1 and read[0].data.isdigit() and len(read[0].data) < _MAX_DIGITS
        return Opening(one.run_id, one.start_time, one.status, int(read[0].data) if plain else 0)

    async def _find_status(self, execution: Execution) -> int:
        """Return how it stands, as the server itself says: lists are late."""
        try:
            known = await describe_execution(self._client, execution)
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise
            return WorkflowExecutionStatus.RUNNING  # nobody has it
        return known.status

    async def read(self, execution: Execution) -> ArchivedSession | None:
        """
        Return how one was left; raises ApplicationError where that can't be told yet.

        One that was continued was left by who came behind it, unless no worker has taken that.
        """
        status = await self._find_status(execution)
        if status == WorkflowExecutionStatus.CONTINUED_AS_NEW:
            following = await self._find_following(execution)
            later = await self.read(following) if following is not None else None
            return later or await self._ask(execution)
        return await self._ask(execution) if status in OVER else None

    async def _find_following(self, execution: Execution) -> Execution | None:
        """Return the execution in which one was continued."""
        handle = self._client.get_workflow_handle(execution.run_id, run_id=execution.id)
        closing = WorkflowHistoryEventFilterType.CLOSE_EVENT
        async for event in handle.fetch_history_events(event_filter_type=closing):
            end = event.workflow_execution_continued_as_new_event_attributes
            return Execution(execution.run_id, end.new_execution_run_id)
        return None

    async def _ask(self, execution: Execution) -> ArchivedSession | None:
        """
        Return how one was left; null where it left nothing, as it says itself.

        Whatever else keeps it from being asked, as a codec that has no keys for a moment, may be
        otherwise in another: without its past the session would do again what was done.
        """
        withheld = False
        async for question in self._list_questions(execution):
            try:
                return await self._client.get_workflow_handle(
                    execution.run_id, run_id=execution.id
                ).query(
                    "archive",
                    question,
                    result_type=ArchivedSession,
                    rpc_timeout=CARRYOVER_TIMEOUT,
                )
            except WorkflowQueryFailedError as error:
                if NEVER_BEGAN in str(error):
                    self._remember_nothing(execution)
                    return None
                if REPLAY_FAILED in str(error):
                    raise ApplicationError(f"can't be asked yet: {error}") from None
                withheld |= NOT_PROVEN in str(error) or bool(question.get("digest"))
            except RPCError as error:
                if await self._left_nothing(execution, error):
                    return None
                raise ApplicationError(f"nobody says how it was left: {error}") from None
        if not withheld:
            if await has_begun(self._client, execution):
                raise ApplicationError("its latest execution can't be asked yet")
            self._remember_nothing(execution)
            return None
        # A worker of an earlier release doesn't know the last question: another may answer.
        raise ApplicationError(
            f"session {execution.run_id!r} withholds what its models said", type="InvalidInput"
        )

    async def _list_questions(self, execution: Execution) -> AsyncGenerator[JsonObject]:
        """
        Yield no proof first, and then what only a reader of its history has.

        At last what leaves out what models said: where other agents do the work, or none was asked
        yet, nothing proves a reader.
        """
        yield {"digest": ""}
        for digest in await find_last_digests(self._client, execution):
            yield {"digest": digest}
        yield {"digest": "", "beginning": secrets.token_hex(32)}

    async def _left_nothing(self, execution: Execution, error: RPCError) -> bool:
        """Whether an execution that can't be asked never began, or isn't there any more."""
        if error.status is RPCStatusCode.NOT_FOUND:
            return True
        if _NEVER_TAKEN in str(error):
            self._remember_nothing(execution)
            return True
        return not await has_begun(self._client, execution)

    def _remember_nothing(self, execution: Execution) -> None:
        if len(self._never_began) >= _MAX_REMEMBERED:
            self._never_began.clear()
        self._never_began.add(execution.id)


def order_opening(one: Opening) -> tuple[bool, int, datetime]:
    """
    Say which of two executions is the later one, whatever clock the server went by meanwhile.

    One that goes on, as a late list has it, may not have said yet by which opening. What has ended
    without saying so never began.
    """
    return _may_say_later(one), one.number, one.start_time


def knows_more(one: Opening, archived: ArchivedSession | None) -> bool:
    """
    Whether an execution may know more than what was archived of its session.

    None of an earlier opening does, nor one that began before that, though a late list may lack
    the one that was archived; and that one only where it went on, for a message that came
    meanwhile, and was ended from outside.
    """
    if archived is None:
        return True
    if one.run_id == archived.execution:
        return one.status is not WorkflowExecutionStatus.COMPLETED
    known = archived.state.session.opened if archived.state.session else 0
    if not _may_say_later(one) and one.number != known:
        return one.number > known
    return one.start_time > archived.closed_at


def _may_be_refusal(one: Opening) -> bool:
    return not one.number and one.status is WorkflowExecutionStatus.FAILED


def _may_say_later(one: Opening) -> bool:
    return not one.number and is_open(one.status)


async def describe_execution(client: Client, execution: Execution) -> WorkflowExecutionInfo:
    """
    Return what the server says of an execution; without an id it is the latest of its name.

    The SDK would read its search attributes too, which may be labelled falsely.
    """
    named = NamedExecution(workflow_id=execution.run_id, run_id=execution.id)
    request = DescribeWorkflowExecutionRequest(namespace=client.namespace, execution=named)
    found = await client.workflow_service.describe_workflow_execution(request)
    return found.workflow_execution_info


async def has_begun(client: Client, execution: Execution) -> bool:
    """
    Whether it has ever done anything, or goes on from what had: any other has left nothing.

    What no worker took has not, nor what had an input that nobody can read: that can't even say
    so. A session has its agent opened before all else.
    """
    if not await can_begin(client, execution):
        return False
    goes_on = False
    try:
        async for event in read_events(client, execution.run_id, execution.id):
            started = event.workflow_execution_started_event_attributes
            goes_on = goes_on or bool(started.continued_execution_run_id)
            taken = event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
            if event.event_type not in _DONE_BY_OTHERS or (goes_on and taken):
                return True
    except UnreadableHistory:
        return True  # it may have: who can read how it started may have taken it
    return False


async def can_begin(client: Client, execution: Execution) -> bool:
    """Whether anybody can read how it started: if not no worker ever takes it."""
    try:
        await anext(read_events(client, execution.run_id, execution.id, first=1))
    except UnreadableHistory:
        return False
    return True
