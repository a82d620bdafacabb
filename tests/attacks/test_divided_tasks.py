"""A query divides a workflow task around a local activity: the run replays all the same."""

import asyncio
from datetime import timedelta
from pathlib import Path

from holdfast import Agent, App, Budget, Risk, tool
from holdfast.guardrails import pii_detection
from holdfast.testing import call, say
from tests.control.guarded import replayed
from tests.running import Runs
from tests.sample import lines, note


@tool(risk=Risk.READ_ONLY, max_result_chars=100_000)
async def find_person(log: str) -> str:
    """Find a person in the register, when it may."""
    note(log, "held")
    while not Path(f"{log}.go").exists():  # noqa: ASYNC110 -- it is elsewhere
        await asyncio.sleep(0.02)
    return "ada.lovelace@example.org " + "and so on " * 9_000


async def test_a_run_is_looked_at_while_its_guardrails_look(runs: Runs, tmp_path: Path) -> None:
    """A run is resumed and looked at while its worker is replaced; the next one takes it over."""
    # GR-10
    log = tmp_path / "log"
    agent = Agent(
        name="it",
        instructions="Do as you are told.",
        models=["scripted:it"],
        tools=[find_person],
        guardrails=[pii_detection(mode="parallel", on_trip="ask", watches=("results",))],
        budget=Budget(max_steps=9),
    )
    app = App(
        agents=[agent], scripts={"it": [call("find_person", log=str(log)), *[say("done")] * 4]}
    )
    run = await runs.start("it")
    async with runs.working(app):
        while not lines(log):  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.02)
        await run.signal("suspend", {})
        Path(f"{log}.go").touch()
        while (await run.status()).status != "suspended":  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.05)
    await run.signal("resume", {})
    looking = asyncio.create_task(run.handle.query("status", rpc_timeout=timedelta(seconds=60)))
    await asyncio.sleep(0)
    async with runs.working(app, client=await runs.another_client()):
        (review,) = await run.asked()
        await looking
    async with runs.working(app, client=await runs.another_client()):
        await run.approve(review.request_id)
        result = await run.result()
        await replayed(run)

    assert result.status == "completed"
