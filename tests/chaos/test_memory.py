"""Random scripts in memory: what holds on a server holds here, many times as often."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from hypothesis import given

from tests.chaos.cast import DELEGATING, FREE, GUARDED
from tests.chaos.memory import MemoryStage, check, fifty, opened, two_hundred
from tests.chaos.scripts import Script, scripts
from tests.memory.tasks import Habits

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncGenerator[MemoryStage]:
    async with opened(tmp_path, Habits()) as stage:
        yield stage


@pytest.fixture
async def forgetful_stage(tmp_path: Path) -> AsyncGenerator[MemoryStage]:
    async with opened(tmp_path, Habits(renews_after=1), cached_transcripts=0) as stage:
        yield stage


@pytest.fixture
async def dividing_stage(tmp_path: Path) -> AsyncGenerator[MemoryStage]:
    async with opened(tmp_path, Habits(divides=True, renews_after=3)) as stage:
        yield stage


@two_hundred
@given(script=scripts(FREE))
async def test_whatever_models_and_tools_do(stage: MemoryStage, script: Script) -> None:
    """Replies of any kind, calls that work, fail, hang, are denied, unknown or malformed."""
    await check(stage, script)


@two_hundred
@given(script=scripts(FREE, people=True, restarts=True))
async def test_whatever_people_say_and_whenever_workers_are_killed(
    stage: MemoryStage, script: Script
) -> None:
    """What a killed worker had in hand is lost; its runs are built anew, and go on."""
    await check(stage, script)


@two_hundred
@given(script=scripts(GUARDED, people=True, marked=True))
async def test_whatever_guardrails_find(stage: MemoryStage, script: Script) -> None:
    """Tripwires in every layer: nothing before a verdict, nothing after a bad one."""
    await check(stage, script)


@two_hundred
@given(script=scripts((*FREE, *GUARDED), people=True, marked=True))
async def test_whatever_workers_forget(forgetful_stage: MemoryStage, script: Script) -> None:
    """A run that is built anew after each workflow task does the same as one that is kept."""
    await check(forgetful_stage, script)


@two_hundred
@given(script=scripts((*FREE, *GUARDED), people=True, restarts=True, marked=True))
async def test_whatever_divides_a_task(dividing_stage: MemoryStage, script: Script) -> None:
    """What comes while something local is under way is heard in the order of a replay."""
    await check(dividing_stage, script)


@fifty
@given(script=scripts(DELEGATING, people=True, restarts=True, delegating=True))
async def test_whoever_works_for_a_run_or_goes_on_with_it(
    stage: MemoryStage, script: Script
) -> None:
    """Tasks, handoffs of both kinds, stops and killed workers, in any order."""
    # BY-52 HO-09
    await check(stage, script)
