"""One session, as those who talk in it see it: it opens when something is said."""

import asyncio
from collections.abc import AsyncGenerator
from typing import NamedTuple, TypedDict
from uuid import uuid4

from pydantic import JsonValue
from temporalio.api.workflow.v1 import WorkflowExecutionInfo
from temporalio.client import (
    Client,
    WithStartWorkflowOperation,
    WorkflowExecutionStatus,
    WorkflowFailureError,
    WorkflowUpdateFailedError,
    WorkflowUpdateRPCTimeoutOrCancelledError,
    WorkflowUpdateStage,
)
from temporalio.common import RawValue, WorkflowIDConflictPolicy
from temporalio.service import RPCError

from holdfast.activities.callers import Execution
from holdfast.activities.sessions.earlier import (
    TemporalEarlierSessions,
    can_begin,
    describe_execution,
    has_begun,
)
from holdfast.client.messages import build
from holdfast.client.rpc_errors import (
    RPC_TIMEOUT,
    Answer,
    ask,
    no_worker,
    read_answer,
    translate_error,
)
from holdfast.client.run import Run
from holdfast.contracts.base import JsonObject
from holdfast.contracts.budget import Budget
from holdfast.contracts.errors import HoldfastError, MessageRefused, NoWorker
from holdfast.contracts.run import RunResult
from holdfast.contracts.sessions.archive import NEVER_BEGAN
from holdfast.contracts.sessions.messages import (
    SESSION_WORKFLOW_TYPE,
    ConversationPage,
    MessageReceipt,
    MessageSignal,
    OutcomeReport,
    SessionInput,
    SessionReport,
)
from holdfast.contracts.signals import CloseSignal

FIRST_POLL_SECONDS, LONGEST_POLL_SECONDS = 0.05, 1.0
"""Between two looks at the outcome of a message; each is half as long again as the one before."""


class SessionOptions(TypedDict, total=False):
    """What else a session opens with; each is a field of its input (docs/sessions.md)."""

    tenant: str | None
    actor: str | None
    budget: Budget | None
    session_budget: Budget | None
    idle_timeout: float | None
    context: dict[str, JsonValue] | None
    metadata: dict[str, JsonValue] | None
    stream: bool | None


class BegunSession(NamedTuple):
    """An execution of a session that began, and what it says of the session."""

    execution: str
    report: SessionReport


class _Known(NamedTuple):
    """The latest execution of an id when it was looked for, and the latest that began."""

    latest: str
    begun: str


