"""Results of one turn, whichever call was done first."""

import asyncio

from holdfast import Risk, tool
from holdfast.contracts.calls import ToolSuccess
from holdfast.contracts.transcript import ToolTurn
from holdfast.testing import Reply, ScriptTurn, call, calls, say
from tests.memory.runs import MemoryRuns
from tests.sample import scripted

DONE_FIRST = (3, 1, 2)


async def test_results_stand_in_the_order_of_their_calls(memory_runs: MemoryRuns) -> None:
    """The third call is done first, then the first, then the second: the model reads 1, 2, 3."""
    # SM-03 T-21
    begun, done = ({number: asyncio.Event() for number in DONE_FIRST} for _ in range(2))
    ended: list[int] = []

    @tool(risk=Risk.READ_ONLY)
    async def finish(number: int) -> int:
        """Finish when it is the turn of this number, and all have begun."""
        begun[number].set()
        await asyncio.gather(*(one.wait() for one in begun.values()))
        for earlier in DONE_FIRST[: DONE_FIRST.index(number)]:
            await done[earlier].wait()
        ended.append(number)
        done[number].set()
        return number

    read: list[int] = []

    def script(turn: ScriptTurn) -> Reply:
        if turn.number == 1:
            return calls(*(call("finish", number=number) for number in (1, 2, 3)))
        assert isinstance(turn.transcript[-1], ToolTurn)
        for result in turn.results:
            assert isinstance(result, ToolSuccess)
            assert isinstance(result.data, int)
            read.append(result.data)
        return say("done")

    async with memory_runs.working(scripted(script, tools=(finish,))):
        result = await (await memory_runs.start("it")).result()

    assert result.status == "completed"
    assert tuple(ended) == DONE_FIRST
    assert read == [1, 2, 3]
