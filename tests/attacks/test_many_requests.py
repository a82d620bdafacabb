"""As many requests as a turn may open, with as many messages about them as are judged at once."""

import asyncio
from pathlib import Path

import pytest

from holdfast import Budget
from holdfast.testing import call, calls
from tests.running import Runs
from tests.sample import scripted, told
from tests.workflows.test_permissions import policy

WIDE = "\U0001f600"
COUNT = 200


async def test_no_number_of_messages_about_large_requests_ends_a_run(runs: Runs) -> None:
    """What is sent to be judged has an outline of each request: together they fit, or go apart."""
    # T-17
    asked = (call("send", log=f"{number}", text=WIDE * 480) for number in range(COUNT))
    app = scripted([calls(*asked), told], budget=Budget(max_consecutive_failures=COUNT + 1))
    async with runs.working(app):
        run = await runs.start("it", actor=WIDE * 199)
        await run.asked()
    no = {"decision": "reject", "approver": "bob", "reason": "r" * 1_350}
    names = [f"req-{number}" for number in range(1, COUNT + 1)]
    await asyncio.gather(*(run.signal("approval", {"request_id": one, **no}) for one in names))
    async with runs.working(app):
        result = await run.result()

    assert result.status == "completed"


@pytest.mark.slow
async def test_no_number_of_approvals_with_long_names_ends_a_run(
    runs: Runs, tmp_path: Path
) -> None:
    """What decides about calls gets all their approvals: together these fit, or go in parts."""
    # T-17 PF-09
    asked = (call("look", place=f"{number}{WIDE * 660}") for number in range(COUNT))
    two = "{id: two, effect: approve, match: {tools: [look]}, approval: {count: 2}}"
    app = scripted([calls(*asked), told], policy=policy(tmp_path, two))
    async with runs.working(app):
        run = await runs.start("it")
        await run.asked()
    yes = {"decision": "approve", "reason": WIDE * 124}
    people = ("\U0001f601" * 199, "\U0001f602" * 199)
    names = [(f"req-{n}", who) for n in range(1, COUNT + 1) for who in people]
    await asyncio.gather(
        *(run.signal("approval", {"request_id": n, "approver": who, **yes}) for n, who in names)
    )
    async with runs.working(app):
        result, results = await run.result(), await run.results()

    assert result.status == "completed"
    assert [one.status for one in results] == ["ok"] * COUNT
