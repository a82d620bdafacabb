"""A session that closes hears what was said until it is over."""

import asyncio
from pathlib import Path

import pytest

from holdfast.activities.sessions.archive import DirectoryArchive
from holdfast.contracts.sessions.messages import ConversationPage, OutcomeReport
from tests.memory.runs import MemoryRuns
from tests.memory.tasks import Habits
from tests.sample import scripted
from tests.sessions.talkative import echo


@pytest.mark.parametrize("ends", ["closed", "idle"])
async def test_what_is_said_while_a_session_is_archived_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: str
) -> None:
    """Where its workflow task is divided meanwhile, as by a query, or because that takes long."""
    # SE-06
    runs, told = MemoryRuns(Habits(divides=True)), list[str]()
    write = DirectoryArchive.write

    async def write_slowly(archive: DirectoryArchive, path: str, content: bytes) -> None:
        if path.endswith("session.json") and not told:
            told.append(path)
            runs.tell_soon("talk", "message", {"message_id": "m-2", "text": "wait"})
            await asyncio.sleep(1)
        await write(archive, path, content)

    monkeypatch.setattr(DirectoryArchive, "write", write_slowly)
    async with runs.working(scripted(echo), archive=f"file:{tmp_path / 'archive'}"):
        run = await runs.say(
            "talk", {"agent": "it", "idle_timeout": 60}, {"message_id": "m-1", "text": "hello"}
        )
        await run.rest()
        if ends == "closed":
            await run.signal("close", {})
        await runs.pass_time(65)
        said = await run.query("conversation", ConversationPage, {})
        late = await run.query("outcome", OutcomeReport, {"message_id": "m-2"})
        await run.stories()
    await runs.close()

    assert told
    assert [one.content for one in said.items] == ["hello", "hello", "wait", "hello + wait"]
    assert late.state == "done"
