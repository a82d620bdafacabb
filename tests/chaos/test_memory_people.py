"""Random scripts in memory: what people say, and workers that are killed in mid-sentence."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from hypothesis import given

from tests.chaos.cast import FREE
from tests.chaos.memory import MemoryStage, check, five_hundred, opened
from tests.chaos.scripts import Script, scripts
from tests.memory.tasks import Habits

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncGenerator[MemoryStage]:
    async with opened(tmp_path, Habits()) as stage:
        yield stage


@five_hundred
@given(script=scripts(FREE, people=True, restarts=True))
async def test_whatever_people_say_and_whenever_workers_are_killed(
    stage: MemoryStage, script: Script
) -> None:
    """What a killed worker had in hand is lost; its runs are built anew, and go on."""
    await check(stage, script)
