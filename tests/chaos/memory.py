"""Where random scripts are played without a server: many times as many."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from temporalio.service import RPCError

from holdfast.contracts.approvals import Request
from holdfast.contracts.base import JsonObject
from holdfast.contracts.budget import UsageReport
from tests.chaos.cast import cast
from tests.chaos.invariants import complaints
from tests.chaos.playing import Cast, Played, build_signals, read_items
from tests.chaos.scripts import Message, Script
from tests.memory.runs import MemoryRun, MemoryRuns
from tests.memory.tasks import Habits
from tests.sample import lines

two_hundred = settings(
    max_examples=200,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

fifty = settings(two_hundred, max_examples=50)


class MemoryStage(Cast):
    """Where scripts are played in memory, one after the other."""

    def __init__(self, runs: MemoryRuns, folder: Path) -> None:
        super().__init__(folder)
        self._runs = runs
        self._played = 0

    def leave(self) -> None:
        self._runs.kill_soon()

    async def play(self, script: Script) -> Played:
        """Play a script to its end, or until nothing moves any more and nobody says more."""
        self._played += 1
        run_id = f"chaos-{self._played}"
        self._scripts[run_id] = script
        brief: JsonObject = {"agent": script.agent, "input": script.goal, "budget": script.budget}
        run = await self._runs.start_with(brief, run_id=run_id)
        await self._say(run, script.early, ())
        for reaction in script.reactions:
            if await run.rest():
                break
            pending = await run.pending()
            for what in reaction:
                if what.what == "restart":
                    self._runs.kill_soon()
                else:
                    await self._say(run, (what,), pending)
        return await self._seen(run, script)

    async def _say(
        self, run: MemoryRun, messages: tuple[Message, ...], pending: tuple[Request, ...]
    ) -> None:
        for message in messages:
            for name, arguments in build_signals(message, pending):
                try:
                    await run.signal_with(name, *arguments)
                except RPCError:
                    return  # the run has ended

    async def _seen(self, run: MemoryRun, script: Script) -> Played:
        over = await run.rest()
        status, pending = await run.status(), await run.pending()
        usage, items = await run.query("usage", UsageReport), await read_items(run)
        effects = tuple(lines(self._log(run.id)))
        result = await run.result() if over else None
        if not over:
            await run.cancel()
            assert await run.rest()
        played = Played(
            script=script,
            result=result,
            status=status,
            pending=pending,
            usage=usage,
            items=items,
            effects=effects,
            histories=(),
            stories=await self._runs.stories(run),
        )
        await run.forget()
        return played


@asynccontextmanager
async def opened(
    folder: Path, habits: Habits, *, cached_transcripts: int = 256
) -> AsyncGenerator[MemoryStage]:
    """Have a stage, and a worker, while the block lasts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOLDFAST_HOME", str(folder / "home"))
        runs = MemoryRuns(habits)
        stage = MemoryStage(runs, folder)
        async with runs.working(cast(stage), cached_transcripts=cached_transcripts):
            yield stage
        await runs.close()


async def check(stage: MemoryStage, script: Script) -> None:
    """Play a script; whatever holds for every run must hold for it."""
    assert complaints(await stage.play(script)) == []
