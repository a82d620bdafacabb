"""The contract suite: tools that run at a provider, where none may, and what is told of them."""

from dataclasses import replace
from typing import TypedDict

import pytest

from holdfast.adapters.base import ProviderAdapter
from holdfast.contracts.model import ModelRequest, Prefix, ToolSchema
from holdfast.contracts.tools import HostedTool
from tests.adapters import conversations as say
from tests.adapters.dialects import Dialect, Samples
from tests.adapters.provider_server import ProviderServer
from tests.adapters.rules.strict import Understood


class Forbidding(TypedDict, total=False):
    """Fields of a request that keep a model from calling tools."""

    calls_left: int
    without_tools: bool


def asking(samples: Samples, name: str, tools: tuple[ToolSchema, ...] = ()) -> ModelRequest:
    """Ask with one of the provider's own tools, beside ours."""
    hosted = HostedTool(name=name, options=samples.OPTIONS.get(name, {}))
    prefix = Prefix(instructions="Be brief.", tools=tools, hosted=(hosted,))
    return say.request(samples.MODEL, prefix=prefix)


async def understood(
    provider: ProviderServer, adapter: ProviderAdapter, samples: Samples, request: ModelRequest
) -> tuple[Understood, tuple[str, ...]]:
    """Return what the provider makes of a request, and what the adapter notes."""
    provider.answer(samples.WORDS)
    reply = await adapter.respond(request)
    return provider.understand(provider.requests[-1]), reply.notes


async def test_they_may_run_where_they_are_declared(
    provider: ProviderServer, adapter: ProviderAdapter, samples: Samples
) -> None:
    """A tool that the adapter says it has is one that the model may call, under its type."""
    # HT-01 HT-02
    for name, kind in adapter.hosted_tools.items():
        asked, notes = await understood(provider, adapter, samples, asking(samples, name))

        assert [tool for tool in asked.tools if tool.startswith(kind)] == [*asked.tools]
        assert notes == ()


@pytest.mark.parametrize("tools", [(), say.PREFIX.tools], ids=["alone", "beside ours"])
@pytest.mark.parametrize("forbidding", [Forbidding(calls_left=0), Forbidding(without_tools=True)])
async def test_none_runs_where_none_may(
    provider: ProviderServer,
    adapter: ProviderAdapter,
    samples: Samples,
    tools: tuple[ToolSchema, ...],
    forbidding: Forbidding,
) -> None:
    """What is beyond the budget, or beside a summary, isn't called."""
    # T-28
    for name in adapter.hosted_tools:
        request = replace(asking(samples, name, tools), **forbidding)

        asked, _ = await understood(provider, adapter, samples, request)

        assert asked.tools == frozenset()
        assert not asked.must_call


async def test_what_is_left_bounds_them_or_that_is_noted(
    provider: ProviderServer, adapter: ProviderAdapter, samples: Samples
) -> None:
    """A provider that runs more calls than the budget leaves is one that the run was told of."""
    # T-28
    for name in adapter.hosted_tools:
        request = replace(asking(samples, name), calls_left=3)

        asked, notes = await understood(provider, adapter, samples, request)

        bounded = asked.hosted_calls is not None and 0 < asked.hosted_calls <= 3
        assert bounded or [note for note in notes if name in note]


def test_a_provider_that_searches_shows_one(adapter: ProviderAdapter, samples: Samples) -> None:
    """The suite has a reply of each provider that searches."""
    assert (samples.SEARCHED is not None) is ("web_search" in adapter.hosted_tools)


def test_a_search_is_told(adapter: ProviderAdapter, samples: Samples) -> None:
    """What ran at the provider stands among the parts; the answer is what is said behind it."""
    # AD-23
    if samples.SEARCHED is None:
        return
    reply = adapter.parse_response(samples.SEARCHED)

    called = [part.name for part in reply.parts if part.kind == "hosted_call"]
    assert called == ["web_search"]
    assert (reply.text, reply.calls, reply.stop) == ("In Köln.", (), "end_turn")


def test_a_search_is_paid_for(adapter: ProviderAdapter, samples: Samples) -> None:
    """The price of a call has what ran at the provider in it, or no cost limit would be kept."""
    # T-28
    if samples.SEARCHED is None:
        return
    words, searched = map(adapter.extract_usage, (samples.WORDS, samples.SEARCHED))

    assert words.estimated_cost is not None
    assert searched.estimated_cost == words.estimated_cost + samples.SEARCH_PRICE


async def test_a_search_is_gone_on_from(
    provider: ProviderServer, adapter: ProviderAdapter, samples: Samples, dialect: Dialect
) -> None:
    """A strict server takes a turn in which it searched."""
    if samples.SEARCHED is None:
        return
    provider.answer(samples.SEARCHED)
    provider.answer(samples.WORDS)

    searched = say.turn(dialect.model, await adapter.respond(say.request(samples.MODEL)))
    reply = await adapter.respond(say.request(samples.MODEL, say.GOAL, searched, say.STEERED))

    assert reply.text == "In Köln."
