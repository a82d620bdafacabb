"""What a session knows of a part that was lost in an earlier message."""

import asyncio
from pathlib import Path

import pytest

from holdfast.contracts.transcript import UserTurn
from holdfast.testing import Reply, ScriptTurn, call
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
