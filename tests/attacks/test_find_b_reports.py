"""Found: a report that JSON has no word for ends the call that tells it."""

from pathlib import Path

import pytest

from holdfast import Risk, ToolContext, tool
from holdfast.testing import call
from tests.running import Runs
from tests.sample import lines, note, scripted, told


class Row:
    """What a library gives back, for example of a database."""


@tool(risk=Risk.WRITE_INTERNAL)
async def order(log: str, ctx: ToolContext) -> str:
    """Order what is missing, and report how far it has come."""
    note(log, "ordered")
    ctx.heartbeat({"row": Row()})  # pyright: ignore[reportArgumentType] -- no author looks
    return "ordered"


@tool(risk=Risk.WRITE_INTERNAL)
def order_far(log: str, ctx: ToolContext) -> str:
    """Order what is missing, and report how far it has come, elsewhere."""
    note(log, "ordered")
    ctx.heartbeat({"row": Row()})  # pyright: ignore[reportArgumentType] -- as above
    return "ordered"


@pytest.mark.parametrize("name", ["order", "order_far"])
async def test_a_write_is_done_whatever_it_reports(runs: Runs, tmp_path: Path, name: str) -> None:
    """What a report holds has nothing to do with what was done."""
    log = tmp_path / "log"
    app = scripted([call(name, log=str(log)), told], tools=[order, order_far])
    async with runs.working(app):
        run = await runs.start("it")
        await run.approve((await run.asked_for_approval()).request_id)
        await run.result()
        [result] = await run.results()

    assert lines(log) == ["ordered"]
    assert result.status == "ok"
