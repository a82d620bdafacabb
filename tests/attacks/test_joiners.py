"""Attacks with what joins letters: four characters that no screen and no run could show."""

from holdfast.testing import call, say
from tests.memory.runs import MemoryRuns
from tests.sample import scripted

JOINED = "\u094d\u200d\u200d\u094d"
"""Two joiners between two viramas, of which each shows if the other one does."""


async def test_no_words_keep_a_run_from_its_end(memory_runs: MemoryRuns) -> None:
    """Whoever says them, history has a line about it, in which all characters show."""
    app = scripted([call("look", place=JOINED), say(JOINED)])
    async with memory_runs.working(app):
        run = await memory_runs.start("it", f"Say {JOINED}")
        result = await run.result()

    assert (result.status, result.answer) == ("completed", JOINED)
