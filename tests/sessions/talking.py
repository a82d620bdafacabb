"""A session on a real server, as a plain client talks to it: signals, updates, queries, JSON."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from uuid import uuid4

from pydantic import JsonValue
from temporalio.client import (
    Client,
    WithStartWorkflowOperation,
    WorkflowExecutionStatus,
    WorkflowHandle,
    WorkflowUpdateStage,
)
from temporalio.common import WorkflowIDConflictPolicy

from holdfast import App, worker
from holdfast.contracts.base import JsonObject
from holdfast.contracts.sessions.messages import ConversationPage, SessionReport
from holdfast.histories import fetch, is_replayable
from holdfast.runner import build_replayer
from holdfast.workflows.agent_session import AgentSession
from tests.running import Runs, growing_pauses


class Talk:
    """One session, seen from outside."""

    def __init__(self, client: Client, queue: str, name: str, brief: JsonObject) -> None:
        self.id, self.brief = name, brief
        self._client, self._queue = client, queue

    @property
    def handle(self) -> WorkflowHandle[object, object]:
        return self._client.get_workflow_handle(self.id)

    async def open(self) -> None:
        """Start it, with nothing said."""
        await self._client.start_workflow(
            "AgentSession", self.brief, id=self.id, task_queue=self._queue
        )

    async def say(self, message_id: str, text: str, **more: JsonValue) -> None:
        """Say something by signal-with-start."""
        await self._client.start_workflow(
            "AgentSession",
            self.brief,
            id=self.id,
            task_queue=self._queue,
            start_signal="message",
            start_signal_args=[{"message_id": message_id, "text": text, **more}],
        )

    async def send(self, message_id: str, text: str, **more: JsonValue) -> JsonObject:
        """Say something by update-with-start, and return the answer."""
        start = WithStartWorkflowOperation[object, object](
            "AgentSession",
            self.brief,
            id=self.id,
            task_queue=self._queue,
            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
        )
        update = await self._client.start_update_with_start_workflow(  # pyright: ignore[reportUnknownMemberType] -- an overload of the SDK
            "send",
            {"message_id": message_id, "text": text, **more},
            id=message_id,
            start_workflow_operation=start,
            wait_for_stage=WorkflowUpdateStage.COMPLETED,
            result_type=dict,
        )
        return await update.result()

    async def ask(self, name: str, *arguments: JsonValue) -> JsonObject:
        return await self.handle.query(name, args=arguments, result_type=dict)

    async def outcome(self, message_id: str, state: str = "done") -> JsonObject:
        """Wait until the work on a message stands so."""
        about: JsonObject = {"message_id": message_id}
        pauses = growing_pauses()
        while (found := await self.ask("outcome", about))["state"] != state:  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(next(pauses))
        return found

    async def answer(self, message_id: str) -> JsonValue:
        """Return the answer to a message, once there is one."""
        result = (await self.outcome(message_id))["result"]
        assert isinstance(result, dict)
        return result["answer"]

    async def result(self, message_id: str) -> JsonObject:
        """Return what the work on a message came to."""
        result = (await self.outcome(message_id))["result"]
        assert isinstance(result, dict)
        return result

    async def exchange(self, message_id: str, text: str, **more: JsonValue) -> JsonValue:
        """Say something and return the answer."""
        await self.say(message_id, text, **more)
        return await self.answer(message_id)

    async def conversation(self, **page: JsonValue) -> ConversationPage:
        return ConversationPage.model_validate(await self.ask("conversation", page))

    async def said(self) -> list[tuple[str, str]]:
        """Everything that was said, as it is carried."""
        return [(one.role, one.content) for one in (await self.conversation()).items]

    async def session(self) -> SessionReport:
        return SessionReport.model_validate(await self.ask("session"))

    async def signal(self, name: str, *arguments: JsonValue) -> None:
        await self.handle.signal(name, args=arguments)

    async def close(self, **more: JsonValue) -> JsonObject:
        """Close it and return its totals."""
        await self.signal("close", more)
        return await self._client.get_workflow_handle(self.id, result_type=dict).result()

    async def decide(self, request_id: str, approver: str) -> str:
        """Approve something and return what became of that, in one word."""
        said = {"request_id": request_id, "decision": "approve", "approver": approver}
        answer: JsonObject = await self.handle.execute_update("decide", said, result_type=dict)  # pyright: ignore[reportUnknownMemberType] -- an overload of the SDK
        return str(answer.get("code", "accepted"))

    async def asked(self) -> JsonObject:
        """Wait until something waits for a person, and return the first of it."""
        pauses = growing_pauses()
        while not (found := await self.handle.query("pending", result_type=list)):  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(next(pauses))
        return found[0]

    async def closed(self) -> WorkflowExecutionStatus | None:
        """Wait until it is over."""
        running = WorkflowExecutionStatus.RUNNING
        while (found := (await self.handle.describe()).status) is running:  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.02)
        return found

    async def replayed(self) -> int:
        """Replay all that its latest run of executions did; return how many there are."""
        while not is_replayable((found := await fetch(self._client, self.id))[-1]):  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.05)
        for history in found:
            await build_replayer(AgentSession).replay_workflow(history)
        return len(found)


class Talks:
    """Sessions of one test."""

    def __init__(self, runs: Runs, archive: str | None = None) -> None:
        self.runs, self.archive = runs, archive

    @asynccontextmanager
    async def working(self, app: App, **options: int) -> AsyncGenerator[None]:
        async with worker.run_worker(
            self.runs.client,
            app,
            task_queue=self.runs.queue,
            switches_name=self.runs.switches,
            archive=self.archive,
            **options,
        ):
            yield

    def talk(self, name: str | None = None, **brief: JsonValue) -> Talk:
        """Return a session, which need not be open."""
        name = name or f"session-{uuid4().hex[:8]}"
        return Talk(self.runs.client, self.runs.queue, name, {"agent": "it", **brief})
