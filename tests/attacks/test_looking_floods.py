"""Whoever may ask asks about runs that are over, each time of which a worker builds one anew."""

import asyncio
from dataclasses import dataclass

from temporalio.bridge.proto.workflow_activation import (
    InitializeWorkflow,
    WorkflowActivation,
    WorkflowActivationJob,
)
from temporalio.bridge.proto.workflow_completion import WorkflowActivationCompletion

from holdfast.activations.threads import (
    MAX_REBUILT,
    MAX_SECONDS,
    TOO_MANY_LOOK,
    Rebuilding,
    WorkflowThreads,
)
from holdfast.testing import call
from tests.running import Run, Runs
from tests.sample import scripted, told


@dataclass
class Clock:
    """Goes when it is told to."""

    seconds: float = 0.0

    def __call__(self) -> float:
        return self.seconds


async def test_who_looks_waits_while_runs_are_built_anew() -> None:
    """It is built when one of those before it has been."""
    rebuilding = Rebuilding(Clock())
    for number in range(MAX_REBUILT):
        rebuilding.begin(str(number))
    asked = asyncio.ensure_future(rebuilding.may_look())
    await asyncio.sleep(0)
    waits = not asked.done()
    rebuilding.end("0")

    assert waits
    assert await asked


async def test_who_looks_has_a_part_of_the_time() -> None:
    """Runs that were built for seconds are followed by none that is over, for half as long."""
    clock = Clock()
    rebuilding = Rebuilding(clock)
    rebuilding.begin("one")
    clock.seconds = MAX_SECONDS
    rebuilding.end("one")
    refused = [await rebuilding.may_look()]
    clock.seconds += MAX_SECONDS / 2 - 0.1
    refused.append(await rebuilding.may_look())
    clock.seconds += 0.2

    assert refused == [False, False]
    assert await rebuilding.may_look()


async def build_anew(threads: WorkflowThreads, run: Run) -> str:
    """Have threads begin to build a run anew, as the SDK does; what they say."""

    def work(act: WorkflowActivation) -> WorkflowActivationCompletion:
        return WorkflowActivationCompletion(run_id=act.run_id)

    start = InitializeWorkflow(workflow_id=run.handle.id)
    act = WorkflowActivation(
        run_id=await run.execution() or "",
        is_replaying=True,
        jobs=[WorkflowActivationJob(initialize_workflow=start)],
    )
    said = await asyncio.wrap_future(threads.submit(work, act))
    return said.failed.failure.message


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
    threads = WorkflowThreads(runs.client, clock)
    threads.rebuilding.begin("another")
    clock.seconds = MAX_SECONDS
    busy = [await build_anew(threads, run) for run in (over, still_open)]
    threads.rebuilding.end("another")
    threads.rebuilding.end(await still_open.execution() or "")
    clock.seconds += MAX_SECONDS

    assert busy == [TOO_MANY_LOOK, ""]
    assert await build_anew(threads, over) == ""
    threads.shutdown()
