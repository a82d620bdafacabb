"""The activity `open_run`: pins the agent that a run begins with."""

from collections.abc import Iterable, Mapping
from typing import Protocol

from temporalio import activity

from holdfast.activities.callers import build_hand_back, require_run_caller
from holdfast.contracts.control import ModelFacts
from holdfast.contracts.run import AgentSnapshot, OpenRun
from holdfast.run.limits import reasoning


class Searchability(Protocol):
    """Knows whether the server can search runs."""

    async def searchable(self) -> bool:
        """Whether the server knows Holdfast's search attributes."""
        ...

    async def resources_searchable(self) -> bool:
        """Whether runs can be searched by the resources that they are at."""
        ...


class ModelCatalogue(Protocol):
    """Knows models before they are asked."""

    async def facts(self, models: Iterable[str]) -> tuple[ModelFacts, ...]:
        """Return what is known of each model, in this order."""
        ...


class OpeningActivities:
    """Knows the agents of the app."""

    def __init__(
        self,
        agents: Mapping[str, AgentSnapshot],
        server: Searchability,
        catalogue: ModelCatalogue,
    ) -> None:
        self._agents = agents
        self._server = server
        self._catalogue = catalogue

    @activity.defn
    async def open_run(self, opening: OpenRun) -> AgentSnapshot:
        """
        Return the agent as it is now; the run keeps it, whatever is deployed later.

        A worker without that agent hands the run back: another may have it. Its settings are
        those for this kind of task, and its prefix has their digest.
        """
        require_run_caller(opening.run_id)
        agent = self._agents.get(opening.agent)
        if agent is None:
            known = ", ".join(sorted(self._agents)) or "none"
            raise build_hand_back(f"no agent {opening.agent!r} in this app (known: {known})")
        agent = _with_route(agent, opening.task_kind)
        facts = await self._catalogue.facts(agent.models)
        return agent.with_(
            facts=facts,
            search_attributes=await self._server.searchable(),
            resources_searchable=await self._server.resources_searchable(),
        )


def _with_route(agent: AgentSnapshot, task_kind: str | None) -> AgentSnapshot:
    """Return the agent with the settings that this kind of task asks for."""
    route = reasoning.route(task_kind)
    if route is None:
        return agent
    settings = reasoning.apply_route(agent.settings, route)
    agent = agent.with_(route=route, settings=settings)
    return agent.with_(prefix_digest=agent.prefix.digest)
