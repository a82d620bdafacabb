"""Asking runs what they know, through Temporal."""

from datetime import timedelta

import structlog
from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import ListSearchAttributesRequest
from temporalio.client import Client, WorkflowHandle, WorkflowQueryFailedError
from temporalio.service import RPCError

from holdfast.activities.callers import find_calling_execution
from holdfast.contracts.approvals import PendingPage
from holdfast.contracts.model import Prefix
from holdfast.contracts.transcript import TranscriptPage
from holdfast.guardrails.detectors import resource_claims

_KEYWORD = IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD
SEARCH_ATTRIBUTES = {
    "AgentName": _KEYWORD,
    "AgentTenant": _KEYWORD,
    "AgentStatus": _KEYWORD,
    "AgentPending": IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD_LIST,
}

RESOURCE_SEARCH_ATTRIBUTES = {
    resource_claims.ATTRIBUTE: IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD_LIST
}
"""Its own: what finds runs that are at the same resource can be missing without the rest."""

QUERY_TIMEOUT = timedelta(seconds=10)
"""So long a run may take to say what it waits for."""

log = structlog.get_logger()


class TemporalRuns:
    """Runs of this namespace, asked by their own activities; and what the server knows of all."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._known: dict[str, IndexedValueType.ValueType] | None = None

    async def prefix(self) -> Prefix:
        """Return instructions and tool schemas of the run that asks."""
        return await self._find_calling_run().query("prefix", result_type=Prefix)

    async def transcript_page(self, offset: int, limit: int, digest: str) -> TranscriptPage:
        """Return a part of the transcript of the run that asks, up to the place of a digest."""
        page = {"offset": offset, "limit": limit, "digest": digest}
        return await self._find_calling_run().query("context", page, result_type=TranscriptPage)

    async def waits_for(self, request_id: str) -> bool:
        """Whether the run that asks still waits for a decision; where nobody can tell it may."""
        run = self._find_calling_run()
        offset: int | None = 0
        while offset is not None:
            try:
                page = await run.query(
                    "pending",
                    {"offset": offset},
                    result_type=PendingPage,
                    rpc_timeout=QUERY_TIMEOUT,
                )
            except (RPCError, WorkflowQueryFailedError):
                return True
            if any(request.request_id == request_id for request in page.items):
                return True
            offset = page.next_offset
        return False

    def _find_calling_run(self) -> WorkflowHandle[object, object]:
        execution = find_calling_execution()
        return self._client.get_workflow_handle(execution.run_id, run_id=execution.id)

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
        return RESOURCE_SEARCH_ATTRIBUTES.items() <= (await self._attributes()).items()

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
