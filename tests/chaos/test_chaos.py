"""Random scripts over replies, tools, people and workers: what holds for every run holds here."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
from hypothesis import event, given
from temporalio.client import Client
from temporalio.worker import Worker

from holdfast import worker
from holdfast.runner import build_replayer
from holdfast.workflows.agent_run import AgentRun
from tests.chaos.cast import DELEGATING, FREE, GUARDED, cast
from tests.chaos.invariants import complaints
from tests.chaos.playing import Stage, staged
from tests.chaos.scripts import Script, scripts
from tests.chaos.servers import a_dozen, half_a_dozen
from tests.running import Runs

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@asynccontextmanager
async def opened(
    client: Client, folder: Path, *, cold: bool = False, onlookers: int = 0
) -> AsyncGenerator[Stage]:
    """Have a stage; a cold one forgets transcripts and runs as soon as it has touched them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOLDFAST_HOME", str(folder / "home"))
        if cold:
            patch.setattr(worker, "Worker", partial(Worker, max_cached_workflows=0))
        cached = 0 if cold else 256
        async with staged(
            Runs(client), folder, cast, cached_transcripts=cached, onlookers=onlookers
        ) as stage:
            yield stage


@pytest.fixture
async def stage(client: Client, tmp_path: Path) -> AsyncGenerator[Stage]:
    async with opened(client, tmp_path) as stage:
        yield stage


@pytest.fixture
async def cold_stage(client: Client, tmp_path: Path) -> AsyncGenerator[Stage]:
    async with opened(client, tmp_path, cold=True) as stage:
        yield stage


@pytest.fixture
async def watched_stage(client: Client, tmp_path: Path) -> AsyncGenerator[Stage]:
    async with opened(client, tmp_path, onlookers=3) as stage:
        yield stage


async def check(stage: Stage, script: Script) -> None:
    """Play a script; whatever holds for every run must hold for it, and its history replay."""
    played = await stage.play(script)
    event(f"{script.agent} {played.status.status}")  # for --hypothesis-show-statistics

    assert complaints(played) == []
    ours = build_replayer(AgentRun)
    for history in played.histories:
        await ours.replay_workflow(history)


@a_dozen
@given(script=scripts(FREE))
async def test_whatever_models_and_tools_do(stage: Stage, script: Script) -> None:
    """Replies of any kind, calls that work, fail, hang, are denied, unknown or malformed."""
    # LP-02 T-21 T-49
    await check(stage, script)


@a_dozen
@given(script=scripts(FREE, people=True, restarts=True))
async def test_whatever_people_say_and_whenever_workers_go(stage: Stage, script: Script) -> None:
    """Approvals, words, rubbish: early, late, twice; workers that go in the middle of a turn."""
    # HG-13 SS-07
    await check(stage, script)


@a_dozen
@given(script=scripts(GUARDED, people=True, marked=True))
async def test_whatever_guardrails_find(stage: Stage, script: Script) -> None:
    """Tripwires in every layer: nothing before a verdict, nothing after a bad one."""
    await check(stage, script)


@a_dozen
@given(script=scripts((*FREE, *GUARDED), people=True, marked=True))
async def test_whatever_workers_forget(cold_stage: Stage, script: Script) -> None:
    """A worker that remembers neither runs nor transcripts does the same as one that does."""
    # SS-01
    await check(cold_stage, script)


@a_dozen
@given(script=scripts((*FREE, *GUARDED), people=True, restarts=True, marked=True))
async def test_whoever_looks_on(watched_stage: Stage, script: Script) -> None:
    """Queries that divide workflow tasks, wherever they come, change nothing."""
    # SS-01
    await check(watched_stage, script)


@half_a_dozen
@given(script=scripts(DELEGATING, people=True, restarts=True, delegating=True))
async def test_whoever_works_for_a_run_or_goes_on_with_it(stage: Stage, script: Script) -> None:
    """Tasks, handoffs of both kinds, stops, and workers that go while others work for a run."""
    # HO-09
    await check(stage, script)
