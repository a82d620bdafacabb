"""What a start in the name of one tenant is told of the runs of another one."""

import pytest
from pydantic import JsonValue

from tests.running import Runs
from tests.sample import scripted
from tests.workflows.test_retries import BROKEN, refusal


@pytest.mark.parametrize("of", [{}, {"turn": 1}, {"turn": 99}, {"turn": 99, "dry": True}])
async def test_who_tries_a_run_of_another_tenant_learns_nothing_of_it(
    runs: Runs, of: dict[str, JsonValue]
) -> None:
    """Neither that there is one, nor how many turns it took, nor which run it tries again."""
    # BY-20
    async with runs.working(scripted([BROKEN])):
        theirs = await runs.start("it", tenant="acme")
        await theirs.result()
        lineage: dict[str, JsonValue] = {"run_id": theirs.handle.id, "turn": 99}
        behind = await runs.start_with({"agent": "it", "tenant": "acme", "retry_of": lineage})
        await refusal(behind)
        told = {
            name: await refusal(
                await runs.start_with(
                    {"agent": "it", "tenant": "other", "retry_of": {"run_id": name, **of}}
                )
            )
            for name in (theirs.handle.id, behind.handle.id, "nobody")
        }

    assert told == {name: f"there is no run {name!r} of tenant 'other'" for name in told}
