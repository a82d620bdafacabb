"""A scenario and how it is played: a real run on a server, and the histories it leaves."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from temporalio.api.enums.v1 import EventType
from temporalio.api.workflowservice.v1 import DescribeWorkflowExecutionResponse
from temporalio.client import Client, WorkflowFailureError, WorkflowHandle, WorkflowHistory

from holdfast import App
from holdfast.contracts.approvals import Request
from holdfast.contracts.base import JsonObject
from holdfast.contracts.run import WORKFLOW_TYPE, RunResult
from holdfast.contracts.sessions.messages import SESSION_WORKFLOW_TYPE
from holdfast.histories import fetch
from holdfast.trace.reader import read_trace
from holdfast.trace.values import Trace
from tests.running import Run, Runs

Chain: TypeAlias = tuple[WorkflowHistory, ...]
"""The histories of all executions of one workflow, the oldest first."""


@dataclass(frozen=True)
class Scene:
    """
    What the people of a scenario see: the run, its surroundings, a folder for their things.

    They wait by looking at history. A query that comes while the run is at work adds events to
    it, and then no two playings are alike.
    """

    run: Run
    runs: Runs
    folder: Path

    async def until(self, holds: Callable[[Trace], bool]) -> None:
        """Wait until something holds of what history tells, and the run has come to rest."""
        client, name = self.runs.client, self.run.handle.id
        while not holds(read_trace(await fetch(client, name))):  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.02)
        await self.rest()

    async def rest(self) -> None:
        """Wait until nothing is under way, and all that was said has been heard."""
        handle = self.run.handle
        while _is_busy((await handle.describe()).raw_description):  # noqa: ASYNC110 -- as above
            await asyncio.sleep(0.02)

    async def asked(self, count: int = 1) -> tuple[Request, ...]:
        """Wait until so many requests are open."""
        await self.until(lambda trace: len(trace.waiting) >= count)
        return await self.run.pending()

    async def refused(self) -> None:
        """Wait until the run has refused a message."""
        await self.until(lambda trace: any(one.accepted is False for one in trace.messages))


def _is_busy(seen: DescribeWorkflowExecutionResponse) -> bool:
    return bool(seen.pending_activities) or seen.HasField("pending_workflow_task")


async def nobody(_: Scene) -> None:
    """Nobody says anything."""


@dataclass(frozen=True)
class Scenario:
    """
    A run that shows what the platform can do.

    *app* gets a folder for its files. *people* do their part while the run is under way. The
    workflow's id is the name of the scenario. *beside* are ids of workflows that take part and
    that the run didn't start itself. A *session* begins with nothing said.
    """

    name: str
    app: Callable[[Path], App]
    people: Callable[[Scene], Awaitable[None]] = nobody
    goal: str = "go"
    brief: JsonObject = field(default_factory=JsonObject)
    beside: Sequence[str] = ()
    session: bool = False


async def play(scenario: Scenario, client: Client, folder: Path) -> tuple[Chain, ...]:
    """Play a scenario to its end; return its histories, then those of the runs it started."""
    runs = Runs(client)
    runs.queue = scenario.name
    goal: JsonObject = {} if scenario.session else {"input": scenario.goal}
    brief: JsonObject = {"agent": "clerk", **goal, **scenario.brief}
    async with runs.working(scenario.app(folder)):
        handle: WorkflowHandle[object, RunResult] = await client.start_workflow(
            SESSION_WORKFLOW_TYPE if scenario.session else WORKFLOW_TYPE,
            args=[brief],
            id=scenario.name,
            task_queue=runs.queue,
            result_type=RunResult,
        )
        await scenario.people(Scene(Run(handle), runs, folder))
        with suppress(WorkflowFailureError):
            await client.get_workflow_handle(scenario.name).result()
    own = await fetch(client, scenario.name)
    others = [await fetch(client, name) for name in scenario.beside]
    return (own, *[chain async for chain in _below(client, own)], *others)


async def _below(client: Client, chain: Chain) -> AsyncGenerator[Chain]:
    for name in _children(chain):
        child = await fetch(client, name)
        yield child
        async for deeper in _below(client, child):
            yield deeper


def _children(chain: Chain) -> list[str]:
    """The ids of the workflows that one started, in their order."""
    return [
        event.start_child_workflow_execution_initiated_event_attributes.workflow_id
        for history in chain
        for event in history.events
        if event.event_type == EventType.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED
    ]
