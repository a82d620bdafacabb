"""What a guardrail has blocked in a session, which no model reads with a later message."""

import asyncio

import pytest

from holdfast import Agent, App, Handoff, Tiers
from holdfast.contracts.guardrails import Mode
from holdfast.contracts.transcript import UserTurn
from holdfast.guardrails import (
    Guardrail,
    GuardrailContext,
    GuardrailResult,
    Subject,
    guardrail,
    passed,
    tripped,
)
from holdfast.testing import Reply, ScriptTurn, call, say
from tests.control.guarded import on_word
from tests.sample import IMPATIENT
from tests.sessions.talking import Talks


@pytest.mark.parametrize(
    "looks",
    [
        on_word("on_messages", "VIRUS", "input"),
        on_word("on_answers", "VIRUS", "output", on_trip="block"),
    ],
    ids=["message", "answer"],
)
async def test_what_was_blocked_is_in_no_goal_of_a_tier(talks: Talks, looks: Guardrail) -> None:
    """Neither the message nor its answer: the agents of a tier begin with all that was said."""
    # GR-01 GR-05
    goals: list[str] = []

    def work(turn: ScriptTurn) -> Reply:
        goals.append(turn.goal)
        return say(f"I read: {turn.goal}")

    app = App(
        agents=[
            Agent(
                name="desk",
                instructions="Have it done.",
                tiers=Tiers(full="coder"),
                guardrails=[looks],
            ),
            Agent(
                name="coder",
                instructions="Do as you are told.",
                models=["scripted:coder"],
                settings=IMPATIENT,
            ),
        ],
        scripts={"coder": work},
    )
    async with talks.working(app):
        talk = talks.talk(agent="desk")
        await talk.say("m-1", "Delete it all, VIRUS")
        blocked = await talk.result("m-1")
        answer = await talk.exchange("m-2", "now go on")

    assert blocked["status"] == "blocked"
    assert "now go on" in str(answer)
    assert "VIRUS" not in goals[-1]


@pytest.mark.parametrize("mode", ["blocking", "parallel"])
async def test_what_was_stopped_before_anybody_looked_is_read_by_no_model(
    talks: Talks, mode: Mode
) -> None:
    """Else whoever may stop the work on a message would have its words read unseen by the next."""
    # GR-01
    read: list[str] = []
    begun, go = asyncio.Event(), asyncio.Event()

    async def find(subject: Subject, _: GuardrailContext) -> GuardrailResult:
        """Find a word, whenever there is time for it."""
        begun.set()
        await go.wait()
        return tripped("it says so") if "VIRUS" in subject.text else passed()

    def work(turn: ScriptTurn) -> Reply:
        if turn.transcript[-1] == UserTurn(text="now go on", origin="message"):
            read.append(str(turn.transcript))
        return say("Done.")

    looks = guardrail(layer="input", mode=mode)(find)
    app = App(
        agents=[
            Agent(
                name="desk",
                instructions="Do as you are told.",
                models=["scripted:desk"],
                settings=IMPATIENT,
                guardrails=[looks],
            )
        ],
        scripts={"desk": work},
    )
    async with talks.working(app):
        talk = talks.talk(agent="desk")
        await talk.say("m-1", "Delete it all, VIRUS")
        await begun.wait()
        await talk.signal("stop", {"reason": "never mind"})
        stopped = await talk.result("m-1")
        go.set()
        answer = await talk.exchange("m-2", "now go on")
        await talk.replayed()

    assert stopped["status"] == "stopped"
    assert (answer, len(read)) == ("Done.", 1)
    assert "VIRUS" not in read[0]


async def test_who_goes_on_later_is_not_held_by_what_was_blocked(talks: Talks) -> None:
    """Its guardrails look at all that it reads, of which a message that was blocked is no part."""
    # GR-01 HO-09
    looks = on_word("on_messages", "VIRUS", "input")
    app = App(
        agents=[
            Agent(
                name="desk",
                instructions="Find out who can help.",
                models=["scripted:desk"],
                handoffs=[Handoff("billing", when="money")],
                guardrails=[looks],
            ),
            Agent(name="billing", instructions="Charge them.", models=["scripted:billing"]),
        ],
        scripts={
            "desk": lambda _: call("transfer_to_billing", goal="it"),
            "billing": lambda _: say("Charged."),
        },
    )
    async with talks.working(app):
        talk = talks.talk(agent="desk")
        await talk.say("m-1", "Delete it all, VIRUS")
        blocked = await talk.result("m-1")
        await talk.say("m-2", "charge me")
        result = await talk.result("m-2")
        await talk.replayed()

    assert blocked["status"] == "blocked"
    assert (result["status"], result["answer"]) == ("completed", "Charged.")
