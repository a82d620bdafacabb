"""A provider is its folder and one line; whatever else it needs must not be forgotten."""

from holdfast.adapters.base import ProviderAdapter
from holdfast.adapters.catalogue import PriceList
from holdfast.adapters.registry import PROVIDERS, Setup, build_adapters
from tests.adapters.dialects import DIALECTS, Dialect


def test_every_provider_is_in_the_contract_suite() -> None:
    """A provider whose words the suite doesn't know is found here, not in a run."""
    assert DIALECTS.keys() == PROVIDERS.keys()
    assert build_adapters(Setup()).keys() == {"scripted", *PROVIDERS}


def test_a_provider_is_called_as_in_its_line(adapter: ProviderAdapter, dialect: Dialect) -> None:
    """Its models are found by the name that stands in front of them."""
    assert adapter.provider == dialect.name


def test_a_provider_names_its_key(adapter: ProviderAdapter, dialect: Dialect) -> None:
    """The key that a person is told to set is one that never leaves the worker."""
    assert dialect.key_variable in adapter.credentials


async def test_a_provider_has_its_prices(adapter: ProviderAdapter, dialect: Dialect) -> None:
    """What a model costs is known before it is asked, where its replies are billed."""
    model = f"{dialect.name}:{dialect.samples.MODEL}"

    (facts,) = await PriceList({dialect.name: adapter}).facts([model])

    assert adapter.extract_usage(dialect.samples.CACHED).estimated_cost
    assert facts.input_price
