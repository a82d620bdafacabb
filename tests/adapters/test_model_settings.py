"""The contract suite: what an agent asks of its models reaches the provider, or is noted."""

from dataclasses import replace

import pytest

from holdfast.adapters.base import ProviderAdapter
from holdfast.contracts.model import ModelSettings, ToolSchema
from holdfast.contracts.tools import HostedTool
from tests.adapters import conversations as say
from tests.adapters.dialects import Samples
from tests.adapters.provider_server import ProviderServer
from tests.adapters.rules.strict import Understood

PAY = ToolSchema(name="pay", description="Pay it.", input_schema=say.ORDER_SCHEMA)
TWO_TOOLS = say.PREFIX.model_copy(update={"tools": (*say.PREFIX.tools, PAY)})
BOTH = frozenset({"find_order", "pay"})

OTHERS = ModelSettings(
    reasoning="high",
    reasoning_tokens=4096,
    max_output_tokens=9000,
    tool_choice="required",
    parallel_calls=False,
    temperature=0.2,
    top_p=0.9,
    top_k=40,
    seed=7,
    stop_sequences=("END",),
    frequency_penalty=0.5,
    presence_penalty=-0.5,
)
"""A value for each setting that isn't its default."""


class Asking:
    """Asks with settings, and tells what the provider makes of them."""

    def __init__(
        self, provider: ProviderServer, adapter: ProviderAdapter, samples: Samples
    ) -> None:
        self._provider = provider
        self._adapter = adapter
        self._samples = samples

    async def __call__(
        self, settings: ModelSettings, model: str = "", turn: int = 1, hosted: str = ""
    ) -> tuple[Understood, set[str]]:
        self._provider.answer(self._samples.WORDS)
        more = (HostedTool(name=hosted),) if hosted else ()
        prefix = TWO_TOOLS.model_copy(update={"settings": settings, "hosted": more})
        request = say.request(model or self._samples.MODEL, prefix=prefix)
        reply = await self._adapter.respond(replace(request, turn=turn))
        return self._provider.understand(self._provider.requests[-1]), {*reply.notes}


@pytest.fixture
def ask(provider: ProviderServer, adapter: ProviderAdapter, samples: Samples) -> Asking:
    return Asking(provider, adapter, samples)


@pytest.mark.parametrize("name", sorted(OTHERS.model_fields_set))
async def test_no_setting_is_dropped_silently(ask: Asking, name: str) -> None:
    """Each of them makes another request, or a note says why it doesn't."""
    # PP-02
    usual, before = await ask(ModelSettings())
    wanted, after = await ask(ModelSettings.model_validate({name: getattr(OTHERS, name)}))

    assert getattr(OTHERS, name) != ModelSettings.model_fields[name].default
    assert wanted != usual or after - before


async def test_the_length_of_a_reply_is_bounded(ask: Asking) -> None:
    """Every provider has a bound, and it is the one that was asked for."""
    asked, _ = await ask(ModelSettings(max_output_tokens=9000))

    assert asked.max_output_tokens == 9000


async def test_effort_is_told_where_a_model_takes_it(ask: Asking, samples: Samples) -> None:
    """A model that can think more or less is asked for what the agent wants."""
    low, _ = await ask(ModelSettings(reasoning="low"), samples.REASONER)
    high, _ = await ask(ModelSettings(reasoning="high"), samples.REASONER)

    assert low.effort
    assert high.effort
    assert low.effort != high.effort


async def test_thinking_is_bounded_or_that_is_noted(ask: Asking, samples: Samples) -> None:
    """A number of tokens is that number, or none at all."""
    asked, notes = await ask(ModelSettings(reasoning_tokens=4096), samples.REASONER)

    assert asked.reasoning_tokens == 4096 or notes


async def test_the_model_is_free(ask: Asking) -> None:
    """By default it may call any tool, several at once, and needn't call one."""
    asked, notes = await ask(ModelSettings())

    assert (asked.tools, asked.must_call, asked.parallel_calls) == (BOTH, False, True)
    assert notes == set()


async def test_the_first_turn_may_have_to_call_a_tool(ask: Asking) -> None:
    """It must call any of them in the first turn, and none afterwards."""
    first, _ = await ask(ModelSettings(tool_choice="required"))
    second, _ = await ask(ModelSettings(tool_choice="required"), turn=2)

    assert (first.tools, first.must_call) == (BOTH, True)
    assert (second.tools, second.must_call) == (BOTH, False)


async def test_the_first_turn_may_have_to_call_one_tool(ask: Asking) -> None:
    """A tool that is named is the one that must be called, and no other."""
    first, _ = await ask(ModelSettings(tool_choice="pay"))
    second, _ = await ask(ModelSettings(tool_choice="pay"), turn=2)

    assert (first.tools, first.must_call) == ({"pay"}, True)
    assert (second.tools, second.must_call) == (BOTH, False)


async def test_the_first_turn_may_have_to_do_without(ask: Asking) -> None:
    """No tool may be called, but all stay declared for the turns behind it."""
    first, _ = await ask(ModelSettings(tool_choice="none"))
    second, _ = await ask(ModelSettings(tool_choice="none"), turn=2)

    assert (first.tools, first.must_call) == (frozenset(), False)
    assert (second.tools, second.must_call) == (BOTH, False)


async def test_nobody_must_call_what_isnt_there(ask: Asking) -> None:
    """A hosted tool that an agent's other models have can be named: here the model is free."""
    asked, notes = await ask(ModelSettings(tool_choice="hologram"), hosted="hologram")

    assert (asked.tools, asked.must_call) == (BOTH, False)
    assert notes
