"""Asking runs what they know, through Temporal."""

import secrets
from collections.abc import AsyncGenerator, Mapping
from datetime import datetime, timedelta

from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import EventType, IndexedValueType, TaskQueueType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.api.operatorservice.v1 import ListSearchAttributesRequest
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import (
    DescribeTaskQueueRequest,
    GetWorkflowExecutionHistoryReverseRequest,
)
from temporalio.client import (
    Client,
    WorkflowExecutionDescription,
    WorkflowExecutionStatus,
    WorkflowHandle,
    WorkflowQueryFailedError,
    WorkflowQueryRejectedError,
)
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode

from holdfast.activities.callers import Execution, build_start_refusal, find_calling_execution
from holdfast.activities.statuses import UnreadableHistory, is_open, read_events
from holdfast.contracts.approvals import PendingPage
from holdfast.contracts.control import RetryOf
from holdfast.contracts.delegation.carryover import Carryover
from holdfast.contracts.model import ModelCall, Prefix
from holdfast.contracts.run import WORKFLOW_TYPE, StatusReport
from holdfast.contracts.sessions.archive import NEVER_BEGAN
from holdfast.contracts.state.late_calls import LateCall, Whole
from holdfast.contracts.state.run import RunState
from holdfast.contracts.transcript import TranscriptPage
from holdfast.event_log import log
from holdfast.guardrails.detectors import resource_claims

_KEYWORD = IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD
SEARCH_ATTRIBUTES = {
    "AgentName": _KEYWORD,
    "AgentTenant": _KEYWORD,
    "AgentStatus": _KEYWORD,
    "AgentSession": _KEYWORD,
    "AgentPending": IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD_LIST,
}

RESOURCE_SEARCH_ATTRIBUTES = {
    resource_claims.ATTRIBUTE: IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD_LIST
}
"""Its own: what finds runs that are at the same resource can be missing without the rest."""

_NEVER_TOLD = frozenset({RPCStatusCode.UNIMPLEMENTED, RPCStatusCode.PERMISSION_DENIED})
"""What a server answers that doesn't say which search attributes it knows."""

QUERY_TIMEOUT = timedelta(seconds=10)
"""So long a run may take to say what it waits for."""

_UNANSWERED = (RPCError, WorkflowQueryRejectedError)
"""How a query ends that no worker answers, for want of one or because the run is paused."""

CARRYOVER_TIMEOUT = timedelta(seconds=30)
"""So long a worker may take to build a run anew that is over."""

REPLAY_FAILED = "[TMPRL11"
"""
What the SDK says where it couldn't replay a run for a query, and nothing of the run itself:
another moment it can. A worker that is busy takes too long (TMPRL1101), and an execution that ends
while it is asked is taken for another workflow (TMPRL1100).
"""


class TemporalRuns:
    """Runs of this namespace, asked by their own activities; and what the server knows of all."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._known: dict[str, IndexedValueType.ValueType] | None = None

    async def prefix(self) -> Prefix:
        """Return instructions and tool schemas of the run that asks."""
        return await self._find_calling_run().query("prefix", result_type=Prefix)

    async def transcript_page(self, offset: int, limit: int, digest: str) -> TranscriptPage:
        """Return a part of the transcript of the run that asks, up to the place of a digest."""
        page = {"offset": offset, "limit": limit, "digest": digest}
        return await self._find_calling_run().query("context", page, result_type=TranscriptPage)

    async def read_late_call(
        self, about: str | Whole, now: datetime, heard: int | None
    ) -> LateCall:
        """Return what the run that asks, or its whole, says of a call that waited in its queue."""
        if isinstance(about, Whole):
            proof = None
            run = self._client.get_workflow_handle(about.run_id, run_id=about.execution)
        else:
            proof, run = about, self._find_calling_run()
        asked = {"proof": proof, "now": now.isoformat(), "heard": heard}
        return await run.query("late_call", asked, result_type=LateCall)

    async def waits_for(self, request_id: str) -> bool:
        """Whether the run that asks still waits for a decision; where nobody can tell it may."""
        run = self._find_calling_run()
        offset: int | None = 0
        while offset is not None:
            try:
                page = await run.query(
                    "pending",
                    {"offset": offset},
                    result_type=PendingPage,
                    rpc_timeout=QUERY_TIMEOUT,
                )
            except (*_UNANSWERED, WorkflowQueryFailedError):
                return True
            if any(request.request_id == request_id for request in page.items):
                return True
            offset = page.next_offset
        return False

    def _find_calling_run(self) -> WorkflowHandle[object, object]:
        execution = find_calling_execution()
        return self._client.get_workflow_handle(execution.run_id, run_id=execution.id)

    async def searchable(self) -> bool:
        """Whether the server knows Holdfast's search attributes; if not, say so once."""
        unknown = self._known is None
        known = SEARCH_ATTRIBUTES.items() <= (await self._attributes()).items()
        if unknown and not known:
            log.warning(
                "search_attributes.missing",
                wanted=sorted(SEARCH_ATTRIBUTES),
                effect="runs work, but can't be searched by agent, tenant, status or request",
            )
        return known

    async def resources_searchable(self) -> bool:
        """Whether runs can be searched by the resources that they are at."""
        return RESOURCE_SEARCH_ATTRIBUTES.items() <= (await self._attributes()).items()

    async def _attributes(self) -> dict[str, IndexedValueType.ValueType]:
        if self._known is None:
            request = ListSearchAttributesRequest(namespace=self._client.namespace)
            try:
                found = await self._client.operator_service.list_search_attributes(request)
            except RPCError as error:
                # No such service, or not for this client, or not now: runs must work all the same.
                if error.status in _NEVER_TOLD:
                    self._known = {}
                return {}
            self._known = dict(found.custom_attributes)
        return self._known


