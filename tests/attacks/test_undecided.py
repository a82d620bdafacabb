"""Calls that nothing can be decided about, for as long as what decides them can't be reached."""

from holdfast.contracts.errors import HoldfastError
from holdfast.contracts.switches import Switch
from holdfast.testing import call, say
from tests.memory.runs import MemoryRuns
from tests.memory.surroundings import MemorySwitches
from tests.running import DAY
from tests.sample import TOOLS, scripted

MAX_EVENTS = 51_200
"""A server ends a history that has as many."""

EVENTS_EACH = 7
"""Of an attempt: a timer, its task, and that nothing was decided."""


RECOVERY_SECONDS = 300
"""After it something can be decided again a run has asked once more."""


class _Unreachable(MemorySwitches):
    """What is switched off, which nobody can tell for a time; and how often that was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.is_reachable = 0, False

    async def current(self) -> tuple[Switch, ...]:
        self.asked += 1
        if not self.is_reachable:
            raise HoldfastError("nobody can tell what is switched off")
        return self.off


async def test_what_cant_be_decided_fills_no_history(memory_runs: MemoryRuns) -> None:
    """It is asked more and more seldom: a run outlasts weeks of it, and goes on behind them."""
    # T-33
    switches = memory_runs.switches = _Unreachable()
    async with memory_runs.working(scripted([call("poll"), say("done")], tools=TOOLS)):
        run = await memory_runs.start("it")
        await memory_runs.pass_time(DAY)
        asked = switches.asked
        switches.is_reachable = True
        await memory_runs.pass_time(RECOVERY_SECONDS)
        result = await run.result()

    assert asked > 10
    assert 14 * asked * EVENTS_EACH < MAX_EVENTS
    assert result.answer == "done"
