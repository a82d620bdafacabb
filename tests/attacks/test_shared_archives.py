"""One archive for workers of several namespaces: ids are chosen in each, and each has its own."""

from dataclasses import replace
from pathlib import Path

from temporalio.testing import ActivityEnvironment

from holdfast.activities.callers import Execution
from holdfast.activities.sessions.archive import DirectoryArchive
from holdfast.activities.sessions.keeping import SessionActivities
from holdfast.contracts.sessions.archive import ArchivedPage, ArchivedSession, LoadSession
from tests.asking import asked_by_run
from tests.builders import LATER
from tests.contracts.talks import ARCHIVED, SAID

NAME = ARCHIVED.session_id
ASKED = LoadSession(session_id=NAME, tenant="acme", agent="it")
PAGE = ArchivedPage(tenant="acme", session_id=NAME, first_offset=0, items=(SAID,))


class NoneEarlier:
    """A server that keeps no execution of before."""

    async def find(self, session_id: str, own: str) -> tuple[Execution, ...]:
        return ()

    async def read(self, execution: Execution) -> ArchivedSession | None:
        raise AssertionError(f"there is no {execution}")


def asked_in(namespace: str) -> ActivityEnvironment:
    """Surroundings of an activity that the session has asked for, in this namespace."""
    environment = ActivityEnvironment()
    environment.info = replace(asked_by_run(NAME), namespace=namespace)
    return environment


async def test_no_session_of_another_namespace_is_opened_or_replaced(tmp_path: Path) -> None:
    """Whoever starts one of the same id, tenant and agent there begins empty."""
    # SE-02
    sessions = SessionActivities(DirectoryArchive(tmp_path), NoneEarlier())
    ours, theirs = asked_in("acme-eu"), asked_in("acme-us")
    later = ARCHIVED.model_copy(update={"closed_at": LATER.replace(year=2030)})

    await ours.run(sessions.save_session, ARCHIVED)
    await ours.run(sessions.save_conversation, PAGE)
    read = await theirs.run(sessions.load_session, ASKED)
    await theirs.run(sessions.save_session, later)
    await theirs.run(sessions.save_conversation, PAGE.model_copy(update={"items": ()}))
    kept = await ours.run(sessions.load_session, ASKED)

    assert (read.archived, kept.archived) == (None, ARCHIVED)
    pages = [one.read_text() for one in tmp_path.glob("sessions/*/said/*.json")]
    assert PAGE.model_dump_json() in pages
