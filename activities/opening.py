"""What a run begins with: the agent that is pinned, and what a run left that is tried again."""

from collections.abc import Iterable, Mapping
from typing import Protocol

from temporalio import activity

from holdfast.activities.callers import (
    build_hand_back,
    build_start_refusal,
    require_app,
    require_run_caller,
)
from holdfast.contracts.control import MAX_EARLIER_ACTORS, ModelFacts, RetryOf
from holdfast.contracts.delegation.carryover import Carryover, ReadEarlierRun
from holdfast.contracts.delegation.workers import OpenRun
from holdfast.contracts.run import AgentSnapshot
from holdfast.contracts.signals import SignedSignal
from holdfast.run.limits import reasoning, regulation
from holdfast.tools.fair_threads import TENANT
from holdfast.tools.sharing.quota import TenantQuota

MAX_EARLIER_RUNS = 20
"""
Local activities that ask runs what they left, of the hundred in which all is decided.

A run may take half a minute to say it, and one that no worker knows takes ten seconds.
"""


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


class EarlierRuns(Protocol):
    """Knows runs that are over."""

    async def read(self, retry_of: RetryOf, tenant: str) -> Carryover:
        """Return what a run left; raises ApplicationError where it may not be tried again."""
        ...


class OpeningActivities:
    """Knows the agents of the app."""

    def __init__(
        self,
        agents: Mapping[str, AgentSnapshot],
        server: Searchability,
        catalogue: ModelCatalogue,
        earlier: EarlierRuns,
        signed: tuple[SignedSignal, ...] = (),
        *,
        has_codec: bool = False,
    ) -> None:
        self._agents = agents
        self._server = server
        self._catalogue = catalogue
        self._earlier = earlier
        self._signed = signed
        self._has_codec = has_codec
        self._asking = TenantQuota(MAX_EARLIER_RUNS)

    @activity.defn
    async def read_earlier_run(self, asked: ReadEarlierRun) -> Carryover:
        """
        Return what a run of the same tenant and agent left that is tried again.

        It is handed back where this worker asks many runs for the tenant already.
        """
        require_run_caller(asked.run_id)
        TENANT.set(asked.tenant)
        with self._asking.take(asked.tenant) as free:
            if not free:
                raise build_hand_back("this worker asks many runs for this tenant already")
            left = await self._earlier.read(asked.retry_of, asked.tenant)
        if left.brief.agent != asked.agent:
            raise build_start_refusal(
                f"run {asked.retry_of.run_id!r} is one of agent {left.brief.agent!r}, and not of "
                f"{asked.agent!r}"
            )
        actors = {left.brief.actor, *left.brief.earlier_actors, *asked.earlier_actors}
        if len(actors) > MAX_EARLIER_ACTORS:
            raise build_start_refusal(
                f"{MAX_EARLIER_ACTORS} people have tried it, and no more may: start a new run"
            )
        return left

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
        if opening.app is not None:
            require_app(opening.app, agent.app)
        if opening.regulated or agent.regulated:
            self._require_fit(agent, opening)
        agent = _with_route(agent, opening.task_kind)
        facts = await self._catalogue.facts(agent.models)
        return agent.with_(
            facts=facts,
            signed=self._signed,
            search_attributes=await self._server.searchable(),
            resources_searchable=await self._server.resources_searchable(),
        )

    def _require_fit(self, agent: AgentSnapshot, opening: OpenRun) -> None:
        """Raise ApplicationError where a regulated run can't be kept to this worker."""
        if opening.within_unregulated:  # a release has made its agent one
            raise build_start_refusal(
                f"agent {agent.name!r} is regulated, and the run that it would work for began as "
                "one that isn't: start that one anew"
            )
        if not self._has_codec:
            raise build_start_refusal(
                "the run is regulated, and this worker has no payload codec: give its app one, "
                "App(codec=...)"
            )
        if objections := regulation.find_objections(agent):
            raise build_start_refusal(
                f"the run is regulated, and agent {agent.name!r} isn't fit for it: {objections[0]}"
            )


def _with_route(agent: AgentSnapshot, task_kind: str | None) -> AgentSnapshot:
    """Return the agent with the settings that this kind of task asks for."""
    route = reasoning.route(task_kind)
    if route is None:
        return agent
    settings = reasoning.apply_route(agent.settings, route)
    agent = agent.with_(route=route, settings=settings)
    return agent.with_(prefix_digest=agent.prefix.digest)
