"""The part of a request that stays the same, for every adapter."""

import ast
import inspect
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from holdfast import Agent, Tool
from holdfast.adapters.base import ProviderAdapter
from holdfast.contracts.model import ModelRequest, Prefix
from holdfast.contracts.transcript import UserTurn
from tests.adapters import conversations as say
from tests.adapters.dialects import Samples
from tests.adapters.provider_server import ProviderServer
from tests.sample import add, look, poll

CHANGING = {"calendar", "datetime", "os", "random", "secrets", "time", "uuid"}


def prefix(*tools: Tool) -> Prefix:
    """What a run of an agent with these tools begins with."""
    agent = Agent(name="a", instructions="Be brief.", models=("scripted:x",), tools=tools)
    return agent.snapshot().prefix


def run(samples: Samples, goal: str, run_id: str) -> ModelRequest:
    asked = say.request(samples.MODEL, UserTurn(text=goal), prefix=prefix(add, look))
    return replace(asked, run_id=run_id, attempt=len(goal))


def imported(folder: Path) -> Iterator[tuple[str, str]]:
    """Every import of a folder's modules, as the outermost module and what is taken from it."""
    for file in folder.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            match node:
                case ast.Import(names=names):
                    yield from ((name.name.partition(".")[0], "") for name in names)
                case ast.ImportFrom(module=str(module), names=names):
                    yield from ((module.partition(".")[0], name.name) for name in names)
                case _:
                    pass


def test_order_of_tools_is_no_matter(adapter: ProviderAdapter, samples: Samples) -> None:
    """Tools that are registered in another order give the same digest and the same bytes."""
    # PP-08, T-40
    one, other = prefix(add, look, poll), prefix(poll, add, look)

    requests = [adapter.build_request(say.request(samples.MODEL, prefix=p)) for p in (one, other)]

    assert one.digest == other.digest
    assert json.dumps(requests[0]) == json.dumps(requests[1])


def test_another_tool_is_another_prefix(adapter: ProviderAdapter, samples: Samples) -> None:
    """A prefix that changed has another name, and another request."""
    # PP-08
    fewer, more = prefix(add, look), prefix(add, look, poll)

    requests = [adapter.build_request(say.request(samples.MODEL, prefix=p)) for p in (fewer, more)]

    assert fewer.digest != more.digest
    assert json.dumps(requests[0]) != json.dumps(requests[1])


async def test_runs_share_all_that_comes_before_the_goal(
    provider: ProviderServer, adapter: ProviderAdapter, samples: Samples
) -> None:
    """Requests of two runs are equal byte by byte up to where their goals differ."""
    # PP-03
    goals = ("Where are my orders?", "Who are you?")
    for number, goal in enumerate(goals):
        provider.answer(samples.WORDS)
        await adapter.respond(run(samples, goal, f"run-{number}"))

    one, other = (received.content.decode() for received in provider.requests)

    shared = one[: one.index(goals[0])]
    assert shared == other[: other.index(goals[1])]
    assert "Be brief." in shared
    assert "Add two whole numbers together." in shared
    assert one[len(shared) + len(goals[0]) :] == other[len(shared) + len(goals[1]) :]


def test_no_clock_and_no_chance_is_in_reach(adapter: ProviderAdapter) -> None:
    """What renders a request can't know the time, so a day later it renders the same."""
    # PP-03
    folder = Path(inspect.getfile(type(adapter))).parent

    taken = set(imported(folder))

    assert {(module, name) for module, name in taken if module in CHANGING} <= {
        ("datetime", "timedelta")
    }
