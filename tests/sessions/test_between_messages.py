"""What holds between the messages of a session: as in a run, and as docs/sessions.md says it."""

import asyncio
from pathlib import Path

from temporalio.api.enums.v1 import EventType

from holdfast.contracts.transcript import UserTurn
from holdfast.histories import fetch
from holdfast.testing import Reply, ScriptTurn, call, say
from holdfast.tools import submit_plan
from holdfast.trace.reader import read_trace
from tests.control.guarded import on_word
from tests.sample import TOOLS, scripted, told
from tests.sessions.talkative import echo
from tests.sessions.talking import Talk, Talks

LONG = "x" * 2_000

FORBIDS = """
version: 1
rules: [{id: no-sums, effect: forbid, match: {tools: [add]}, reason: nobody adds any more}]
"""


def first_words(turn: ScriptTurn) -> Reply:
    """Answer with the first word of all that people said, as far as it is shown."""
    said = [one.text for one in turn.transcript if isinstance(one, UserTurn)]
    return say(" + ".join(text.split()[0] for text in said))


def diligent(turn: ScriptTurn) -> Reply:
    """Look at two places before the answer, where somebody asks for that."""
    if latest(turn).startswith("look") and turn.number < 3:
        return call("look", place=f"place {turn.number}")
    return say("hello")


def latest(turn: ScriptTurn) -> str:
    """What was said last."""
    return [one.text for one in turn.transcript if isinstance(one, UserTurn)][-1]


def add_once(turn: ScriptTurn) -> Reply:
    """Add something for each message, and tell what became of that."""
    asked = isinstance(turn.transcript[-1], UserTurn)
    return call("add", a=turn.number, b=1) if asked else told(turn)


async def why(talk: Talk, message_id: str) -> str:
    """Return why the work on a message was stopped, in words."""
    result = await talk.result(message_id)
    assert result["status"] == "stopped"
    stop = result["stop"]
    assert isinstance(stop, dict)
    return f"{stop['reason']}: {stop['detail']}"


async def instructions(talks: Talks, talk: Talk) -> str:
    """What its agent is told, in the time that it is open now."""
    agent = read_trace(await fetch(talks.runs.client, talk.id)).agent
    assert agent is not None
    return agent.instructions


async def open_timers(talks: Talks, talk: Talk) -> int:
    """Count the timers that run in the latest execution."""
    (*_, history) = await fetch(talks.runs.client, talk.id)
    kinds = [event.event_type for event in history.events]
    over = (EventType.EVENT_TYPE_TIMER_FIRED, EventType.EVENT_TYPE_TIMER_CANCELED)
    return kinds.count(EventType.EVENT_TYPE_TIMER_STARTED) - sum(map(kinds.count, over))


async def test_what_was_answered_gives_way_and_the_message_at_work_never_does(
    talks: Talks,
) -> None:
    """The model's view is bounded; what was said stays in the conversation, whole."""
    # HG-18
    async with talks.working(scripted(first_words, max_context_bytes=3_000)):
        talk = talks.talk()
        answers = [
            await talk.exchange(f"m-{number}", f"{word} {LONG}")
            for number, word in enumerate(("one", "two", "three"))
        ]
        said = [text.split()[0] for role, text in await talk.said() if role == "user"]
        assert await talk.replayed() == 1

    assert answers[0] == "one"
    assert "one" not in str(answers[2])
    assert str(answers[2]).endswith("three")
    assert said == ["one", "two", "three"]


async def test_each_message_has_a_budget_and_all_have_one_together(talks: Talks) -> None:
    """What one message used none misses; what nothing is left of stops each."""
    app = scripted(diligent)
    async with talks.working(app):
        talk = talks.talk(budget={"max_tool_calls": 1}, session_budget={"max_steps": 5})
        await talk.say("m-1", "look twice")
        by_message = await why(talk, "m-1")
        assert await talk.exchange("m-2", "and you?") == "hello"
        assert await talk.exchange("m-3", "and you?") == "hello"
        await talk.exchange("m-4", "look")
        whole = [await why(talk, await said(talk, number)) for number in (5, 6)]
        stop = (await talk.result("m-6"))["stop"]
        await talk.close()
        talk.brief["session_budget"] = {"max_steps": 1_000}
        reopened = await why(talk, await said(talk, 7))
        status = await talk.ask("status")
        totals = await talk.close()

    assert by_message == "max_tool_calls (1) reached: 1 tool call"
    assert {*whole, reopened} == {
        "max_steps (5) reached: of the whole session: 5 model calls",
    }
    assert isinstance(stop, dict)
    assert "go on in another session" in str(stop["next_safe_action"])
    assert status["status"] == "idle"
    assert totals["steps"] == 5


