"""Random scripts in memory: what workers forget."""

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
    async with opened(tmp_path, Habits(renews_after=1), cached_transcripts=0) as stage:
        yield stage


@five_hundred
@given(script=scripts((*FREE, *GUARDED), people=True, marked=True))
async def test_whatever_workers_forget(stage: MemoryStage, script: Script) -> None:
    """A run that is built anew after each workflow task does the same as one that is kept."""
    await check(stage, script)
