"""The activities that open a session again, and that archive it."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager

from temporalio import activity
from temporalio.exceptions import ApplicationError

from holdfast.activities.callers import (
    build_hand_back,
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
from holdfast.event_log import log
from holdfast.run.sessions.messages import describe_other_agent
from holdfast.tools.fair_threads import TENANT
from holdfast.tools.sharing.quota import TenantQuota

_STATE = "session.json"

MAX_READ_AT_ONCE = 32
"""Executions of a session that are asked at the same time how they were left."""

MAX_OPENING = 20
"""Local activities that look how sessions were left, of the hundred in which all is decided."""


class SessionActivities:
    """Knows where sessions are kept."""

    def __init__(
        self, archive: Archive | None, earlier: EarlierSessions, *, has_codec: bool = False
    ) -> None:
        self._archive = archive
        self._earlier = earlier
        self._has_codec = has_codec
        self._looking = TenantQuota(MAX_OPENING)

    @activity.defn
    async def load_session(self, asked: LoadSession) -> LoadedSession:
        """
        Return how a session was left that opens again.

        Raises ApplicationError for one of another tenant or agent, which never opens. It is handed
        back where this worker looks for many sessions of the tenant already.
        """
        require_run_caller(asked.session_id)
        TENANT.set(asked.tenant)
        with self._looking.take(asked.tenant) as free:
            if not free:
                raise build_hand_back("this worker opens many sessions of this tenant already")
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
        if left.state.brief.regulated and not self._has_codec:
            raise build_start_refusal(  # what this returns would stand in history in plain
                f"session {asked.session_id!r} is regulated, and this worker has no payload "
                "codec: give its app one, App(codec=...)"
            )
        return LoadedSession(archived=left)

    async def _find(self, session_id: str) -> ArchivedSession | None:
        """Return it from the archive, unless a later execution was ended and didn't get there."""
        archived = await self._read(session_id)
        own = find_calling_execution().id
        earlier, at_once = await self._earlier.find(session_id, own, archived), 1
        while earlier:
            some, earlier = earlier[:at_once], earlier[at_once:]
            for left in await asyncio.gather(
                *map(self._earlier.read, some), return_exceptions=True
            ):
                if isinstance(left, BaseException):
                    raise left
                if left is not None:
                    return left
            # Mostly the latest knows it all; what never began may be there in any number.
            at_once = min(2 * at_once, MAX_READ_AT_ONCE)
        return archived

    async def _read(self, session_id: str) -> ArchivedSession | None:
        if self._archive is None:
            return None
        path = f"{_name(session_id)}/{_STATE}"
        with _translate_errors(path):
            found = await self._archive.read(path)
        try:
            return None if found is None else ArchivedSession.model_validate_json(found)
        except ValueError:  # it quotes what was said, to whoever asks
            log.warning("archive.unreadable", path=path)
            raise build_start_refusal(
                f"session {session_id!r} can't be opened: what the archive has of it can't be "
                f"read; have somebody restore {path} there, and send it again"
            ) from None

    @activity.defn
    async def save_session(self, left: ArchivedSession) -> SaveResult:
        """
        Archive a session as it was left, by the execution that asks.

        Of a reset one its state names the execution before, which was ended from outside.
        """
        require_run_caller(left.session_id)
        left = left.copy_with({"execution": find_calling_execution().id})
        if self._archive is None:
            return SaveResult(kept=False, hears_more=True)
        path = f"{_name(left.session_id)}/{_STATE}"
        with _translate_errors(path):
            await self._archive.write(path, left.model_dump_json().encode())
        return SaveResult(kept=True, hears_more=True)

    @activity.defn
    async def save_conversation(self, page: ArchivedPage) -> SaveResult:
        """Archive a part of what was said; the same part again changes nothing."""
        require_run_caller(page.session_id)
        if self._archive is None:
            return SaveResult(kept=False)
        path = f"{_name(page.session_id)}/said/{page.first_offset:09}.json"
        with _translate_errors(path):
            await self._archive.write(path, page.model_dump_json().encode())
        return SaveResult(kept=True)


def _name(session_id: str) -> str:
    """Return the folder of a session of the namespace that asks: others have its id as well."""
    return name_session(activity.info().namespace, session_id)


@contextmanager
def _translate_errors(path: str) -> Generator[None]:
    """Say what keeps an archive from being used; where it lies is for its worker's log."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or type(error).__name__
        log.warning("archive.unusable", path=path, reason=reason)
        raise ApplicationError(
            f"the archive can't be used: {reason}", type="ArchiveFailed"
        ) from None
