"""The words that each provider has for a few replies."""

import pytest

# Before they are imported, so that a check that fails tells what it compared.
pytest.register_assert_rewrite(
    "tests.adapters.recordings.reply_checks", "tests.adapters.recordings.request_checks"
)

from tests.adapters.dialects import Dialect, Samples  # noqa: E402 -- as said above


@pytest.fixture
def samples(dialect: Dialect) -> Samples:
    return dialect.samples
