"""Random scripts in memory: what guardrails find."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from hypothesis import given

from tests.chaos.cast import GUARDED
from tests.chaos.memory import MemoryStage, check, five_hundred, opened
from tests.chaos.scripts import Script, scripts
from tests.memory.tasks import Habits

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncGenerator[MemoryStage]:
    async with opened(tmp_path, Habits()) as stage:
        yield stage


@five_hundred
@given(script=scripts(GUARDED, people=True, marked=True))
async def test_whatever_guardrails_find(stage: MemoryStage, script: Script) -> None:
    """Tripwires in every layer: nothing before a verdict, nothing after a bad one."""
    await check(stage, script)
