"""A provider is its folder and one line; whatever else it needs must not be forgotten."""

from pathlib import Path

import yaml

from holdfast.adapters.base import ProviderAdapter
from holdfast.adapters.catalogue import PriceList
from holdfast.adapters.registry import PROVIDERS, Setup, build_adapters
from tests.adapters.dialects import DIALECTS, Dialect

ROOT = Path(__file__).parents[2]


def read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


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
    (facts,) = await PriceList({dialect.name: adapter}).facts([dialect.model])

    assert adapter.extract_usage(dialect.samples.CACHED).estimated_cost
    assert facts.input_price


def test_a_container_has_the_key_of_each_provider(dialect: Dialect) -> None:
    """A worker in a container gets the variables that are listed, and no other."""
    worker = yaml.safe_load(read("deploy/compose.yaml"))["services"]["worker"]

    assert dialect.key_variable in worker["environment"]
    assert f"`{dialect.key_variable}`" in read("deploy/README.md")


def test_a_provider_stands_in_the_documentation(adapter: ProviderAdapter) -> None:
    """Who looks for a provider finds it by its models, by its key and in the comparison."""
    page = read("docs/adapters.md")
    (columns,) = (line.split(" | ")[1:] for line in page.splitlines() if line.startswith("| | "))

    assert f"`{adapter.provider}:`" in read("README.md")
    assert f"\n| `{adapter.provider}:NAME` |" in page
    assert adapter.provider in [column.strip(" |") for column in columns]
    assert [name for name in adapter.hosted_tools if f"`{name}`" not in page] == []
