"""Starts in the name of a session that are refused: they fail, as a session may that began."""

import asyncio
from contextlib import suppress
from uuid import uuid4

from temporalio import workflow
from temporalio.client import Client, WorkflowFailureError
from temporalio.exceptions import ApplicationError
from temporalio.worker import Worker

from holdfast.activities.sessions.earlier import MAX_FAILED_EXECUTIONS, TemporalEarlierSessions
from holdfast.contracts.sessions.archive import OPENED
from holdfast.runner import RUNNER


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


async def test_refused_starts_hide_no_session_that_failed(client: Client) -> None:
    """However many there are, nor do those that claim to be openings: each is asked once."""
    # SE-02
    name, sessions = f"session-{uuid4().hex[:8]}", TemporalEarlierSessions(client)

    async def fail(opened: int, claimed: int = 0) -> str:
        memo = {OPENED: claimed} if claimed else {}
        started = await client.start_workflow(
            Failing.run, opened, id=name, task_queue=name, memo=memo
        )
        with suppress(WorkflowFailureError):
            await started.result()
        return started.first_execution_run_id or ""

    async with Worker(client, task_queue=name, workflows=[Failing], workflow_runner=RUNNER):
        failed = await fail(opened=1)
        for _ in range(MAX_FAILED_EXECUTIONS):
            await fail(opened=0)
        claiming = await fail(opened=0, claimed=2)
        while (found := await sessions.find(name, "", None))[0].id != claiming:  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.05)
        left = await sessions.read(found[0])
        again = await sessions.find(name, "", None)

    assert [one.id for one in found[:2]] == [claiming, failed]
    assert len(found) <= MAX_FAILED_EXECUTIONS + 2
    assert left is None
    assert again == found[1:]
