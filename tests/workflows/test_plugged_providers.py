"""A provider that Holdfast doesn't know: an app brings its adapter along."""

from decimal import Decimal

import pytest
from pydantic import JsonValue

from holdfast import Agent, App, ModelUnavailable
from holdfast.contracts.base import JsonObject
from holdfast.contracts.errors import ModelRejected
from holdfast.contracts.model import ModelReply, ModelRequest
from holdfast.testing import Reply, ScriptTurn
from tests.adapters.house import HouseAdapter, reply
from tests.memory.runs import MemoryRuns
from tests.sample import add


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


class CountingAdapter(HouseAdapter):
    """Wants to know with each request how many replies there were, and their tokens."""

    def __init__(self) -> None:
        self.known: list[JsonObject] = []
        self.merges = 0

    async def respond(self, request: ModelRequest) -> ModelReply:
        if (request.turn, request.attempt) == (3, 1):
            raise ModelUnavailable("busy", retry_after=0.01)
        self.known.append(request.provider_state)
        asked: JsonValue = [f"c{request.turn}", "add", {"a": 1, "b": request.turn}]
        said = self.parse_response(reply("so", *([] if request.turn == 5 else [asked])))
        return said.model_copy(
            update={"provider_state": {"replies": 1, "tokens": said.usage.total_tokens}}
        )

    def merge_state(self, before: JsonObject, fresh: JsonObject) -> JsonObject:
        self.merges += 1
        return {name: _number(before, name) + _number(fresh, name) for name in fresh}


def _number(state: JsonObject, name: str) -> int:
    value = state.get(name, 0)
    assert isinstance(value, int)
    return value


@pytest.mark.parametrize("events", [15_000, 1], ids=["one execution", "many executions"])
async def test_the_state_is_merged_once_for_each_reply(
    memory_runs: MemoryRuns, events: int
) -> None:
    """An attempt that failed merges nothing, and a replay or a new execution no second time."""
    # PS-07 PS-03
    counting = CountingAdapter()
    agent = Agent(
        name="it",
        instructions="Work.",
        models=["house:it"],
        tools=[add],
        max_history_events=events,
    )
    async with memory_runs.working(App(agents=[agent], adapters=[counting])):
        run = await memory_runs.start("it", "Count")
        result = await run.result()
        executions = len(await run.stories())

    assert (result.steps, counting.merges, executions > 1) == (5, 5, events == 1)
    assert result.provider_state == {"house": {"replies": 5, "tokens": 60}}
    assert counting.known == [{}] + [{"replies": n, "tokens": 12 * n} for n in range(1, 5)]
