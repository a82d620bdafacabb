"""Whoever may ask asks about runs that are over, each time of which a worker builds one anew."""

import asyncio
from collections import Counter
from dataclasses import dataclass
from uuid import uuid4

import pytest
from temporalio import workflow
from temporalio.bridge.proto.workflow_activation import (
    InitializeWorkflow,
    QueryWorkflow,
    RemoveFromCache,
    WorkflowActivation,
    WorkflowActivationJob,
)
from temporalio.bridge.proto.workflow_completion import WorkflowActivationCompletion
from temporalio.client import Client
from temporalio.exceptions import ApplicationError
from temporalio.worker import Worker

from holdfast.activations.looks import MAX_AT_ONCE, MAX_SECONDS, MAX_WAITING, Looks
from holdfast.activations.threads import WorkflowThreads
from holdfast.activities.callers import Execution
from holdfast.activities.runs import REPLAY_FAILED, TOO_MANY_LOOK, TemporalEarlierRuns
from holdfast.activities.sessions.earlier import TemporalEarlierSessions
from holdfast.contracts.control import RetryOf
from holdfast.runner import RUNNER
from holdfast.testing import call
from tests.running import Run, Runs
from tests.sample import scripted, told

ASKED = WorkflowActivationJob(query_workflow=QueryWorkflow(query_id="legacy_query"))
LEFT = WorkflowActivationJob(remove_from_cache=RemoveFromCache())


@dataclass
class Clock:
    """Goes when it is told to."""

    seconds: float = 0.0

    def __call__(self) -> float:
        return self.seconds


async def test_who_looks_waits_while_runs_are_built_anew() -> None:
    """One is built when one of those before it has been; beyond many who wait none does."""
    looks = Looks(Clock())
    begun = [await looks.begin(str(number)) for number in range(MAX_AT_ONCE)]
    waiting = [asyncio.ensure_future(looks.begin(f"w{number}")) for number in range(MAX_WAITING)]
    await asyncio.sleep(0)
    refused = await looks.begin("one more")
    waits = not any(asked.done() for asked in waiting)
    for number in range(MAX_AT_ONCE):
        looks.end(str(number))
    done, rest = await asyncio.wait(waiting, timeout=0.5)
    for asked in rest:
        asked.cancel()

    assert all(begun)
    assert waits
    assert not refused
    assert [asked.result() for asked in done] == [True] * MAX_AT_ONCE


async def test_who_looks_has_a_part_of_the_time() -> None:
    """Executions that took seconds to build are followed by none that is over, for as long."""
    clock = Clock()
    looks = Looks(clock)
    assert await looks.begin("long")
    looks.spend("long", MAX_SECONDS)
    looks.spend("one that goes on", MAX_SECONDS)
    looks.end("long")
    refused = [await looks.begin("next")]
    clock.seconds += MAX_SECONDS - 0.1
    refused.append(await looks.begin("next"))
    clock.seconds += 0.2

    assert refused == [False, False]
    assert await looks.begin("next")


async def activate(threads: WorkflowThreads, run: Run, job: WorkflowActivationJob) -> str:
    """Have threads do a job of a run, as the SDK does; what they say instead."""

    def work(act: WorkflowActivation) -> WorkflowActivationCompletion:
        return WorkflowActivationCompletion(run_id=act.run_id)

    execution = await run.execution() or ""
    act = WorkflowActivation(run_id=execution, is_replaying=True, jobs=[job])
    said = await asyncio.wrap_future(threads.submit(work, act))
    return said.failed.failure.message


async def build_anew(threads: WorkflowThreads, run: Run) -> str:
    start = InitializeWorkflow(workflow_id=run.handle.id)
    return await activate(threads, run, WorkflowActivationJob(initialize_workflow=start))


async def test_a_worker_that_builds_much_refuses_looks_at_what_is_over(runs: Runs) -> None:
    """A hundred who asked had all other runs wait; what goes on is built whoever looks."""
    async with runs.working(scripted([call("ask_user", question="Which one?"), told])):
        over = await runs.start("it")
        await over.asked()
        await over.signal("stop", {"reason": "enough"})
        await over.result()
        still_open = await runs.start("it")
        await still_open.asked()
    clock = Clock()
    looks = Looks(clock)
    threads = WorkflowThreads(runs.client, looks)
    await looks.begin("another")
    looks.spend("another", MAX_SECONDS)
    looks.end("another")
    busy = [await build_anew(threads, run) for run in (over, still_open)]
    next_one = await activate(threads, over, ASKED)
    await activate(threads, over, LEFT)
    clock.seconds += MAX_SECONDS + 1

    assert busy == [TOO_MANY_LOOK, ""]
    assert next_one == TOO_MANY_LOOK
    assert await build_anew(threads, over) == ""
    threads.shutdown()


ASKED_ALREADY: Counter[str] = Counter()


def say_first_that_too_many_look(kind: str) -> None:
    """Say what a worker says that builds enough, and then what the SDK says of a busy one."""
    ASKED_ALREADY[kind] += 1
    raise ApplicationError(TOO_MANY_LOOK if ASKED_ALREADY[kind] == 1 else f"{REPLAY_FAILED}01]")


@workflow.defn(name="AgentSession")
class Over:
    """Was a session, of which a worker says that too many look at what is over."""

    @workflow.run
    async def run(self) -> None:
        """End at once."""

    @workflow.query
    def archive(self, _: object) -> None:
        """Say what a worker says instead of it."""
        say_first_that_too_many_look("session")


@workflow.defn(name="AgentRun")
class OverRun:
    """Was a run, of which it is said, too."""

    @workflow.run
    async def run(self) -> None:
        """End at once."""

    @workflow.query
    def status(self) -> None:
        """Say the same."""
        say_first_that_too_many_look("run")


async def test_nothing_is_forgotten_because_too_many_look(client: Client) -> None:
    """
    Who opens a session again, or tries a run again, asks once more within the same attempt.

    An attempt that ends without an answer is none that says there was nothing.
    """
    queue = f"looked-at-{uuid4().hex[:8]}"
    async with Worker(client, task_queue=queue, workflows=[Over, OverRun], workflow_runner=RUNNER):
        session, run = [
            await client.start_workflow(kind, id=f"{queue}-{kind}", task_queue=queue)
            for kind in ("AgentSession", "AgentRun")
        ]
        await asyncio.gather(session.result(), run.result())
        execution = Execution(session.id, (await session.describe()).run_id)
        with pytest.raises(ApplicationError, match=r"can't be asked yet: .*TMPRL1101"):
            await TemporalEarlierSessions(client).read(execution)
        with pytest.raises(ApplicationError) as refused:
            await TemporalEarlierRuns(client).read(RetryOf(run_id=run.id), "default")

    assert not refused.value.non_retryable
    assert ASKED_ALREADY == {"session": 2, "run": 2}
