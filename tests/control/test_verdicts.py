"""What an agent that judges has to say before anything passes."""

import pytest

from holdfast import Agent, App
from holdfast.guardrails import judged_by
from holdfast.testing import say
from tests.control.controlled import stopped
from tests.memory.runs import MemoryRuns


@pytest.mark.parametrize(
    ("verdict", "reason"),
    [
        ("{}", "didn't say whether the tripwire is triggered"),
        ('{"reason": "it is rude"}', "didn't say whether the tripwire is triggered"),
        ('{"tripped": true}', "didn't say whether the tripwire is triggered"),
        ("looks fine to me", "didn't answer with a GuardrailResult"),
        ('{"tripwire_triggered": "maybe"}', "didn't answer with a GuardrailResult"),
    ],
    ids=["nothing", "a reason alone", "another name", "words", "neither"],
)
async def test_what_is_no_verdict_lets_nothing_pass(
    memory_runs: MemoryRuns, verdict: str, reason: str
) -> None:
    """A judge that says neither yes nor no has not decided, and that is a tripwire."""  # T-10
    writer = Agent(
        name="it",
        instructions="Answer.",
        models=["scripted:it"],
        guardrails=[judged_by("critic", on_trip="block")],
    )
    critic = Agent(name="critic", instructions="Judge.", models=["scripted:critic"])
    scripts = {"it": [say("done")], "critic": [say(verdict)]}
    async with memory_runs.working(App(agents=[writer, critic], scripts=scripts)):
        run = await memory_runs.start("it")
        stop = await stopped(run)
        await memory_runs.stories(run)

    assert stop.reason == f"judged_by_critic can't decide: its agent {reason}"
