"""The activity `open_run`: pins the agent that a run begins with."""

from collections.abc import Mapping
from typing import Protocol

from temporalio import activity
from temporalio.exceptions import ApplicationError

from contracts.run import AgentSnapshot, OpenRun


class Searchability(Protocol):
    """Knows whether the server can search runs."""

    async def searchable(self) -> bool:
        """Whether the server knows Holdfast's search attributes."""
        ...


class OpeningActivities:
    """Knows the agents of the app."""

    def __init__(self, agents: Mapping[str, AgentSnapshot], server: Searchability) -> None:
        self._agents = agents
        self._server = server

    @activity.defn
    async def open_run(self, opening: OpenRun) -> AgentSnapshot:
        """Return the agent as it is now; the run keeps it, whatever is deployed later."""
        agent = self._agents.get(opening.agent)
        if agent is None:
            known = ", ".join(sorted(self._agents)) or "none"
            raise ApplicationError(
                f"no agent {opening.agent!r} in this app (known: {known})",
                type="InvalidInput",
                non_retryable=True,
            )
        return agent.model_copy(update={"search_attributes": await self._server.searchable()})
