"""Workers of which one half is busy: they only decide, or only run calls."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

import pytest
from temporalio.client import Client
from temporalio.worker import Worker

from holdfast import App, worker
from holdfast.workflows.agent_run import AgentRun
from holdfast.workflows.agent_session import AgentSession
from tests.running import Runs


def no_calls(make: Callable[..., Worker]) -> Callable[..., Worker]:
    return partial(make, no_remote_activities=True)


def no_calls_nor_memory(make: Callable[..., Worker]) -> Callable[..., Worker]:
    """Have it keep no run: once it has gone, the server offers what it had to others at once."""
    return partial(_make_without_memory, no_calls(make))


def no_decisions(make: Callable[..., Worker]) -> Callable[..., Worker]:
    return partial(_make_without_runs, make)


def _make_without_memory(make: Callable[..., Worker], *given: Client, **options: object) -> Worker:
    return make(*given, **{**options, "max_cached_workflows": 0})


def _make_without_runs(make: Callable[..., Worker], *given: Client, **options: object) -> Worker:
    kept = options.get("workflows") != [AgentRun, AgentSession]
    return make(*given, **options if kept else {**options, "workflows": []})


@asynccontextmanager
async def half_working(
    runs: Runs, app: App, half: Callable[[Callable[..., Worker]], Callable[..., Worker]]
) -> AsyncGenerator[None]:
    """Have a worker that only decides, or only runs calls: the other half is busy."""
    client = await runs.another_client()
    async with AsyncExitStack() as stack:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(worker, "Worker", half(Worker))
            await stack.enter_async_context(runs.working(app, client=client))
        yield
