"""The contract that any adapter can be held against, an app's own too."""

from collections.abc import Callable, Iterable, Mapping

import pytest

from holdfast import Agent, App, AppError, HostedTool
from holdfast.adapters.base import ProviderAdapter
from holdfast.adapters.catalogue import PriceList
from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import ToolResult
from holdfast.contracts.model import ModelReply, ModelRequest
from holdfast.contracts.transcript import AssistantTurn
from holdfast.contracts.usage import CallUsage
from holdfast.testing import AdapterSamples, check_adapter
from holdfast.worker import adapters as build_worker_adapters
from holdfast.worker import build_known_secrets
from tests.adapters.dialects import DIALECTS, Dialect
from tests.adapters.house import SAMPLES, TWO_CALLS, HouseAdapter


def samples_of(dialect: Dialect) -> AdapterSamples:
    """What the suite has of a provider."""
    samples, rules = dialect.samples, dialect.rules()

    def stream(whole: JsonObject) -> list[JsonObject]:
        return [event.data for event in rules.events(whole) if event.text is None]

    return AdapterSamples(
        model=samples.MODEL,
        words=samples.WORDS,
        two_calls=samples.TWO_CALLS,
        malformed=samples.MALFORMED,
        cut_short=samples.CUT_SHORT,
        uncounted=samples.UNCOUNTED,
        words_events=stream(samples.WORDS),
        calls_events=stream(samples.TWO_CALLS),
    )


def an_app(adapter: ProviderAdapter, model: str = "house:it") -> App:
    agent = Agent(name="it", instructions="Work.", models=[model])
    return App(agents=[agent], adapters=[adapter])


def test_what_a_worker_builds_keeps_the_contract() -> None:
    """Each provider of a worker's is held against it, and none is left out."""
    # AD-12
    built = build_worker_adapters(an_app(HouseAdapter()))
    wire = {name: one for name, one in built.items() if name not in {"scripted", "house"}}

    assert wire.keys() == DIALECTS.keys()
    for name, adapter in wire.items():
        assert check_adapter(adapter, samples_of(DIALECTS[name])) == ()  # pyright: ignore[reportArgumentType] -- it is checked


def test_an_adapter_of_ones_own_can_keep_it() -> None:
    """Whoever writes one sees by the same checks that it is one."""
    # AD-12, GF-05
    assert check_adapter(HouseAdapter(), SAMPLES) == ()


class WithKey(HouseAdapter):
    credentials = frozenset({"sk-123"})


class Hasty(HouseAdapter):
    def assemble(self, events: Iterable[JsonObject]) -> JsonObject:
        return {**TWO_CALLS, **{name: one for event in events for name, one in event.items()}}


class Credulous(HouseAdapter):
    def parse_response(self, raw: JsonObject) -> ModelReply:
        return super().parse_response({"text": "", "asks": [], "why": "done", **raw})


class Careless(HouseAdapter):
    def parse_response(self, raw: JsonObject) -> ModelReply:
        read = super().parse_response({**raw, "why": "done"})
        return read.with_(calls=tuple(read.calls[:1]))


class Forgetful(HouseAdapter):
    def build_request(self, request: ModelRequest) -> JsonObject:
        return {**super().build_request(request), "said": [], "run": request.run_id}


class Tattling(HouseAdapter):
    def build_request(self, request: ModelRequest) -> JsonObject:
        kept = [
            part.native
            for item in request.transcript
            if isinstance(item, AssistantTurn)
            for part in item.parts
        ]
        return {**super().build_request(request), "kept": [*kept]}


class Generous(HouseAdapter):
    def extract_usage(self, raw: JsonObject) -> CallUsage:
        return super().extract_usage({"used": [0, 0], **raw})


class Overwriting(HouseAdapter):
    def merge_state(self, before: JsonObject, fresh: JsonObject) -> JsonObject:
        before.update(fresh)
        return before


class Mumbling(HouseAdapter):
    def build_tool_result(self, result: ToolResult) -> JsonObject:
        return {"said": "something"}


@pytest.mark.parametrize(
    ("adapter", "promises"),
    [
        (WithKey, {"names"}),
        (Hasty, {"broken streams", "streams"}),
        (Credulous, {"strange replies"}),
        (Careless, {"calls", "cut calls"}),
        (Forgetful, {"requests", "other providers"}),
        (Tattling, {"other providers"}),
        (Generous, {"usage", "strange replies"}),
        (Overwriting, {"state"}),
        (Mumbling, {"requests", "results"}),
    ],
)
def test_a_broken_promise_is_named(
    adapter: Callable[[], HouseAdapter], promises: set[str]
) -> None:
    """Each promise can be broken, and the line about it says which."""
    # AD-12
    flaws = check_adapter(adapter(), SAMPLES)

    assert {flaw.partition(":")[0] for flaw in flaws} & promises
    assert {flaw.partition(":")[0] for flaw in flaws} <= promises


class Half:
    provider = "half"
    credentials: frozenset[str] = frozenset()
    hosted_tools: Mapping[str, str] = {}


class Twin(HouseAdapter):
    provider = "openai"


@pytest.mark.parametrize(
    ("adapter", "said"),
    [
        (Half(), "adapter 'Half': it lacks find_listing, find_refused_settings, respond"),
        (Twin(), "adapter 'Twin': there is a provider 'openai' already"),
        (WithKey(), "adapter 'WithKey': its credentials are names of variables, never the keys"),
    ],
)
def test_what_is_no_adapter_is_refused_with_its_app(adapter: ProviderAdapter, said: str) -> None:
    """A method that is missing is found when the app is made, and no key is repeated."""
    # AD-12
    with pytest.raises(AppError) as refused:
        an_app(adapter)

    assert said in str(refused.value)
    assert "sk-123" not in str(refused.value)


def test_its_keys_leave_no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """What an adapter says that it proves itself with is kept out of history like any other."""
    # PP-04
    monkeypatch.setenv("HOUSE_KEY", "the-key-of-the-house")

    assert "the-key-of-the-house" in build_known_secrets(an_app(HouseAdapter()))()


async def test_its_prices_and_tools_are_known() -> None:
    """What it says of its models is what a run's budget reckons with; its tools may be hosted."""
    # AD-11, HT-01
    hosted = Agent(
        name="it",
        instructions="Work.",
        models=["house:it"],
        hosted=[HostedTool(name="map_search")],
    )
    app = App(agents=[hosted], adapters=[HouseAdapter()])

    (facts,) = await PriceList(build_worker_adapters(app)).facts(["house:it"])

    assert (facts.input_price, facts.output_price) == (2, 4)
    with pytest.raises(AppError, match="no provider hosts 'map_search'"):
        App(agents=[hosted])