async def said(talk: Talk, number: int) -> str:
    """Say something, and return its id."""
    name = f"m-{number}"
    await talk.say(name, "and you?")
    return name


async def test_a_suspended_session_takes_messages_and_begins_none(talks: Talks) -> None:
    """Nor does a timer run that would close it; who resumes it has them answered in order."""
    async with talks.working(scripted(echo)):
        talk = talks.talk(idle_timeout=600)
        await talk.exchange("m-1", "one")
        while await open_timers(talks, talk) != 1:  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.02)
        await talk.signal("suspend", {})
        taken = await talk.send("m-2", "two")
        await talk.say("m-3", "three")
        held = (await talk.ask("status"))["status"], await open_timers(talks, talk)
        queued = await talk.ask("outcome", {"message_id": "m-2"})
        await talk.signal("resume", {})
        assert await talk.answer("m-3") == "one + two + three"
        assert await talk.replayed() == 1

    assert (taken["state"], queued["state"]) == ("queued", "queued")
    assert held == ("suspended", 0)


async def test_what_guardrails_blocked_no_later_message_is_told(talks: Talks) -> None:
    """Neither a message that shouldn't have come in, nor an answer that shouldn't go out."""
    # GR-01
    guardrails = [
        on_word("no_secret", "secret", "input", on_trip="block"),
        on_word("no_bad", "bad", "output", on_trip="block"),
    ]
    async with talks.working(scripted(echo, guardrails=guardrails)):
        talk = talks.talk()
        await talk.exchange("m-1", "hello")
        blocked = [await talk.exchange(*one) for one in (("m-2", "secret"), ("m-3", "bad"))]
        assert await talk.exchange("m-4", "bye")
        answers = [text for role, text in await talk.said() if role != "user"]

    assert blocked == [None, None]
    assert answers[:3] == ["hello", "", ""]
    assert answers[3].startswith("hello + ")
    assert answers[3].endswith("bye")
    assert not {"secret", "bad"} & set(answers[3].split())


async def test_another_policy_and_another_deployment_between_messages(
    talks: Talks, tmp_path: Path
) -> None:
    """The policy holds at once; the agent stays as it was until the session opens again."""
    policy = tmp_path / "policy.yaml"
    policy.write_text(FORBIDS, encoding="utf-8")
    async with talks.working(scripted(add_once, max_history_events=1)):
        talk = talks.talk()
        first = await talk.exchange("m-1", "add")
    app = scripted(add_once, policy=policy, instructions="Speak only of the sea.")
    async with talks.working(app):
        second = await talk.exchange("m-2", "add")
        kept = await instructions(talks, talk)
        await talk.close()
        await talk.exchange("m-3", "add")
        fresh = await instructions(talks, talk)

    assert first == "add ok"
    assert second == "add denied"
    assert (kept, fresh) == ("Do as you are told.", "Speak only of the sea.")


async def test_an_approved_plan_binds_all_that_follows(talks: Talks, tmp_path: Path) -> None:
    """The messages behind it too, and those of another time that the session is open."""
    # BY-17
    write = call("write", log=str(tmp_path / "log"), text="x")
    plan = call("submit_plan", goal="look", steps=["look"], tools=[])

    def planning(turn: ScriptTurn) -> Reply:
        if not isinstance(turn.transcript[-1], UserTurn):
            return told(turn)
        return plan if latest(turn) == "plan" else write

    async with talks.working(scripted(planning, tools=[*TOOLS, submit_plan])):
        talk = talks.talk()
        await talk.say("m-1", "plan")
        asked = await talk.asked()
        assert await talk.decide(str(asked["request_id"]), "dana") == "accepted"
        await talk.answer("m-1")
        answers = [await talk.exchange("m-2", "write")]
        await talk.close()
        answers.append(await talk.exchange("m-3", "write"))

    assert answers == ["write denied"] * 2
