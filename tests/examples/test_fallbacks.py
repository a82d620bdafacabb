"""The chains of models that ship: who is asked next, with and without a key."""

import pytest

from examples.fallbacks.app import app
from examples.fallbacks.chains import MODELS, chain
from holdfast.contracts.approvals import Escalation
from holdfast.contracts.base import JsonObject
from holdfast.contracts.stops import StopReason
from tests.running import Runs

AT_ONCE: JsonObject = {"max_model_retries": 0}
"""A model that fails is left without waiting for it."""


@pytest.mark.parametrize(
    ("wanted", "asked"),
    [
        ("opus", ["claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5"]),  # FB-02
        ("sonnet", ["claude-sonnet-5-5", "claude-haiku-5-5", "claude-opus-5-5"]),  # FB-03
        ("haiku", ["claude-haiku-5-5", "claude-sonnet-5-5"]),  # FB-04
    ],
)
def test_the_wanted_model_is_asked_first(wanted: str, asked: list[str]) -> None:
    """The wanted model comes first, then its chain, and no other."""  # FB-01
    assert chain(wanted, MODELS) == [f"anthropic:{model}" for model in asked]


def test_every_chain_is_an_agent_with_somebody_behind_it() -> None:
    """Behind each chain a person is asked, and it can be tried without a key."""  # FB-08
    assert {agent.name: list(agent.models) for agent in app.agents} == {
        "opus": ["scripted:opus", "scripted:sonnet", "scripted:haiku"],
        "sonnet": ["scripted:sonnet", "scripted:haiku", "scripted:opus"],
        "haiku": ["scripted:haiku", "scripted:sonnet"],
    }
    assert all(agent.escalates for agent in app.agents)


@pytest.mark.parametrize(
    ("wanted", "goal", "name"),
    [
        pytest.param("opus", "who?", "opus", id="the wanted one"),  # FB-01
        pytest.param(
            "opus",
            "opus is rate-limited and sonnet is down",
            "haiku",
            id="down the chain",
        ),  # FB-02 FB-05 FB-06
        pytest.param(
            "sonnet",
            "sonnet is down",
            "haiku",
            id="the next one",
        ),  # FB-03
    ],
)
async def test_the_next_model_answers(runs: Runs, wanted: str, goal: str, name: str) -> None:
    """A chain is walked down as far as it must be, and the answer is that of the first who can."""
    async with runs.working(app):
        run = await runs.start(wanted, goal, budget=AT_ONCE)
        result = await run.result()

    assert (result.status, result.answer) == ("completed", f"This is {name}.")
    assert result.model == f"scripted:{name}"


async def test_behind_the_last_model_is_a_person(runs: Runs) -> None:
    """When a chain has failed the run waits with every attempt, and asks no model outside it."""
    async with runs.working(app):
        run = await runs.start("haiku", "haiku is down and sonnet is down", budget=AT_ONCE)
        (request,) = await run.asked()
        await run.signal("resolution", {"request_id": request.request_id, "action": "abort"})
        result = await run.result()

    assert isinstance(request, Escalation)
    assert request.reason == StopReason.FALLBACKS_EXHAUSTED.words  # FB-04 FB-08
    assert [(one.model, one.kind, one.error) for one in request.attempts] == [
        ("scripted:haiku", "unavailable", "haiku can't be reached"),
        ("scripted:sonnet", "unavailable", "sonnet can't be reached"),
    ]  # FB-14
    assert result.status == "stopped"
