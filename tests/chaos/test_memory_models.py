"""Random scripts in memory: what models and tools do."""

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
@given(script=scripts(FREE))
async def test_whatever_models_and_tools_do(stage: MemoryStage, script: Script) -> None:
    """Replies of any kind, calls that work, fail, hang, are denied, unknown or malformed."""
    await check(stage, script)
