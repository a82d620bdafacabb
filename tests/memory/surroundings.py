"""What activities ask of the server, answered in memory."""

from datetime import UTC, datetime
from typing import TypeVar

from temporalio.common import SearchAttributeKey
from temporalio.converter import decode_typed_search_attributes

from holdfast.activities.callers import Execution as EarlierExecution
from holdfast.activities.callers import find_calling_execution
from holdfast.contracts.approvals import PendingPage
from holdfast.contracts.base import JsonObject
from holdfast.contracts.errors import HoldfastError
from holdfast.contracts.model import Prefix
from holdfast.contracts.sessions.archive import ArchivedSession
from holdfast.contracts.state.late_calls import LateCall, Whole
from holdfast.contracts.switches import Switch
from holdfast.contracts.transcript import TranscriptPage
from holdfast.guardrails.detectors import resource_claims
from holdfast.workflows.payloads import data_converter
from tests.memory.execution import Execution
from tests.memory.server import MemoryServer

Answer = TypeVar("Answer")

_RESOURCES = SearchAttributeKey.for_keyword_list(resource_claims.ATTRIBUTE)
_TENANT = SearchAttributeKey.for_keyword("AgentTenant")


class MemoryDirectory:
    """Runs of this server, asked by their own activities."""

    def __init__(self, server: MemoryServer) -> None:
        self._server = server

    async def prefix(self) -> Prefix:
        return await self._ask("prefix", {}, Prefix)

    async def transcript_page(self, offset: int, limit: int, digest: str) -> TranscriptPage:
        page: JsonObject = {"offset": offset, "limit": limit, "digest": digest}
        return await self._ask("context", page, TranscriptPage)

    async def read_late_call(
        self, about: str | Whole, now: datetime, heard: int | None
    ) -> LateCall:
        whole = (
            EarlierExecution(about.run_id, about.execution) if isinstance(about, Whole) else None
        )
        proof = None if isinstance(about, Whole) else about
        asked: JsonObject = {"proof": proof, "now": now.isoformat(), "heard": heard}
        return await self._ask("late_call", asked, LateCall, whole)

    async def waits_for(self, request_id: str) -> bool:
        offset: int | None = 0
        while offset is not None:
            page = await self._ask("pending", {"offset": offset}, PendingPage)
            if any(request.request_id == request_id for request in page.items):
                return True
            offset = page.next_offset
        return False

    async def searchable(self) -> bool:
        return True

    async def resources_searchable(self) -> bool:
        return True

    async def _ask(
        self,
        kind: str,
        given: JsonObject,
        answer: type[Answer],
        of: EarlierExecution | None = None,
    ) -> Answer:
        asking = of or find_calling_execution()
        given_payloads = await data_converter.encode([given] if given else [])
        said = await self._server.query(asking.run_id, kind, given_payloads, asking.id)
        if said.HasField("failed"):
            raise await data_converter.decode_failure(said.failed)
        [value] = await data_converter.decode([said.succeeded.response], [answer])
        assert isinstance(value, answer)
        return value


class MemoryEarlierSessions:
    """No session of this server was ended from outside."""

    async def find(
        self, session_id: str, own: str, archived: ArchivedSession | None
    ) -> tuple[EarlierExecution, ...]:
        return ()

    async def read(self, execution: EarlierExecution) -> ArchivedSession | None:
        return None


class MemorySwitches:
    """What a test has switched off; whoever asks is told nothing of it *unsaid* times."""

    def __init__(self) -> None:
        self.off: tuple[Switch, ...] = ()
        self.unsaid = 0

    async def current(self) -> tuple[Switch, ...]:
        if self.unsaid:
            self.unsaid -= 1
            raise HoldfastError("nobody knows what is switched off")
        return self.off


class MemoryHolders:
    """Open runs of this server and what they hold."""

    def __init__(self, server: MemoryServer) -> None:
        self._server = server

    async def find_earlier_holders(
        self, run_id: str, tenant: str, resource: str
    ) -> tuple[str, ...] | None:
        mine = (_since(self._server.newest(run_id), resource), run_id)
        found: list[tuple[str, str]] = []
        for name, known in self._server.executions.items():
            shown = decode_typed_search_attributes(known[-1].search_attributes)
            theirs = (_since(known[-1], resource), name)
            holds = resource in (shown.get(_RESOURCES) or ())
            others = name != run_id and shown.get(_TENANT) == tenant
            if known[-1].closed is None and others and holds and theirs < mine:
                found.append(theirs)
        return tuple(name for _, name in sorted(found))


def _since(execution: Execution, resource: str) -> str:
    shown = decode_typed_search_attributes(execution.search_attributes)
    started = execution.beginning.at.ToDatetime(UTC)
    return resource_claims.held_since(shown.get(_RESOURCES) or (), resource, started)