_ENDED: Mapping[WorkflowExecutionStatus, str] = {
    WorkflowExecutionStatus.FAILED: "failed",
    WorkflowExecutionStatus.CANCELED: "cancelled",
    WorkflowExecutionStatus.TERMINATED: "terminated",
    WorkflowExecutionStatus.TIMED_OUT: "timed out",
}


def _describe_none(name: str, tenant: str) -> str:
    return f"there is no run {name!r} of tenant {tenant!r} that a worker answers for"


class TemporalEarlierRuns:
    """
    Runs of this namespace that are over, asked what they left.

    Whatever may be otherwise in a moment fails as what is tried again; the rest is final.
    """

    def __init__(self, client: Client) -> None:
        self._client = client

    async def read(self, retry_of: RetryOf, tenant: str) -> Carryover:
        """Return what a run left; raises ApplicationError where it may not be tried again."""
        name = retry_of.run_id
        found = await self._describe(name)
        if found is None:
            raise build_start_refusal(_describe_none(name, tenant))
        try:
            execution = await find_taken_execution(self._client, Execution(name, found.run_id))
        except UnreadableHistory:
            raise build_start_refusal(_describe_none(name, tenant)) from None
        # Before anything else: what is told of a turn that there isn't is told to no other tenant.
        if await self._ask_tenant(execution, tenant) not in {tenant, None}:
            raise build_start_refusal(_describe_none(name, tenant))
        left = await self._ask(execution, "", retry_of)
        if left.brief.tenant != tenant:
            raise build_start_refusal(_describe_none(name, tenant))
        if is_open(found.status):
            raise build_start_refusal(
                f"run {name!r} goes on: it can be tried again once it is over"
            )
        if retry_of.first_execution_run_id not in {"", left.first_execution_run_id}:
            raise build_start_refusal(f"another run has the id {name!r} by now")
        if (earlier := left.brief.retry_of) is not None and earlier.dry:
            raise build_start_refusal(
                f"run {name!r} is dry, and nothing of it happened: fork or retry "
                f"{earlier.run_id!r}"
            )
        if found.parent_id is not None or left.brief.path:
            raise build_start_refusal(f"run {name!r} is a part of another run: retry that one")
        final = {"blocked"} if retry_of.turn else {"completed", "blocked"}
        if left.outcome in final and found.status not in _ENDED:
            raise build_start_refusal(
                f"run {name!r} is {left.outcome}, and only what was stopped, failed or was ended "
                "is tried again: start a new run"
            )
        ended = _ENDED.get(found.status) if found.status else None
        why = ended or ": ".join(filter(None, (left.outcome, left.reason)))
        return (await self._prove(execution, left, retry_of)).with_(reason=why)

    async def _describe(self, name: str) -> WorkflowExecutionDescription | None:
        """Return what the server knows of a run; null where it has none of this id."""
        try:
            found = await self._client.get_workflow_handle(name).describe()
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise
            return None
        return found if found.workflow_type == WORKFLOW_TYPE else None

    async def _ask_tenant(self, execution: Execution, tenant: str) -> str | None:
        """
        Return whose a run is; null of one that never began, which can't tell anything.

        Where nobody says it, as of a run that is paused, no other *tenant* is told that there is
        one. Nobody waits for a queue without a worker: whoever does keeps a place of this one's.
        """
        run = self._client.get_workflow_handle(execution.run_id, run_id=execution.id)
        unsaid = ApplicationError(_describe_none(execution.run_id, tenant), type="InvalidInput")
        if not await has_workers(self._client, (await run.describe()).task_queue):
            raise unsaid
        try:
            found = await run.query("status", result_type=StatusReport, rpc_timeout=QUERY_TIMEOUT)
        except WorkflowQueryFailedError as error:
            if NEVER_BEGAN in str(error):
                return None
            raise unsaid from None
        except _UNANSWERED:
            raise unsaid from None
        return found.tenant

    async def _ask(self, execution: Execution, digest: str, of: RetryOf) -> Carryover:
        run, name = (
            self._client.get_workflow_handle(execution.run_id, run_id=execution.id),
            execution.run_id,
        )
        try:
            return await run.query(
                "carryover",
                {"digest": digest, "turn": of.turn, "dry": of.dry},
                result_type=Carryover,
                rpc_timeout=CARRYOVER_TIMEOUT,
            )
        except WorkflowQueryFailedError as error:
            raise ApplicationError(
                f"run {name!r} can't say what it did: {error}",
                type="InvalidInput",
                non_retryable=REPLAY_FAILED not in str(error),
            ) from None
        except _UNANSWERED as error:
            raise ApplicationError(
                f"no worker says what run {name!r} did: {error}", type="InvalidInput"
            ) from None

    async def _prove(self, execution: Execution, left: Carryover, of: RetryOf) -> Carryover:
        """Return what a run left with what its models said, where it wants proof of a reader."""
        if not left.redacted:
            return left
        digests = await find_last_digests(self._client, execution)
        for digest in digests:
            whole = await self._ask(execution, digest, of)
            if not whole.redacted:
                return whole
        retries = left.brief.retry_of is not None
        if not digests and (not retries or await _began_parts(self._client, execution)):
            # It asked no model itself; what those read that did its work may have been anything.
            return left.with_(origin=secrets.token_hex(32))
        earlier = left.brief.retry_of.run_id if left.brief.retry_of else ""
        raise build_start_refusal(
            f"run {execution.run_id!r} asked no model: retry {earlier!r} itself"
            if not digests
            else f"run {execution.run_id!r} withholds what its models said"
        )


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


