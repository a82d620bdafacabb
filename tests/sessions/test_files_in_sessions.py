"""Files that the work on a message of a session changed go back with it, and no others."""

from pathlib import Path

import pytest

from holdfast.testing import call, say
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
