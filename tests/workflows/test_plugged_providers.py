"""A provider that Holdfast doesn't know: an app brings its adapter along."""

from decimal import Decimal

from holdfast import Agent, App
from holdfast.contracts.errors import ModelRejected
from holdfast.testing import Reply, ScriptTurn
from tests.adapters.house import HouseAdapter
from tests.memory.runs import MemoryRuns


def refuse(_: ScriptTurn) -> Reply:
    raise ModelRejected("no such model", kind="not_found")


async def test_a_run_asks_a_provider_of_the_apps_own(memory_runs: MemoryRuns) -> None:
    """It is asked, billed and passed on to like any other, and nothing else was changed for it."""
    # AD-04, GF-05, PS-08
    agent = Agent(name="it", instructions="Work.", models=["scripted:none", "house:it"])
    app = App(agents=[agent], scripts={"none": [refuse]}, adapters=[HouseAdapter()])
    async with memory_runs.working(app):
        result = await (await memory_runs.start("it", "Hello")).result()

    assert (result.answer, result.model) == ("heard: Hello", "house:it")
    assert result.usage.estimated_cost == Decimal("0.000028")
