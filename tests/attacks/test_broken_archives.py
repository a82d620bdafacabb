"""An archive whose files are broken: nothing of them is told, and nobody waits for ever."""

from collections.abc import Callable
from pathlib import Path

import pytest
from temporalio.client import WorkflowFailureError
from temporalio.exceptions import ApplicationError

from holdfast.activities.sessions.archive import DirectoryArchive, name_session
from holdfast.activities.sessions.keeping import SessionActivities
from holdfast.contracts.sessions.archive import LoadSession
from holdfast.histories import fetch
from tests.attacks.test_shared_archives import NAME, NoneEarlier, asked_in
from tests.contracts.talks import ARCHIVED
from tests.running import Runs
from tests.sample import scripted
from tests.sessions.talkative import echo
from tests.sessions.talking import Talks

SAID = "my diagnosis is gout"

CONTENTS: dict[str, Callable[[str], str]] = {
    "half written": lambda _: f'{{"tenant": "acme", "state": "{SAID}',
    "no JSON": lambda _: SAID,
    "empty": lambda _: "",
    "a list": lambda _: f'["{SAID}"]',
    "another field": lambda whole: whole.replace('"started_at":"', f'"started_at":"{SAID}'),
    "other types": lambda _: f'{{"tenant": ["{SAID}"], "state": "{SAID}"}}',
    "too deep": lambda _: "[" * 5_000 + f'"{SAID}"',
}


@pytest.fixture
def talks(runs: Runs, tmp_path: Path) -> Talks:
    """Sessions whose worker has an archive."""
    return Talks(runs, f"file:{tmp_path / 'archive'}")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where the archive keeps the session."""
    file = tmp_path / name_session("acme-eu", NAME) / "session.json"
    file.parent.mkdir(parents=True)
    return file


@pytest.mark.parametrize("kind", CONTENTS)
@pytest.mark.parametrize("tenant", ["acme", "evil"])
async def test_what_cant_be_read_is_told_to_nobody(
    tmp_path: Path, file: Path, capfd: pytest.CaptureFixture[str], kind: str, tenant: str
) -> None:
    """Neither its tenant nor another one reads it in an error, nor the operator in the log."""
    # SE-02
    file.write_text(CONTENTS[kind](ARCHIVED.model_dump_json()))
    asked = LoadSession(session_id=NAME, tenant=tenant, agent="it")

    failure = await fails(tmp_path, asked)

    assert failure.non_retryable
    assert "restore sessions/" in failure.message
    told = f"{failure.message} {failure.details} {failure.__cause__} {capfd.readouterr()}"
    assert "diagnosis" not in told
    assert str(tmp_path) not in told


@pytest.mark.parametrize("kind", ["a folder", "a loop", "behind a file"])
async def test_what_cant_be_opened_says_why_and_not_where(
    tmp_path: Path, file: Path, kind: str
) -> None:
    """It may be there again in a moment: it is tried once more."""
    # SE-06
    match kind:
        case "a folder":
            file.mkdir()
        case "a loop":
            file.symlink_to(file)
        case _:
            file.parent.rmdir()
            file.parent.write_text(SAID)

    failure = await fails(tmp_path, LoadSession(session_id=NAME, tenant="acme", agent="it"))

    assert not failure.non_retryable
    assert failure.message.startswith("the archive can't be used: ")
    assert str(tmp_path) not in failure.message


async def fails(folder: Path, asked: LoadSession) -> ApplicationError:
    sessions = SessionActivities(DirectoryArchive(folder), NoneEarlier())
    with pytest.raises(ApplicationError) as raised:
        await asked_in("acme-eu").run(sessions.load_session, asked)
    return raised.value


async def test_a_session_whose_file_is_broken_opens_whole_once_it_is_mended(
    talks: Talks, tmp_path: Path
) -> None:
    """Who writes meanwhile is told; nothing of the file stands in history, and nothing is lost."""
    # SE-04
    talk = talks.talk(tenant="acme")
    async with talks.working(scripted(echo)):
        await talk.exchange("m-1", SAID)
        await talk.close()
        (file,) = (tmp_path / "archive").glob("sessions/*/session.json")
        whole = file.read_text()
        file.write_text(whole[:-20])
        await talk.say("m-2", "two")
        with pytest.raises(WorkflowFailureError) as refused:
            await talk.handle.result()
        [history] = await fetch(talks.runs.client, talk.id)
        file.write_text(whole)
        answer = await talk.exchange("m-2", "two")

    assert "restore sessions/" in str(refused.value.cause)
    assert "diagnosis" not in history.to_json()
    assert answer == f"{SAID} + two"


async def test_an_archive_that_stays_away_is_not_waited_for_without_end(
    skipping_runs: Runs, tmp_path: Path
) -> None:
    """After about an hour whoever wrote is told why; what was said before is still there."""
    # SE-06
    (tmp_path / "archive").write_text("no folder")
    talks = Talks(skipping_runs, f"file:{tmp_path / 'archive'}")
    talk = talks.talk(tenant="acme")
    async with talks.working(scripted(echo)):
        await talk.say("m-1", "one")
        asked = [await talk.ask("outcome", {"message_id": name}) for name in ("m-0", "m-1")]
        await skipping_runs.pass_time(2 * 3600)
        await talk.closed()
        with pytest.raises(WorkflowFailureError) as refused:
            await talk.handle.result()
        asked.append(await talk.ask("outcome", {"message_id": "m-1"}))
        [history] = await fetch(skipping_runs.client, talk.id)

    # Until it is open nobody knows what was said to it before, nor has read what was said now.
    assert [one["state"] for one in asked] == ["queued", "queued", "unknown"]
    assert "the archive can't be used: Not a directory" in str(refused.value.cause)
    assert len(history.events) < 500
