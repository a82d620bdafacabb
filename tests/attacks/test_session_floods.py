"""Floods and races of sessions: order is kept, nothing is lost, nothing is there twice."""

import asyncio
import random
from contextlib import suppress
from pathlib import Path

import pytest
from temporalio.client import WorkflowUpdateFailedError
from temporalio.service import RPCError

from holdfast.contracts import bounds
from holdfast.contracts.sessions.messages import MessageSignal
from holdfast.contracts.signals import CloseSignal
from holdfast.run.sessions import messages
from holdfast.run.transcript import build_continue_as_new_input
from holdfast.testing import Reply, ScriptTurn, say
from holdfast.workflows.inbound.inbox import MAX_REFUSALS_PER_WINDOW
from tests.attacks.test_session_words import a_session
from tests.builders import NOW, a_state
from tests.running import Runs
from tests.sample import scripted
from tests.sessions.talking import Talk, Talks

WIDE = "漢" * 300
MESSAGES = 1_000
"""Ten thousand came out the same, in a minute."""

ODD = ("", WIDE[:150], " ", "../x", "\x1b[2J")


def latest(turn: ScriptTurn) -> Reply:
    """Answer with the latest words."""
    return say(next(one.text for one in reversed(turn.transcript) if one.kind == "user"))


@pytest.mark.slow
def test_a_flood_of_messages_keeps_its_order() -> None:
    """Each twice, the second time with other words; across executions, and within a payload."""
    # SE-01
    state = a_state().with_(session=a_session())
    rng = random.Random(11)
    taken, waiting = list[int](), list[str]()
    for number in range(MESSAGES):
        name = f"{number} {rng.choice(ODD)}"
        said = MessageSignal(message_id=name, text=f"one {number}", metadata={"x": WIDE})
        state, receipt = messages.accept_message(state, said, NOW)
        again = MessageSignal(message_id=name, text="something else", actor="mallory")
        state, known = messages.accept_message(state, again, NOW)
        assert (known.position, known.state) == (receipt.position, "queued")
        waiting.append(name)
        if number % 20 == 19:
            state = messages.close_as_told(state, CloseSignal(by="mallory"))
            while messages.require_session(state).waiting:
                state = messages.take_message(state, NOW)
                current = messages.require_session(state).current
                assert current is not None
                assert (current.message_id, current.actor) == (waiting[len(taken)], "web")
                taken.append(current.position)
                state = messages.end_message(state, NOW)
        if number % 200 == 199:
            state = build_continue_as_new_input(state.with_(journal=()))  # which is recorded
            assert bounds.size(state) < bounds.MAX_PAYLOAD_BYTES

    assert taken == list(range(1, MESSAGES + 1))
    assert [messages.find_message_state(state, one) for one in waiting[::111]] == ["done"] * 10


async def speak(talk: Talk, who: str, count: int, rng: random.Random) -> None:
    """Say so many things by signals and updates, each until the session has it; some twice."""
    for number in range(count):
        name = f"{who}-{number}"
        if rng.random() < 0.3:
            await talk.say(name, name, actor=who)
            continue
        while True:
            try:
                receipt = await talk.send(name, name, actor=who)
            except (RPCError, WorkflowUpdateFailedError):
                continue  # it closed just then: nothing is known of the message
            if receipt["state"] != "refused":
                break
        if rng.random() < 0.3:
            await talk.say(name, "something else", actor="mallory")


async def close_again(talk: Talk, over: asyncio.Event) -> None:
    """Close a session all the time."""
    while not over.is_set():
        with suppress(RPCError):  # it is closed
            await talk.signal("close", {})
        await asyncio.sleep(0.05)


async def test_messages_race_with_closing_opening_and_new_executions(
    runs: Runs, tmp_path: Path
) -> None:
    """Four speak at once while somebody closes it: all is answered, in one order, once."""
    # SE-01 SE-02 T-43
    talks = Talks(runs, f"file:{tmp_path / 'archive'}")
    app = scripted(latest, max_history_events=60)
    speakers = ("ann", "bob", "eve", "dan")
    over = asyncio.Event()
    async with talks.working(app):
        talk = talks.talk()
        closing = asyncio.create_task(close_again(talk, over))
        await asyncio.gather(*(speak(talk, who, 12, random.Random(who)) for who in speakers))
        over.set()
        await closing
        last = await talk.exchange("last", "last")
        said = await talk.said()
        report = await talk.session()

    words = [text for role, text in said if role == "user"]
    answers = [text for role, text in said if role == "assistant"]
    expected = [f"{who}-{number}" for who in speakers for number in range(12)]
    assert last == "last"
    assert sorted(words) == sorted([*expected, "last"])
    assert answers == words
    assert report.messages == len(expected) + 1
    for who in speakers:
        mine = [word for word in words if word.startswith(who)]
        assert mine == [f"{who}-{number}" for number in range(12)]


async def test_what_came_behind_a_flood_is_answered_though_the_session_is_ended(
    runs: Runs,
) -> None:
    """Nobody had read it, because refusals are gathered: it is answered once it opens again."""
    # SE-04
    talks = Talks(runs)
    async with talks.working(scripted(latest)):
        talk = talks.talk()
        await talk.exchange("m-1", "one")
        for number in range(MAX_REFUSALS_PER_WINDOW):
            await talk.signal("approval", {"request_id": f"req-{number}", "decision": "approve"})
        while (await talk.ask("status"))["refused_total"] != MAX_REFUSALS_PER_WINDOW:  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.05)
        await talk.say("m-2", "two")
        await talk.session()
        await talk.handle.terminate()
        await talk.exchange("m-3", "three")

        assert await talk.answer("m-2") == "two"
