"""Runs on a real server, driven as a stranger would drive them: plain JSON in, plain JSON out."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import timedelta
from itertools import count
from typing import Protocol, TypeVar
from uuid import uuid4

from pydantic import JsonValue
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import ResetWorkflowExecutionRequest
from temporalio.client import (
    Client,
    Interceptor,
    OutboundInterceptor,
    QueryWorkflowInput,
    WorkflowHandle,
    WorkflowHistory,
)
from temporalio.service import RPCError, RPCStatusCode
from temporalio.testing import WorkflowEnvironment

from holdfast import App, worker
from holdfast.contracts.approvals import (
    ApprovalRequest,
    Request,
)
from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import ToolFailure, ToolResult, ToolSuccess
from holdfast.contracts.run import RunResult, StatusReport
from holdfast.contracts.signals import (
    MessageOutcome,
)
from holdfast.contracts.transcript import ToolTurn, TranscriptPage
from holdfast.histories import fetch
from holdfast.runner import build_replayer
from holdfast.workflows.agent_run import AgentRun
from tests.histories import Story, children

Answer = TypeVar("Answer")

# In seconds.
DAY = 24 * 3600.0
# Seconds between two questions.
MAX_PAUSE = 0.1
# What an RPC ends with for which the client, or the server on its behalf, waited too long.
GIVEN_UP = (RPCStatusCode.CANCELLED, RPCStatusCode.DEADLINE_EXCEEDED)


def growing_pauses() -> Iterator[float]:
    """How long to wait between questions, in seconds: each costs two processes CPU."""
    for number in count():
        yield min(0.02 * number, MAX_PAUSE)


class PatientQueries(Interceptor):
    """Has a client ask up to six times: a worker was killed, or the machine has much to do."""

    def intercept_client(self, next: OutboundInterceptor) -> OutboundInterceptor:
        return _PatientQueries(next)


class _PatientQueries(OutboundInterceptor):
    async def query_workflow(self, input: QueryWorkflowInput) -> object:
        for _ in range(0 if input.rpc_timeout else 5):
            try:
                return await super().query_workflow(input)
            except RPCError as error:
                if error.status not in GIVEN_UP:
                    raise
        return await super().query_workflow(input)


class AnyRun(ABC):
    """One run, seen from outside."""

    @abstractmethod
    async def result(self) -> RunResult:
        """Wait for the end of the run."""

    @abstractmethod
    async def query(self, name: str, answer: type[Answer], *arguments: JsonValue) -> Answer:
        """Ask the run something. It answers when it has come to rest."""

    @abstractmethod
    async def signal(self, name: str, argument: JsonValue) -> None: ...

    @abstractmethod
    async def decide(self, *arguments: JsonValue) -> MessageOutcome: ...

    @abstractmethod
    async def cancel(self) -> None: ...

    @abstractmethod
    async def story(self) -> Story:
        """Return what its latest execution did; doing it again comes to the same."""

    @abstractmethod
    async def parts(self) -> list[str]:
        """Return the ids of the runs that its latest execution started, without its own."""

    @abstractmethod
    async def pause(self) -> None:
        """Let a moment pass between two looks."""

    async def status(self) -> StatusReport:
        return await self.query("status", StatusReport)

    async def transcript(self) -> TranscriptPage:
        return await self.query("transcript", TranscriptPage)

    async def results(self) -> list[ToolResult]:
        """All results of tools, in order."""
        page = await self.transcript()
        turns = [item for item in page.items if isinstance(item, ToolTurn)]
        return [result for turn in turns for result in turn.results]

    async def failure(self) -> ToolFailure:
        """The first result, which is a failure."""
        first = (await self.results())[0]
        assert isinstance(first, ToolFailure)
        return first

    async def success(self) -> ToolSuccess:
        """The first result, which is a success."""
        first = (await self.results())[0]
        assert isinstance(first, ToolSuccess)
        return first

    async def pending(self) -> tuple[Request, ...]:
        return await self.query("pending", tuple[Request, ...])

    async def asked(self, count: int = 1) -> tuple[Request, ...]:
        """Wait until so many requests are open. A query answers when the run has come to rest."""
        while len(found := await self.pending()) < count:
            await self.pause()
        return found

    async def asked_for_approval(self) -> ApprovalRequest:
        request = (await self.asked())[0]
        assert isinstance(request, ApprovalRequest)
        return request

    async def refusals(self, count: int) -> list[str]:
        """Wait until so many messages were refused and return why each was."""
        while (status := await self.status()).refused_total < count:
            await self.pause()
        return [entry.reason for entry in status.refused]

    async def approve(self, request_id: str, approver: str = "alice", **more: str) -> None:
        await self.signal(
            "approval",
            {"request_id": request_id, "decision": "approve", "approver": approver, **more},
        )


class AnyRuns(Protocol):
    """Starts runs, and has workers for them."""

    def working(
        self, app: App, *, cached_transcripts: int = 256
    ) -> AbstractAsyncContextManager[None]:
        """Have a worker for *app* while the block lasts."""
        ...

    async def start(self, agent: str, goal: str = "go", **more: JsonValue) -> AnyRun: ...

    async def start_with(self, *arguments: JsonValue) -> AnyRun: ...

    async def pass_time(self, seconds: float) -> None: ...

    async def stories(self, run: AnyRun) -> tuple[Story, ...]:
        """Return what each execution of a run did; doing it again comes to the same."""
        ...


class Run(AnyRun):
    """One run on a server."""

    def __init__(self, handle: WorkflowHandle[object, RunResult]) -> None:
        self.handle = handle
        self._pauses = dict[str, Iterator[float]]()

    @property
    def first_execution(self) -> str:
        """What the server calls it, whatever its id is."""
        assert self.handle.first_execution_run_id is not None
        return self.handle.first_execution_run_id

    async def result(self) -> RunResult:
        return await self.handle.result()

    async def query(self, name: str, answer: type[Answer], *arguments: JsonValue) -> Answer:
        """Ask; who asks the same again, with no word to the run in between, waits for longer."""
        pauses = self._pauses.setdefault(f"{name} {arguments}", growing_pauses())
        await asyncio.sleep(next(pauses))
        return await self.handle.query(name, args=arguments, result_type=answer)

    async def execution(self) -> str | None:
        """What the server calls the newest execution; each continue-as-new begins another."""
        return (await self.handle.describe()).run_id

    async def has_task(self) -> bool:
        """Whether there is something that no worker has taken in yet."""
        description = await self.handle.describe()
        return description.raw_description.HasField("pending_workflow_task")

    async def story(self) -> Story:
        history = await self.handle.fetch_history()
        await build_replayer(AgentRun).replay_workflow(history)
        return history

    async def parts(self) -> list[str]:
        return children(await self.handle.fetch_history())

    async def pause(self) -> None:
        await asyncio.sleep(0.02)

    async def signal(self, name: str, argument: JsonValue) -> None:
        self._pauses.clear()
        await self.handle.signal(name, argument)

    async def decide(self, *arguments: JsonValue) -> MessageOutcome:
        self._pauses.clear()
        return await self.handle.execute_update(  # pyright: ignore[reportUnknownMemberType] -- an overload of the SDK
            "decide", args=arguments, result_type=MessageOutcome
        )

    async def cancel(self) -> None:
        await self.handle.cancel()


class Runs:
    """Starts runs on a task queue of its own, so that tests don't meet."""

    def __init__(self, client: Client, environment: WorkflowEnvironment | None = None) -> None:
        self.client = client
        self.environment = environment
        self.queue = f"test-{uuid4().hex[:8]}"

    @property
    def switches(self) -> str:
        """The workflow that keeps the switches of these runs, and its queue."""
        return f"{self.queue}-switches"

    async def pass_time(self, seconds: float) -> None:
        """
        Let time pass on a server that skips it.

        A task that nobody has finished holds such a server's clock, and its answer may take longer
        than the client waits. So the clock says when to stop asking.
        """
        if self.environment is None:
            raise AssertionError("only a skipping server's time can pass at will")
        end = await self.environment.get_current_time() + timedelta(seconds=seconds)
        while (left := end - await self.environment.get_current_time()) > timedelta():
            try:
                await self.environment.sleep(left)
            except RPCError as error:
                if error.status not in GIVEN_UP:
                    raise

    async def another_client(self, identity: str | None = None) -> Client:
        """Connect once more: two workers of one queue can't share a client."""
        return await Client.connect(
            self.client.service_client.config.target_host,
            data_converter=self.client.data_converter,
            identity=identity,
            interceptors=[PatientQueries()],
        )

    @asynccontextmanager
    async def working(
        self, app: App, *, cached_transcripts: int = 256, client: Client | None = None
    ) -> AsyncGenerator[None]:
        """Have a worker for *app* while the block lasts: the product's own."""
        async with worker.run_worker(
            client or self.client,
            app,
            task_queue=self.queue,
            switches_name=self.switches,
            cached_transcripts=cached_transcripts,
        ):
            yield

    async def histories(self, run: AnyRun) -> tuple[WorkflowHistory, ...]:
        """Return the histories of all executions of a run; each must replay."""
        assert isinstance(run, Run)
        found = await fetch(self.client, run.handle.id)
        for history in found:
            await build_replayer(AgentRun).replay_workflow(history)
        return found

    async def stories(self, run: AnyRun) -> tuple[Story, ...]:
        return await self.histories(run)

    async def reset(self, run: Run, event: int, execution: str = "") -> Run:
        """
        Have the server begin the workflow again behind an event, with the signals that came.

        It is one of its latest execution, unless another is named.
        """
        answer = await self.client.workflow_service.reset_workflow_execution(
            ResetWorkflowExecutionRequest(
                namespace=self.client.namespace,
                workflow_execution=WorkflowExecution(workflow_id=run.handle.id, run_id=execution),
                reason="a test",
                workflow_task_finish_event_id=event,
                request_id=uuid4().hex,
            )
        )
        handle: WorkflowHandle[object, RunResult] = self.client.get_workflow_handle(
            run.handle.id, run_id=answer.run_id, result_type=RunResult
        )
        return Run(handle)

    async def start(self, agent: str, goal: str = "go", **more: JsonValue) -> Run:
        brief: JsonObject = {"agent": agent, "input": goal, **more}
        return await self.start_with(brief)

    async def start_with(self, *arguments: JsonValue) -> Run:
        handle = await self.client.start_workflow(
            "AgentRun",
            args=arguments,
            id=f"run-{uuid4().hex[:8]}",
            task_queue=self.queue,
            result_type=RunResult,
        )
        return Run(handle)
