"""A provider is its folder and one line; whatever else it needs must not be forgotten."""

from holdfast.adapters.base import ProviderAdapter
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
