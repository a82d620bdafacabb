"""Waits are what they should be, from both sides: a clock that skips has no slow machine in it."""

import asyncio
import logging
from itertools import pairwise

import pytest

from holdfast import Fallback, Risk, tool
from holdfast.testing import Reply, Script, ScriptTurn, call, say
from tests.control.controlled import broken, chained
from tests.memory.runs import MemoryRuns
from tests.sample import scripted

SLACK = 20.0
"""Seconds that a busy machine may take for what takes no time."""


def now() -> float:
    """What time it is for the run."""
    return asyncio.get_running_loop().time()


async def test_a_read_waits_twice_as_long_each_time(memory_runs: MemoryRuns) -> None:
    """100 s, 200 s, 400 s between four attempts, and nothing after the last: it has failed."""
    # HG-06 TS-08
    at: list[float] = []

    @tool(risk=Risk.READ_ONLY, max_retries=3, retry_backoff=100)
    async def fail_again() -> str:
        """Fail, and note when."""
        at.append(now())
        raise ConnectionError("it is down")

    def script(turn: ScriptTurn) -> Reply:
        if turn.number == 1:
            return call("fail_again")
        at.append(now())
        return say("it is down")

    async with memory_runs.working(scripted(script, tools=[fail_again])):
        result = await (await memory_runs.start("it")).result()

    assert result.status == "completed"
    waits = [later - earlier for earlier, later in pairwise(at)]
    lateness = [wait - due for wait, due in zip(waits, (100, 200, 400, 0), strict=True)]
    assert [late for late in lateness if not -0.01 <= late < SLACK] == []


@pytest.mark.parametrize(
    ("wait", "due"), [(400, 400), (500, 500), (600, 0)], ids=["less", "the limit", "more"]
)
async def test_the_next_model_is_asked_within_the_wait(
    memory_runs: MemoryRuns, caplog: pytest.LogCaptureFixture, wait: float, due: float
) -> None:
    """A model without room is waited for as long as `max_wait` says, then left, with a warning."""
    # FB-05 NR-04
    at: list[float] = []

    def noting(reply: Reply) -> Script:
        def script(_: ScriptTurn) -> Reply:
            at.append(now())
            return reply

        return script

    full, other = noting(broken("rate_limited", wait)), noting(say("two"))
    app = chained(full, other, fallback=Fallback(attempts=2, max_wait=500))
    with caplog.at_level(logging.INFO):
        async with memory_runs.working(app):
            result = await (await memory_runs.start("it")).result()

    assert result.model == "scripted:2"
    assert len(at) == (3 if due else 2)
    assert due <= at[-1] - at[0] < due + SLACK
    (warned,) = (one for one in caplog.records if one.getMessage().startswith("model.switched"))
    assert warned.levelno == logging.WARNING
