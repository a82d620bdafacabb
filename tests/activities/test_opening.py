"""What a run begins with: its agent, the settings for its kind of task, facts of its models."""

from collections.abc import Iterable
from dataclasses import replace

import pytest
from temporalio.exceptions import ApplicationError

from holdfast.activities.callers import NOT_HERE
from holdfast.activities.opening import OpeningActivities
from holdfast.adapters.anthropic import AnthropicAdapter
from holdfast.adapters.base import ProviderAdapter
from holdfast.adapters.openai import OpenAIAdapter
from holdfast.contracts.base import JsonObject
from holdfast.contracts.control import ModelFacts, RetryOf
from holdfast.contracts.delegation.carryover import Carryover
from holdfast.contracts.delegation.workers import OpenRun
from holdfast.contracts.model import ModelSettings
from holdfast.contracts.run import AgentSnapshot
from tests.adapters import conversations as say
from tests.asking import in_run
from tests.builders import an_agent

OPUS = "claude-opus-5-5"


class Server:
    """A server that can search."""

    async def resources_searchable(self) -> bool:
        return False

    async def searchable(self) -> bool:
        return True


class Known:
    """Knows a window for every model."""

    async def facts(self, models: Iterable[str]) -> tuple[ModelFacts, ...]:
        return tuple(ModelFacts(model=model, context_tokens=1000) for model in models)


class Nothing:
    """Has no run that was before."""

    async def read(self, retry_of: RetryOf, tenant: str) -> Carryover:
        raise AssertionError(f"{tenant} has no {retry_of.run_id}")


async def opened(agent: AgentSnapshot, task_kind: str | None = None) -> AgentSnapshot:
    activities = OpeningActivities({"it": agent}, Server(), Known(), Nothing())
    opening = OpenRun(run_id="run-1", agent="it", task_kind=task_kind)
    return await in_run("run-1").run(activities.open_run, opening)


def an_agent_with(**settings: object) -> AgentSnapshot:
    agent = an_agent(settings=ModelSettings.model_validate(settings))
    return agent.model_copy(update={"prefix_digest": agent.prefix.digest})


def request(adapter: ProviderAdapter, model: str, agent: AgentSnapshot) -> JsonObject:
    """The request of the second turn: what a route asks for holds for all of them."""
    return adapter.build_request(replace(say.request(model, prefix=agent.prefix), turn=2))


async def test_a_run_without_a_kind_begins_as_its_agent_is() -> None:
    """Nothing is decided where nobody said what kind of task it is."""
    agent = an_agent_with(reasoning="low")

    snapshot = await opened(agent)

    assert (snapshot.route, snapshot.settings) == (None, agent.settings)
    assert snapshot.prefix_digest == agent.prefix_digest
    assert snapshot.search_attributes


async def test_what_is_known_of_the_models_is_pinned() -> None:
    """Each of the agent's models has its facts, in order."""
    agent = an_agent_with()

    snapshot = await opened(agent)

    assert [facts.model for facts in snapshot.facts] == list(agent.models)
    assert {facts.context_tokens for facts in snapshot.facts} == {1000}


@pytest.mark.parametrize(
    ("kind", "decision", "openai", "thinking"),
    [
        pytest.param("system_architecture", "on", "high", "adaptive", id="always"),
        pytest.param("code_review:critical", "on", "high", "adaptive", id="condition met"),
        pytest.param("code_review", "off", "none", "disabled", id="condition not met"),
        pytest.param("unit_tests", "off", "none", "disabled", id="never"),
        pytest.param("knitting", "agent", "low", "adaptive", id="no row"),
    ],
)
async def test_the_routed_setting_is_in_every_request(
    kind: str, decision: str, openai: str, thinking: str
) -> None:
    """The kind of a task decides whether models reason; it is recorded, and requests say so."""
    # RS-01 RS-06 RS-11
    snapshot = await opened(an_agent_with(reasoning="low"), kind)

    assert snapshot.route is not None
    assert (snapshot.route.task_kind, snapshot.route.decision) == (kind, decision)
    asked = request(OpenAIAdapter(), "gpt-5.2", snapshot)
    assert asked["reasoning"] == {"effort": openai, "summary": "auto"}
    assert request(AnthropicAdapter(), OPUS, snapshot)["thinking"] == {"type": thinking}


async def test_a_route_gives_the_prefix_its_name() -> None:
    """Calls name the prefix by its digest, so it is that of the settings that hold."""
    agent = an_agent_with(reasoning="low")

    snapshot = await opened(agent, "system_architecture")

    assert snapshot.prefix_digest == snapshot.prefix.digest
    assert snapshot.prefix_digest != agent.prefix_digest
    assert (await opened(agent, "knitting")).prefix_digest == agent.prefix_digest


async def test_a_run_of_an_unknown_agent_is_handed_back() -> None:
    """Another worker may have it; which ones are here is told."""
    activities = OpeningActivities({"it": an_agent()}, Server(), Known(), Nothing())

    with pytest.raises(ApplicationError) as raised:
        await in_run("run-1").run(activities.open_run, OpenRun(run_id="run-1", agent="nobody"))

    assert raised.value.type == NOT_HERE
    assert raised.value.message == "no agent 'nobody' in this app (known: it)"
