"""An answer that wasn't given, because the work on it ended before, is read by no model."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeAlias

import pytest

from holdfast import Agent, App
from holdfast.contracts.control import Gate, LimitSummary
from holdfast.contracts.run import RunResult
from holdfast.contracts.sessions.messages import MessageSignal, OutcomeReport, SessionInput
from holdfast.contracts.state.phase import Ended
from holdfast.contracts.state.run import RunState
from holdfast.contracts.stops import Stop, StopReason
from holdfast.contracts.transcript import AssistantTurn, TranscriptItem, UserTurn
from holdfast.contracts.usage import CallUsage
from holdfast.guardrails import (
    GuardrailContext,
    GuardrailResult,
    Subject,
    guardrail,
    passed,
)
from holdfast.run.context import leave_hidden
from holdfast.run.sessions.hiding import hide_from
from holdfast.run.sessions.messages import accept_message, end_message, take_message
from holdfast.run.sessions.opening import start_session
from holdfast.run.transcript import append_items, build_continue_as_new_input, halt
from holdfast.testing import Reply, Script, ScriptTurn, say
from tests.builders import IDS, NOW
from tests.memory.runs import MemoryRun, MemoryRuns
from tests.sample import IMPATIENT

Look: TypeAlias = Callable[[Subject, GuardrailContext], Awaitable[GuardrailResult]]

ENOUGH = Stop.because(StopReason.TOLD_TO_STOP, "enough")


@pytest.mark.parametrize("gate", ["output", "post_action", "acceptance"])
async def test_an_answer_that_nobody_has_looked_at_is_read_with_no_later_message(
    memory_runs: MemoryRuns, gate: Gate
) -> None:
    """Else who may stop the work would get it past who would have blocked it."""
    # GR-05
    read: list[str] = []
    looked: list[str] = []

    async def look(subject: Subject, _: GuardrailContext) -> GuardrailResult:
        looked.append(subject.text)
        if len(looked) == 1:
            memory_runs.tell_soon("talk", "stop", {"reason": "never mind"})
            await asyncio.Event().wait()
        return passed()

    def answer(turn: ScriptTurn) -> Reply:
        read.append(str(turn.transcript))
        return say("It is VIRUS." if len(read) == 1 else "Done.")

    async with memory_runs.working(answering(look, gate, answer)):
        stopped = await tell(memory_runs, "hello")
        done = await tell(memory_runs, "now go on")
        await memory_runs.find("talk").stories()

    assert (stopped.status, done.answer) == ("stopped", "Done.")
    assert "now go on" in read[-1]
    assert "VIRUS" not in read[-1]


def answering(look: Look, gate: Gate, answer: Script) -> App:
    """An agent whose answers somebody looks at, at this gate."""
    looks = guardrail(layer="post_action" if gate == "post_action" else "output")(look)
    desk = Agent(
        name="desk",
        instructions="Do as you are told.",
        models=["scripted:desk"],
        settings=IMPATIENT,
        guardrails=[] if gate == "acceptance" else [looks],
        acceptance=[looks] if gate == "acceptance" else [],
    )
    return App(agents=[desk], scripts={"desk": answer})


async def tell(runs: MemoryRuns, text: str) -> RunResult:
    """Say something in a session; return what came of it."""
    run = await runs.say("talk", {"agent": "desk"}, {"message_id": text, "text": text})
    while (found := await result_of(run, text)) is None:
        await run.pause()
    return found


async def result_of(run: MemoryRun, message_id: str) -> RunResult | None:
    """Return what the work on a message came to, once it is over."""
    return (await run.query("outcome", OutcomeReport, {"message_id": message_id})).result


def working_on(*said: TranscriptItem) -> RunState:
    """A session that has given an answer, and in which this was said of its second message."""
    agent = Agent(name="desk", instructions="Do it.", models=["scripted:desk"])
    state = start_session(SessionInput(agent="desk"), agent.snapshot(), NOW, **IDS)
    before = UserTurn(text="hello", origin="message"), answered("Hello.")
    message = MessageSignal(message_id="m-2", text="do it")
    state = accept_message(append_items(state, *before), message, NOW)[0]
    return append_items(take_message(state, NOW), *said)


def answered(text: str) -> AssistantTurn:
    return AssistantTurn(model="scripted:desk", text=text)


def shown(state: RunState) -> list[str]:
    """What a model may still read, but for how the work ended."""
    said = leave_hidden(state.conversation.items, state.conversation.hidden)
    texts = [one.text for one in said if isinstance(one, UserTurn | AssistantTurn)]
    return [one for one in texts if not one.startswith("(The work on this message ended")]


def test_what_people_said_behind_it_goes_with_it() -> None:
    """As it does where an answer is blocked."""
    said = answered("VIRUS"), UserTurn(text="say it in French", origin="steer")
    state = end_message(halt(working_on(*said), ENOUGH, NOW), NOW)

    assert shown(state) == ["hello", "Hello.", "do it"]


def test_an_answer_that_was_found_wanting_stays() -> None:
    """All have looked at it: a later message may have it mended."""
    findings = UserTurn(text="it is too long", origin="findings")
    state = end_message(halt(working_on(answered("a"), findings), ENOUGH, NOW), NOW)

    assert shown(state) == ["hello", "Hello.", "do it", "a", "it is too long"]


def test_last_words_that_were_given_stay() -> None:
    """They have passed all who look at them, though the work ended without an answer."""
    told = LimitSummary(text="so far", model="scripted:desk", usage=CallUsage())
    ended = Ended(outcome="stopped", stop=ENOUGH, summary=told)
    state = end_message(working_on(answered("so far")).with_(phase=ended), NOW)

    assert shown(state) == ["hello", "Hello.", "do it", "so far"]


def test_an_answer_that_was_given_stays() -> None:
    """Later messages are about it."""
    state = working_on(answered("a")).with_(phase=Ended(outcome="completed"))

    assert shown(end_message(state, NOW)) == ["hello", "Hello.", "do it", "a"]


def test_where_all_was_hidden_and_a_new_execution_begins_there_is_none() -> None:
    """The work ends there as anywhere."""
    hidden = hide_from(working_on(answered("a")), 0)
    state = halt(build_continue_as_new_input(hidden), ENOUGH, NOW)

    assert state.conversation.items == ()
    assert shown(end_message(state, NOW)) == []
