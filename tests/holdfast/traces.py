"""Runs whose traces the tests beside this file read."""

import asyncio
import re
from pathlib import Path

from temporalio.client import WorkflowHistory

from holdfast import App, tool
from holdfast.contracts.calls import ToolFailure
from holdfast.contracts.tools import Risk
from holdfast.testing import Script
from holdfast.trace.entries import Call
from holdfast.trace.reader import read_trace
from holdfast.trace.transcript import lines
from holdfast.trace.values import Trace
from tests.running import Run, Runs
from tests.sample import scripted


@tool(risk=Risk.READ_ONLY)
async def ponder(about: str) -> str:
    """Think about something for 200 milliseconds."""
    await asyncio.sleep(0.2)
    return f"{about} is fine"


@tool(risk=Risk.READ_ONLY, local=True, timeout=5)
async def ponder_here(about: str) -> str:
    """Think about something for 200 milliseconds, inside the workflow task."""
    await asyncio.sleep(0.2)
    return f"{about} is fine"


@tool(risk=Risk.READ_ONLY, local=True, timeout=5, max_retries=0)
async def break_here() -> str:
    """Break at once, inside the workflow task."""
    raise ValueError("it broke")


@tool(risk=Risk.WRITE_INTERNAL, rollback="none", expected_result="they know")
async def announce(text: str) -> str:
    """Announce something to other people."""
    return f"announced {text}"


async def finished(run: Run) -> tuple[WorkflowHistory, ...]:
    """Wait for the end of a run and return its history."""
    await run.result()
    return (await run.handle.fetch_history(),)


async def traced(
    runs: Runs, script: Script, *, policy: Path | None = None, **agent: object
) -> Trace:
    """Run a script to its end and read its trace."""
    async with runs.working(scripted(script, policy=policy, **agent)):
        return read_trace(await finished(await runs.start("it")))


def pondering(script: Script) -> App:
    """An app whose agent has the tools of this file."""
    return scripted(script, tools=[ponder, ponder_here, break_here, announce])


def printed(trace: Trace) -> list[str]:
    """The lines of the transcript, with the times that differ from run to run made equal."""
    found = [re.sub(r"\d+(\.\d)? (ms|s)\b", "? ms", str(line)) for line in lines(trace)]
    return [line for line in found if not line.startswith(("run ", "used "))]


def outcome(call: Call) -> str:
    """One word for what a call came to."""
    result = call.result
    assert result is not None
    return result.type if isinstance(result, ToolFailure) else result.status
