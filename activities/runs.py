"""Asking runs what they know, through Temporal."""

import structlog
from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import ListSearchAttributesRequest
from temporalio.client import Client
from temporalio.service import RPCError

from contracts.model import Prefix
from contracts.transcript import TranscriptPage

_KEYWORD = IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD
SEARCH_ATTRIBUTES = {
    "AgentName": _KEYWORD,
    "AgentTenant": _KEYWORD,
    "AgentStatus": _KEYWORD,
    "AgentPending": IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD_LIST,
}

log = structlog.get_logger()


class TemporalRuns:
    """Runs of this namespace."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._searchable: bool | None = None

    async def prefix(self, run_id: str) -> Prefix:
        """Return instructions and tool schemas of a run."""
        handle = self._client.get_workflow_handle(run_id)
        return await handle.query("prefix", result_type=Prefix)

    async def transcript_page(self, run_id: str, offset: int, limit: int) -> TranscriptPage:
        """Return a part of the transcript of a run."""
        handle = self._client.get_workflow_handle(run_id)
        page = {"offset": offset, "limit": limit}
        return await handle.query("transcript", page, result_type=TranscriptPage)

    async def searchable(self) -> bool:
        """Whether the server knows Holdfast's search attributes; if not, say so once."""
        if self._searchable is None:
            self._searchable = await self._has_search_attributes()
            if not self._searchable:
                log.warning(
                    "search_attributes.missing",
                    wanted=sorted(SEARCH_ATTRIBUTES),
                    effect="runs work, but can't be searched by agent, tenant, status or request",
                )
        return self._searchable

    async def _has_search_attributes(self) -> bool:
        request = ListSearchAttributesRequest(namespace=self._client.namespace)
        try:
            known = await self._client.operator_service.list_search_attributes(request)
        except RPCError:
            return False  # no such service, or not for this client: runs must work all the same
        return SEARCH_ATTRIBUTES.items() <= dict(known.custom_attributes).items()
