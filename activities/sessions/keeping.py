"""The activities that open a session again, and that archive it."""

from temporalio import activity

from holdfast.activities.callers import (
    build_start_refusal,
    find_calling_execution,
    require_run_caller,
)
from holdfast.activities.sessions.archive import Archive, name_session
from holdfast.activities.sessions.earlier import EarlierSessions
from holdfast.contracts.sessions.archive import (
    ArchivedPage,
    ArchivedSession,
    LoadedSession,
    LoadSession,
    SaveResult,
)
from holdfast.run.sessions.messages import describe_other_agent

_STATE = "session.json"


class SessionActivities:
    """Knows where sessions are kept."""

    def __init__(self, archive: Archive | None, earlier: EarlierSessions) -> None:
        self._archive = archive
        self._earlier = earlier

    @activity.defn
    async def load_session(self, asked: LoadSession) -> LoadedSession:
        """
        Return how a session was left that opens again.

        Raises ApplicationError for one of another tenant or agent, which never opens.
        """
        require_run_caller(asked.session_id)
        left = await self._find(asked.session_id)
        if left is None:
            return LoadedSession()
        session = left.state.session
        if left.session_id != asked.session_id or left.tenant != asked.tenant or session is None:
            raise build_start_refusal(
                f"there is no session {asked.session_id!r} of tenant {asked.tenant!r}: "
                "choose another id"
            )
        if session.agent != asked.agent:
            why = describe_other_agent(asked.session_id, session.agent, asked.agent)
            raise build_start_refusal(why)
        return LoadedSession(archived=left)

    async def _find(self, session_id: str) -> ArchivedSession | None:
        """Return it from the archive, unless a later execution was ended and didn't get there."""
        archived = await self._read(session_id)
        own = find_calling_execution().id
        for execution in await self._earlier.find(session_id, own, archived):
            if (left := await self._earlier.read(execution)) is not None:
                return left
        return archived

    async def _read(self, session_id: str) -> ArchivedSession | None:
        if self._archive is None:
            return None
        found = await self._archive.read(f"{_name(session_id)}/{_STATE}")
        return None if found is None else ArchivedSession.model_validate_json(found)

    @activity.defn
    async def save_session(self, left: ArchivedSession) -> SaveResult:
        """Archive a session as it was left."""
        require_run_caller(left.session_id)
        if self._archive is None:
            return SaveResult(kept=False)
        content = left.model_dump_json().encode()
        await self._archive.write(f"{_name(left.session_id)}/{_STATE}", content)
        return SaveResult(kept=True)

    @activity.defn
    async def save_conversation(self, page: ArchivedPage) -> SaveResult:
        """Archive a part of what was said; the same part again changes nothing."""
        require_run_caller(page.session_id)
        if self._archive is None:
            return SaveResult(kept=False)
        path = f"{_name(page.session_id)}/said/{page.first_offset:09}.json"
        await self._archive.write(path, page.model_dump_json().encode())
        return SaveResult(kept=True)


def _name(session_id: str) -> str:
    """Return the folder of a session of the namespace that asks: others have its id as well."""
    return name_session(activity.info().namespace, session_id)
