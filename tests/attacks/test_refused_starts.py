"""Starts in the name of a session that are refused: they fail, as a session may that began."""

import asyncio
from contextlib import suppress
from uuid import uuid4

from temporalio import workflow
from temporalio.client import Client, WorkflowFailureError
from temporalio.exceptions import ApplicationError
from temporalio.worker import Worker

from holdfast.activities.sessions.earlier import MAX_FAILED_EXECUTIONS, TemporalEarlierSessions
from holdfast.client.session import find_begun
from holdfast.contracts.base import JsonObject
from holdfast.contracts.sessions.archive import OPENED
from holdfast.runner import RUNNER

REPORT: JsonObject = {
    "session_id": "talk",
    "agent": "it",
    "opened_with": "it",
    "tenant": "acme",
    "actor": "dana",
    "context": {},
    "last_updated": "2026-11-21T12:00:00Z",
    "messages": 1,
    "waiting": 0,
    "working_on": None,
    "usage": {},
}


@workflow.defn(name="AgentSession")
class Failing:
    """Fails, as a session that began where it says by which opening, and else as one refused."""

    @workflow.run
    async def run(self, opened: int) -> None:
        """Say it, and fail."""
        if opened:
            workflow.upsert_memo({OPENED: opened})
        raise ApplicationError("no more")

    @workflow.query
    def archive(self, _: object) -> None:
        """Say as little as one whose agent was never opened."""
        raise ApplicationError("this session never began")

    @workflow.query
    def session(self) -> JsonObject:
        """Say what the session is, where it began."""
        if not workflow.memo():
            raise ApplicationError("this session never began")
        return REPORT


async def _fail(client: Client, name: str, opened: int, claimed: int = 0) -> str:
    memo = {OPENED: claimed} if claimed else {}
    started = await client.start_workflow(Failing.run, opened, id=name, task_queue=name, memo=memo)
    with suppress(WorkflowFailureError):
        await started.result()
    return started.first_execution_run_id or ""


async def test_a_session_that_failed_is_shown_behind_refused_starts(client: Client) -> None:
    """What was said in it, too: its latest executions alone are no more than refusals."""
    # SE-02
    name = f"session-{uuid4().hex[:8]}"
    async with Worker(client, task_queue=name, workflows=[Failing], workflow_runner=RUNNER):
        failed = [await _fail(client, name, opened) for opened in (1, 2)]
        await _fail(client, name, opened=0)
        while len(begun := [one.execution async for one in find_begun(client, name)]) < 2:  # noqa: ASYNC110 -- lists are late
            await asyncio.sleep(0.05)

    assert begun == failed[::-1]


async def test_refused_starts_hide_no_session_that_failed(client: Client) -> None:
    """However many there are, nor do those that claim to be openings: each is asked once."""
    # SE-02
    name, sessions = f"session-{uuid4().hex[:8]}", TemporalEarlierSessions(client)
    async with Worker(client, task_queue=name, workflows=[Failing], workflow_runner=RUNNER):
        failed = await _fail(client, name, opened=1)
        for _ in range(MAX_FAILED_EXECUTIONS):
            await _fail(client, name, opened=0)
        claiming = await _fail(client, name, opened=0, claimed=2)
        while (found := await sessions.find(name, "", None))[0].id != claiming:  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.05)
        left = await sessions.read(found[0])
        again = await sessions.find(name, "", None)

    assert [one.id for one in found[:2]] == [claiming, failed]
    assert len(found) <= MAX_FAILED_EXECUTIONS + 2
    assert left is None
    assert again == found[1:]
