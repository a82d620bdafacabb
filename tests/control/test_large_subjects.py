"""What guardrails are sent fits into what the server takes, however it is written."""

from holdfast.testing import say
from tests.control.guarded import Seen, guarded, on_word
from tests.memory.runs import MemoryRuns


async def test_many_may_look_at_a_large_goal(memory_runs: MemoryRuns) -> None:
    """A character may have four bytes: copies for all of them don't go out at once."""
    seen = [Seen() for _ in range(8)]
    looking = [on_word(f"look_{n}", "bad", "input", one) for n, one in enumerate(seen)]
    goal = "🦔" * 74_000
    async with memory_runs.working(guarded([say("done")], *looking)):
        run = await memory_runs.start("it", goal)
        result = await run.result()

    assert (result.status, result.answer) == ("completed", "done")
    assert [one.texts for one in seen] == [[goal]] * 8
