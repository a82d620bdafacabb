"""The words that each provider has for a few replies."""

import pytest

from tests.adapters.dialects import Dialect, Samples


@pytest.fixture
def samples(dialect: Dialect) -> Samples:
    return dialect.samples
