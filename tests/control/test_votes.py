"""Judges and reviewers vote on an answer, and what a judge's model makes up is no measurement."""

import json

import pytest

from holdfast import Agent, App, Budget
from holdfast.contracts.guardrails import Signals
from holdfast.guardrails import judged_by, review_approval
from holdfast.testing import say
from tests.control.controlled import asked_to_review
from tests.control.guarded import decided
from tests.memory.runs import MemoryRuns

FOR = json.dumps({"tripwire_triggered": False})
AGAINST = json.dumps({"tripwire_triggered": True, "reason": "it is dull"})
MADE_UP = json.dumps(
    {
        "tripwire_triggered": False,
        "signals": {"coverage": 1.0, "votes": 100, "votes_for": 100},
        "cost": 900,
    }
)
ABSTAINS = json.dumps({"tripwire_triggered": False, "applicable": False, "reason": "no prose"})


def an_app(*says: str, reviewed: bool = False) -> App:
    """An agent whose answer as many judges look at, who only warn."""
    names = [f"judge{number}" for number in range(len(says))]
    judges = [judged_by(name, on_trip="warn") for name in names]
    return App(
        agents=[
            Agent(
                name="it",
                instructions="Answer.",
                models=["scripted:it"],
                guardrails=(*judges, *([review_approval()] if reviewed else [])),
                budget=Budget(max_steps=20),
            ),
            *(
                Agent(name=name, instructions="Judge.", models=[f"scripted:{name}"])
                for name in names
            ),
        ],
        scripts={
            "it": lambda _: say("an answer"),
            **{name: [say(said)] for name, said in zip(names, says, strict=True)},
        },
    )


def a_judge(name: str) -> Agent:
    return Agent(name=name, instructions="Judge.", models=[f"scripted:{name}"])


@pytest.mark.parametrize(
    ("says", "review"),
    [
        pytest.param((FOR, FOR, FOR), 1.0, id="unanimous"),
        pytest.param((FOR, AGAINST, FOR), 0.7, id="majority"),
        pytest.param((FOR, AGAINST), 0.3, id="half"),
        pytest.param((AGAINST, AGAINST, FOR), 0.3, id="few"),
        pytest.param((AGAINST, ABSTAINS), 0.3, id="none of those who vote"),
        pytest.param((FOR, ABSTAINS), 1.0, id="all of those who vote"),
        pytest.param((MADE_UP, AGAINST), 0.3, id="made up votes"),
    ],
)
async def test_each_judge_has_one_vote(
    memory_runs: MemoryRuns, says: tuple[str, ...], review: float
) -> None:
    """All, most, or less: with retries, of which there was none, that is the confidence."""
    # ES-03
    async with memory_runs.working(an_app(*says)):
        result = await (await memory_runs.start("it")).result()

    assert result.status == "completed"
    assert result.confidence == pytest.approx((review + 1.0) / 2)


async def test_reviewers_and_judges_vote_together(memory_runs: MemoryRuns) -> None:
    """A person who approves, and two judges of whom one doesn't, are a majority."""
    # ES-03
    async with memory_runs.working(an_app(FOR, AGAINST, reviewed=True)):
        run = await memory_runs.start("it")
        await decided(run, await asked_to_review(run), "approve")
        result = await run.result()

    assert result.confidence == pytest.approx((0.7 + 1.0) / 2)


@pytest.mark.parametrize(
    ("one", "other", "together"),
    [
        (Signals(coverage=0.9), Signals(coverage=0.5), Signals(coverage=0.5)),
        (Signals(coverage=0.9), Signals(), Signals(coverage=0.9)),
        (
            Signals(votes_for=2, votes=3),
            Signals(votes_for=0, votes=1, coverage=0.4),
            Signals(votes_for=2, votes=4, coverage=0.4),
        ),
        (Signals(), Signals(), Signals()),
    ],
)
def test_measurements_of_several_are_one(one: Signals, other: Signals, together: Signals) -> None:
    """In whatever order guardrails say them: the lower coverage, and the votes of all."""
    # ES-02 ES-03
    assert one.merge(other) == other.merge(one) == together