class Session:
    """
    One session, which need not be open: what is said opens it.

    `run` is the same as a run, for what waits for people and for steering. Methods raise what
    those of a run raise; what the session doesn't take raises MessageRefused.
    """

    def __init__(self, client: Client, queue: str, session_id: str, brief: SessionInput) -> None:
        self.run = Run(client, session_id)
        self._client, self._queue, self._brief = client, queue, brief
        self._known = _Known("", "")

    @property
    def id(self) -> str:
        """The id of the session, which is that of its workflow."""
        return self.run.id

    async def send(
        self,
        text: str,
        *,
        message_id: str | None = None,
        actor: str | None = None,
        metadata: dict[str, JsonValue] | None = None,
    ) -> MessageReceipt:
        """
        Say something, and return its place once the session has taken it.

        The same *message_id* again changes nothing. Raises HoldfastError where the session is
        another tenant's, or was opened with another agent.
        """
        name = uuid4().hex if message_id is None else message_id
        message = build(
            MessageSignal,
            message_id=name,
            text=text,
            actor=actor,
            metadata=metadata,
            tenant=self._brief.tenant,
            agent=self._brief.agent,
        )
        receipt = await self._send(message)
        if receipt.state == "refused":
            raise MessageRefused(receipt.reason, receipt.code)
        return receipt

    async def ask(
        self,
        text: str,
        *,
        message_id: str | None = None,
        actor: str | None = None,
        metadata: dict[str, JsonValue] | None = None,
    ) -> RunResult:
        """Say something, wait however long the work on it takes, and return what it came to."""
        receipt = await self.send(text, message_id=message_id, actor=actor, metadata=metadata)
        return await self.wait_for(receipt.message_id)

    async def wait_for(self, message_id: str) -> RunResult:
        """Wait until the work on a message is done, and return what it came to."""
        pause = FIRST_POLL_SECONDS
        while True:
            try:
                found = await self.outcome(message_id)
            except NoWorker:
                found = OutcomeReport(state="working")
            if found.state in {"done", "unknown"}:
                break
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, LONGEST_POLL_SECONDS)
        if found.result is None:
            raise HoldfastError(
                f"session {self.id!r} keeps no result of message {message_id!r}: "
                "what was said is in its conversation"
            )
        return found.result

    async def outcome(self, message_id: str) -> OutcomeReport:
        """Return where the work on a message stands, and what it came to."""
        return await self._ask("outcome", OutcomeReport, {"message_id": message_id})

    async def conversation(self, offset: int | None = None, limit: int = 1000) -> ConversationPage:
        """
        Return what was said, of what the session carries, or a page of all from an *offset* on.

        What it carries no longer is asked of its earlier executions, while the server keeps them.
        """
        wanted: JsonObject = {"offset": offset or 0, "limit": limit}
        page = await self._ask("conversation", ConversationPage, wanted)
        if offset is None or page.first_offset <= offset:
            return page
        first, items = page.first_offset, page.items
        async for begun in find_begun(self._client, self.id):
            named = (self.id, begun.execution)
            older = await ask(self._client, named, "conversation", ConversationPage, wanted)
            missing = older.items[: max(first - older.first_offset, 0)]
            if missing:
                reaches = older.first_offset + len(missing) == first
                first, items = older.first_offset, (*missing, *(items if reaches else ()))
            if first <= offset:
                break
        return ConversationPage(first_offset=first, items=items[:limit], total=page.total)

    async def report(self) -> SessionReport:
        """Return what the session is, and how far it is."""
        return await self._ask("session", SessionReport)

    async def _ask(self, name: str, type: type[Answer], *arguments: JsonObject) -> Answer:
        return await ask(self._client, (self.id, await self._find_own()), name, type, *arguments)

    async def _find_own(self) -> str:
        """
        Return its latest execution that began; raises HoldfastError for that of another tenant.

        Whoever was refused the session had an execution too, which says nothing of it.
        """
        latest = (await describe(self._client, self.id)).execution.run_id
        if latest != self._known.latest:
            begun = await anext(find_begun(self._client, self.id), None)
            if begun is None or begun.report.tenant != self._brief.tenant:
                raise HoldfastError(f"there is no session {self.id!r} of this tenant")
            self._known = _Known(latest, begun.execution)
        return self._known.begun

    async def close(self, reason: str | None = None, *, by: str | None = None) -> None:
        """Have it end when what was said before is answered."""
        await self._find_own()
        await self.run.signal("close", build(CloseSignal, reason=reason, by=by))

    async def _send(self, message: MessageSignal) -> MessageReceipt:
        start = WithStartWorkflowOperation[object, object](
            SESSION_WORKFLOW_TYPE,
            self._brief.model_dump(mode="json", exclude_unset=True),
            id=self.id,
            task_queue=self._queue,
            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
        )
        try:
            update = await self._client.start_update_with_start_workflow(  # pyright: ignore[reportUnknownMemberType] -- an overload of the SDK leaves a type open
                "send",
                message.model_dump(mode="json", exclude_unset=True),
                start_workflow_operation=start,
                wait_for_stage=WorkflowUpdateStage.COMPLETED,
                result_type=RawValue,
                rpc_timeout=RPC_TIMEOUT * 10,
            )
            answer: RawValue = await update.result()
        except WorkflowUpdateRPCTimeoutOrCancelledError:
            raise no_worker(self.id) from None
        except WorkflowUpdateFailedError as error:
            raise await self._explain(error) from None
        except RPCError as error:
            raise await self._explain(error) from None
        return read_answer(self.id, answer, MessageReceipt)

    async def _explain(self, error: WorkflowUpdateFailedError | RPCError) -> HoldfastError:
        """Say why a session didn't take a message: where it didn't open it says so itself."""
        handle = self._client.get_workflow_handle(self.id)
        try:
            if (await handle.describe()).status is WorkflowExecutionStatus.FAILED:
                await handle.result()
        except WorkflowFailureError as failed:
            return HoldfastError(f"session {self.id!r} didn't open: {failed.cause}")
        except RPCError:
            pass
        why = error.cause if isinstance(error, WorkflowUpdateFailedError) else error
        return HoldfastError(f"session {self.id!r} took no message: {why}")


def build_session(
    client: Client, queue: str, session_id: str, agent: str, options: SessionOptions
) -> Session:
    """Return a session; raises HoldfastError for what no session can begin with."""
    brief = build(SessionInput, agent=agent, **options)
    return Session(client, queue, session_id, brief)


async def find_begun(client: Client, session_id: str) -> AsyncGenerator[BegunSession]:
    """
    Yield the executions of a session that began, the latest first.

    Anybody may start what has its id: what no worker took, or was refused, is left out. Raises
    NoWorker where one can't be asked yet.
    """
    latest = await describe(client, session_id)
    is_open = not latest.HasField("close_time")
    known = await TemporalEarlierSessions(client).find(session_id, latest.execution.run_id, None)
    earlier = [execution.id for execution in known]
    if latest.type.name == SESSION_WORKFLOW_TYPE:
        earlier.insert(0, latest.execution.run_id)
    for execution in earlier:
        try:
            report = await ask(client, (session_id, execution), "session", SessionReport)
        except NoWorker as error:
            opens = is_open and execution == latest.execution.run_id
            named = Execution(session_id, execution)
            begun = NEVER_BEGAN not in str(error) and await has_begun(client, named)
            if begun or (opens and await can_begin(client, named)):
                raise
            continue
        yield BegunSession(execution, report)


async def describe(client: Client, session_id: str) -> WorkflowExecutionInfo:
    """Return what the server knows of the latest execution with an id."""
    try:
        return await describe_execution(client, Execution(session_id, ""))
    except RPCError as error:
        found = translate_error(error, client, session_id)
        if isinstance(found, HoldfastError):
            found = HoldfastError(
                f"there is no session {session_id!r} in namespace {client.namespace!r}; 'holdfast "
                "sessions' lists them"
            )
        raise found from None
