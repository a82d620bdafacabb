"""Executions of a session that can't say how it was left, and what is made of that."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

import pytest
from temporalio.api.common.v1 import Payload, Payloads, WorkflowType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import StartWorkflowExecutionRequest
from temporalio.client import Client, WorkflowFailureError
from temporalio.exceptions import ApplicationError

from holdfast import Agent, App, Tiers, worker
from holdfast.activities.callers import Execution
from holdfast.activities.sessions.earlier import TemporalEarlierSessions
from holdfast.client.session import find_begun
from holdfast.connection import with_codec
from holdfast.testing import say
from tests.holdfast.test_client import Packed
from tests.running import Runs
from tests.sample import scripted
from tests.sessions.talkative import echo
from tests.sessions.talking import Talk, Talks

RUBBISH = Payload(metadata={"encoding": b"binary/packed"}, data=b"rubbish")


class Fickle(Packed):
    """A codec that has no keys while they are away."""

    def __init__(self) -> None:
        self.away = self.writes_nothing = False

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        if self.away or self.writes_nothing:
            raise ConnectionError("no keys now")
        return await super().encode(payloads)

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        if self.away:
            raise ConnectionError("no keys now")
        return await super().decode(payloads)


@asynccontextmanager
async def sealed(runs: Runs, codec: Fickle) -> AsyncGenerator[tuple[Client, Talk]]:
    """A session of an agent that has others do its work, on a worker with a codec."""
    agents = [
        Agent(name="it", instructions="Have it done.", tiers=Tiers(full="coder")),
        Agent(name="coder", instructions="Do it.", models=["scripted:coder"]),
    ]
    app = App(agents=agents, scripts={"coder": lambda _: say("done")}, codec=codec)
    reader = with_codec(runs.client, Packed())
    async with worker.run_worker(
        runs.client, app, task_queue=runs.queue, switches_name=runs.switches
    ):
        yield reader, Talk(reader, runs.queue, f"talk-{uuid4().hex[:8]}", {"agent": "it"})


async def find_latest(talk: Talk) -> Execution:
    return Execution(talk.id, (await talk.handle.describe()).run_id or "")


async def start_rubbish(client: Client, name: str, queue: str) -> None:
    """Start a session with what no worker can read, and wait until it has failed."""
    await client.workflow_service.start_workflow_execution(
        StartWorkflowExecutionRequest(
            namespace=client.namespace,
            workflow_id=name,
            workflow_type=WorkflowType(name="AgentSession"),
            task_queue=TaskQueue(name=queue),
            request_id=uuid4().hex,
            input=Payloads(payloads=[RUBBISH]),
        )
    )
    with pytest.raises(WorkflowFailureError):
        await client.get_workflow_handle(name).result()


@pytest.mark.parametrize("lacks", ["away", "writes_nothing"])
async def test_a_session_whose_worker_has_no_keys_for_a_moment_is_asked_again(
    runs: Runs, lacks: str
) -> None:
    """It is no session that left nothing: opened so, it would do again what it did."""
    # SE-04
    codec = Fickle()
    async with sealed(runs, codec) as (reader, talk):
        await talk.exchange("m-1", "Rome")
        await talk.close()
        sessions, latest = TemporalEarlierSessions(reader), await find_latest(talk)
        setattr(codec, lacks, True)
        with pytest.raises(ApplicationError, match="can't be asked yet") as unsaid:
            await sessions.read(latest)
        setattr(codec, lacks, False)
        left = await sessions.read(latest)

    assert not unsaid.value.non_retryable
    assert left is not None
    assert [one.content for one in left.state.session.conversation] == ["Rome", "done"]  # pyright: ignore[reportOptionalMemberAccess] -- it is a session's


async def test_who_was_refused_a_session_says_so_whatever_the_codec(runs: Runs) -> None:
    """Nobody takes that for an execution that can't be asked: it hides nothing."""
    # SE-02
    async with sealed(runs, Fickle()) as (reader, talk):
        await talk.exchange("m-1", "Rome")
        await talk.close()
        ours = await find_latest(talk)
        stranger = Talk(reader, runs.queue, talk.id, {"agent": "it", "tenant": "evil"})
        await stranger.say("e-1", "mine")
        with pytest.raises(WorkflowFailureError):
            await stranger.handle.result()
        left = await TemporalEarlierSessions(reader).read(await find_latest(talk))
        begun = [one.execution async for one in find_begun(reader, talk.id)]

    assert left is None
    assert begun == [ours.id]


async def test_what_nobody_can_read_hides_no_session(runs: Runs, tmp_path: Path) -> None:
    """A start with rubbish fails before there is anybody who could be asked."""
    # SE-02
    talks = Talks(runs)
    async with talks.working(scripted(echo)):
        talk = talks.talk()
        await talk.exchange("m-1", "one")
        await talk.close()
        ours = await find_latest(talk)
        await start_rubbish(runs.client, talk.id, runs.queue)
        left = await TemporalEarlierSessions(runs.client).read(await find_latest(talk))
        begun = [one.execution async for one in find_begun(runs.client, talk.id)]
        answer = await talk.exchange("m-2", "two")

    assert left is None
    assert begun == [ours.id]
    assert answer == "one + two"
