"""One archive for workers of several namespaces: ids are chosen in each, and each has its own."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from temporalio.client import WorkflowExecutionStatus
from temporalio.testing import ActivityEnvironment

from holdfast.activities.callers import Execution
from holdfast.activities.sessions.archive import DirectoryArchive
from holdfast.activities.sessions.earlier import Opening, knows_more
from holdfast.activities.sessions.keeping import SessionActivities
from holdfast.contracts.sessions.archive import ArchivedPage, ArchivedSession, LoadSession
from tests.asking import asked_by_run
from tests.builders import FIRST, LATER
from tests.contracts.talks import ARCHIVED, SAID

NAME = ARCHIVED.session_id
ASKED = LoadSession(session_id=NAME, tenant="acme", agent="it")
PAGE = ArchivedPage(tenant="acme", session_id=NAME, first_offset=0, items=(SAID,))


class NoneEarlier:
    """A server that keeps no execution of before."""

    async def find(
        self, session_id: str, own: str, archived: ArchivedSession | None
    ) -> tuple[Execution, ...]:
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
    closed = ARCHIVED.model_copy(update={"execution": ours.info.workflow_run_id})
    later = closed.model_copy(update={"closed_at": LATER.replace(year=2030)})

    await ours.run(sessions.save_session, closed)
    await ours.run(sessions.save_conversation, PAGE)
    read = await theirs.run(sessions.load_session, ASKED)
    await theirs.run(sessions.save_session, later)
    await theirs.run(sessions.save_conversation, PAGE.model_copy(update={"items": ()}))
    kept = await ours.run(sessions.load_session, ASKED)

    assert (read.archived, kept.archived) == (None, closed)
    pages = [one.read_text() for one in tmp_path.glob("sessions/*/said/*.json")]
    assert PAGE.model_dump_json() in pages


@pytest.mark.parametrize(
    ("execution", "minutes", "ended", "asked"),
    [
        pytest.param(FIRST, -60, "COMPLETED", False, id="it was archived at its end"),
        pytest.param(FIRST, -60, "TERMINATED", True, id="it went on and was terminated"),
        pytest.param(
            "earlier", -120, "COMPLETED", False, id="before, and it is missing in the list"
        ),
        pytest.param("later", 1, "TERMINATED", True, id="opened since"),
    ],
)
def test_what_was_archived_gives_way_to_what_knows_more(
    execution: str, minutes: int, ended: str, *, asked: bool
) -> None:
    """No late list brings a session back to before it was archived, and no archive to before."""
    # SE-04 SE-06
    began = ARCHIVED.closed_at + timedelta(minutes=minutes)
    number = 2 if execution == "later" else 1
    one = Opening(execution, began, WorkflowExecutionStatus[ended], number)

    assert knows_more(one, ARCHIVED) is asked
    assert knows_more(one, None)
