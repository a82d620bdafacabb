"""A part that begins when others of its plan are over knows what they did, or what is unknown."""

import asyncio
import json
from pathlib import Path

import pytest
from temporalio.service import RPCError, RPCStatusCode

from holdfast import Budget
from holdfast.contracts.control import Decomposition, Tiers
from holdfast.testing import Reply, ScriptTurn, call, say
from tests.running import Run, Runs
from tests.sample import lines
from tests.workflows.test_permissions import policy
from tests.workflows.tiered import asked, child, staffed, written

COUNT = 5
"""One more than work at the same time."""

PLAN = json.dumps({"subtasks": [f"part {number}" for number in range(1, COUNT + 1)]})
TIERS = Tiers(full="coder", decomposed=Decomposition(planner="planner", worker="hand", most=COUNT))


async def fifth_began(fifth: Run) -> None:
    """Wait until it is there: the first has ended then, for the others hold."""
    while True:
        try:
            await fifth.status()
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise
            await asyncio.sleep(0.02)
        else:
            return


@pytest.mark.timeout(120)
@pytest.mark.parametrize("lost", [False, True], ids=["it ended", "it was terminated"])
async def test_a_later_part_repeats_no_write(runs: Runs, tmp_path: Path, *, lost: bool) -> None:
    """The first part pays; the fifth, begun when it is over, would pay the same."""
    log = tmp_path / "log"

    def hand(turn: ScriptTurn) -> Reply:
        part = turn.goal.split("\n")[1]
        pays = part in {"part 1", "part 5"}
        if pays and turn.number == 1:
            return call("send", log=str(log), text="pay 100")
        holds = turn.number == 1 or (part == "part 1" and lost and turn.number == 2)
        return call("hold", log=f"{log}-{part}") if holds else say("done")

    app = staffed(
        {"planner": [say(PLAN)], "hand": hand},
        tiers=TIERS,
        budget=Budget(max_steps=40),
        policy=policy(tmp_path, "{id: ok, effect: allow, match: {tools: [send, hold]}}"),
    )
    async with runs.working(app):
        run = await runs.start("it")
        fifth = child(runs, run, "2-part-5")
        if lost:
            await written(Path(f"{log}-part 1"))
            await child(runs, run, "2-part-1").handle.terminate("a test")
            (request,) = await asked(fifth)
            assert request.kind == "approval"
        else:
            await fifth_began(fifth)
            for number in (2, 3, 4):
                Path(f"{log}-part {number}.go").touch()
            await run.result()
        if lost:
            await run.handle.terminate("a test")

    assert len(lines(log)) == 1
