"""Which runs hold a resource, asked of the server's visibility."""

from datetime import datetime

from temporalio.client import Client
from temporalio.common import SearchAttributeKey, TypedSearchAttributes
from temporalio.service import RPCError, RPCStatusCode

from holdfast.activities.statuses import IS_OPEN, can_be_sought, list_executions
from holdfast.contracts.patterns import is_run_id
from holdfast.contracts.run import WORKFLOW_TYPE
from holdfast.contracts.sessions.messages import SESSION_WORKFLOW_TYPE
from holdfast.guardrails.detectors import resource_claims

_RESOURCES = SearchAttributeKey.for_keyword_list(resource_claims.ATTRIBUTE)
_TENANT = SearchAttributeKey.for_keyword("AgentTenant")

_CANT_SEARCH = frozenset({RPCStatusCode.INVALID_ARGUMENT, RPCStatusCode.UNIMPLEMENTED})
"""What a server answers that doesn't know the attribute, or no search at all."""


class TemporalHolders:
    """Open runs of this namespace and what they hold."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def find_earlier_holders(
        self, run_id: str, tenant: str, resource: str
    ) -> tuple[str, ...] | None:
        """
        Return the tenant's other open runs that took a resource before this one did.

        Where two took it at the same moment, the one whose id sorts first was first. Null when
        the server can't search runs by their resources, or others can't find this one so: it
        began when the server didn't know the attributes, or its worker couldn't ask. Raises
        RPCError.
        """
        own = await self._client.get_workflow_handle(run_id).describe()
        shown = own.typed_search_attributes
        if resource not in (shown.get(_RESOURCES) or ()) or shown.get(_TENANT) != tenant:
            return None
        mine = (_since(shown, resource, own.start_time), run_id)
        query = (
            f"WorkflowType IN ('{WORKFLOW_TYPE}', '{SESSION_WORKFLOW_TYPE}') "
            f"AND {IS_OPEN} AND {resource_claims.ATTRIBUTE} = '{resource}'"
        )
        if can_be_sought(tenant):
            query += f" AND AgentTenant = '{tenant}'"
        found: list[tuple[str, str]] = []
        try:
            async for other in list_executions(self._client, query):
                shown = other.typed_search_attributes
                theirs = (_since(shown, resource, other.start_time), other.id)
                # One of another id never begins, and models read the words that it consists of.
                is_other = other.id != run_id and is_run_id(other.id)
                if is_other and shown.get(_TENANT) == tenant and theirs < mine:
                    found.append(theirs)
        except RPCError as error:
            if error.status in _CANT_SEARCH:
                return None
            raise
        return tuple(name for _, name in sorted(found))


def _since(shown: TypedSearchAttributes, resource: str, started: datetime) -> str:
    return resource_claims.held_since(shown.get(_RESOURCES) or (), resource, started)
