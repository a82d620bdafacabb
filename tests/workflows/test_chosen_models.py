"""A start chooses among its agent's models: which are asked, and in which order."""

import pytest
from pydantic import JsonValue
from temporalio.client import WorkflowFailureError

from holdfast import Agent, App, ModelUnavailable
from holdfast.testing import Reply, Script, ScriptTurn, say
from tests.memory.runs import MemoryRuns
from tests.running import Runs


def down(_: ScriptTurn) -> Reply:
    raise ModelUnavailable("its server is down", kind="overloaded")


def desk(**scripts: Script) -> App:
    """Return an app whose agent has these models, in this order."""
    models = [f"scripted:{name}" for name in scripts]
    agent = Agent(name="it", instructions="Work.", models=models)
    return App(agents=[agent], scripts=scripts)


async def test_a_run_asks_the_models_that_its_start_names(memory_runs: MemoryRuns) -> None:
    """The others are as if the agent hadn't them; where none is named all of them are asked."""
    # AD-04
    app = desk(small=[say("small")], large=[say("large")], huge=[say("huge")])
    async with memory_runs.working(app):
        plain = await (await memory_runs.start("it")).result()
        chosen = await (await memory_runs.start("it", models=["scripted:large"])).result()

    assert (plain.answer, plain.model) == ("small", "scripted:small")
    assert (chosen.answer, chosen.model) == ("large", "scripted:large")


async def test_the_order_is_that_of_the_start(memory_runs: MemoryRuns) -> None:
    """Where the first fails the next of those is asked, and no other."""  # AD-04
    app = desk(small=[say("small")], large=[say("large")], broken=down)
    async with memory_runs.working(app):
        run = await memory_runs.start("it", models=["scripted:broken", "scripted:large"])
        result = await run.result()

    assert (result.answer, result.model) == ("large", "scripted:large")


@pytest.mark.parametrize(
    ("models", "said"),
    [
        (["scripted:other"], "agent 'it' has no model 'scripted:other' (it has: scripted:small)"),
        (["scripted:small", "scripted:small"], "models: 'scripted:small' is named twice"),
    ],
)
async def test_what_an_agent_may_not_ask_refuses_the_start(
    runs: Runs, models: list[JsonValue], said: str
) -> None:
    """Nobody is asked, and one line says what the agent has."""  # AD-04
    async with runs.working(desk(small=[say("small")])):
        run = await runs.start("it", models=models)
        with pytest.raises(WorkflowFailureError) as failed:
            await run.handle.result()

    assert said in str(failed.value.cause)
