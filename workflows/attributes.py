"""What the Temporal UI shows of a run beside its history."""

from temporalio import workflow
from temporalio.common import SearchAttributeKey

from holdfast.contracts.state import RunState
from holdfast.guardrails.detectors import resource_claims
from holdfast.run.summaries import waiting_details
from holdfast.workflows.run_context import RunContext
from holdfast.workflows.views import standing

NAME = SearchAttributeKey.for_keyword("AgentName")
TENANT = SearchAttributeKey.for_keyword("AgentTenant")
STATUS = SearchAttributeKey.for_keyword("AgentStatus")
PENDING = SearchAttributeKey.for_keyword_list("AgentPending")
RESOURCES = SearchAttributeKey.for_keyword_list(resource_claims.ATTRIBUTE)


MOST_SHOWN = 100
"""Requests that can be searched for; the server ends a run whose attribute has 2,048 bytes."""


def show(run: RunContext) -> None:
    """Show where the run stands, if that has changed; each change is one event."""
    state = run.state
    workflow.set_current_details(waiting_details(state.requests))
    if not state.agent.search_attributes:
        return
    shown = workflow.info().typed_search_attributes
    waiting = [request.request_id for request in state.requests[:MOST_SHOWN]]
    wanted = (
        *(
            key.value_set(value)
            for key, value in (
                (NAME, state.agent.name),
                (TENANT, state.brief.tenant),
                (STATUS, standing(state, run.in_flight)),
            )
            if shown.get(key) != value
        ),
        *([PENDING.value_set(waiting)] if list(shown.get(PENDING) or ()) != waiting else []),
    )
    if wanted:
        workflow.upsert_search_attributes(wanted)  # pyright: ignore[reportUnknownMemberType] -- the SDK leaves a type argument out


def hold(state: RunState) -> None:
    """Say which resources the run is at, so that others find it by them."""
    if state.agent.resources_searchable:
        workflow.upsert_search_attributes(  # pyright: ignore[reportUnknownMemberType] -- as above
            [RESOURCES.value_set(list(state.held))]
        )
