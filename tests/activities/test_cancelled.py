"""A tool that is cancelled ends as cancelled; one that only says so has failed."""

import asyncio
from pathlib import Path

import pytest
from temporalio.exceptions import ApplicationError, CancelledError
from temporalio.testing import ActivityEnvironment

from holdfast.contracts.calls import ToolInvocation
from holdfast.tools.context import Admission, Heartbeat
from holdfast.tools.tool import Tool
from tests.activities.test_secrets import SECRET, raising, told


@pytest.mark.parametrize("kind", [asyncio.CancelledError, CancelledError])
async def test_a_tool_that_says_it_was_cancelled_has_failed(
    tmp_path: Path, kind: type[BaseException]
) -> None:
    """Only who is cancelled was; whoever says so without it fails like any other, and counts."""
    with pytest.raises(ApplicationError) as raised:
        await told(raising(kind(f"no {SECRET}")), tmp_path)

    assert (raised.value.type, raised.value.message) == ("CancelledError", "no [redacted]")


async def test_a_cancellation_stays_one(tmp_path: Path) -> None:
    """Who is cancelled ends as such, whatever words they find for it."""
    begun = asyncio.Event()

    class Waiting:
        async def run(
            self, tool: Tool, invocation: ToolInvocation, heartbeat: Heartbeat, admit: Admission
        ) -> bytes:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                raise asyncio.CancelledError(f"no {SECRET}")

    environment = ActivityEnvironment()
    asked = asyncio.create_task(told(Waiting(), tmp_path, environment=environment))
    await begun.wait()
    environment.cancel()
    with pytest.raises(asyncio.CancelledError) as raised:
        await asked

    assert SECRET not in str(raised.value)
