"""What a session knows of a part that was lost in an earlier message."""

import asyncio
from pathlib import Path

import pytest

from holdfast.contracts.effects import EffectOutcome, KnownEffect
from holdfast.contracts.sessions.messages import SessionInput
from holdfast.contracts.stops import Stop, StopReason
from holdfast.contracts.transcript import UserTurn
from holdfast.run.parts import UNKNOWN_EFFECT
from holdfast.run.sessions.messages import end_message
from holdfast.run.sessions.opening import leave_session, reopen_session, start_session
from holdfast.run.transcript import halt
from holdfast.testing import Reply, ScriptTurn, call
from tests.builders import IDS, NOW, an_agent
from tests.sample import lines, told
from tests.sessions.talking import Talks
from tests.workflows.delegating import ask, desk
from tests.workflows.tiered import written


@pytest.mark.parametrize("reopened", [False, True])
async def test_after_a_lost_part_later_messages_change_nothing_unasked(
    talks: Talks, tmp_path: Path, reopened: bool
) -> None:
    """Nobody knows what it wrote: an answer in between doesn't make that known."""
    # BY-11 NR-06
    log, held = tmp_path / "log", tmp_path / "held"
    writing = call("write", log=str(log), text="x")

    def at_the_desk(turn: ScriptTurn) -> Reply:
        if not isinstance(turn.transcript[-1], UserTurn):
            return told(turn)
        return ask("tides") if turn.transcript[-1].text == "find out" else writing

    def researcher(turn: ScriptTurn) -> Reply:
        return call("hold", log=str(held)) if turn.results else writing

    async with talks.working(desk(at_the_desk, researcher)):
        talk = talks.talk(agent="desk")
        await talk.say("m-1", "find out")
        await written(held)
        part = talks.runs.client.get_workflow_handle(f"{talk.id}.1-researcher")
        if reopened:
            await talk.handle.terminate()
        await part.terminate()
        Path(f"{held}.go").touch()
        if not reopened:
            await talk.result("m-1")
        await talk.say("m-2", "write it")
        async with asyncio.timeout(60):
            asked = await talk.asked()
        await talk.close()

    assert str(asked["reason"]).startswith("a part of this work ended without saying what it did")
    assert lines(log) == ["begin x", "end x"]


@pytest.mark.parametrize(("outcome", "left"), [("done", True), ("unknown", True), (None, False)])
def test_a_session_that_grew_too_large_between_two_messages_forgets_nothing(
    outcome: EffectOutcome | None, left: bool
) -> None:
    """It closes without the names of what it did: who opens it again is asked before a change."""
    # BY-11 NR-06
    begun = start_session(SessionInput(agent="it"), an_agent(), NOW, **IDS)
    done = () if outcome is None else (KnownEffect(tool="pay", digest="0" * 64, outcome=outcome),)
    stop = Stop.because(StopReason.STATE_TOO_LARGE, "it has too many bytes")
    grown = halt(begun.with_effects(known=done), stop, NOW)
    archived = leave_session(end_message(grown, NOW), (), {}, NOW)
    again = reopen_session(begun, archived)

    assert archived.state.session is not None
    assert archived.state.session.closing
    assert again.effects.known == ((UNKNOWN_EFFECT,) if left else ())