async def find_taken_execution(client: Client, execution: Execution) -> Execution:
    """
    Return the execution that a worker took: one that none has knows no more than that before it.

    It is over before it began, where a run was ended just when it went on in it. Raises
    UnreadableHistory where no worker could take it.
    """
    before = ""
    async for event in read_events(client, execution.run_id, execution.id, first=10):
        began = event.workflow_execution_started_event_attributes
        before = before or began.continued_execution_run_id
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
            return execution
    return Execution(execution.run_id, before) if before else execution


async def find_last_digests(client: Client, execution: Execution) -> tuple[str, ...]:
    """
    Return the digests of what a model was shown last in an execution, the whole first.

    One that asked none was given the digest by the execution before it, if it had one.
    """
    async for event in _read_backwards(client, execution):
        scheduled = event.activity_task_scheduled_event_attributes
        if scheduled.activity_type.name == "call_model":
            inputs = await client.data_converter.decode(scheduled.input.payloads, [ModelCall])
            call: ModelCall = inputs[0]
            return call.head.digest, call.base.digest
        began = event.workflow_execution_started_event_attributes
        if began.continued_execution_run_id:
            inputs = await client.data_converter.decode(began.input.payloads, [RunState])
            state: RunState = inputs[0]
            return state.conversation.head.digest, state.conversation.sent.digest
    return ()


async def _began_parts(client: Client, execution: Execution) -> bool:
    """Whether an execution had other agents do anything."""
    begins = EventType.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED
    async for event in _read_backwards(client, execution):
        if event.event_type == begins:
            return True
    return False


async def _read_backwards(client: Client, execution: Execution) -> AsyncGenerator[HistoryEvent]:
    """Yield the events of an execution, the latest first."""
    token = b""
    while True:
        page = await client.workflow_service.get_workflow_execution_history_reverse(
            GetWorkflowExecutionHistoryReverseRequest(
                namespace=client.namespace,
                execution=WorkflowExecution(workflow_id=execution.run_id, run_id=execution.id),
                next_page_token=token,
            )
        )
        for event in page.history.events:
            yield event
        if not (token := page.next_page_token):
            return
