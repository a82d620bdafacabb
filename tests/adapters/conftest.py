"""Every adapter, with the words that its provider has for a few replies."""

from datetime import timedelta

import pytest

from adapters.base import ProviderAdapter
from tests.adapters.dialects import ADAPTERS, Dialect, Samples

PATIENCE = timedelta(seconds=30)


@pytest.fixture(params=ADAPTERS.values(), ids=list(ADAPTERS))
def dialect(request: pytest.FixtureRequest) -> Dialect:
    return request.param


@pytest.fixture
def adapter(dialect: Dialect) -> ProviderAdapter:
    return dialect.adapter(PATIENCE)


@pytest.fixture
def samples(dialect: Dialect) -> Samples:
    return dialect.samples
