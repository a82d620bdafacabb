"""A disk that is full hides nothing that was done."""

from pathlib import Path

from holdfast import Risk, tool
from holdfast.testing import call
from tests.running import Runs
from tests.sample import lines, note, scripted, told


@tool(risk=Risk.WRITE_INTERNAL, max_result_chars=20)
async def order(log: str) -> str:
    """Order what is missing, and say at length what was ordered."""
    note(log, "ordered")
    return "ordered: " + "lamps, " * 100


async def test_a_write_that_cant_be_kept_has_happened(
    runs: Runs, tmp_path: Path, home: Path
) -> None:
    """The model reads the beginning of its result; nobody asks whether it happened."""
    log = tmp_path / "log"
    (home / "artifacts").write_text("no folder: nothing can be kept below it")
    async with runs.working(scripted([call("order", log=str(log)), told], tools=[order])):
        run = await runs.start("it")
        await run.approve((await run.asked_for_approval()).request_id)
        result = await run.result()
        done = await run.success()

    assert result.answer == "order ok"
    assert lines(log) == ["ordered"]
    assert (done.cut, done.artifact) == (True, None)
    assert "the whole could not be kept" in done.summary
