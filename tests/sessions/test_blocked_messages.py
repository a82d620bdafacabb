"""What a guardrail has blocked in a session, which no model reads with a later message."""

import pytest

from holdfast import Agent, App, Tiers
from holdfast.guardrails import Guardrail
from holdfast.testing import Reply, ScriptTurn, say
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
