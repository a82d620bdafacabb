"""What tests of control need beside a server."""

from pathlib import Path

import pytest

from holdfast import settings
from holdfast.tools.sandbox.sandbox import Sandbox


@pytest.fixture
async def sandboxed(tmp_path: Path) -> None:
    """A machine that has the sandbox; without one there is nothing to test."""
    flaw = await Sandbox(tmp_path / "try").flaw()
    if flaw is not None:
        if settings.variable("HOLDFAST_TEST_SANDBOX") == "required":
            pytest.fail(f"no sandbox to test: {flaw}")
        pytest.skip(flaw)
