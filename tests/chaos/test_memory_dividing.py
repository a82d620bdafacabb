"""Random scripts in memory: what divides a workflow task."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from hypothesis import given

from tests.chaos.cast import FREE, GUARDED
from tests.chaos.memory import MemoryStage, check, five_hundred, opened
from tests.chaos.scripts import Script, scripts
from tests.memory.tasks import Habits

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncGenerator[MemoryStage]:
    async with opened(tmp_path, Habits(divides=True, renews_after=3)) as stage:
        yield stage


@five_hundred
@given(script=scripts((*FREE, *GUARDED), people=True, restarts=True, marked=True))
async def test_whatever_divides_a_task(stage: MemoryStage, script: Script) -> None:
    """What comes while something local is under way is heard in the order of a replay."""
    await check(stage, script)
