"""Asking runs what they know, through Temporal."""

from datetime import timedelta

import structlog
from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import ListSearchAttributesRequest
from temporalio.client import Client, WorkflowQueryFailedError
from temporalio.service import RPCError

from contracts.approvals import Request
from contracts.model import Prefix
from contracts.transcript import TranscriptPage
from policy.guardrails import holding

_KEYWORD = IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD
SEARCH_ATTRIBUTES = {
    "AgentName": _KEYWORD,
    "AgentTenant": _KEYWORD,
    "AgentStatus": _KEYWORD,
    "AgentPending": IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD_LIST,
}

RESOURCES = {holding.ATTRIBUTE: IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD_LIST}
"""Its own: what finds runs that are at the same resource can be missing without the rest."""

PENDING = tuple[Request, ...]

PATIENCE = timedelta(seconds=10)
"""So long a run may take to say what it waits for."""

log = structlog.get_logger()


class TemporalRuns:
    """Runs of this namespace."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._known: dict[str, IndexedValueType.ValueType] | None = None

    async def prefix(self, run_id: str) -> Prefix:
        """Return instructions and tool schemas of a run."""
        handle = self._client.get_workflow_handle(run_id)
        return await handle.query("prefix", result_type=Prefix)

    async def transcript_page(self, run_id: str, offset: int, limit: int) -> TranscriptPage:
        """Return a part of the transcript of a run."""
        handle = self._client.get_workflow_handle(run_id)
        page = {"offset": offset, "limit": limit}
        return await handle.query("transcript", page, result_type=TranscriptPage)

    async def waits_for(self, run_id: str, request_id: str) -> bool:
        """Whether a run still waits for a person's decision; where nobody can tell it may."""
        handle = self._client.get_workflow_handle(run_id)
        try:
            found = await handle.query("pending", result_type=PENDING, rpc_timeout=PATIENCE)
        except (RPCError, WorkflowQueryFailedError):
            return True
        return any(request.request_id == request_id for request in found)

    async def searchable(self) -> bool:
        """Whether the server knows Holdfast's search attributes; if not, say so once."""
        unknown = self._known is None
        known = SEARCH_ATTRIBUTES.items() <= (await self._attributes()).items()
        if unknown and not known:
            log.warning(
                "search_attributes.missing",
                wanted=sorted(SEARCH_ATTRIBUTES),
                effect="runs work, but can't be searched by agent, tenant, status or request",
            )
        return known

    async def resources_searchable(self) -> bool:
        """Whether runs can be searched by the resources that they are at."""
        return RESOURCES.items() <= (await self._attributes()).items()

    async def _attributes(self) -> dict[str, IndexedValueType.ValueType]:
        if self._known is None:
            request = ListSearchAttributesRequest(namespace=self._client.namespace)
            try:
                found = await self._client.operator_service.list_search_attributes(request)
            except RPCError:
                # No such service, or not for this client: runs must work all the same.
                self._known = {}
            else:
                self._known = dict(found.custom_attributes)
        return self._known
