"""Results of one turn, whichever call was done first."""

import asyncio

from pydantic import JsonValue

from holdfast import Budget, Risk, tool
from holdfast.contracts.calls import ToolSuccess
from holdfast.contracts.transcript import ToolTurn
from holdfast.testing import Reply, ScriptTurn, call, calls, say
from tests.memory.runs import MemoryRuns
from tests.sample import scripted

DONE_FIRST = (3, 1, 2)
ROUNDS = 20


async def test_results_stand_in_the_order_of_their_calls(memory_runs: MemoryRuns) -> None:
    """The third call is done first, then the first, then the second: the model reads 1, 2, 3."""
    # SM-03 T-21
    moments = tuple((turn, number) for turn in range(1, ROUNDS + 1) for number in DONE_FIRST)
    begun, done = ({moment: asyncio.Event() for moment in moments} for _ in range(2))
    ended: list[tuple[int, int]] = []

    @tool(risk=Risk.READ_ONLY)
    async def finish(turn: int, number: int) -> int:
        """Finish when it is the turn of this number, and all have begun."""
        begun[turn, number].set()
        await asyncio.gather(*(begun[turn, one].wait() for one in DONE_FIRST))
        for earlier in DONE_FIRST[: DONE_FIRST.index(number)]:
            await done[turn, earlier].wait()
        ended.append((turn, number))
        done[turn, number].set()
        return number

    read: list[list[JsonValue]] = []

    def script(turn: ScriptTurn) -> Reply:
        if isinstance(last := turn.transcript[-1], ToolTurn):
            read.append([one.data for one in last.results if isinstance(one, ToolSuccess)])
        if turn.number > ROUNDS:
            return say("done")
        return calls(*(call("finish", turn=turn.number, number=one) for one in (1, 2, 3)))

    app = scripted(script, tools=(finish,), budget=Budget(max_steps=ROUNDS + 1))
    async with memory_runs.working(app):
        result = await (await memory_runs.start("it")).result()

    assert result.status == "completed"
    assert tuple(ended) == moments
    assert read == [[1, 2, 3]] * ROUNDS
