"""Files that the work on a message of a session changed go back with it, and no others."""

from functools import partial
from pathlib import Path

import pytest

from holdfast.testing import Reply, ScriptTurn, call, calls, say
from holdfast.tools.safe_walk import TreeLimits
from holdfast.tools.workspaces import Workspaces
from tests.control.test_files_taken_back import files_of, lamps
from tests.sessions.talking import Talks


@pytest.mark.usefixtures("sandboxed")
async def test_a_message_takes_back_its_own_files(talks: Talks, tmp_path: Path) -> None:
    """What an earlier message of a session wrote, and was answered, stays."""
    # GR-13 SE-01
    app = lamps(tmp_path, "output", "block")
    app.scripts["1"] = lambda turn: (
        call("write_file", path="lamp.txt", content=f"lit {turn.number}")
        if turn.number in {1, 3}
        else say("good" if turn.number == 2 else "bad")
    )
    async with talks.working(app):
        talk = talks.talk()
        first = await talk.exchange("m-1", "light it")
        await talk.say("m-2", "light it more")
        second = await talk.result("m-2")

    assert (first, second["status"]) == ("good", "blocked")
    assert files_of(tmp_path) == {"lamp.txt": "lit 1"}


@pytest.mark.usefixtures("sandboxed")
async def test_files_that_have_become_too_many_stay(
    talks: Talks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session that can't keep its files any more writes no more, says why, and still reads."""
    # NR-09 SE-01
    small = partial(Workspaces, limits=TreeLimits(entries=3))
    monkeypatch.setattr("holdfast.worker.Workspaces", small)

    def script(turn: ScriptTurn) -> Reply:
        match turn.number:
            case 1:
                return calls(*(call("write_file", path=one, content=one) for one in "abc"))
            case 3:
                return call("write_file", path="d", content="d")
            case 4:
                return call("read_file", path="lamp.txt")
            case _:
                return say("good")

    app = lamps(tmp_path, "output", "block")
    app.scripts["1"] = script
    async with talks.working(app):
        talk = talks.talk()
        first = await talk.exchange("m-1", "write three")
        await talk.say("m-2", "write one more")
        second = await talk.result("m-2")
        third = await talk.exchange("m-3", "read the lamp")

    assert (first, second["status"], third) == ("good", "failed", "good")
    stop = second["stop"]
    assert isinstance(stop, dict)
    assert (stop["reason"], stop["detail"]) == (
        "the workspace can't be kept",
        "the workspace has more than 3 files and folders: delete there what isn't needed",
    )
    assert files_of(tmp_path) == {"lamp.txt": "dark", "a": "a", "b": "b", "c": "c"}
