"""One measurement: what a number of steps took, and what it left in history."""

import asyncio
import statistics
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple
from uuid import uuid4

from pydantic import JsonValue
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client, WorkflowHandle

from bench.processes import WorkerProcess
from holdfast.contracts.run import WORKFLOW_TYPE

Handle = WorkflowHandle[object, object]


@dataclass(frozen=True)
class Sample:
    """What one step took, on average of one measurement or as median of several."""

    ms: float
    cpu_ms: float
    events: float
    size: float

    @classmethod
    def median(cls, samples: Iterable["Sample"]) -> "Sample":
        """Take the median of each figure for itself."""
        rows = [(each.ms, each.cpu_ms, each.events, each.size) for each in samples]
        return cls(*(statistics.median(column) for column in zip(*rows, strict=True)))


class Subject(NamedTuple):
    """
    Something that takes steps: a worker, and one of our agents or else a raw workflow.

    A step is so many `model_calls`, of those that work for the agent too.
    """

    name: str
    worker: WorkerProcess
    agent: str | None = None
    raw: str = "RawLoop"
    model_calls: int = 1

    async def start(self, client: Client, steps: int) -> Handle:
        """Start a run of so many steps."""
        argument: JsonValue = steps
        if self.agent is not None:
            budget: JsonValue = {"max_steps": steps * self.model_calls + 1}
            argument = {"agent": self.agent, "input": str(steps), "budget": budget}
        return await client.start_workflow(
            self.raw if self.agent is None else WORKFLOW_TYPE,
            argument,
            id=f"bench-{uuid4().hex[:12]}",
            task_queue=self.worker.queue,
        )


async def measured(client: Client, subject: Subject, steps: int, runs: int = 1) -> Sample:
    """Measure so many runs at once, of so many steps each."""
    cpu, began = subject.worker.cpu_seconds(), time.perf_counter()
    handles = await asyncio.gather(*(subject.start(client, steps) for _ in range(runs)))
    await asyncio.gather(*(handle.result() for handle in handles))
    seconds, cpu = time.perf_counter() - began, subject.worker.cpu_seconds() - cpu
    events = await whole_history(client, handles[0])
    return Sample(
        ms=seconds * 1000 / (steps * runs),
        cpu_ms=cpu * 1000 / (steps * runs),
        events=len(events) / steps,
        size=sum(event.ByteSize() for event in events) / steps,
    )


async def whole_history(client: Client, handle: Handle) -> list[HistoryEvent]:
    """Return the events of a run that is over, of all executions that it went through."""
    found: list[HistoryEvent] = []
    execution = handle.first_execution_run_id
    while execution:
        part = client.get_workflow_handle(handle.id, run_id=execution)
        events = list((await part.fetch_history()).events)
        found += events
        execution = events[
            -1
        ].workflow_execution_continued_as_new_event_attributes.new_execution_run_id
    return found


async def ready(client: Client, *subjects: Subject) -> None:
    """Wait until workers work and everything in them has been used once."""
    for subject in subjects:
        warm = asyncio.ensure_future(measured(client, subject, 10))
        died = asyncio.ensure_future(subject.worker.died())
        done, _ = await asyncio.wait({warm, died}, return_when=asyncio.FIRST_COMPLETED)
        died.cancel()
        for future in done:
            future.result()
